"""Whether what the store keeps is whole: looked at as it lies, and changed in nothing."""

import os
import shlex
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from mcpctl.base.errors import Unusable
from mcpctl.base.fields import LOOSENED
from mcpctl.base.paths import Paths
from mcpctl.policy import policy_file
from mcpctl.store import index, journal, journal_lines, sqlite, state_file
from mcpctl.store.sqlite import DatabaseKind

_LOOKS_S = 0.5
_STEPS = 10_000  # SQLite's steps between two looks at the clock
_MOST_READ = 32 << 20  # bytes of journals that are read, the newest first: so many are quick
_MOST_BAD = 1000
_LOOSENED_S = 7 * 86_400
_MOST_LOOSENED = 10


@dataclass
class Journals:
    count: int = 0
    bytes: int = 0
    read: int = 0
    unreadable: dict[Path, str] = field(default_factory=dict)
    bad_lines: dict[Path, list[int]] = field(default_factory=dict)  # the begins of unreadable lines


def journals(sessions: Path) -> Journals:
    looked = Journals()
    try:
        names = sorted((name for name in os.listdir(sessions) if name.endswith(".jsonl")), reverse=True)  # noqa: PTH208 - names are all that is needed
    except OSError as error:
        if os.path.lexists(sessions):
            looked.unreadable[sessions] = error.strerror or str(error)
        return looked
    for name in names:
        path = sessions / name
        looked.count += 1
        try:
            _look(path, looked)
        except OSError as error:
            if os.path.lexists(path):
                looked.unreadable[path] = error.strerror or str(error)
            else:
                looked.count -= 1  # evicted meanwhile
    return looked


def damage(path: Path) -> str | None:
    """The damage of a database, as far as that can be told quickly; None for one that is whole, or is not there."""
    # Twice: a file that nobody had open is read as it lies, and looks damaged if somebody begins to write it then.
    return _damage(path) and _damage(path)


def dead(paths: Paths) -> list[str]:
    """The sessions that are open in the index though their processes are gone."""
    try:
        with closing(sqlite.connect_unchanged(paths.index, patience_s=_LOOKS_S)) as db:
            index.mark_the_dead(db, paths.sessions)
            return [row[0] for row in db.execute(index.DEAD)]
    except sqlite3.Error:
        return []  # there is no index, or it is damaged


def loosened(paths: Paths) -> list[journal_lines.DecisionMade]:
    """The last days' changes by which more may be called without a yes, the newest first, of the command line."""
    found = []
    since = time.time() - _LOOSENED_S
    for path in paths.sessions.glob("*000000000_*.jsonl"):
        try:
            if path.stat().st_mtime < since:
                continue
            with os.fdopen(journal.open_file(path, os.O_RDONLY), "rb") as file:
                text = file.read(_MOST_READ)
        except OSError:
            continue
        lines = journal_lines.decode_all(text[: text.rfind(b"\n") + 1], 0, lambda _: None)
        found += [
            line for _, line in lines if isinstance(line, journal_lines.DecisionMade) and line.decision == LOOSENED
        ]
    return sorted(found, key=lambda line: line.timestamp, reverse=True)[:_MOST_LOOSENED]


def leftovers(paths: Paths) -> list[Path]:
    """Files that older versions, and processes that were killed while writing, have left in the data directory."""
    unfinished = [path for path in paths.sessions.glob("*.new") if not journal.is_alive(path)]
    return [path for path in paths.older_indexes if os.path.lexists(path)] + unfinished


def of_state(paths: Paths) -> tuple[str, str]:
    """The problem of state.db, and its fix; empty where it can be used."""
    return _of(paths.state, state_file.KIND)


def of_policy(paths: Paths) -> tuple[str, str]:
    """The problem of policy.db, and its fix; empty where it can be used."""
    try:
        policy_file.PolicyFile.is_made(paths)
    except Unusable as error:
        if error.code == "policy_damaged":
            return error.message, error.hint
    why, fix = _of(paths.policy, policy_file.KIND)
    if not why and _is_held(paths.policy):
        return (
            "another process has it, so that nothing can be decided or pinned",
            f"end what holds it: fuser {shlex.quote(str(paths.policy))}",
        )
    return why, fix


def _is_held(path: Path) -> bool:
    """Whether somebody has it for so long that a writer would give up; nobody does where it has no log."""
    if not all(file.is_file() for file in sqlite.files(path)[:2]):
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_LOOKS_S)) as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
    except sqlite3.Error as error:
        return sqlite.is_held(error)
    return False


def _damage(path: Path) -> str | None:
    if not os.path.lexists(path):
        return None
    if not path.is_file():
        return journal.NOT_REGULAR  # and to open a pipe would be to wait for its writer
    try:
        with closing(sqlite.connect_unchanged(path, patience_s=_LOOKS_S)) as db:
            last = time.monotonic() + _LOOKS_S
            db.set_progress_handler(lambda: time.monotonic() > last, _STEPS)
            (result,) = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        in_time = getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT
        return str(error) if in_time and not sqlite.is_held(error) else None
    return None if result == "ok" else str(result)


def _of(path: Path, kind: DatabaseKind) -> tuple[str, str]:
    if os.path.lexists(path) and not os.access(path, os.R_OK):
        return "it cannot be read", f"chmod u+rw {path}"
    if why := damage(path):
        return why, sqlite.removal(path, kind)
    try:
        with closing(sqlite.connect_unchanged(path, patience_s=_LOOKS_S)) as db:
            sqlite.refuse_newer({name for (name,) in db.execute("SELECT name FROM steps")}, kind)
    except Unusable as error:
        return error.message, error.hint
    except sqlite3.Error:
        return "", ""  # it is not there, has no table yet, or another process has it at this moment
    return "", ""


def _look(path: Path, looked: Journals) -> None:
    with os.fdopen(journal.open_file(path, os.O_RDONLY), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        looked.bytes += size
        text = file.read(max(0, _MOST_READ - looked.read))
    looked.read += len(text)
    whole = text[: text.rfind(b"\n") + 1]
    bad: list[int] = []
    for _ in journal_lines.decode_all(whole, 0, bad.append):
        if len(bad) >= _MOST_BAD:
            break
    if bad:
        looked.bad_lines[path] = bad
