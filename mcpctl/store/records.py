"""The records, for commands, completion, search and pages: lists, single things, totals, and news."""

import sqlite3
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from mcpctl.base.fields import CALL_FIELDS, LOOSENED
from mcpctl.base.models import Found, Progress, Row, Usage, unseen
from mcpctl.base.paths import Paths
from mcpctl.store import query, schema, sqlite
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.query import BY_TIME, Conditions, Database
from mcpctl.store.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from mcpctl.store.events import JournalEvents
    from mcpctl.store.followed_searches import Followed, Taught
    from mcpctl.store.history import History
    from mcpctl.store.journal_files import JournalSource

_PATIENCE_S = 0.5
_BY_ACTIVITY = "last_activity DESC, id"
_LAST_SESSION = f"(via = 'cli' AND tool_call_count = 0), {_BY_ACTIVITY}"  # never a command without calls


class Records(Protocol):
    """All that is on record, read in a `with` block, of one thread.

        with LocalRecords(paths) as records:
            failed = list(records.calls(CallFilter(statuses=("failed",))).rows(20, 0))

    Rows, with the fields of `mcpctl.base.fields`, are read as they are asked for: a million take no more memory than 1.
    """

    source: str = ""  # the database that has them, where it is not that of a data directory

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: Any) -> bool | None: ...

    def another(self) -> "Records":
        """The same records, for another thread."""

    @property
    def _db(self) -> Database: ...

    # ---- lists

    def sessions(self, criteria: CallFilter = EVERYTHING, *statuses: str) -> Found:
        """Sessions, last activity newest first: active in that time, with such calls, and the `tokens` of their calls
        and searches. `statuses` are those of the sessions; those of `criteria` are of calls."""
        columns = {**self._selections("sessions"), "tokens": "total_tokens + discovery_tokens"}
        return query.select(self._db, "sessions", columns, self._of_sessions(criteria, statuses), _BY_ACTIVITY)

    def overheads(self, criteria: CallFilter = EVERYTHING, *statuses: str) -> Found:
        """The tokens for searching and calling, by client's session."""
        from mcpctl.store import statistics

        conditions = self._of_sessions(criteria, statuses).equal("via", "client")
        return query.select(self._db, "sessions", statistics.overheads(self._db.dialect), conditions, _BY_ACTIVITY)

    def calls(
        self, criteria: CallFilter = EVERYTHING, fields: Sequence[str] = CALL_FIELDS, sort: str | None = None
    ) -> Found:
        """Calls, newest first, or with most of `sort` first, one of `CALL_SORTS`. They have these fields, which may be
        some that are made of others, too."""
        order = f"{sort} DESC NULLS LAST, {BY_TIME}" if sort and sort != "started_at" else BY_TIME
        conditions = query.on_calls(criteria, self._db.dialect)
        found = query.select(self._db, "calls", self._of_calls(fields), conditions, order)
        if "arguments_line" not in fields:
            return found
        from mcpctl.store import arguments

        return replace(found, rows=partial(arguments.with_lines, found))

    def discoveries(self, criteria: CallFilter = EVERYTHING) -> Found:
        """Searches, newest first. They have no servers, tools, statuses and hints to ask for."""
        conditions = query.on_searches(criteria, self._db.dialect)
        return query.select(self._db, "discoveries", self._selections("discoveries"), conditions, BY_TIME)

    def reads(self, criteria: CallFilter = EVERYTHING) -> Found:
        """Prompts that were got and resources that were read, newest first; they have no tools and hints."""
        conditions = query.on_reads(criteria, self._db.dialect)
        return query.select(self._db, "reads", self._selections("reads"), conditions, BY_TIME)

    def decisions(self, *, session: str | None = None, call: str | None = None) -> Found:
        """Decisions in their order, also on attempts that became no call."""
        conditions = Conditions().equal("session_id", session).equal("call_id", call)
        order = "made_at, session_id, position"
        return query.select(self._db, "decisions", self._selections("decisions"), conditions, order)

    def decisions_made(
        self, criteria: CallFilter = EVERYTHING, decisions: Sequence[str] = (), channels: Sequence[str] = ()
    ) -> Found:
        """Decisions, newest first, with the client whose session they are of."""
        client = "(SELECT client_name FROM sessions WHERE id = decisions.session_id)"
        columns = {**self._selections("decisions"), "client_name": client}
        conditions = query.on_decisions(criteria, self._db.dialect)
        conditions.any_of("decision", decisions).any_of("channel", channels)
        return query.select(self._db, "decisions", columns, conditions, "made_at DESC, session_id DESC, position DESC")

    def loosened(self, since: str | None, at_most: int = 10) -> Sequence[Row]:
        return list(self.decisions_made(CallFilter(since=since), (LOOSENED,)).rows(at_most, 0))

    def newest_calls(self, prefix: str = "", at_most: int = 50) -> Sequence[Row]:
        """The newest calls whose id begins so: `{id, server, tool, status, started_at}`."""
        columns = query.plain("id", "server", "tool", "status", "started_at")
        return [*query.select(self._db, "calls", columns, query.beginning(prefix), BY_TIME).rows(at_most, 0)]

    def newest_sessions(self, prefix: str = "", at_most: int = 50) -> Sequence[Row]:
        """The newest sessions whose id begins so: `{id, client_name, tool_call_count, last_activity}`."""
        columns = query.plain("id", "client_name", "tool_call_count", "last_activity")
        return [*query.select(self._db, "sessions", columns, query.beginning(prefix), _BY_ACTIVITY).rows(at_most, 0)]

    # ---- single things

    def session_id(self, ref: str) -> str:
        """A full id, a unique beginning, or `last`. Raises `NotFound` or `WrongUsage`, as the next ones do."""
        return query.resolve(self._db, "sessions", ref, _LAST_SESSION, "mcpctl sessions ls")

    def resolved(self, criteria: CallFilter) -> CallFilter:
        return replace(criteria, sessions=tuple(map(self.session_id, criteria.sessions)))

    def call_id(self, ref: str) -> str:
        return query.resolve(self._db, "calls", ref, BY_TIME, "mcpctl calls ls")

    def last_shortened(self) -> str | None:
        row = self._db.execute(f"SELECT id FROM calls WHERE shortened = 1 ORDER BY {BY_TIME} LIMIT 1").fetchone()
        return row[0] if row else None

    def session(self, ref: str, call_fields: Sequence[str] | None = None) -> Row:
        """One session with `tools` (totals), `calls` (these fields, else no responses), `reads` and `decisions`."""
        from mcpctl.store import statistics

        id_ = self.session_id(ref)
        (row,) = query.with_id(self._db, "sessions", id_)
        of_session = Conditions().equal("session_id", id_)
        fields = call_fields or [name for name in self._selections("calls") if name not in ("response", "session_id")]
        of_reads = {name: sql for name, sql in self._selections("reads").items() if name != "session_id"}
        return {
            **row,
            "tools": statistics.of_session(self._db, id_),
            "calls": query.select(self._db, "calls", self._of_calls(fields), of_session, "position"),
            "reads": query.select(self._db, "reads", of_reads, of_session, "position"),
            "decisions": self.decisions(session=id_),
        }

    def timeline(self, ref: str, call_fields: Sequence[str]) -> Found:
        """The events of a session, from its beginning on: rows of `timeline.of_session`."""
        from mcpctl.store import timeline

        return timeline.of_session(self._db, self.session_id(ref), self._of_calls(call_fields))

    def client_of(self, session_id: str) -> str | None:
        """The name of a session's client; None where it has none, or is gone."""
        row = self._db.execute("SELECT client_name FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return row[0] if row else None

    def call(self, ref: str) -> Row:
        """A call whole, or a search; `ref` is a full id, a unique prefix, or `last` for the last call."""
        if ref != "last" and not query.is_any(self._db, "calls", ref) and query.is_any(self._db, "discoveries", ref):
            search = query.resolve(self._db, "discoveries", ref, BY_TIME, "mcpctl calls ls --kind discovery")
            return query.with_id(self._db, "discoveries", search)[0]
        (call,) = query.with_id(self._db, "calls", self.call_id(ref))
        return {**call, "decisions": [*self.decisions(call=call["id"]).rows(None, 0)]}

    def _selections(self, table: str) -> Mapping[str, str]:
        return schema.selections(self._db.dialect)[table]

    def _of_calls(self, fields: Sequence[str]) -> Mapping[str, str]:
        made = schema.selections_of_calls(self._db.dialect)
        return {name: made[name] for name in (*fields, *self._db.dialect.also)}

    def _of_sessions(self, criteria: CallFilter, statuses: Sequence[str]) -> Conditions:
        conditions = query.on_sessions(criteria, self._db.dialect)
        return conditions.any_of(f"({schema.session_status('dead')})", statuses)

    # ---- totals

    def usage(self) -> Usage:
        rows = self._db.execute("SELECT server, tool, calls, last_used FROM usage")
        return {(server, tool): (count, last_used) for server, tool, count, last_used in rows}

    def totals(
        self, *by: str, criteria: CallFilter = EVERYTHING, sort: str | None = None, of_reads: bool = False
    ) -> Sequence[Row]:
        """A row for each group of `statistics.GROUPS`, most calls or most of `sort` first; one for all without `by`."""
        from mcpctl.store import statistics

        rows = statistics.totals(self._db, by, criteria, of_reads=of_reads)
        return sorted(rows, key=lambda row: (row[sort] is not None, row[sort]), reverse=True) if sort else rows

    def counted(self, by: Sequence[str], criteria: CallFilter = EVERYTHING) -> Counter[str]:
        """The rows of `calls` by some of `statistics.GROUPS`, with a colon between several."""
        from mcpctl.store import statistics

        return statistics.counted(self._db, by, criteria)

    def names(self, noun: str) -> Iterator[str]:
        """The names of a `server`, `client`, or `project`, or the keys of a `tool`; some more than once."""
        return query.named(self._db, noun, self.usage())

    def health(self, since: str) -> Mapping[str, Row]:
        """By server, for all that have ever been called: the totals of its calls since then, and `last_done`, the start
        of the newest call that was done, whenever that was, among the newest 10,000."""
        from mcpctl.store import statistics

        return statistics.health(self._db, {server for server, _ in self.usage()}, since)

    def errors(self, criteria: CallFilter = EVERYTHING, sort: str | None = None) -> Found:
        """The failures by tool and text, a row of `fields.ErrorGroup` each, most calls or most of `sort` first."""
        from mcpctl.store import statistics

        return statistics.errors(self._db, criteria, sort)

    def followed_searches(self, project: str | None = None, taught: "Taught | None" = None) -> "Followed":
        from mcpctl.store import followed_searches

        return followed_searches.of(self._db, project, taught)

    # ---- what is new

    def refreshed(self) -> bool:
        """See what came meanwhile, unless that has to wait at this moment; whether that was done."""

    def died(self) -> Sequence[str]:
        """The sessions whose process is gone by now, and whose end is not on record."""
        return ()

    def events(
        self, criteria: CallFilter = EVERYTHING, *, since: str | None = None, newest: int = 0,
        without: Collection[str] = (),
    ) -> "JournalEvents":  # fmt: skip
        """The events since a position (of their `position`, or `events.START`), else so many of the newest and those
        that follow, without some types. The first is a `reset` if some may be missing since the position."""
        from mcpctl.store.events import JournalEvents

        return JournalEvents(self._db, self._journals(), criteria, without).beginning(since, newest)

    def _journals(self) -> "JournalSource": ...

    def version(self) -> Hashable:
        """A value that differs once anything has come on record, or gone from it."""

    def evictions(self) -> Sequence[Row]:
        """The removals for limits, newest first: `{timestamp, limit, value, sessions, calls, oldest, newest}`."""
        return ()


class LocalRecords(Records):
    """Those of a data directory. On entering, its index is caught up, in memory where the disk cannot be written."""

    def __init__(self, paths: Paths, on_progress: Progress = unseen) -> None:
        self._paths = paths
        self._on_progress = on_progress
        self._stack = ExitStack()
        self._connection: SqliteDatabase | None = None

    def another(self) -> "LocalRecords":
        return LocalRecords(self._paths)

    @classmethod
    def as_they_lie(cls, paths: Paths) -> "LocalRecords":
        """The records as the index has them, for a glance: nothing made or caught up, no waiting. Entering raises
        `sqlite3.Error` without a readable index. A session whose process was killed counts as active."""
        return _Untouched(paths)

    def __enter__(self) -> Self:
        self._connection = self._open(self._stack)
        query.add_functions(self._connection)
        return self

    def __exit__(self, *error: Any) -> bool | None:
        self._connection = None
        return self._stack.__exit__(*error)

    def _open(self, stack: ExitStack) -> SqliteDatabase:
        from mcpctl.store import index

        return stack.enter_context(index.opened(self._paths, self._on_progress))

    @property
    def _db(self) -> SqliteDatabase:
        assert self._connection, "records are read in a with block"
        return self._connection

    def evictions(self) -> Sequence[Row]:
        if not self._paths.evictions.exists():
            return []
        from mcpctl.store import retention

        return retention.evictions(self._paths)

    def history(self, criteria: CallFilter) -> "History":
        from mcpctl.store.history import History

        return History(self._db, criteria)

    def died(self) -> Sequence[str]:
        from mcpctl.store import index

        index.mark_the_dead(self._db, self._paths.sessions)
        return [id_ for id_, *_ in self._db.execute(index.DEAD)]

    def _journals(self) -> "JournalSource":
        from mcpctl.store.journal_files import JournalFiles

        return JournalFiles(self._db, self._paths.sessions)

    def refreshed(self) -> bool:
        from mcpctl.store import index

        try:
            index.catch_up(self._db, self._paths.sessions, self._on_progress)
            index.mark_the_dead(self._db, self._paths.sessions)
        except sqlite3.OperationalError as error:
            if not sqlite.is_held(error):
                raise sqlite.unwritable(self._paths.index, error) from error
            return False
        return True

    def version(self) -> Hashable:
        from mcpctl.store import index

        return frozenset(index.offsets(self._db).items()), frozenset(self._db.execute("SELECT session_id FROM dead"))

    @staticmethod
    def file(paths: Paths, on_progress: Progress = unseen) -> Path:
        """The file of the index, caught up, for SQL of one's own; raises `Unusable` when it cannot be written."""
        from mcpctl.store import index

        return index.on_disk(paths, on_progress)


class _Untouched(LocalRecords):
    def _open(self, stack: ExitStack) -> SqliteDatabase:
        return stack.enter_context(closing(sqlite.connect_unchanged(self._paths.index, _PATIENCE_S)))


def recorded_usage(paths: Paths, on_progress: Progress = unseen) -> Usage:
    """The use of tools. Where nothing was ever recorded, asking makes no index."""
    if not paths.sessions.exists():
        return {}
    with LocalRecords(paths, on_progress) as records:
        return records.usage()
