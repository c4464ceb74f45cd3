"""What journals gained since a position, as the rows that changed."""

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mcpctl.models import Row
from mcpctl.store import calls, index, journal, journal_lines, sessions

Position = Mapping[str, int]
"""How far each journal was followed, by name, in bytes. JSON holds it as it is."""
_AT_ONCE = 1 << 20
"""Bytes of one journal that one step reads, or one line where that is longer."""


@dataclass(frozen=True)
class Change:
    """A session, call or search that is new or has changed: its kind, and its row as it is now."""

    kind: str
    """`session`, `call`, `discovery` or `decision`."""
    row: Row


def since(db: sqlite3.Connection, folder: Path, position: Position) -> tuple[list[Change], Position]:
    """What changed since `position` as far as the index has been caught up, and the position after it.

    Each thing comes once, journal after journal, in the order of the lines that changed it last; of each journal that
    gained anything its session comes first. Much is given in several steps: there is more as long as anything comes.
    """
    reached: dict[str, int] = {}
    changes: list[Change] = []
    for name, end in sorted(index.offsets(db).items()):
        start = position.get(name, 0)
        # One that is shorter than it was is another journal under the name of the old one.
        reached[name] = start = start if start <= end else 0
        if start < end:
            lines, reached[name] = _read(folder / name, start, end)
            changes += _changed(db, lines)
    return changes, reached


def _read(path: Path, start: int, end: int) -> tuple[list[journal_lines.AnyLine], int]:
    """The next lines of a journal, and where they end. None of one that is gone."""
    try:
        with os.fdopen(journal.open_file(path, os.O_RDONLY), "rb") as file:
            file.seek(start)
            text = file.read(min(_AT_ONCE, end - start))
            if b"\n" not in text:
                text += file.readline()
    except OSError:
        return [], end
    whole = text[: text.rfind(b"\n") + 1]
    # What cannot be read was told when the index took it.
    lines = [line for _, line in journal_lines.decode_all(whole, start, lambda _: None)]
    return lines, start + len(whole) if whole else end


def _changed(db: sqlite3.Connection, lines: list[journal_lines.AnyLine]) -> list[Change]:
    ids: dict[tuple[str, str], None] = {}
    whole: dict[str, None] = {}
    for line in lines:
        match line:
            case journal_lines.SessionCreated() | journal_lines.SessionClosed():
                whole[line.id] = None
            case journal_lines.DiscoveryFinished():
                whole[line.session_id] = ids[("discovery", line.id)] = None
            case journal_lines.DecisionMade():
                whole[line.session_id] = ids[("decision", line.id)] = None
            case journal_lines.QuestionAsked():
                pass  # it changes no row
            case _:
                ids.pop(("call", line.id), None)
                whole[line.session_id] = ids[("call", line.id)] = None
    rows = [Change("session", row) for id_ in whole for row in sessions.with_id(db, id_)]
    for kind, id_ in ids:
        table = {"call": "calls", "discovery": "discoveries", "decision": "decisions"}[kind]
        rows += [Change(kind, row) for row in calls.with_id(db, table, id_)]
    return rows
