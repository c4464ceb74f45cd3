"""The tables of sessions and calls, made of the lines that are in PostgreSQL: by the projection that the index has."""

from collections.abc import Collection, Iterator
from datetime import datetime
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from mcpctl.base.errors import warn
from mcpctl.store import journal_lines, projection
from mcpctl.store.journal_lines import AnyLine, DiscoveryFinished, ReadFinished
from mcpctl.store.postgres import schema, tables
from mcpctl.store.postgres.connection import PostgresUrl

if TYPE_CHECKING:
    import psycopg

_GROUP = 4 << 20  # bytes of lines that are taken at once
_BEHIND = """SELECT name, position, least(shipped, position + $2::bigint) FROM journals JOIN projected
    ON projected.machine = journals.machine AND projected.journal = journals.name
    WHERE journals.machine = $1 AND shipped > position{} ORDER BY name LIMIT 500"""
_LOCK = "SELECT position FROM projected WHERE machine = $1 AND journal = ANY($2) ORDER BY journal FOR UPDATE"
_LINES = """SELECT lines.journal, lines.position, lines.line
    FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS part (journal, begins, ends)
    JOIN journal_lines AS lines ON lines.machine = $1 AND lines.journal = part.journal
    AND lines.position >= part.begins AND lines.position < part.ends ORDER BY 1, 2"""
_MOVE = """UPDATE projected SET position = moved.position
    FROM unnest($2::text[], $3::bigint[]) AS moved (journal, position)
    WHERE machine = $1 AND projected.journal = moved.journal"""
_LENGTH = len("2026-11-26T12:00:00.000Z")
_FIRST = "1000"  # the years before have no partitions


class Tables:
    """The tables of one machine in a database."""

    def __init__(self, db: "psycopg.Connection[Any]", url: PostgresUrl, machine: str) -> None:
        self._db = db
        self._url = url
        self._machine = machine

    def catch_up(self, names: Collection[str] | None = None) -> None:
        """Take the lines that are not in them, of all journals or these, some in each transaction."""
        some = ("", ()) if names is None else (" AND name = ANY($3)", (list(names),))
        while behind := self._db.execute(_BEHIND.format(some[0]), (self._machine, _GROUP, *some[1])).fetchall():
            part, room = [], _GROUP
            for name, begin, end in behind:
                if room > 0:
                    part.append((name, begin, end))
                    room -= end - begin
            self._take(*map(list, zip(*part, strict=True)))

    def _take(self, names: list[str], begins: list[int], ends: list[int]) -> None:
        rows = self._db.execute(_LINES, (self._machine, names, begins, ends)).fetchall()
        journals = {
            name: list(projection.batches(_decoded(name, lines))) for name, lines in groupby(rows, itemgetter(0))
        }
        # Journals know nothing of each other: the first changes of all are made at once, then the second ones.
        rounds = [
            [(name, changes) for name, changes in zip(journals, each, strict=True) if changes]
            for each in zip_longest(*journals.values())
        ]
        # Before the transaction: all other machines wait for whoever makes partitions.
        for month in sorted(set().union(*map(tables.months, rounds)) - schema.months(self._db)):
            self._db.execute("SELECT make_partitions($1)", (month,))
        with self._db.transaction():
            locked = [at for (at,) in self._db.execute(_LOCK, (self._machine, names)).fetchall()]
            schema.check(self._db, self._url)  # a newer mcpctl may have made the tables anew meanwhile
            if locked != begins:
                return  # taken by another process meanwhile
            for batch in rounds:
                tables.apply(self._db, self._machine, batch)
            self._db.execute(_MOVE, (self._machine, names, ends))


def _decoded(name: str, rows: Iterator[tuple[str, int, str]]) -> Iterator[tuple[int, AnyLine]]:
    for _, position, text in rows:
        try:
            line = journal_lines.decode(text.encode())
            if line is not None:
                _check_time(line.timestamp)
                if isinstance(line, DiscoveryFinished | ReadFinished):
                    _check_time(line.started_at)
                yield position, line
        except (msgspec.DecodeError, RecursionError, ValueError):
            if text.strip():
                warn(f"{name}: the line at byte {position} cannot be read; lists over PostgreSQL do not have it")


def _check_time(time: str) -> None:
    """Raise ValueError for what is no time: by it a partition is chosen, and a day."""
    if len(time) != _LENGTH or time[-1] != "Z" or not time.isascii() or time < _FIRST:
        raise ValueError(time)
    datetime.fromisoformat(time)
