"""The clients on this machine: whether they start mcpctl, and whether that works."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from mcpctl import __version__
from mcpctl.clients import client_config
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.config.server_environment import CannotLaunch, Launch
from mcpctl.doctor import processes
from mcpctl.doctor.client_entries import OwnEntry, OwnFile, own_files
from mcpctl.doctor.findings import Case, DoctorFinding, finding
from mcpctl.secrets.redact import mask

_AT_ONCE = 4
_ANSWERS_S = 10
_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"mcpctl doctor","version":"%b"}}}\n' % __version__.encode()
)
_SCRIPT = re.compile(rb"#!.*\bfrom mcpctl\.main import main\b", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*")
_LONGEST_STDERR = 300
_REINSTALLED = ("D171", "D172", "D176", "D180")


class _ServerInfo(msgspec.Struct):
    name: str = ""
    version: str = ""


class _Initialized(msgspec.Struct):
    serverInfo: _ServerInfo


class _Greeting(msgspec.Struct):
    result: _Initialized


def of_files(case: Case) -> Iterator[DoctorFinding]:
    """The entries in the clients' files, without starting anything."""
    files = list(own_files())
    for file in files:
        title = CLIENTS[file.file.source].title
        if file.problem:
            yield finding("D173", file.problem.message, title, file.problem.hint)
        elif file.ours:
            yield from _doubled(file)
            yield from _passed_by(case, file)
        elif file.entries:
            names = ", ".join(entry.raw.name for entry in file.entries)
            fix = f"mcpctl install {file.file.source}"
            yield finding("D179", f"it starts {names} itself, from {file.file.path}", title, fix)
    if not any(file.ours for file in files):
        yield DoctorFinding("no client has an entry for mcpctl")


def of_starts(case: Case) -> Iterator[DoctorFinding]:
    """Every entry for mcpctl, started as by its client, and greeted: that starts no server, and is not on record."""
    entries = [entry for file in own_files() for entry in file.ours]
    # Once each: Claude Code may have the same one for many projects.
    different = {_key(entry): entry for entry in entries}
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        outcomes = dict(zip(different, threads.map(partial(_started, case), different.values()), strict=True))
    for entry in entries:
        code, message = outcomes[_key(entry)]
        if not code:
            code, message = _configured(case, entry)
        fix = f"put the entry in again: {entry.install}" if code in _REINSTALLED else ""
        if code == "D172":
            fix = f"fix what it says, or {fix}"
        where = f"{message} ({entry.raw.name} in {entry.raw.file.path})" if code else message
        yield finding(code, where, entry.title, fix)


def _key(entry: OwnEntry) -> str:
    return f"{entry.client} {entry.server}" if entry.server else f"{entry.raw}"


def _doubled(file: OwnFile) -> Iterator[DoctorFinding]:
    seen: dict[str, str] = {}
    for entry in file.ours:
        if entry.server and not entry.is_off:
            other = seen.setdefault(f"{entry.raw.project} {entry.server.launch}", entry.raw.name)
            if other != entry.raw.name:
                yield finding("D174", f"'{other}' and '{entry.raw.name}' in {file.file.path} are the same", entry.title)


def _passed_by(case: Case, file: OwnFile) -> Iterator[DoctorFinding]:
    programs = {(server.command, *server.args, server.url): name for name, server in case.config.enabled.items()
                if not server.openapi}  # fmt: skip
    for entry in file.entries:
        if entry.server and not entry.is_mcpctl and not entry.is_off:
            name = programs.get((entry.server.command, *entry.server.args, entry.server.url))
            if name:
                fix = f"remove '{entry.raw.name}' from {file.file.path}"
                yield finding(
                    "D178", f"it also starts '{entry.raw.name}' itself, which mcpctl has as {name}", entry.title, fix
                )


def _started(case: Case, entry: OwnEntry) -> tuple[str, str]:
    """The code and the message of its outcome; without a code it works."""
    if entry.server is None:
        return "D175", f"its entry is not as mcpctl reads it: {entry.problem}"
    if entry.is_off:
        return "D177", "its entry is switched off"
    try:
        launch = entry.launched()
    except CannotLaunch as error:
        return "D172", error.message
    program = processes.program(launch)
    if program is None:
        return "D171", f"there is no program {launch.argv[0]}"
    if not _is_certainly_mcpctl(program, launch.argv):
        return "D175", f"{launch.argv[0]} may be more than mcpctl"
    if case.problem and _config_of(launch) == case.paths.config.absolute():
        return "D175", "it was not tried: config.toml, which it uses, cannot be used"
    return _greeted(launch)


def _configured(case: Case, entry: OwnEntry) -> tuple[str, str]:
    """The same for an entry that starts, by its configuration, which may be another than the examined one."""
    config = _config_of(entry.launched())
    if config == case.paths.config.absolute():
        return "", "the entry for mcpctl starts"
    if not config.exists():
        return "D180", f"it starts with {config}, which does not exist"
    return "", f"the entry for mcpctl starts, with {config}"


def _config_of(launch: Launch) -> Path:
    return client_config.config_file(launch.argv, launch.env).absolute()


def _is_certainly_mcpctl(program: Path, argv: list[str]) -> bool:
    """Whether it is the script that pip makes for mcpctl, or `python -m mcpctl`, with `serve`."""
    if [word for word in argv[1:5] if word != "-P"][:3] == ["-m", "mcpctl", "serve"]:
        return _PYTHON.fullmatch(program.name) is not None
    try:
        with program.open("rb") as file:
            return argv[1:2] == ["serve"] and _SCRIPT.match(file.read(4096)) is not None
    except OSError:
        return False


def _greeted(launch: Launch) -> tuple[str, str]:
    try:
        output = processes.first_line(launch, _INITIALIZE, _ANSWERS_S)
    except OSError as error:
        return "D172", f"it cannot be started: {error.strerror}"
    try:
        info = msgspec.json.decode(output.line, type=_Greeting).result.serverInfo
    except msgspec.MsgspecError:
        words = mask(" ".join(output.stderr.decode("utf-8", "replace").split()))[-_LONGEST_STDERR:]
        return "D172", f"it does not answer{f': {words}' if words else f' within {_ANSWERS_S} s'}"
    if (info.name, info.version) != ("mcpctl", __version__):
        return "D176", f"it starts {info.name} {info.version}; this is mcpctl {__version__}"
    return "", "the entry for mcpctl starts"
