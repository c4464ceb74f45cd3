"""What programs with a window find on their PATH: no shell starts them, so they know nothing of nvm, uv or pyenv."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mcpctl.config import Server

STANDARD = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", *(("/usr/local/bin",) if sys.platform == "darwin" else ()))
_RUNNERS = ("npx", "node", "uvx", "uv")
"""What most servers are started with, also those that are added later."""
_INTERPRETER = re.compile(rb"#!\s*\S*/env\s+(?:-S\s+)?([\w.+-]+)")
_CHAIN = 3
"""Scripts that are run by scripts, at most."""


def hidden(servers: Mapping[str, Server]) -> dict[str, str]:
    """The servers that work from this shell and not from a window, each with the program that is not found there."""
    standard = os.pathsep.join(STANDARD)
    found = {}
    for name, server in servers.items():
        if server.command and "PATH" not in server.env:
            programs = _programs(server.command)
            lost = [one for one in programs if shutil.which(one) and not shutil.which(one, path=standard)]
            found.update({name: lost[0]} if lost else {})
    return found


def complete(servers: Iterable[Server]) -> str | None:
    """A PATH that has what these servers are started with, in this shell's order; None where the standard one does."""
    commands = [*_RUNNERS, *(server.command for server in servers if server.command and "PATH" not in server.env)]
    programs = [program for command in commands for program in _programs(command)]
    needed = {str(Path(found).parent) for program in programs if (found := shutil.which(program))}
    if needed.issubset(STANDARD):
        return None
    usual = [place for place in (*STANDARD, "/usr/local/bin") if Path(place).is_dir()]
    mine = [str(Path(place)) for place in os.environ.get("PATH", "").split(os.pathsep) if Path(place).is_absolute()]
    return os.pathsep.join(dict.fromkeys([*(place for place in mine if place in {*needed, *usual}), *usual]))


def _programs(command: str) -> Iterator[str]:
    """The names that are looked up on the PATH when a command is started: its own, and what its first line names."""
    for _ in range(_CHAIN):
        if os.sep not in command:
            yield command
        file = Path(shutil.which(command) or os.devnull)
        try:
            first = _INTERPRETER.match(_beginning(file)) if file.is_file() else None
        except OSError:
            return
        if first is None:
            return
        command = first[1].decode()


def _beginning(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(200)
