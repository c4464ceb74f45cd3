"""`serve --print-config`: the entry that a client needs in its configuration to start mcpctl."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mcpctl.clients import client_kinds, window_path
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.server_settings import Server

NAME = "mcpctl"
_VARIABLES = ("MCPCTL_HOME", "MCPCTL_CONFIG", "MCPCTL_DATA_DIR")
FROM_A_SHELL = ("claude-code", "codex", "gemini-cli", "opencode")
"""Clients that a person starts in a shell, so that they have its PATH."""


def text(client: str, options: Mapping[str, Path | str | bool | None], servers: Iterable[Server] = ()) -> str:
    """The block for `client`, as JSON (for Codex as TOML). `options` are those of `serve`, by their names.

    The block of a client with a window has a PATH if the client's own would not find what starts the `servers`.
    """
    words = [*command(), "serve", *option_words(options)]
    env = environment()
    if client not in FROM_A_SHELL and (path := window_path.complete(servers)):
        env["PATH"] = path
    block = {CLIENTS[client].section: {NAME: _entry(client, words, env)}}
    if client != "codex":
        return json.dumps(block, indent=2, ensure_ascii=False)
    import tomli_w

    return tomli_w.dumps(block).rstrip("\n")


def goes_into(client: str) -> str:
    """A sentence that says where a person puts the block."""
    place = next(client_kinds.places(CLIENTS[client]))
    return f"{CLIENTS[client].title} reads this from {place}: add it to what the file has"


def command() -> list[str]:
    """The words that start this very mcpctl from anywhere."""
    program = Path(sys.argv[0])
    if program.name == NAME and (executable := shutil.which(sys.argv[0])):
        return [str(Path(executable).absolute())]
    # It was started as `python -m mcpctl`, or by a program that imports it.
    return [str(Path(sys.executable).absolute()), "-m", "mcpctl"]


def _entry(client: str, words: list[str], env: dict[str, str]) -> dict[str, Any]:
    if client == "opencode":
        return {"type": "local", "command": words, **({"environment": env} if env else {}), "enabled": True}
    kind = {"vscode": {"type": "stdio"}, "claude-code": {"type": "stdio"}, "zed": {"source": "custom"}}.get(client, {})
    return {**kind, "command": words[0], "args": words[1:], **({"env": env} if env else {})}


def option_words(options: Mapping[str, Path | str | bool | None]) -> list[str]:
    """Options as words of a command line, without those that are not given."""
    words: list[str] = []
    for option, value in options.items():
        if value:
            word = str(_absolute(value)) if isinstance(value, Path) else value
            words += [option] if word is True else [option, str(word)]
    return words


def environment() -> dict[str, str]:
    """The variables of this shell that say where mcpctl keeps things, which a client's own may not have."""
    return {name: str(_absolute(Path(value))) for name in _VARIABLES if (value := os.environ.get(name))}


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()
