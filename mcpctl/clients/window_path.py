"""The PATH of programs with a window: no shell starts them, so it lacks the folders of nvm, uv or pyenv."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mcpctl.config.server_settings import Server

STANDARD = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", *(("/usr/local/bin",) if sys.platform == "darwin" else ()))
_RUNNERS = ("npx", "node", "uvx", "uv")
"""The programs that start most servers: servers that are added later need them too."""
_INTERPRETER = re.compile(rb"#!\s*\S*/env\s+(?:-S\s+)?([\w.+-]+)")
_MAX_CHAIN = 3
"""How many scripts are followed that run one another."""


def hidden(servers: Mapping[str, Server], path: str = os.pathsep.join(STANDARD)) -> dict[str, str]:
    """The servers that start from this shell but not from a window, each with the program that is missing there.

    `path` is another PATH that a client with a window has.
    """
    missing = {}
    for name, server in servers.items():
        if server.command and "PATH" not in server.env:
            programs = [program for program in _programs(server.command) if shutil.which(program)]
            lost = [program for program in programs if not shutil.which(program, path=path)]
            missing.update({name: lost[0]} if lost else {})
    return missing


def complete(servers: Iterable[Server]) -> str | None:
    """A PATH that finds what starts these servers, in this shell's order; None if the standard one finds it."""
    commands = [*_RUNNERS, *(server.command for server in servers if server.command and "PATH" not in server.env)]
    programs = [program for command in commands for program in _programs(command)]
    needed = {str(Path(file).parent) for program in programs if (file := shutil.which(program))}
    if needed.issubset(STANDARD):
        return None
    usual = [place for place in (*STANDARD, "/usr/local/bin") if Path(place).is_dir()]
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
