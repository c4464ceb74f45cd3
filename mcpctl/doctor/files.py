"""The configuration and the data directory as files: who else can read them, and whether they can be used."""

import contextlib
import errno
import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from mcpctl.base import files, posix
from mcpctl.base.errors import Unusable
from mcpctl.base.texts import counted
from mcpctl.config import exposure
from mcpctl.doctor import health
from mcpctl.doctor.findings import Case, DoctorFinding, finding
from mcpctl.policy import pausing
from mcpctl.store import retention

_LITTLE = 50 << 20
_MIB = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)
_LETTERS = (("r", stat.S_IRUSR), ("w", stat.S_IWUSR), ("x", stat.S_IXUSR))


def of_permissions(case: Case) -> Iterator[DoctorFinding]:
    config, data = case.paths.config, case.paths.data
    with contextlib.suppress(OSError):
        if exposed := exposure.of_config(config, case.config):
            danger, mode = exposed
            fix = shlex.join(["chmod", mode, str(config)])
            yield finding("D121", danger.replace(str(config), "it"), config, fix, partial(_config_closed, case))
    with contextlib.suppress(OSError):
        if opened := exposure.of_data(data):
            names = ", ".join(sorted(path.name for path in opened))
            yield finding("D122", f"others can read {names}", data, repair=partial(_data_closed, data))


def of_owners(case: Case) -> Iterator[DoctorFinding]:
    paths = case.paths
    in_data = (paths.index, paths.state, paths.policy, paths.redaction_key, paths.dashboard)
    for path in (paths.config, paths.data, paths.sessions, *in_data):
        with contextlib.suppress(OSError):
            status = path.stat()
            needed = stat.S_IRWXU if stat.S_ISDIR(status.st_mode) else stat.S_IRUSR | stat.S_IWUSR
            owners = {os.geteuid()}
            if path == paths.config:  # which may be an administrator's, and is only read
                needed, owners = stat.S_IRUSR, {os.geteuid(), 0}
            if status.st_uid not in owners:
                message = f"it belongs to user {status.st_uid}, not to you ({os.geteuid()})"
                yield finding("D123", message, path, shlex.join(["sudo", "chown", str(os.geteuid()), str(path)]))
            elif status.st_uid == os.geteuid() and status.st_mode & needed != needed:
                yield finding("D124", "you cannot read or write it", path, repair=partial(_opened, path, needed))


def _opened(path: Path, needed: int) -> str:
    path.chmod(stat.S_IMODE(path.stat().st_mode) | needed)
    return f"chmod u+{''.join(letter for letter, bit in _LETTERS if needed & bit)} {path}"


def _config_closed(case: Case) -> str:
    path, done = case.paths.config, []
    while (exposed := exposure.of_config(path, case.config)) and exposed[1] not in done:
        bits = stat.S_IMODE(path.stat().st_mode)
        path.chmod(0o600 if exposed[1] == "600" else bits & ~(stat.S_IWGRP | stat.S_IWOTH))
        done.append(exposed[1])
    return f"chmod {' and '.join(done)} {path}"


def _data_closed(data: Path) -> str:
    exposure.close(data)
    return f"closed {data} to other users"


def of_folder(case: Case) -> Iterator[DoctorFinding]:
    data = case.paths.data
    there = next(folder for folder in (data.absolute(), *data.absolute().parents) if os.path.lexists(folder))
    is_made = there == data.absolute()
    if not is_made and not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        yield finding("D141", f"it is not there, and cannot be made in {there}", data)
        return
    if is_made and (error := _unwritable(data)):
        fix = "make room there" if error.errno in _FULL else ""
        yield finding("D141", f"it cannot be written: {error.strerror}", data, fix)
        return
    if (free := shutil.disk_usage(there).free) < _LITTLE:
        yield finding("D142", f"{free / _MIB:.1f} MB are left", data)
    yield DoctorFinding(str(data) if is_made else f"{data} is made when it is first needed")


def of_journals(case: Case) -> Iterator[DoctorFinding]:
    """Whether the journals can be read, line by line as far as that is quick."""
    looked = health.journals(case.paths.sessions)
    for path, why in looked.unreadable.items():
        yield finding("D143", why, path, "make it a folder that you can read" if path == case.paths.sessions else "")
    for path, places in looked.bad_lines.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield finding("D144", f"the line at byte {places[0]}{more} cannot be read", path)
    if looked.count:
        partly = f", of which {looked.read / _MIB:.0f} MB were read now" if looked.read < looked.bytes else ""
        limit = case.config.records.max_mb or "unlimited"
        yield DoctorFinding(f"{counted(looked.count, 'journal')} with {looked.bytes / _MIB:.1f} of {limit} MB{partly}")


def of_index(case: Case) -> Iterator[DoctorFinding]:
    """Whether the index is whole, and what the next `db rebuild` would do."""
    paths = case.paths
    repair = partial(_rebuilt, case)
    if _is_full(paths.data):
        return  # nothing can be told of it, nor can it be made again
    if damage := health.damage(paths.index):
        yield finding("D145", damage, paths.index, repair=repair)
    elif dead := health.dead(paths):
        sessions = "1 session is" if len(dead) == 1 else f"{len(dead)} sessions are"
        yield finding("D147", f"{sessions} open on record, without a process", paths.index, repair=repair)
    if left := health.leftovers(paths):
        yield finding("D146", f"left over: {', '.join(path.name for path in left)}", paths.data, repair=repair)


def of_removed(case: Case) -> Iterator[DoctorFinding]:
    yield from (finding("D150", remark) for remark in retention.remarks(retention.evictions(case.paths)))


def of_loosened(case: Case) -> Iterator[DoctorFinding]:
    from mcpctl.catalog import loosening  # few have any

    lines = health.loosened(case.paths)
    for line, keys in zip(lines, loosening.still(case.paths, [line.key for line in lines]), strict=True):
        if not keys:
            continue
        through = f"through the {line.channel}" if line.channel != "file" else "by an edit of the file"
        yield finding("D151", f"{line.timestamp}: {line.rule_place}, {through}: {keys}", line.rule_place)


def of_pause(case: Case) -> Iterator[DoctorFinding]:
    with contextlib.suppress(Unusable):  # which is found below
        if paused := pausing.current(case.paths):
            yield finding("D152", paused.told)


def of_decisions(case: Case) -> Iterator[DoctorFinding]:
    if _is_full(case.paths.data):
        return  # nothing is wrong with them, and nobody is to delete one
    for code, path, (why, fix) in (
        ("D148", case.paths.state, health.of_state(case.paths)),
        ("D149", case.paths.policy, health.of_policy(case.paths)),
    ):
        if why:
            yield finding(code, why, path, fix)


def _is_full(data: Path) -> bool:
    error = _unwritable(data) if data.is_dir() else None
    return error is not None and error.errno in _FULL


def _unwritable(data: Path) -> OSError | None:
    """The reason why no file can be made, locked and written there; None if one can."""
    try:
        with files.beside(data / "doctor") as (fd, _):
            posix.lock(fd)
            os.write(fd, b"\n")
    except OSError as error:
        return error
    return None


def _rebuilt(case: Case) -> str:
    if case.problem:
        return "the index was not made again: the limits of [records] are not known"
    retention.rebuild(case.paths, case.config.records)
    return "mcpctl db rebuild: made the index again, closed sessions of the dead, removed what was left over"
