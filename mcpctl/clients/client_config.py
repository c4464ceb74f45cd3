"""`serve --print-config`: what a client needs in its configuration to start mcpctl."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mcpctl.clients import client_kinds, window_path
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config import Server

NAME = "mcpctl"
_VARIABLES = ("MCPCTL_HOME", "MCPCTL_CONFIG", "MCPCTL_DATA_DIR")


_FROM_A_SHELL = ("claude-code", "codex", "gemini-cli", "opencode")
"""Clients that have the PATH of the shell that they are started in."""


def text(client: str, options: Mapping[str, Path | str | bool | None], servers: Iterable[Server] = ()) -> str:
    """The block for `client`: JSON, for Codex TOML. `options` are those given to `serve`, by their names.

    A client with a window gets a PATH, where its own lacks what starts the `servers`.
    """
    words = [*command(), "serve"]
    for option, value in options.items():
        if value:
            text = str(_absolute(value)) if isinstance(value, Path) else value
            words += [option] if text is True else [option, str(text)]
    env = {name: str(_absolute(Path(value))) for name in _VARIABLES if (value := os.environ.get(name))}
    if client not in _FROM_A_SHELL and (path := window_path.complete(servers)):
        env["PATH"] = path
    block = {CLIENTS[client].section: {NAME: _entry(client, words, env)}}
    if client != "codex":
        return json.dumps(block, indent=2, ensure_ascii=False)
    import tomli_w

    return tomli_w.dumps(block).rstrip("\n")


def goes_into(client: str) -> str:
    """Where a person puts the block."""
    return f"{CLIENTS[client].title} reads this from {next(client_kinds.places(CLIENTS[client]))}, beside what is there"


def command() -> list[str]:
    """The words that start this very mcpctl from anywhere."""
    started = Path(sys.argv[0])
    if started.name == NAME and (found := shutil.which(sys.argv[0])):
        return [str(Path(found).absolute())]
    # As `python -m mcpctl`, or by a program that has mcpctl in it.
    return [str(Path(sys.executable).absolute()), "-m", "mcpctl"]


def _entry(client: str, words: list[str], env: dict[str, str]) -> dict[str, Any]:
    if client == "opencode":
        return {"type": "local", "command": words, **({"environment": env} if env else {}), "enabled": True}
    kind = {"vscode": {"type": "stdio"}, "claude-code": {"type": "stdio"}, "zed": {"source": "custom"}}.get(client, {})
    return {**kind, "command": words[0], "args": words[1:], **({"env": env} if env else {})}


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()
