"""Puts what lines of journals say into the tables of PostgreSQL: the only code that inserts or changes rows there."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from mcpctl.base import fields
from mcpctl.store import projection, schema
from mcpctl.store.journal_lines import CallFinished, DiscoveryFinished, ReadFinished
from mcpctl.store.postgres.schema import BEGINS
from mcpctl.store.projection import Changes, StartedCall

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
_NAMES = {
    "sessions": projection.SESSION.names, "calls": projection.CALL, "discoveries": projection.DISCOVERY.names,
    "reads": projection.READ.names, "decisions": projection.DECISION.names,
}  # fmt: skip
_NUMBERS = ("position",)
# The texts that are no JSON, in which every character stands for itself.
_TEXTS = {
    table: itemgetter(*(
        place for place, name in enumerate(names)
        if fields.types(fields.TABLES[table]).get(name, "str").startswith(("str", "Call", "Session"))
        and name not in _NUMBERS
    ))
    for table, names in _NAMES.items()
}  # fmt: skip
_KINDS = {name: "bigint" if kind.startswith("INTEGER") else "text" for name, kind in schema.stored("calls").items()}
*_GIVEN, _SUM = projection.END.names  # the last has the tokens of the arguments in it, which are in the table


def _update(table: str, moved: Sequence[tuple[str, str, str]], condition: str = "") -> str:
    """The statement that changes rows with some ids: the columns, their new values as `new` has them, and types."""
    arrays = ", ".join(f"${number}::{type_}[]" for number, (_, _, type_) in enumerate(moved, 3))
    names = ", ".join(f"v{number}" for number, _ in enumerate(moved))
    changes = ", ".join(
        f"{column} = {value.format(f'new.v{number}', f'{table}.{column}')}"
        for number, (column, value, _) in enumerate(moved)
    )
    return (
        f"UPDATE {table} SET {changes} FROM unnest($2::text[], {arrays}) AS new (id, {names})"
        f" WHERE machine = $1 AND {table}.id = new.id{condition} RETURNING {table}.id"
    )


_END = _update(
    "calls",
    [*((name, "{0}", _KINDS[name]) for name in _GIVEN), (_SUM, "calls.input_tokens + {0}", "bigint")],
    " AND calls.duration_ms IS NULL",
)
_CLOSE = _update("sessions", [("end_time", "{0}", "text"), ("status", "{0}", "text")])
_INTERRUPT = """UPDATE calls SET status = 'interrupted'
    WHERE machine = $1 AND session_id = ANY($2) AND status = 'running'"""
_DECIDE = _update("calls", [("decision_id", "{0}", "text")])
_ACTIVITY = _update(
    "sessions",
    [
        *((name, "{1} + {0}", "bigint")
          for name in ("tool_call_count", "total_tokens", "discovery_count", "discovery_tokens")),
        ("last_activity", 'greatest({1}, {0} COLLATE "C")', "text"),
    ],
)  # fmt: skip
_USAGE = """INSERT INTO used SELECT $1::uuid, *
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[]) AS new (month, server, tool, calls, last)
    ON CONFLICT (machine, month, server, tool)
    DO UPDATE SET calls = used.calls + excluded.calls, last_used = greatest(used.last_used, excluded.last_used)"""


def months(batch: Iterable[tuple[str, Changes]]) -> set[str]:
    """The months of whose partitions rows come."""
    moments: set[str] = set()
    for _, changes in batch:
        moments.update(line.timestamp[:7] for line in changes.sessions.values())
        moments.update(call.start.timestamp[:7] for call in changes.calls.values())
        moments.update(line.started_at[:7] for _, line in changes.discoveries.values())
        moments.update(line.started_at[:7] for _, line in changes.reads.values())
        moments.update(line.timestamp[:7] for _, line in changes.decisions.values())
    return moments


def apply(db: "psycopg.Connection[Any]", machine: str, batch: Sequence[tuple[str, Changes]]) -> None:
    """Change the rows as lines of these journals say, one change of each; those that are there are not counted again.
    The order is that of the index, `store/tables.py`."""
    every = [changes for _, changes in batch]
    sessions = {id_: (journal, line) for journal, changes in batch for id_, line in changes.sessions.items()}
    _insert(
        db, machine, "sessions", sessions, lambda session: session[1].timestamp,
        lambda session: projection.SESSION.row(session[1], session[0]),
    )  # fmt: skip
    ended = _end(db, machine, (line for changes in every for line in changes.ended))
    if closed := {line.id: line.end_time for changes in every for line in changes.closed}:
        db.execute(_CLOSE, (machine, list(closed), list(closed.values()), ["closed"] * len(closed)))
        db.execute(_INTERRUPT, (machine, list(closed)))
    started = {id_: call for changes in every for id_, call in changes.calls.items()}
    calls = _insert(db, machine, "calls", started, lambda call: call.start.timestamp, projection.call_row)
    if len(calls) < len(started):
        ended += _end(db, machine, (call.end for id_, call in started.items() if id_ not in calls and call.end))
    searches = {id_: lying for changes in every for id_, lying in changes.discoveries.items()}
    discoveries = _insert(db, machine, "discoveries", searches, _started, projection.DISCOVERY.placed)
    read = {id_: lying for changes in every for id_, lying in changes.reads.items()}
    reads = _insert(db, machine, "reads", read, _started, projection.READ.placed)
    decisions = {id_: lying for changes in every for id_, lying in changes.decisions.items()}
    _insert(db, machine, "decisions", decisions, lambda lying: lying[1].timestamp, projection.DECISION.placed)
    if about := {line.call_id: line.id for _, line in decisions.values() if line.call_id}:
        db.execute(_DECIDE, (machine, list(about), list(about.values())))
    of_lines = (line for _, line in discoveries.values()), (line for _, line in reads.values())
    if gained := projection.activity(calls.values(), ended, *of_lines):
        db.execute(_ACTIVITY, (machine, list(gained), *_columns(map(astuple, gained.values()))))
    if used := list(_used(calls.values())):
        db.execute(_USAGE, (machine, *_columns(used)))


def _started(lying: tuple[int, DiscoveryFinished | ReadFinished]) -> str:
    return lying[1].started_at


def _used(calls: Iterable[StartedCall]) -> Iterator[tuple[str, str, str, int, str]]:
    """The month, server, tool, number and last start of calls, in one order for all who write at the same time."""
    by_month: dict[str, list[StartedCall]] = {}
    for call in calls:
        by_month.setdefault(call.start.timestamp[:7], []).append(call)
    for month in sorted(by_month):
        for server, tool, count, last in sorted(projection.usage(by_month[month])):
            yield month, _storable(server), _storable(tool), count, last


def _insert(
    db: "psycopg.Connection[Any]", machine: str, table: str, things: Mapping[str, T], moment: Callable[[T], str],
    row: Callable[[T], Sequence[Any]],
) -> Mapping[str, T]:  # fmt: skip
    """Insert rows; returns those whose id was not there."""
    if not things:
        return things
    moments = sorted(map(moment, things.values()))
    # A line that was written twice has the same time: only the partitions of these times are looked into.
    there = f"SELECT id FROM {table} WHERE machine = $1 AND id = ANY($2) AND {BEGINS[table]} BETWEEN $3 AND $4"
    known = {id_ for (id_,) in db.execute(there, (machine, list(things), moments[0], moments[-1])).fetchall()}
    new = {id_: thing for id_, thing in things.items() if id_ not in known} if known else things
    names = _NAMES[table]
    texts = _TEXTS[table]
    with db.cursor().copy(f"COPY {table} (machine, {', '.join(names)}) FROM STDIN") as copy:
        for thing in new.values():
            values = row(thing)
            if "\0" in "".join(filter(None, texts(values))):
                values = tuple(map(_storable, values))
            copy.write_row((machine, *values))
    return new


def _end(db: "psycopg.Connection[Any]", machine: str, lines: Iterable[CallFinished]) -> list[CallFinished]:
    """End calls that are in the table; returns the lines that ended one."""
    ends: dict[str, CallFinished] = {}
    for line in lines:
        ends.setdefault(line.id, line)
    if not ends:
        return []
    rows = (tuple(map(_storable, projection.end_row(line, 0))) for line in ends.values())
    return [ends[id_] for (id_,) in db.execute(_END, (machine, list(ends), *_columns(rows))).fetchall()]


def _columns(rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
    return map(list, zip(*rows, strict=True))


def _storable(value: Any) -> Any:
    """The value, without the one character that PostgreSQL takes in no text."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if type(value) is str and "\0" in value else value
