"""The data directory: whether it can be written, and whether what lies in it can be read."""

import errno
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from mcpctl.base import files, posix
from mcpctl.base.texts import counted
from mcpctl.doctor import health
from mcpctl.doctor.finding import Case, Finding, found
from mcpctl.store import retention

_LITTLE = 50 << 20
_MIB = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)


def of_folder(case: Case) -> Iterator[Finding]:
    """Whether records can be written there."""
    data = case.paths.data
    there = next(folder for folder in (data.absolute(), *data.absolute().parents) if os.path.lexists(folder))
    is_made = there == data.absolute()
    if not is_made and not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        yield found("D141", f"it is not there, and cannot be made in {there}", data)
        return
    if is_made and (error := _unwritable(data)):
        fix = "make room there" if error.errno in _FULL else ""
        yield found("D141", f"it cannot be written: {error.strerror}", data, fix)
        return
    if (free := shutil.disk_usage(there).free) < _LITTLE:
        yield found("D142", f"{free / _MIB:.1f} MB are left", data)
    yield Finding(str(data) if is_made else f"{data} is made when it is first needed")


def of_journals(case: Case) -> Iterator[Finding]:
    """Whether the journals can be read, line by line as far as that is quick."""
    looked = health.journals(case.paths.sessions)
    for path, why in looked.unreadable.items():
        yield found("D143", why, path, "make it a folder that you can read" if path == case.paths.sessions else "")
    for path, places in looked.bad_lines.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield found("D144", f"the line at byte {places[0]}{more} cannot be read", path)
    if looked.count:
        partly = f", of which {looked.read / _MIB:.0f} MB were read now" if looked.read < looked.bytes else ""
        limit = case.config.records.max_mb or "unlimited"
        yield Finding(f"{counted(looked.count, 'journal')} with {looked.bytes / _MIB:.1f} of {limit} MB{partly}")


def of_index(case: Case) -> Iterator[Finding]:
    """Whether the index is whole, and what the next `db rebuild` would do."""
    paths = case.paths
    repair = partial(_rebuilt, case)
    if _is_full(paths.data):
        return  # nothing can be told of it, nor can it be made anew
    if damage := health.damage(paths.index):
        yield found("D145", damage, paths.index, repair=repair)
    elif dead := health.dead(paths):
        sessions = "1 session is" if len(dead) == 1 else f"{len(dead)} sessions are"
        yield found("D147", f"{sessions} open on record, without a process", paths.index, repair=repair)
    if left := health.leftovers(paths):
        yield found("D146", f"left over: {', '.join(path.name for path in left)}", paths.data, repair=repair)


def of_removed(case: Case) -> Iterator[Finding]:
    """What retention has removed, and why."""
    yield from (found("D150", remark) for remark in retention.remarks(retention.evictions(case.paths)))


def of_loosened(case: Case) -> Iterator[Finding]:
    """The changes of late by which more may be called without a question."""
    for line in health.loosened(case.paths):
        through = f"through the {line.channel}" if line.channel != "file" else "by an edit of the file"
        yield found("D151", f"{line.timestamp}: {line.rule_place}, {through}: {line.key}", line.rule_place)


def of_decisions(case: Case) -> Iterator[Finding]:
    """Whether the two databases that are not derived can be used."""
    if _is_full(case.paths.data):
        return  # nothing is wrong with them, and nobody is to delete one
    for code, path, (why, fix) in (
        ("D148", case.paths.state, health.of_state(case.paths)),
        ("D149", case.paths.policy, health.of_policy(case.paths)),
    ):
        if why:
            yield found(code, why, path, fix)


def _is_full(data: Path) -> bool:
    error = _unwritable(data) if data.is_dir() else None
    return error is not None and error.errno in _FULL


def _unwritable(data: Path) -> OSError | None:
    """Why no file can be made, locked and written there; None if one can."""
    try:
        with files.beside(data / "doctor") as (fd, _):
            posix.lock(fd)
            os.write(fd, b"\n")
    except OSError as error:
        return error
    return None


def _rebuilt(case: Case) -> str:
    if case.problem:
        return "the index was not made anew: the limits of [records] are not known"
    retention.rebuild(case.paths, case.config.records)
    return "mcpctl db rebuild: made the index anew, closed sessions of the dead, removed what was left over"
