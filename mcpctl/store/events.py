"""The lines of the journals as events: each once, across restarts and processes."""

import heapq
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple, Self

from mcpctl.base.fields import CALL_FIELDS
from mcpctl.base.models import Newest, Row
from mcpctl.store import clock, filters, journal_files, projection, query, schema, sqlite
from mcpctl.store.cursor import Cursor, JournalPlace, Lost
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.journal_files import JournalLine, JournalSource
from mcpctl.store.journal_lines import (
    CallFinished,
    CallStarted,
    DiscoveryFinished,
    ReadFinished,
    SessionClosed,
    SessionCreated,
)
from mcpctl.store.query import Database

RESET, _UPDATED = "reset", "sessions.updated"
TYPES = (  # `reset`: events before it may be missing; a journal is gone that was not read to its end
    "sessions.created", _UPDATED, "sessions.closed", "calls.started", "calls.finished",
    "discoveries.finished", "reads.finished", RESET,
)  # fmt: skip
START = "start"
_TICK_S = 1  # a file's time may be so much behind that of the line that was written to it
_ENDED = 1000  # so many of the last calls that ended are known
_COUNTS = ("tool_call_count", "total_tokens", "discovery_count", "discovery_tokens")
_BEGUN = {"status": "active", "end_time": None, **dict.fromkeys(_COUNTS, 0)}
_TOTALS = ("session_id", "tool_call_count", "total_tokens")


@dataclass(frozen=True, slots=True)
class Event:
    type: str  # one of `TYPES`; the dashboard has more, of changes that no journal has
    data: Row
    """The row of the call, session or search as lists have it; of a session `session_id` in place of `id`, and after a
    call only that, `tool_call_count` and `total_tokens`."""
    timestamp: str


class _EventPlace(NamedTuple):
    timestamp: str
    journal: str
    begin: int
    number: int  # the number of the event in its line


class JournalEvents:
    """The events of all journals since a position, or the newest. Rows and totals are the index's at that moment."""

    def __init__(
        self, db: Database, journals: JournalSource, criteria: CallFilter, without: Collection[str] = ()
    ) -> None:
        self._db = db
        self._sql = db.dialect
        self._journals = journals
        self._criteria = criteria
        self._of_rows = replace(criteria, since=None, until=None)  # the time that is compared is that of the event
        self._is_of_reads = filters.is_of_reads(criteria)
        self._is_of_calls = replace(self._of_rows, sessions=(), projects=(), clients=()) != EVERYTHING
        self._without = without
        self._ended = Newest[str, None](_ENDED)
        self._lost = False
        self._cursor = Cursor()

    def beginning(self, since: str | None, newest: int = 0) -> Self:
        """Begin at the text `since`, else with so many of the `newest`."""
        if since is None:
            self._cursor = self._now()
            self._go_back(newest)
        elif since == START:
            for name, begin in self._last_lines().items():
                self._cursor.move(name, JournalPlace(begin))
        else:
            try:
                self._cursor, self._lost = Cursor.read(since, self._journals.ends())
            except Lost:
                self._cursor, self._lost = self._now(), True
        return self

    def position(self) -> str:
        """The text from which they can be told again."""
        return self._cursor.text()

    def look(self) -> object:
        """A value that differs once something may have come."""
        return self._journals.look(name for name, place in self._cursor.places.items() if not place.is_closed)

    def read(self) -> Iterator[Event]:
        """The events up to where the tables were filled, oldest first. Those who stop in the middle go on there."""
        ends = self._journals.ends()
        self._compare(ends)
        if self._lost:
            self._lost = False
            yield Event(RESET, {}, clock.now())
        places = self._cursor.places
        unread = (
            self._journals.read(name, places[name].offset, end)
            for name, end in ends.items() if places[name].offset < end
        )  # fmt: skip
        for line in heapq.merge(*unread, key=attrgetter("entry.timestamp")):
            given = places[line.journal].given
            after = JournalPlace(line.end, 0, isinstance(line.entry, SessionClosed))
            ended = line.entry.id if isinstance(line.entry, CallFinished) else None
            # The end of a call is on record again where it could not be written whole before.
            events = () if ended in self._ended else tuple(self._events(line))
            for number, event in enumerate(events[given:], given + 1):
                self._cursor.move(line.journal, after if number == len(events) else JournalPlace(line.begin, number))
                yield event
            self._cursor.move(line.journal, after)
            if ended:
                self._ended[ended] = None

    def _compare(self, ends: Mapping[str, int]) -> None:
        for name in self._cursor.places.keys() - ends.keys():
            self._lost |= not self._cursor.forget(name).is_closed
        for name, end in ends.items():
            place = self._cursor.places.get(name)
            if place is None or place.offset > end:
                self._lost |= place is not None
                self._cursor.move(name, JournalPlace())
        self._cursor.settle()

    def _now(self) -> Cursor:
        # Asked first: another process may catch up meanwhile, and what is closed here has to be closed at the end, too.
        closed = self._named("status = 'closed'")
        cursor = Cursor()
        for name, end in self._journals.ends().items():
            cursor.move(name, JournalPlace(end, 0, name in closed))
        return cursor

    # ---- the newest

    def _go_back(self, number: int) -> None:
        """Put the position before so many of the newest events, as far as there are so many."""
        places: list[_EventPlace] = []
        journals_seen = 0
        ends = {name: place.offset for name, place in self._cursor.places.items()}
        written = self._journals.written(ends) if number else {}
        first = self._last_lines()
        having: Collection[str] = ends
        for name in sorted(written, key=written.__getitem__, reverse=True):
            if journals_seen == number:
                break  # what is left was written before
            if len(places) == number and clock.iso(written[name] / 1e9 + _TICK_S) < places[-1].timestamp:
                break
            if name not in having:
                continue
            newest = self._newest(name, first.get(name, 0), ends[name], number)
            journals_seen += bool(newest)
            places = heapq.nlargest(number, [*places, *newest])
            if not newest and having is ends:
                having = self._having()  # asked only now, since it may take as long as a list of all such calls
        for event in places:
            self._cursor.move(event.journal, JournalPlace(event.begin, event.number))

    def _newest(self, name: str, first: int, end: int, number: int) -> Sequence[_EventPlace]:
        size = journal_files.AT_ONCE
        while True:
            begin = max(first, end - size)
            events: deque[_EventPlace] = deque(maxlen=number)
            for line in self._journals.read(name, begin, end, from_middle=begin > first):
                of_line = enumerate(self._events(line))
                events.extend(_EventPlace(event.timestamp, name, line.begin, place) for place, event in of_line)
            if len(events) == number or begin == first:
                return events
            size *= 8

    def _last_lines(self) -> Mapping[str, int]:
        """The start of the last line of each older journal: it closes the session, perhaps long after its activity."""
        ends = self._journals.ends()
        old = self._named("last_activity < ?", self._criteria.since) & ends.keys()
        return {name: self._journals.last_line(name, ends[name]) for name in old}

    def _named(self, condition: str, *values: Any) -> set[str]:
        """The journals of the sessions that meet a condition."""
        names = f"SELECT {self._journals.name} FROM sessions WHERE {condition}"
        return {name for (name,) in self._db.execute(names, values)}

    def _having(self) -> Collection[str]:
        """The journals that may have such events, by the rows of the index."""
        criteria = replace(self._criteria, since=None)
        if "running" in criteria.statuses:
            criteria = replace(criteria, statuses=())  # a call that has ended was running when it began
        tables = [("session_id FROM calls", query.on_calls(criteria, self._sql))]
        if self._is_of_reads:
            tables.append(("session_id FROM reads", query.on_reads(criteria, self._sql)))
        if not self._is_of_calls:
            tables.append(("session_id FROM discoveries", query.on_searches(criteria, self._sql)))
            tables.append(("id FROM sessions", query.on_sessions(criteria, self._sql)))
        ids = " UNION ".join(f"SELECT {what}{conditions.where}" for what, conditions in tables)
        values = [value for _, conditions in tables for value in conditions.values]
        return self._named(f"id IN ({ids})", *values)

    # ---- what a line says

    def _events(self, line: JournalLine) -> Iterator[Event]:
        if not (self._criteria.since or "") <= line.entry.timestamp < (self._criteria.until or sqlite.LAST):
            return iter(())
        kind = line.entry.__struct_config__.tag
        if kind in self._without and kind != "calls.finished":  # which has two events: else nothing is looked up
            return iter(())
        return (event for event in self._all_events(line) if event.type not in self._without)

    def _all_events(self, line: JournalLine) -> Iterator[Event]:
        entry = line.entry
        rows: Sequence[Row]
        if isinstance(entry, CallStarted):
            rows = self._has_begun(entry, line.begin)
        elif isinstance(entry, CallFinished):
            rows = self._rows("calls", query.on_calls(self._of_rows, self._sql).equal("id", entry.id))
        elif isinstance(entry, DiscoveryFinished):
            conditions = query.on_searches(self._of_rows, self._sql)
            conditions.equal("id", entry.id).when("position = ?", line.begin)
            rows = [] if self._is_of_calls else self._rows("discoveries", conditions)
        elif isinstance(entry, ReadFinished):
            conditions = query.on_reads(self._of_rows, self._sql).equal("id", entry.id).when("position = ?", line.begin)
            rows = self._rows("reads", conditions) if self._is_of_reads else []
        elif isinstance(entry, SessionCreated):
            rows = [row | _BEGUN | {"last_activity": entry.timestamp} for row in self._session(entry.id)]
        elif isinstance(entry, SessionClosed):
            rows = self._session(entry.id)
        else:
            return
        for row in rows:
            yield Event(str(entry.__struct_config__.tag), row, entry.timestamp)
        if rows and isinstance(entry, CallFinished) and _UPDATED not in self._without:
            for row in self._session(entry.session_id):
                yield Event(_UPDATED, {name: row[name] for name in _TOTALS}, entry.timestamp)

    def _has_begun(self, entry: CallStarted, begin: int) -> list[Row]:
        """The call as it was then. A line that was written twice counts once, as in the index."""
        criteria = self._of_rows
        of_end = (
            criteria.grep,
            criteria.min_duration_ms,
            criteria.errors,
            criteria.codes,
            criteria.redacted,
            criteria.http_statuses,
        )
        if any(each not in (None, (), False) for each in of_end) or (
            criteria.statuses and "running" not in criteria.statuses
        ):
            return []
        conditions = query.on_calls(replace(criteria, statuses=()), self._sql)
        conditions = conditions.equal("id", entry.id).when("position = ?", begin)
        selections = schema.selections_of_calls(self._sql)
        elsewhere = {name: selections[name] for name in (*schema.ELSEWHERE["calls"], *self._sql.also)}
        rows = query.select(self._db, "calls", elsewhere, conditions, "id").rows(1, 0)
        of_table = next(rows, None)
        if of_table is None:
            return []
        values = projection.call_row(projection.StartedCall(begin, entry))
        row = dict(zip(projection.CALL, values, strict=True))
        return [{name: query.value(name, row.get(name)) for name in CALL_FIELDS} | dict(of_table)]

    def _session(self, id_: str) -> list[dict[str, Any]]:
        conditions = query.on_sessions(self._of_rows, self._sql).equal("id", id_)
        rows = [] if self._is_of_calls else self._rows("sessions", conditions)
        return [{"session_id": row["id"], **{name: row[name] for name in row if name != "id"}} for row in rows]

    def _rows(self, table: str, conditions: query.Conditions) -> list[Row]:
        return list(
            query.select(self._db, table, schema.selections(self._db.dialect)[table], conditions, "id").rows(1, 0)
        )
