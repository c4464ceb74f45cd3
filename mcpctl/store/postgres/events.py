"""The lines of journals as events are read of them: from PostgreSQL, where each journal is one of a machine."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec

from mcpctl.store import journal_lines
from mcpctl.store.journal_files import JournalLine, JournalSource
from mcpctl.store.query import Database

_LOOKS_EVERY_S = 1.0
_AT_ONCE = 1000  # lines
_ENDS = "SELECT journal || '/' || CAST(machine AS text), position FROM projected"
_WRITTEN = """SELECT journal || '/' || CAST(machine AS text), (
    SELECT substring(line FROM '"timestamp":"([^"]*)"') FROM journal_lines
    WHERE journal_lines.machine = projected.machine AND journal_lines.journal = projected.journal
    ORDER BY position DESC LIMIT 1) FROM projected"""
_OF_JOURNAL = "FROM journal_lines WHERE journal = ? AND machine = CAST(? AS uuid) AND position"
_LINES = f"SELECT position, line {_OF_JOURNAL} >= ? AND position < ? ORDER BY position LIMIT {_AT_ONCE}"
_LAST = f"SELECT position {_OF_JOURNAL} < ? ORDER BY position DESC LIMIT 1"


class JournalRows(JournalSource):
    """The journals of all machines."""

    name = "journal || '/' || CAST(machine AS text)"

    def __init__(self, db: Database) -> None:
        self._db = db

    def ends(self) -> Mapping[str, int]:
        return dict(self._db.execute(_ENDS).fetchall())

    def look(self, growing: Iterable[str]) -> object:
        return time.monotonic() // _LOOKS_EVERY_S

    def written(self, names: Collection[str]) -> Mapping[str, int]:
        return {name: _nanoseconds(time) for name, time in self._db.execute(_WRITTEN)}

    def read(self, name: str, begin: int, end: int, *, from_middle: bool = False) -> Iterator[JournalLine]:
        while rows := self._rows(name, begin, end):
            begins = [*(position for position, _ in rows), end]
            if len(rows) == _AT_ONCE:
                del rows[-1]  # it is read again: where it ends is not known yet
                begin = begins[-2]
                del begins[-1]
            else:
                begin = end
            for (position, text), (_, after) in zip(rows, pairwise(begins), strict=True):
                with suppress(msgspec.DecodeError, RecursionError):  # that was said when rows were made of it
                    if entry := journal_lines.decode(text.encode()):
                        yield JournalLine(name, position, after, entry)

    def last_line(self, name: str, end: int) -> int:
        journal, _, machine = name.rpartition("/")
        last = self._db.execute(_LAST, (journal, machine, end)).fetchone()
        return int(last[0]) if last else end

    def _rows(self, name: str, begin: int, end: int) -> list[Any]:
        journal, _, machine = name.rpartition("/")
        return self._db.execute(_LINES, (journal, machine, begin, end)).fetchall() if begin < end else []


def _nanoseconds(time: str | None) -> int:
    try:
        return round(datetime.fromisoformat(time or "").timestamp() * 1e9)
    except ValueError:
        return 0
