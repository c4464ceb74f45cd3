"""Totals of the calls on record: how many, how they ended, what they took."""

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from mcpctl.base.errors import WrongUsage
from mcpctl.base.fields import TOTAL_FIELDS
from mcpctl.base.models import NOT_THERE, Found, Row
from mcpctl.base.tool_keys import OWN
from mcpctl.store import journal_lines, query, schema
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.query import Database
from mcpctl.store.sqlite import Dialect

TIMES = ("day", "hour")  # groups that follow each other, those of the place where this runs
GROUPS = ("server", "tool", "project", "client_name", "token", "status", *TIMES)
_NUMBER = "count(*) FILTER (WHERE {})"
_DONE, _REFUSED = (_NUMBER.format(f"status = '{status}'") for status in ("ok", "denied"))
_FAILED = _NUMBER.format(schema.call_failed("dead"))
_ERRORS = f"({_FAILED} - {_REFUSED})"
_NO_NAME = f"IN ({', '.join(map(repr, NOT_THERE))})"
_PERCENT = f"round(100.0 * ({_ERRORS} - {{0}}) / nullif({_ERRORS} - {{0}} + {_DONE}, 0), 1)"
_TOKENS = ("input_tokens", "output_tokens", "total_tokens")
# A refusal takes no time, and says nothing of how long calls take.
_TAKES_TIME = "duration_ms IS NOT NULL AND status <> 'denied'"
_NUMBERS = ("calls", "done", "errors", "refused", "failed", "denied")  # they are 0 where there is none
_LOOKED_AT = 10_000  # of a server's newest calls, for the last one that was done
_OF_SESSION = (*_NUMBERS, "total_tokens", "duration_ms")
FIELDS = TOTAL_FIELDS
_OF_ERROR = {
    "server": "server", "tool": "tool", "error": schema.error_group("dead"), "outcome": schema.call_outcome("dead"),
    "calls": "count(*)", "sessions": "count(DISTINCT session_id)", "first_used": "min(started_at)",
    "last_used": "max(started_at)", "example": "substr(max(started_at || id), 25)",
}  # fmt: skip

_AROUND_KEY = len('{"toolKey":":","arguments":}')
_SUM = "(SELECT coalesce(sum(({} + 3) / 4), 0) FROM {} WHERE session_id = sessions.id)"
_BYTES_OF_KEY = f"CASE via WHEN 'direct' THEN 0 ELSE length(server) + length(tool) + {_AROUND_KEY} END"


def _groups(sql: Dialect) -> Mapping[str, str]:
    return {
        **{name: name for name in GROUPS}, "token": "token_id", "status": schema.call_status("dead"),
        "day": sql.day.format("started_at"), "hour": sql.hour.format("started_at"),
    }  # fmt: skip


@functools.cache
def calls(sql: Dialect) -> str:
    """The number of calls. The rounds of a call, after its tool had asked for input, have a row each; together they are
    one call. The last round applies, since calls are chosen and grouped by how they ended."""
    # By their numbers, which the index of the totals has. Which were followed is looked up only where there is such a
    # round: that goes through all calls.
    followed = (
        f"SELECT earlier.{sql.number} FROM calls AS later JOIN calls AS earlier ON earlier.id = later.parent_id"
        f" WHERE later.via <> '{journal_lines.REPLAY}' AND later.server <> '{OWN}'"
    )
    return _NUMBER.format(f"status <> 'input_required' OR calls.{sql.number} NOT IN ({followed})")


@functools.cache
def _totals(sql: Dialect, of_reads: bool) -> Mapping[str, str]:
    # By the index of what went wrong: that of the totals has no codes.
    of_nothing = f"SELECT {sql.number} FROM calls WHERE status <> 'ok' AND error_code {_NO_NAME}"
    code = sql.error_code.format("error")
    is_of_nothing = f"{code} {_NO_NAME}" if of_reads else f"calls.{sql.number} IN ({of_nothing})"
    not_there = _NUMBER.format(f"status = 'failed' AND {is_of_nothing}")
    return {
        "calls": "count(*)" if of_reads else calls(sql),
        "done": _DONE,
        "errors": _ERRORS,
        "refused": _REFUSED,
        "error_percent": _PERCENT.format(not_there),
        "failed": _FAILED,
        "denied": _REFUSED,
        "p50_ms": sql.p50.format("duration_ms", _TAKES_TIME),
        "p95_ms": sql.p95.format("duration_ms", _TAKES_TIME),
        "longest_ms": "max(duration_ms) FILTER (WHERE status <> 'denied')",
        "duration_ms": "sum(duration_ms)",
        **{name: "NULL" if of_reads else f"sum({name})" for name in _TOKENS},
        "last_used": "max(started_at)",
        "not_there": not_there,
    }


def overheads(sql: Dialect) -> Mapping[str, str]:
    """The columns of a session by which its tokens are compared with those without mcpctl."""
    bytes_of_query = " + ".join(map(sql.size.format, ("query", "coalesce(context, '')")))
    return {
        **query.plain("id", "client_name", "project", "last_activity", "discovery_tokens", "direct"),
        "query_tokens": _SUM.format(bytes_of_query, "discoveries"),
        "key_tokens": _SUM.format(_BYTES_OF_KEY, "calls"),
    }


def totals(
    db: Database, by: Sequence[str] = (), criteria: CallFilter = EVERYTHING, *,
    fields: Sequence[str] = FIELDS, of_reads: bool = False,
) -> Sequence[Row]:  # fmt: skip
    """A row for each group, the one with the most calls first, or by time where that is grouped by: the group, then
    `fields`. Without groups it is one row, of all calls. Tokens are null where there is none, times where none has
    ended. Percentiles are exact: the least duration that so many of a hundred calls did not exceed. Prompts and
    resources that were read have totals of their own, without tokens; the tool is then the name or the URI."""
    if strange := [name for name in by if name not in GROUPS]:
        raise WrongUsage(f"calls are not grouped by '{strange[0]}'", f"groups: {', '.join(GROUPS)}")
    sql = db.dialect
    # By an index of its own a group would be read from the rows, and these from all over the file.
    of, groups = _totals(sql, of_reads), {**_groups(sql), **({"tool": "name"} if of_reads else {})}
    columns = {**{name: sql.by_order(groups[name]) for name in by}, **{name: of[name] for name in fields}}
    table = "reads" if of_reads else "calls"
    conditions = query.on_reads(criteria, sql) if of_reads else query.on_calls(criteria, sql)
    selection = ", ".join(f'{each} AS "{name}"' for name, each in columns.items())
    numbers = ", ".join(str(number) for number, _ in enumerate(by, 1))
    most_first = "" if set(TIMES).intersection(by) else f"{of['calls']} DESC, "
    in_order = ", ".join(f"{number} NULLS FIRST" for number, _ in enumerate(by, 1))
    grouped = f" GROUP BY {numbers} ORDER BY {most_first}{in_order}" if by else ""
    rows = db.execute(f"SELECT {selection} FROM {table}{conditions.where}{grouped}", conditions.values)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def counted(db: Database, by: Sequence[str], criteria: CallFilter = EVERYTHING) -> Counter[str]:
    """The rows that a list has, by what these groups are together, with a colon between them."""
    conditions, expressions = query.on_calls(criteria, db.dialect), _groups(db.dialect)
    groups = ", ".join(db.dialect.by_order(expressions[name]) for name in by)
    numbers = ", ".join(str(number) for number, _ in enumerate(by, 1))
    rows = db.execute(f"SELECT {groups}, count(*) FROM calls{conditions.where} GROUP BY {numbers}", conditions.values)
    return Counter({":".join(name or "" for name in names): count for *names, count in rows})


def of_session(db: Database, session: str) -> Sequence[Row]:
    """Totals by tool: `{server, tool, calls, done, errors, refused, failed, denied, total_tokens, duration_ms}`."""
    return totals(db, ("server", "tool"), CallFilter(sessions=(session,)), fields=_OF_SESSION)


def errors(db: Database, criteria: CallFilter = EVERYTHING, sort: str | None = None) -> Found:
    """A row of `fields.ErrorGroup` for each kind of failure of a tool, most calls or most of `sort` first."""
    conditions = query.on_calls(criteria, db.dialect).when("status <> 'ok'").when(schema.call_failed("dead"))
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in _OF_ERROR.items())
    tool = ", ".join(map(db.dialect.by_order, ("server", "tool")))
    grouped = f"SELECT {selection} FROM calls{conditions.where} GROUP BY {tool}, 3, 4"
    counted: list[int] = []  # as long as all that failed is grouped, the groups are counted, too

    def rows(limit: int | None, offset: int) -> Iterator[Row]:
        order = f"ORDER BY {sort or 'calls'} DESC, last_used DESC, server, tool, error LIMIT ? OFFSET ?"
        given = (*conditions.values, db.dialect.every if limit is None else limit, offset)
        for *values, number in db.execute(f"SELECT *, count(*) OVER () FROM ({grouped}) AS groups {order}", given):
            counted[:] = [number]
            yield dict(zip(_OF_ERROR, values, strict=True))

    def count() -> int:
        ask = f"SELECT count(*) FROM ({grouped}) AS groups"
        return counted[0] if counted else int(db.execute(ask, conditions.values).fetchone()[0])

    return Found(count, rows, filtered=bool(query.on_calls(criteria, db.dialect).where))


def health(db: Database, servers: Collection[str], since: str) -> Mapping[str, Row]:
    """By server the totals of its calls since then, and `last_done`, the start of the newest call that was done, of
    the newest 10,000. A mistyped tool is no error of the server's."""
    rows = totals(db, ("server",), CallFilter(since=since), fields=(*FIELDS, "not_there"))
    counted = {row["server"]: {**row, "errors": row["errors"] - row["not_there"]} for row in rows}
    none = {name: 0 if name in _NUMBERS else None for name in FIELDS}
    return {
        server: {"server": server, **counted.get(server, none), "last_done": _last_done(db, server)}
        for server in servers
    }


def _last_done(db: Database, server: str) -> str | None:
    newest = "SELECT started_at, status FROM calls WHERE server = ? ORDER BY started_at DESC LIMIT ?"
    done = f"SELECT started_at FROM ({newest}) AS newest WHERE status = 'ok' LIMIT 1"
    row = db.execute(done, (server, _LOOKED_AT)).fetchone()
    return row[0] if row else None
