"""`serve --print-config`: the entry that a client needs in its configuration to start mcpctl."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from mcpctl.base import paths
from mcpctl.clients import client_kinds
from mcpctl.clients.client_environment import window_path
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config.server_settings import Server

NAME = "mcpctl"
VARIABLES = ("MCPCTL_HOME", "MCPCTL_CONFIG", "MCPCTL_DATA_DIR")
_PLACES = ("--config", "--data-dir")
SHOWN = (*VARIABLES, "PATH")


def text(client: str, options: Mapping[str, Path | str | bool | None], servers: Iterable[Server] = ()) -> str:
    """The block for `client`, as JSON (for Codex as TOML). `options` are those of `serve`, by their names. The block of
    a client with a window has a PATH if the client's own would not find what starts the `servers`."""
    block = {CLIENTS[client].section: {NAME: entry(client, options, servers)}}
    if client != "codex":
        return json.dumps(block, indent=2, ensure_ascii=False)
    import tomli_w

    return tomli_w.dumps(block).rstrip("\n")


def entry(
    client: str, options: Mapping[str, Path | str | bool | None], servers: Iterable[Server] = (), old: Any = None
) -> dict[str, Any]:
    """The entry in that block, with the options of an old entry that are not given now."""
    words = [*command(), "serve", *_kept(old, {*_PLACES, *(name for name, value in options.items() if value)})]
    words += option_words(options)
    env = environment()
    if not CLIENTS[client].from_shell and (path := window_path(servers)):
        env["PATH"] = path
    return _entry(client, words, env)


def add_command(client: str, entry: Mapping[str, Any]) -> str | None:
    """The client's own command that adds this entry, for a shell; None if it has none."""
    if client == "vscode":
        return shlex.join(["code", "--add-mcp", json.dumps({"name": NAME, **entry}, ensure_ascii=False)])
    variables = [f"{name}={value}" for name, value in entry.get("env", {}).items()]
    start = [entry.get("command"), *entry.get("args", ())]
    if client == "claude-code":  # its -e takes all words up to the next option, and the name comes after the options
        words = ["claude", "mcp", "add", *_each("-e", variables), "--scope", "user", NAME, "--", *start]
    elif client == "codex":
        words = ["codex", "mcp", "add", NAME, *_each("--env", variables), "--", *start]
    elif client == "gemini-cli":
        words = ["gemini", "mcp", "add", "-s", "user", *_each("-e", variables), NAME, start[0], "--", *start[1:]]
    else:
        return None
    return shlex.join(map(str, words))


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def goes_into(client: str, place: Path | None = None) -> str:
    place = place or next(client_kinds.places(CLIENTS[client]))
    return f"{CLIENTS[client].title} reads this from {place}: add it to what the file has"


def command() -> list[str]:
    """The words that start this very mcpctl from anywhere."""
    program = Path(sys.argv[0])
    if program.name == NAME and (executable := shutil.which(sys.argv[0])):
        return [str(Path(executable).absolute())]
    # It was started as `python -m mcpctl`, or by a program that imports it.
    # -P: Python would else look into the folder that the client starts it in, which may be anybody's project, first.
    return [str(Path(sys.executable).absolute()), "-P", "-m", "mcpctl"]


def _entry(client: str, words: list[str], env: dict[str, str]) -> dict[str, Any]:
    if client == "opencode":
        return {"type": "local", "command": words, **({"environment": env} if env else {}), "enabled": True}
    kind = {"vscode": {"type": "stdio"}, "claude-code": {"type": "stdio"}, "zed": {"source": "custom"}}.get(client, {})
    return {**kind, "command": words[0], "args": words[1:], **({"env": env} if env else {})}


def _kept(old: Any, others: Collection[str]) -> list[str]:
    words = start_words(old)
    words = words[words.index("serve") + 1 :] if "serve" in words else []
    kept: list[str] = []
    is_kept = True
    for word in words:
        if word.startswith("-"):
            is_kept = word.partition("=")[0] not in others
        kept += [word] if is_kept else []
    return kept


def start_words(value: Any) -> list[str]:
    """The command of a client's entry and its arguments; empty where there are none."""
    if not isinstance(value, dict):
        return []
    command = value.get("command")
    parts = [command.get("path"), command.get("args")] if isinstance(command, dict) else [command, value.get("args")]
    words = [word for part in parts for word in (part if isinstance(part, list) else [part])]
    return [str(word) for word in words if word is not None]


def config_file(words: Iterable[str], env: Mapping[str, str]) -> Path:
    parts = [part for word in words for part in word.split("=", 1)]
    named = next((value for word, value in pairwise(parts) if word == "--config"), None)
    return Path(named).expanduser() if named else paths.find(env=env).config


def option_words(options: Mapping[str, Path | str | bool | None]) -> list[str]:
    words: list[str] = []
    for option, value in options.items():
        if value:
            word = str(_absolute(value)) if isinstance(value, Path) else value
            words += [option] if word is True else [option, str(word)]
    return words


def environment() -> dict[str, str]:
    """The variables of this shell that say where mcpctl keeps things, which a client's own may not have."""
    return {name: str(_absolute(Path(value))) for name in VARIABLES if (value := os.environ.get(name))}


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()
