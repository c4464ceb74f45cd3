"""Totals of the calls on record: how many, how they ended, what they took."""

import itertools
import sqlite3
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import NOT_THERE, Found, Row
from mcpctl.base.tool_keys import OWN
from mcpctl.store import journal_lines, query, schema
from mcpctl.store.filters import EVERYTHING, CallFilter

_EXPRESSIONS = {
    **{name: name for name in ("server", "tool", "project", "client_name")},
    "token": "token_id",
    "status": schema.call_status("dead"),
    "day": "strftime('%Y-%m-%d', started_at, 'localtime')",
    "hour": "strftime('%Y-%m-%d %H:00', started_at, 'localtime')",
}
GROUPS = tuple(_EXPRESSIONS)  # a day and an hour are those of the place where this runs
TIMES = ("day", "hour")  # groups that follow each other
# A refusal takes no time, and says nothing of how long calls take.
_PERCENTILES = "percentiles(duration_ms) FILTER (WHERE duration_ms IS NOT NULL AND status <> 'denied')"
_FOLLOWED = (  # by their numbers, which the index of the totals has
    "SELECT earlier.rowid FROM calls AS later JOIN calls AS earlier ON earlier.id = later.parent_id"
    f" WHERE later.via <> '{journal_lines.REPLAY}' AND later.server <> '{OWN}'"
)
_DONE, _REFUSED = (f"coalesce(sum(status = '{status}'), 0)" for status in ("ok", "denied"))
_FAILED = f"coalesce(sum({schema.call_failed('dead')}), 0)"
_ERRORS = f"({_FAILED} - {_REFUSED})"
_NO_NAME = f"IN ({', '.join(map(repr, NOT_THERE))})"
# By the index of what went wrong: that of the totals has no codes.
_IS_OF_NOTHING = f"calls.rowid IN (SELECT rowid FROM calls WHERE status <> 'ok' AND error_code {_NO_NAME})"
_IS_READ_OF_NOTHING = f"json_valid(error) AND json_extract(error, '$.code') {_NO_NAME}"
_PERCENT = f"round(100.0 * ({_ERRORS} - {{0}}) / nullif({_ERRORS} - {{0}} + {_DONE}, 0), 1)"
_NOT_THERE = "coalesce(sum(status = 'failed' AND {}), 0)"
# The rounds of a call, after its tool had asked for input, have a row each; together they are one call. The last
# round applies, since calls are chosen and grouped by how they ended.
# Which were followed is looked up only where there is such a round: that goes through all calls.
CALLS = f"coalesce(sum(CASE status WHEN 'input_required' THEN calls.rowid NOT IN ({_FOLLOWED}) ELSE 1 END), 0)"
_OF = {
    "calls": CALLS,
    "done": _DONE,
    "errors": _ERRORS,
    "refused": _REFUSED,
    "error_percent": _PERCENT.format(_NOT_THERE.format(_IS_OF_NOTHING)),
    "failed": _FAILED,
    "denied": _REFUSED,
    **{name: f"sum({name})" for name in ("input_tokens", "output_tokens", "total_tokens", "duration_ms")},
    "p50_ms": f"substr({_PERCENTILES}, 1, 20) + 0",
    "p95_ms": f"substr({_PERCENTILES}, 21) + 0",
    "longest_ms": "max(duration_ms) FILTER (WHERE status <> 'denied')",
    "last_used": "max(started_at)",
}
FIELDS = tuple(_OF)
_OF["not_there"] = _NOT_THERE.format(_IS_OF_NOTHING)
_OF_READS = {
    **_OF, "calls": "count(*)", **dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), "NULL"),
    "error_percent": _PERCENT.format(_NOT_THERE.format(_IS_READ_OF_NOTHING)),
}  # fmt: skip
_NUMBERS = ("calls", "done", "errors", "refused", "failed", "denied")  # they are 0 where there is none
_LOOKED_AT = 10_000  # of a server's newest calls, for the last one that was done
_OF_SESSION = (*_NUMBERS, "total_tokens", "duration_ms")
_OF_ERROR = {
    "server": "server", "tool": "tool", "error": schema.error_group("dead"), "outcome": schema.call_outcome("dead"),
    "calls": "count(*)", "sessions": "count(DISTINCT session_id)", "first_used": "min(started_at)",
    "last_used": "max(started_at)", "example": "substr(max(started_at || id), 25)",
}  # fmt: skip

_BYTES_OF_QUERY = "length(CAST(query AS BLOB)) + length(CAST(coalesce(context, '') AS BLOB))"
_AROUND_KEY = len('{"toolKey":":","arguments":}')
_SUM = "(SELECT coalesce(sum(({} + 3) / 4), 0) FROM {} WHERE session_id = sessions.id)"
OVERHEADS = {
    **query.plain("id", "client_name", "project", "last_activity", "discovery_tokens", "direct"),
    "query_tokens": _SUM.format(_BYTES_OF_QUERY, "discoveries"),
    "key_tokens": _SUM.format(f"iif(via = 'direct', 0, length(server) + length(tool) + {_AROUND_KEY})", "calls"),
}


def totals(
    db: sqlite3.Connection, by: Sequence[str] = (), criteria: CallFilter = EVERYTHING, *,
    fields: Sequence[str] = FIELDS, of_reads: bool = False,
) -> Sequence[Row]:  # fmt: skip
    """A row for each group, the one with the most calls first, or by time where that is grouped by: the group, then
    `fields`. Without groups it is one row, of all calls. Tokens are null where there is none, times where none has
    ended. Percentiles are exact: the least duration that so many of a hundred calls did not exceed. Prompts and
    resources that were read have totals of their own, without tokens; the tool is then the name or the URI."""
    if strange := [name for name in by if name not in GROUPS]:
        raise WrongUsage(f"calls are not grouped by '{strange[0]}'", f"groups: {', '.join(GROUPS)}")
    db.create_aggregate("percentiles", 1, _Percentiles)  # type: ignore[arg-type]  # its step is an attribute
    # By an index of its own a group would be read from the rows, and these from all over the file.
    table, expressions = ("reads", _EXPRESSIONS | {"tool": "name"}) if of_reads else ("calls", _EXPRESSIONS)
    of = _OF_READS if of_reads else _OF
    columns = {**{name: f"+{expressions[name]}" for name in by}, **{name: of[name] for name in fields}}
    conditions = query.on_reads(criteria) if of_reads else query.on_calls(criteria)
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
    numbers = ", ".join(str(number) for number, _ in enumerate(by, 1))
    most_first = "" if set(TIMES).intersection(by) else f"{of['calls']} DESC, "
    grouped = f" GROUP BY {numbers} ORDER BY {most_first}{numbers}" if by else ""
    rows = db.execute(f"SELECT {selection} FROM {table}{conditions.where}{grouped}", conditions.values)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def counted(db: sqlite3.Connection, by: Sequence[str], criteria: CallFilter = EVERYTHING) -> Counter[str]:
    """The rows that a list has, by what these groups are together, with a colon between them."""
    conditions, groups = query.on_calls(criteria), ", ".join(f"+{_EXPRESSIONS[name]}" for name in by)
    numbers = ", ".join(str(number) for number, _ in enumerate(by, 1))
    rows = db.execute(f"SELECT {groups}, count(*) FROM calls{conditions.where} GROUP BY {numbers}", conditions.values)
    return Counter({":".join(name or "" for name in names): count for *names, count in rows})


class _Percentiles:
    """An aggregate of SQL: the 50th and the 95th percentile, each in 20 characters; null of nothing."""

    def __init__(self) -> None:
        values = array("q")
        self._values = values
        self.step = values.append  # called a million times, a method of Python's would take as long as everything else

    def finalize(self) -> str | None:
        # Many calls have few durations, in milliseconds: counted, they take a fraction of the memory of a sorted list.
        counts = Counter(self._values)
        ordered = sorted(counts)
        up_to = list(itertools.accumulate(counts[value] for value in ordered))
        ranks = (-(-len(self._values) * percent // 100) for percent in (50, 95) if ordered)
        return "".join(f"{ordered[bisect_left(up_to, rank)]:20}" for rank in ranks) or None


def of_session(db: sqlite3.Connection, session: str) -> Sequence[Row]:
    """Totals by tool: `{server, tool, calls, done, errors, refused, failed, denied, total_tokens, duration_ms}`."""
    return totals(db, ("server", "tool"), CallFilter(sessions=(session,)), fields=_OF_SESSION)


def errors(db: sqlite3.Connection, criteria: CallFilter = EVERYTHING, sort: str | None = None) -> Found:
    """A row of `fields.ErrorGroup` for each kind of failure of a tool, most calls or most of `sort` first."""
    conditions = query.on_calls(criteria).when("status <> 'ok'").when(schema.call_failed("dead"))
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in _OF_ERROR.items())
    grouped = f"SELECT {selection} FROM calls{conditions.where} GROUP BY +server, +tool, 3, 4"
    counted: list[int] = []  # as long as all that failed is grouped, the groups are counted, too

    def rows(limit: int | None, offset: int) -> Iterator[Row]:
        order = f"ORDER BY {sort or 'calls'} DESC, last_used DESC, server, tool, error LIMIT ? OFFSET ?"
        given = (*conditions.values, -1 if limit is None else limit, offset)
        for *values, number in db.execute(f"SELECT *, count(*) OVER () FROM ({grouped}) {order}", given):
            counted[:] = [number]
            yield dict(zip(_OF_ERROR, values, strict=True))

    def count() -> int:
        ask = f"SELECT count(*) FROM ({grouped})"
        return counted[0] if counted else int(db.execute(ask, conditions.values).fetchone()[0])

    return Found(count, rows, filtered=bool(query.on_calls(criteria).where))


def health(db: sqlite3.Connection, servers: Collection[str], since: str) -> Mapping[str, Row]:
    """By server the totals of its calls since then, and `last_done`, the start of the newest call that was done, of
    the newest 10,000. A mistyped tool is no error of the server's."""
    rows = totals(db, ("server",), CallFilter(since=since), fields=(*FIELDS, "not_there"))
    counted = {row["server"]: {**row, "errors": row["errors"] - row["not_there"]} for row in rows}
    none = {name: 0 if name in _NUMBERS else None for name in FIELDS}
    return {
        server: {"server": server, **counted.get(server, none), "last_done": _last_done(db, server)}
        for server in servers
    }


def _last_done(db: sqlite3.Connection, server: str) -> str | None:
    newest = "SELECT started_at, status FROM calls WHERE server = ? ORDER BY started_at DESC LIMIT ?"
    row = db.execute(f"SELECT started_at FROM ({newest}) WHERE status = 'ok' LIMIT 1", (server, _LOOKED_AT)).fetchone()
    return row[0] if row else None


def followed_searches(db: sqlite3.Connection, project: str | None = None) -> list[tuple[Row, list[str]]]:
    """The searches with calls of their results. With a project, those made while it was in force. A call belongs to
    the latest search before it that had its tool. A search is `{query, context}`, its query JSON."""
    rows = db.execute(
        "SELECT session_id, started_at, position, NULL AS key, query, context, results FROM discoveries"
        " WHERE :project IS NULL OR project = :project"
        " UNION ALL SELECT session_id, started_at, position, server || ':' || tool, NULL, NULL, NULL FROM calls"
        " WHERE session_id IN (SELECT session_id FROM discoveries)"
        # At one moment a search was before a call: NULL is sorted before every key.
        " ORDER BY session_id, started_at, key",
        {"project": project},
    )
    followed: list[tuple[tuple[str, str, int], Row, list[str]]] = []
    for session, events in itertools.groupby(rows, key=lambda row: row[0]):
        latest: dict[str, tuple[tuple[str, str, int], Row, list[str]]] = {}
        for _, started_at, position, key, text, context, results in events:
            if key is None:
                search = (started_at, session, position), {"query": text, "context": context}, list[str]()
                latest.update(dict.fromkeys(_result_keys(results), search))
            elif key in latest:
                *_, called = latest[key]
                if not called:
                    followed.append(latest[key])
                called.append(key)
    return [(search, called) for _, search, called in sorted(followed, key=lambda each: each[0])]


def _result_keys(results: str | None) -> list[str]:
    import msgspec

    try:
        hits = msgspec.json.decode(results or "[]", type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError):
        return []
    return [hit["key"] for hit in hits if isinstance(hit.get("key"), str)]
