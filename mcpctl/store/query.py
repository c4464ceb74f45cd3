"""How rows are selected: conditions, windows, references and texts, all as bound parameters."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from mcpctl.base import tool_keys
from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.fields import TABLES, names, types
from mcpctl.base.models import Found, RawJson, Row
from mcpctl.store import filters, schema, sqlite
from mcpctl.store.filters import EVERYTHING, CallFilter

_TYPES = {name: type_ for row in TABLES.values() for name, type_ in types(row).items()}
_JSON_FIELDS = frozenset(name for name, type_ in _TYPES.items() if type_.startswith("Json"))
_BOOL_FIELDS = frozenset(name for name, type_ in _TYPES.items() if type_.startswith("bool"))
COLUMNS = {table: {name: name for name in names(row)} for table, row in TABLES.items()}  # the SQL of each field
COLUMNS["sessions"].update(status=schema.session_status("dead"), end_time=schema.session_end("dead"))
COLUMNS["calls"].update(
    schema.ELSEWHERE["calls"], status=schema.call_status("dead"), outcome=schema.call_outcome("dead"),
    error_group=schema.error_group("dead"),
)  # fmt: skip
COLUMNS["decisions"].update(person=schema.person())
MADE = {  # fields of calls that are made where they are asked for
    "key": "server || ':' || tool",
    "consent": "(SELECT decision || coalesce(' ' || scope, '') || ', ' || channel"
    f" || coalesce(': ' || {schema.person()}, '') FROM decisions WHERE id = calls.decision_id)",
    "arguments_line": "substr(arguments, 1, 2048)",
}  # fmt: skip
BY_TIME = "started_at DESC, session_id DESC, position DESC"
_PLACE = "started_at, session_id, position"
_LETTERS = "RDIO"
_NOT = "no-"
_FEW = 1000  # rows that are found first and read then; many are read as they are found, so that they need no memory


class Conditions:
    """The conditions on a row; one with a value of None asks nothing."""

    def __init__(self) -> None:
        self._sql: list[str] = []
        self.values: list[Any] = []

    def equal(self, expression: str, value: str | None) -> Self:
        return self.when(f"{expression} = ?", value)

    def any_of(self, expression: str, values: Sequence[str]) -> Self:
        if len(values) == 1:
            return self.equal(expression, values[0])
        # By an index of several values the rows would come in several orders, and all be sorted, responses and all.
        return self.when(f"+{expression} IN ({', '.join('?' * len(values))})", *values) if values else self

    def when(self, condition: str, *values: str | int | None) -> Self:
        if None not in values:
            self._sql.append(condition)
            self.values.extend(values)
        return self

    @property
    def where(self) -> str:
        return f" WHERE {' AND '.join(self._sql)}" if self._sql else ""


def select(db: sqlite3.Connection, table: str, columns: Mapping[str, str], conditions: Conditions, order: str) -> Found:
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())

    as_json = [name for name in columns if name in _JSON_FIELDS]
    as_bool = [name for name in columns if name in _BOOL_FIELDS]

    def rows(limit: int | None, offset: int) -> Iterator[Row]:
        chosen = f"{conditions.where} ORDER BY {order} LIMIT ? OFFSET ?"
        if limit is not None and limit <= _FEW:
            # Where all that meets the conditions has to be sorted, it is sorted without its responses.
            chosen = f" WHERE rowid IN (SELECT rowid FROM {table}{chosen}) ORDER BY {order}"
        cursor = db.execute(
            f"SELECT {selection} FROM {table}{chosen}", (*conditions.values, -1 if limit is None else limit, offset)
        )
        for values in cursor:
            row = dict(zip(columns, values, strict=True))
            for name in as_json:
                if row[name] is not None:
                    row[name] = RawJson(row[name])
            for name in as_bool:
                row[name] = None if row[name] is None else bool(row[name])
            yield row

    def count() -> int:
        row = db.execute(f"SELECT count(*) FROM {table}{conditions.where}", conditions.values).fetchone()
        return int(row[0])

    return Found(count, rows, filtered=bool(conditions.where))


def value(name: str, stored: Any) -> Any:
    if stored is None:
        return None
    return RawJson(stored) if name in _JSON_FIELDS else bool(stored) if name in _BOOL_FIELDS else stored


def beginning(prefix: str) -> Conditions:
    # Asked of every id, this would be answered by their index, and all rows then sorted by time.
    return Conditions().when("id >= ? AND id < ?", prefix, prefix + sqlite.LAST) if prefix else Conditions()


def plain(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def named(db: sqlite3.Connection, column: str, *tables: str) -> Iterator[str]:
    """The names in a column of several tables; some more than once."""
    for table in tables:
        rows = db.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        yield from (name for (name,) in rows)


def with_id(db: sqlite3.Connection, table: str, id_: str) -> list[Row]:
    return list(select(db, table, COLUMNS[table], Conditions().equal("id", id_), "id").rows(1, 0))


def resolve(db: sqlite3.Connection, table: str, ref: str, order: str, lister: str) -> str:
    noun = table.removesuffix("s")
    if ref == "last":
        ids = [row[0] for row in db.execute(f"SELECT id FROM {table} ORDER BY {order} LIMIT 1")]
        if not ids:
            raise NotFound(f"no {noun} is on record yet", "connect a client to: mcpctl serve", f"{noun}_not_found")
        return str(ids[0])
    prefix = ref.lower()
    begins_so = f"SELECT id FROM {table} WHERE id >= ? AND id < ? ORDER BY {order} LIMIT 4"
    ids = [id_ for (id_,) in db.execute(begins_so, (prefix, prefix + sqlite.LAST))]
    if not prefix or not ids:
        raise NotFound(f"no {noun} '{ref}'", f"list them with: {lister}", f"{noun}_not_found")
    if len(ids) > 1 and prefix not in ids:
        raise WrongUsage(
            f"'{ref}' is the beginning of several {table}: {', '.join(ids[:3])}{', …' if len(ids) > 3 else ''}",
            "give more of the id",
            f"{noun}_ambiguous",
        )
    return prefix if prefix in ids else str(ids[0])


def add_functions(db: sqlite3.Connection) -> None:
    """Add the functions of conditions that SQLite has not."""
    db.create_function("says", 2, _says, deterministic=True)
    db.create_function("has_argument", 3, _has_argument, deterministic=True)


def _says(text: str | None, lowered: str) -> bool:
    from mcpctl.store import text_search

    return text_search.says(text, lowered)


def _has_argument(recorded: str | None, path: str, value: str) -> bool:
    from mcpctl.store import arguments

    return arguments.has(recorded, path, value)


# ---- the conditions of a filter on each table


def on_calls(criteria: CallFilter) -> Conditions:
    conditions = Conditions().any_of("session_id", criteria.sessions).any_of("parent_id", criteria.parents)
    # The index by server has none of these: each row would have to be read, from all over the file.
    named = criteria.statuses or criteria.errors or criteria.hints or criteria.clients or criteria.projects
    beyond = named or criteria.min_duration_ms
    conditions.any_of("+server" if beyond else "server", criteria.servers)
    _either(conditions, [_tool(tool) for tool in criteria.tools])
    _status(conditions, criteria.statuses)
    conditions.any_of("project", criteria.projects).any_of("client_name", criteria.clients)
    _either(conditions, [("hints GLOB ?", (_hint(hint),)) for hint in criteria.hints])
    _times(conditions, criteria)
    _ends(conditions, criteria)
    conditions.when(f"({_PLACE}) < (SELECT {_PLACE} FROM calls WHERE id = ?)", criteria.before)
    return _text(conditions, criteria.grep, ("arguments", "error", "response"))


def on_searches(criteria: CallFilter) -> Conditions:
    """The conditions on rows of `discoveries`, which have no server, tool, status or hints."""
    conditions = Conditions().any_of("session_id", criteria.sessions).any_of("project", criteria.projects)
    _of_clients(conditions, criteria)
    _times(conditions, criteria)
    return _text(conditions, criteria.grep, ("query", "context", "results"))


def on_reads(criteria: CallFilter) -> Conditions:
    """The conditions on rows of `reads`, the prompts and resources, which have no tool, hints or arguments."""
    conditions = Conditions().any_of("session_id", criteria.sessions).any_of("server", criteria.servers)
    conditions.any_of("status", criteria.statuses).any_of("project", criteria.projects)
    conditions.any_of("client_name", criteria.clients)
    _times(conditions, criteria)
    return _text(conditions, criteria.grep, ("name", "error"))


def on_decisions(criteria: CallFilter) -> Conditions:
    """The conditions on rows of `decisions`: of a server and tool by their key, of a client by its session."""
    conditions = Conditions().any_of("session_id", criteria.sessions).any_of("project", criteria.projects)
    _either(conditions, [("key GLOB ?", (f"{_globbed(server)}:*",)) for server in criteria.servers])
    _either(conditions, [_of_key(tool) for tool in criteria.tools])
    _of_clients(conditions, criteria)
    return conditions.when("made_at >= ?", criteria.since).when("made_at < ?", criteria.until)


def _of_clients(conditions: Conditions, criteria: CallFilter) -> None:
    if criteria.clients:
        inner = Conditions().any_of("client_name", criteria.clients)
        conditions.when(f"session_id IN (SELECT id FROM sessions{inner.where})", *inner.values)


def _of_key(tool: str) -> tuple[str, tuple[str, ...]]:
    """The condition on a key of a tool that is typed as a key, with a dot, or alone."""
    if ":" in tool:
        return "key GLOB ?", (_globbed(tool),)
    return "(key GLOB ? OR key GLOB ?)", (f"*:{_globbed(tool)}", _globbed(tool.replace(".", ":", 1)))


def _globbed(name: str) -> str:
    return name.replace("[", "[[]")


def on_sessions(criteria: CallFilter) -> Conditions:
    """The conditions on rows of `sessions`: active in that time, and with such calls if it asks for calls."""
    conditions = Conditions().any_of("id", criteria.sessions).any_of("project", criteria.projects)
    conditions.any_of("client_name", criteria.clients)
    conditions.when("last_activity >= ?", criteria.since).when("start_time < ?", criteria.until)
    of_calls = replace(criteria, sessions=(), projects=(), clients=())
    if replace(of_calls, since=None, until=None) != EVERYTHING:
        inner = on_calls(of_calls)
        conditions.when(f"id IN (SELECT session_id FROM calls{inner.where})", *inner.values)
    return conditions


def _tool(tool: str) -> tuple[str, tuple[str, ...]]:
    if ":" in tool:
        server, name = tool_keys.split(tool)
        if name == "*":
            return _named("server", server), (_pattern(server),)
        # A tool is in few servers, a server has many: only the index by tool is to be asked.
        return f"({_named('+server', server)} AND {_named('tool', name)})", (_pattern(server), _pattern(name))
    if "." not in tool:
        return _named("tool", tool), (_pattern(tool),)
    server, _, name = tool.partition(".")  # a server's name has no dot, a tool's may have some
    if filters.is_glob(tool):
        either = f"({_named('tool', tool)} OR {_named('server', server)} AND {_named('tool', name)})"
        return either, (_pattern(tool), _pattern(server), _pattern(name))
    return "(tool IN (?, ?) AND (tool = ? OR server = ?))", (tool, name, tool, server)


def _named(column: str, name: str) -> str:
    # A glob is asked of the index by time, which has the rows in their order.
    return f"+{column} GLOB ?" if filters.is_glob(name) else f"{column} = ?"


def _pattern(name: str) -> str:
    return _globbed(name) if filters.is_glob(name) else name


def _status(conditions: Conditions, statuses: tuple[str, ...]) -> None:
    """A call that runs in a session whose process is gone counts as interrupted."""
    if not statuses:
        return
    dead = "session_id IN (SELECT session_id FROM dead)"
    among = f"status IN ({', '.join('?' * len(statuses))})"
    if "interrupted" in statuses and "running" not in statuses:
        among = f"({among} OR status = 'running' AND {dead})"
    elif "running" in statuses and "interrupted" not in statuses:
        among = f"({among} AND NOT (status = 'running' AND {dead}))"
    # Word for word what the index of what was not ok is of, so that it may be used.
    conditions.when(among if "ok" in statuses else f"status <> 'ok' AND {among}", *statuses)


def _hint(hint: str) -> str:
    if hint == "undeclared":
        return "--*"
    name = hint.removeprefix("no-")
    place = filters.HINTS.index(name)
    letter = _LETTERS[place] if name == hint else _LETTERS[place].lower()
    return f"{'?' * place}{letter}*"


def _times(conditions: Conditions, criteria: CallFilter) -> None:
    conditions.when("started_at >= ?", criteria.since).when("started_at < ?", criteria.until)
    conditions.when("duration_ms >= ?", criteria.min_duration_ms)


def _ends(conditions: Conditions, criteria: CallFilter) -> None:
    if criteria.errors:
        conditions.when("status <> 'ok'").any_of(f"({schema.error_group('dead')})", criteria.errors)
    if criteria.redacted:
        conditions.when(schema.REDACTED)
    if criteria.http_statuses:  # the first is word for word that of the index of these calls
        conditions.when("http_status > 0")
        _either(conditions, [("http_status GLOB ?", (each.replace("x", "?"),)) for each in criteria.http_statuses])
    refused = tuple(code.removeprefix(_NOT) for code in criteria.codes if code.startswith(_NOT))
    if codes := tuple(code for code in criteria.codes if not code.startswith(_NOT)):
        conditions.when("status <> 'ok'").any_of("error_code", codes)
    if refused:
        conditions.when(f"coalesce(error_code, '') NOT IN ({', '.join('?' * len(refused))})", *refused)
    if criteria.arguments:
        from mcpctl.store import arguments

        for path, value in criteria.arguments:
            condition, values = arguments.having(path, value)
            conditions.when(condition, *values)


def _text(conditions: Conditions, text: str | None, columns: tuple[str, ...]) -> Conditions:
    if text:
        from mcpctl.store.text_search import having_text

        _either(conditions, [having_text(column, text) for column in columns])
    return conditions


def _either(conditions: Conditions, alternatives: list[tuple[str, tuple[str, ...]]]) -> None:
    if len(alternatives) == 1:
        ((sql, values),) = alternatives
        conditions.when(sql, *values)
    elif alternatives:
        every = tuple(value for _, values in alternatives for value in values)
        # With the sign no other index is used, whose rows would have to be sorted.
        conditions.when(f"+({' OR '.join(sql for sql, _ in alternatives)})", *every)
