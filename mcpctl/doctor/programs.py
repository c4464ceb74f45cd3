"""The programs that start servers: found on this PATH and on that of clients with a window, and new enough."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcpctl import __version__
from mcpctl.clients import client_config
from mcpctl.clients.client_config import missing_in_windows
from mcpctl.config import server_environment
from mcpctl.config.server_environment import CannotLaunch, Launch
from mcpctl.doctor import processes
from mcpctl.doctor.client_entries import own_entries
from mcpctl.doctor.findings import Case, DoctorFinding, finding

_NODE = 18
_ANSWERS_S = 5
_RUNNERS = {"npx": "node", "npm": "node", "node": "node", "uvx": "uv", "uv": "uv"}  # most servers run on these
_NAMING = ("-p", "--package", "--from")
_UNPINNED = re.compile(r"(?:@[\w.-]+/)?\w[\w.-]*(?:@latest)?\Z")
_GET = {"node": "install Node.js: https://nodejs.org", "uv": "install uv: https://docs.astral.sh/uv"}


def of_mcpctl(_: Case) -> Iterator[DoctorFinding]:
    words = client_config.command()
    python = ".".join(map(str, sys.version_info[:3]))
    yield DoctorFinding(f"mcpctl {__version__} is {' '.join(words)}, on Python {python}")
    first = shutil.which(client_config.NAME)
    if first and len(words) == 1 and Path(first).resolve() != Path(words[0]).resolve():
        yield finding("D134", f"this is {words[0]}", first)


def of_commands(case: Case) -> Iterator[DoctorFinding]:
    needed: dict[tuple[str, str], tuple[str, Mapping[str, str]]] = {}
    for name, launch in _launches(case):
        program = Path(launch.argv[0]).name
        if not processes.program(launch):
            own = " that its env sets" if "PATH" in case.config.servers[name].env else ""
            where = "" if os.sep in launch.argv[0] else f" on the PATH{own}"
            path = "correct its path in" if os.sep in launch.argv[0] else "write its absolute path into"
            get = _GET.get(_RUNNERS.get(program, ""), f"install it, or {path} the entry")
            yield finding("D131", f"'{launch.argv[0]}' is not found{where}", name, get)
        elif runner := _RUNNERS.get(program):
            needed.setdefault((runner, launch.env.get("PATH", "")), (name, launch.env))
    for (runner, path), (name, env) in needed.items():
        if why := _unfit(runner, path, env):
            yield finding("D133", why, name, _GET[runner])
    if newest := [name for name, server in case.local.items() if _takes_the_newest(server.command, server.args)]:
        yield finding(
            "D135", f"no version is named in the entries of: {', '.join(newest)}", fix="name one: package@1.2.3"
        )


def of_windows(case: Case) -> Iterator[DoctorFinding]:
    """Whether clients find the programs of the servers on the PATH that they have."""
    for entry in own_entries():
        path = entry.env.get("PATH")
        if entry.is_off or (path is None and not entry.has_window):
            continue
        hidden = missing_in_windows(case.local, path)
        if hidden:
            lost = ", ".join(f"{program} of {name}" for name, program in hidden.items())
            fix = f"put the entry in again: {entry.install}" if entry.has_window else "remove PATH from the entry"
            yield finding("D132", f"it does not find {lost}", entry.title, fix)


def _launches(case: Case) -> Iterator[tuple[str, Launch]]:
    for name, server in case.local.items():
        try:
            yield name, server_environment.launch(server, case.paths.config)
        except CannotLaunch:
            continue  # configuration.py finds it


def _unfit(program: str, path: str, env: Mapping[str, str]) -> str | None:
    """The reason why a program cannot run servers; None if it can."""
    file = shutil.which(program, path=path or os.defpath)
    if file is None:
        return f"it needs {program}, which is not found on the PATH"
    try:
        output = processes.first_line(Launch([file, "--version"], dict(env), os.sep), b"", _ANSWERS_S)
    except OSError as error:
        return f"{file} cannot be started: {error.strerror}"
    version = re.search(rb"(\d{1,9})(?:\.\d+)*", output.line)
    if version is None:
        return f"{file} does not say its version within {_ANSWERS_S} s"
    if program == "node" and int(version[1]) < _NODE:
        return f"{file} is version {version[0].decode()}; servers need {_NODE} or newer"
    return None


def _takes_the_newest(command: str, args: list[str]) -> bool:
    if Path(command).name not in ("npx", "uvx"):
        return False
    words = [word for arg in args for word in (arg.split("=", 1) if arg.startswith("--") else [arg])]
    named = [words[place + 1] for place, word in enumerate(words[:-1]) if word in _NAMING]
    package = next(iter(named), "") or next((word for word in words if not word.startswith("-")), "")
    return _UNPINNED.match(package) is not None
