"""How rows are selected: conditions, windows, references and texts, all as bound parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

from mcpctl.base import tool_keys
from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.fields import TABLES, types
from mcpctl.base.models import Found, RawJson, Row, Usage
from mcpctl.store import filters, schema, sqlite
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.sqlite import SQLITE, Dialect, SqliteDatabase

_TYPES = {name: type_ for row in TABLES.values() for name, type_ in types(row).items()}
_JSON_FIELDS = frozenset(name for name, type_ in _TYPES.items() if type_.startswith("Json"))
_BOOL_FIELDS = frozenset(name for name, type_ in _TYPES.items() if type_.startswith("bool"))
BY_TIME = "started_at DESC, session_id DESC, position DESC"
_PLACE = "started_at, session_id, position"
_LETTERS = "RDIO"
_NOT = "no-"
_FEW = 1000  # rows that are found first and read then; many are read as they are found, so that they need no memory


class Selected(Protocol):
    """The rows that a database has selected."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class Database(Protocol):
    """The database that records are read from."""

    dialect: Dialect

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Selected: ...

    def stream(self, sql: str, values: Sequence[Any], /) -> Iterator[Any]:
        """The rows as they are asked for, so that many take no more memory than one."""


class Conditions:
    """The conditions on a row; one with a value of None asks nothing."""

    def __init__(self, sql: Dialect = SQLITE) -> None:
        self.dialect = sql
        self._sql: list[str] = []
        self.values: list[Any] = []

    def equal(self, expression: str, value: str | None) -> Self:
        return self.when(f"{expression} = ?", value)

    def any_of(self, expression: str, values: Sequence[str]) -> Self:
        if len(values) == 1:
            return self.equal(expression, values[0])
        # By an index of several values the rows would come in several orders, and all be sorted, responses and all.
        among = f"{self.dialect.by_order(expression)} IN ({', '.join('?' * len(values))})"
        return self.when(among, *values) if values else self

    def when(self, condition: str, *values: str | int | None) -> Self:
        if None not in values:
            self._sql.append(condition)
            self.values.extend(values)
        return self

    @property
    def where(self) -> str:
        return f" WHERE {' AND '.join(self._sql)}" if self._sql else ""


def select(db: Database, table: str, columns: Mapping[str, str], conditions: Conditions, order: str) -> Found:
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())

    as_json = [name for name in columns if name in _JSON_FIELDS]
    as_bool = [name for name in columns if name in _BOOL_FIELDS]

    def rows(limit: int | None, offset: int) -> Iterator[Row]:
        chosen = f"{conditions.where} ORDER BY {order} LIMIT ? OFFSET ?"
        if limit is not None and limit <= _FEW:
            chosen = db.dialect.some(table, chosen, order)
        window = db.dialect.every if limit is None else limit, offset
        for values in db.stream(f"SELECT {selection} FROM {table}{chosen}", (*conditions.values, *window)):
            row = dict(zip(columns, values, strict=True))
            for name in as_json:
                if row[name] is not None:
                    row[name] = db.dialect.as_json(row[name])
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


def named(db: Database, noun: str, usage: Usage) -> Iterator[str]:
    if noun == "tool":
        yield from (f"{server}:{tool}" for server, tool in usage)
        return
    if noun == "server":
        yield from {server for server, _ in usage}
    # A request may name another client than the one that connected.
    tables = ("reads",) if noun == "server" else ("sessions", "calls", "reads", *["discoveries"] * (noun == "project"))
    column = "client_name" if noun == "client" else noun
    for table in tables:
        rows = db.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        yield from (name for (name,) in rows)


def is_any(db: Database, table: str, ref: str) -> bool:
    begins = beginning(ref.lower())
    return db.execute(f"SELECT 1 FROM {table}{begins.where}", begins.values).fetchone() is not None


def with_id(db: Database, table: str, id_: str) -> list[Row]:
    return list(select(db, table, schema.selections(db.dialect)[table], Conditions().equal("id", id_), "id").rows(1, 0))


def resolve(db: Database, table: str, ref: str, order: str, lister: str) -> str:
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


def add_functions(db: SqliteDatabase) -> None:
    """Add the functions that SQLite has not."""
    db.create_function("says", 2, _says, deterministic=True)
    db.create_function("has_argument", 3, _has_argument, deterministic=True)
    db.create_aggregate("percentiles", 1, _percentiles)  # its step is an attribute


def _says(text: str | None, lowered: str) -> bool:
    from mcpctl.store import text_search

    return text_search.says(text, lowered)


def _percentiles() -> Any:
    from mcpctl.store.percentiles import Percentiles

    return Percentiles()


def _has_argument(recorded: str | None, path: str, value: str) -> bool:
    from mcpctl.store import arguments

    return arguments.has(recorded, path, value)


# ---- the conditions of a filter on each table


def on_calls(criteria: CallFilter, sql: Dialect) -> Conditions:
    conditions = Conditions(sql).any_of("session_id", criteria.sessions).any_of("parent_id", criteria.parents)
    # The index by server has none of these: each row would have to be read, from all over the file.
    named = criteria.statuses or criteria.errors or criteria.hints or criteria.clients or criteria.projects
    beyond = named or criteria.min_duration_ms
    conditions.any_of(sql.by_order("server") if beyond else "server", criteria.servers)
    _either(conditions, [_tool(tool, sql) for tool in criteria.tools])
    _status(conditions, criteria.statuses)
    conditions.any_of("project", criteria.projects).any_of("client_name", criteria.clients)
    _either(conditions, [sql.fits("hints", _hint(hint)) for hint in criteria.hints])
    _times(conditions, criteria)
    _ends(conditions, criteria)
    conditions.when(f"({_PLACE}) < (SELECT {_PLACE} FROM calls WHERE id = ?)", criteria.before)
    return _text(conditions, criteria.grep, ("arguments", "error", "response"))


def on_searches(criteria: CallFilter, sql: Dialect) -> Conditions:
    """The conditions on rows of `discoveries`, which have no server, tool, status or hints."""
    conditions = Conditions(sql).any_of("session_id", criteria.sessions).any_of("project", criteria.projects)
    _of_clients(conditions, criteria)
    _times(conditions, criteria)
    return _text(conditions, criteria.grep, ("query", "context", "results"))


def on_reads(criteria: CallFilter, sql: Dialect) -> Conditions:
    """The conditions on rows of `reads`, the prompts and resources, which have no tool, hints or arguments."""
    conditions = Conditions(sql).any_of("session_id", criteria.sessions).any_of("server", criteria.servers)
    conditions.any_of("status", criteria.statuses).any_of("project", criteria.projects)
    conditions.any_of("client_name", criteria.clients)
    _times(conditions, criteria)
    return _text(conditions, criteria.grep, ("name", "error"))


def on_decisions(criteria: CallFilter, sql: Dialect) -> Conditions:
    """The conditions on rows of `decisions`: of a server and tool by their key, of a client by its session."""
    conditions = Conditions(sql).any_of("session_id", criteria.sessions).any_of("project", criteria.projects)
    _either(conditions, [sql.fits("key", f"{server}:*") for server in criteria.servers])
    _either(conditions, [_of_key(tool, sql) for tool in criteria.tools])
    _of_clients(conditions, criteria)
    return conditions.when("made_at >= ?", criteria.since).when("made_at < ?", criteria.until)


def _of_clients(conditions: Conditions, criteria: CallFilter) -> None:
    if criteria.clients:
        inner = Conditions(conditions.dialect).any_of("client_name", criteria.clients)
        conditions.when(f"session_id IN (SELECT id FROM sessions{inner.where})", *inner.values)


def _of_key(tool: str, sql: Dialect) -> tuple[str, ...]:
    """The condition on a key of a tool that is typed as a key, with a dot, or alone."""
    if ":" in tool:
        return sql.fits("key", tool)
    (alone, name), (whole, key) = sql.fits("key", f"*:{tool}"), sql.fits("key", tool.replace(".", ":", 1))
    return f"({alone} OR {whole})", name, key


def on_sessions(criteria: CallFilter, sql: Dialect) -> Conditions:
    """The conditions on rows of `sessions`: active in that time, and with such calls if it asks for calls."""
    conditions = Conditions(sql).any_of("id", criteria.sessions).any_of("project", criteria.projects)
    conditions.any_of("client_name", criteria.clients)
    conditions.when("last_activity >= ?", criteria.since).when("start_time < ?", criteria.until)
    of_calls = replace(criteria, sessions=(), projects=(), clients=())
    if replace(of_calls, since=None, until=None) != EVERYTHING:
        inner = on_calls(of_calls, sql)
        conditions.when(f"id IN (SELECT session_id FROM calls{inner.where})", *inner.values)
    return conditions


def _tool(tool: str, sql: Dialect) -> tuple[str, ...]:
    if ":" in tool:
        server, name = tool_keys.split(tool)
        if name == "*":
            return _named("server", server, sql)
        # A tool is in few servers, a server has many: only the index by tool is to be asked.
        of_server, of_name = _named(sql.by_order("server"), server, sql), _named("tool", name, sql)
        return f"({of_server[0]} AND {of_name[0]})", of_server[1], of_name[1]
    if "." not in tool:
        return _named("tool", tool, sql)
    server, _, name = tool.partition(".")  # a server's name has no dot, a tool's may have some
    if filters.is_glob(tool):
        alone = _named("tool", tool, sql)
        of_server, of_name = _named("server", server, sql), _named("tool", name, sql)
        return f"({alone[0]} OR {of_server[0]} AND {of_name[0]})", alone[1], of_server[1], of_name[1]
    return "(tool IN (?, ?) AND (tool = ? OR server = ?))", tool, name, tool, server


def _named(column: str, name: str, sql: Dialect) -> tuple[str, str]:
    # A glob is asked of the index by time, which has the rows in their order.
    return sql.fits(sql.by_order(column), name) if filters.is_glob(name) else (f"{column} = ?", name)


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
        fits, status = conditions.dialect.fits, "CAST(http_status AS TEXT)"
        _either(conditions, [fits(status, each.replace("x", "?")) for each in criteria.http_statuses])
    refused = tuple(code.removeprefix(_NOT) for code in criteria.codes if code.startswith(_NOT))
    if codes := tuple(code for code in criteria.codes if not code.startswith(_NOT)):
        conditions.when("status <> 'ok'").any_of("error_code", codes)
    if refused:
        conditions.when(f"coalesce(error_code, '') NOT IN ({', '.join('?' * len(refused))})", *refused)
    if criteria.arguments:
        from mcpctl.store import arguments

        for path, value in criteria.arguments:
            conditions.when(*arguments.having(path, value, conditions.dialect))


def _text(conditions: Conditions, text: str | None, columns: tuple[str, ...]) -> Conditions:
    if text:
        from mcpctl.store.text_search import having_text

        _either(conditions, [having_text(column, text, conditions.dialect) for column in columns])
    return conditions


def _either(conditions: Conditions, alternatives: Sequence[tuple[str, ...]]) -> None:
    if len(alternatives) == 1:
        conditions.when(*alternatives[0])
    elif alternatives:
        every = [value for _, *values in alternatives for value in values]
        either = " OR ".join(condition for condition, *_ in alternatives)
        conditions.when(conditions.dialect.by_order(f"({either})"), *every)
