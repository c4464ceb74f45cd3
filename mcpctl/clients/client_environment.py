"""The variables that clients have, and the mcpctl that they start; and the PATH of those with a window.

No shell starts a client with a window, so that its PATH lacks the folders of nvm, uv or pyenv.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config.command_values import CannotLaunch
from mcpctl.config.server_environment import expand, inherited
from mcpctl.config.server_settings import ALL, FROM_COMMAND, MINIMAL, Server
from mcpctl.secrets.redact import mask

_STANDARD = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", *(("/usr/local/bin",) if sys.platform == "darwin" else ()))
_RUNNERS = ("npx", "node", "uvx", "uv")
"""Servers that are added later need these, too."""
_INTERPRETER = re.compile(rb"#!\s*\S*/env\s+(?:-S\s+)?([\w.+-]+)")
_MAX_CHAIN = 3


def inherited_from(client: str, server: Server) -> dict[str, str]:
    """The variables that the process of an entry inherits of its client; `server` is the entry, as config.toml would
    have it."""
    if not CLIENTS[client].from_shell:  # a window has nothing of what a shell's own files set
        usual = inherited(msgspec.structs.replace(server, inherit_env=MINIMAL))
        return {**usual, "PATH": os.pathsep.join(_STANDARD)}
    if client == "codex":  # which passes on only what the entry names
        return inherited(server)
    return inherited(msgspec.structs.replace(server, inherit_env=ALL))


def of_mcpctl(client: str, entry: Any) -> dict[str, str]:
    """The variables of an mcpctl that the client starts, of which `entry` is the value in its file; None for a new one.
    For whether they are set: their values are as the client has them."""
    raw = entry if isinstance(entry, dict) else {}
    named = raw.get("env_vars")
    server = Server(inherit_env=[str(name) for name in named] if isinstance(named, list) else MINIMAL)
    own = [raw[key] for key in ("env", "environment") if isinstance(raw.get(key), Mapping)]
    return {**inherited_from(client, server), **{name: str(value) for each in own for name, value in each.items()}}


def missing_program(server: Server, variables: Mapping[str, str]) -> str:
    """The program of a server that an mcpctl with these variables does not find; empty where it does, and where only a
    start can tell. Nothing is run to find out. A program on the PATH of this shell is found: `install` writes that into
    the entry of a client with a window."""
    texts = [server.command, server.cwd or "", server.env.get("PATH", "")]
    if not server.command or any(FROM_COMMAND in text for text in texts):
        return ""
    try:
        command, cwd, path = (expand(text, variables) for text in texts)
    except CannotLaunch:  # what is not set is told of itself
        return ""
    file = os.path.expanduser(command)  # noqa: PTH111 - Path.expanduser raises for a user who is not there
    if os.sep in file and not file.startswith(os.sep):
        if not cwd:
            return ""  # in which folder the client starts it, nobody knows here
        file = os.path.join(os.path.expanduser(cwd), file)  # noqa: PTH111, PTH118
    paths = [path] if path else [variables.get("PATH", ""), os.environ.get("PATH", "")]
    return "" if any(shutil.which(file, path=each or os.defpath) for each in paths) else mask(server.command)


def missing_in_windows(servers: Mapping[str, Server], path: str | None = None) -> dict[str, str]:
    """The servers that start from this shell but not from a window, each with the program that is missing there. `path`
    is another PATH than the usual one that a client with a window has."""
    path = os.pathsep.join(_STANDARD) if path is None else path
    missing = {}
    for name, server in servers.items():
        if server.command and "PATH" not in server.env:
            programs = [program for program in _programs(server.command) if shutil.which(program)]
            lost = [program for program in programs if not shutil.which(program, path=path)]
            missing.update({name: lost[0]} if lost else {})
    return missing


def window_path(servers: Iterable[Server]) -> str | None:
    """A PATH that finds what starts these servers, in this shell's order; None if the standard one finds it."""
    commands = [*_RUNNERS, *(server.command for server in servers if server.command and "PATH" not in server.env)]
    programs = [program for command in commands for program in _programs(command)]
    needed = {str(Path(file).parent) for program in programs if (file := shutil.which(program))}
    if needed.issubset(_STANDARD):
        return None
    usual = [place for place in (*_STANDARD, "/usr/local/bin") if Path(place).is_dir()]
    shell = [str(Path(place)) for place in os.environ.get("PATH", "").split(os.pathsep) if Path(place).is_absolute()]
    return os.pathsep.join(dict.fromkeys([*(place for place in shell if place in {*needed, *usual}), *usual]))


def _programs(command: str) -> Iterator[str]:
    """The names that the start of a command looks up on the PATH: its own, and those in the #! lines of scripts."""
    for _ in range(_MAX_CHAIN):
        if os.sep not in command:
            yield command
        file = Path(shutil.which(command) or os.devnull)
        try:
            interpreter = _INTERPRETER.match(_beginning(file)) if file.is_file() else None
        except OSError:
            return
        if interpreter is None:
            return
        command = interpreter[1].decode()


def _beginning(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(200)
