"""How rows are selected: conditions, windows, references and texts, all as bound parameters."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.fields import TABLES, names, types
from mcpctl.base.models import Found, RawJson, Row
from mcpctl.store import schema, sqlite

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
BY_TIME = "started_at DESC, session_id DESC, position DESC"
_FEW = 1000  # rows that are found first and read then; many are read as they are found, so that they need no memory

_DEPTH = 3  # how deep in strings of JSON a text is found: an answer's text, JSON in that, and a cut one
_NEVER_ESCAPED = r'[^"\\/\x00-\x1f\x7f-\U0010ffff]+'  # to compile it takes a sixth of the start of Python
_ESCAPE = re.compile(r'\\(?:((?:u[0-9a-fA-F]{4}\\?)+(?<!\\))|(["\\/bfnrt]))')
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


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
    db.create_function("says", 2, says, deterministic=True)
    db.create_function("has_argument", 3, _has_argument, deterministic=True)


def _has_argument(recorded: str | None, path: str, value: str) -> bool:
    from mcpctl.store import arguments

    return arguments.has(recorded, path, value)


def having_text(column: str, text: str) -> tuple[str, tuple[str, ...]]:
    # SQLite looks through a text many times faster than a function in Python: that is asked of few rows.
    whole = text.lower()
    part = max(re.findall(_NEVER_ESCAPED, text), key=len, default="")
    like = "%" + re.sub(r"([%_!])", r"!\1", part) + "%"
    if part == text:
        return f"({column} LIKE ? ESCAPE '!' OR instr({column}, '\\u') AND says({column}, ?))", (like, whole)
    if part:
        return f"(({column} LIKE ? ESCAPE '!' OR instr({column}, '\\u')) AND says({column}, ?))", (like, whole)
    if not text.isascii():
        has_other = f"length({column}) <> length(CAST({column} AS BLOB))"
        return f"((instr({column}, '\\u') OR {has_other}) AND says({column}, ?))", (whole,)
    return f"says({column}, ?)", (whole,)


def says(text: str | None, lowered: str) -> bool:
    for _ in range(_DEPTH + 1):
        if text is None or lowered in text.lower():
            return text is not None
        if "\\" not in text:
            return False
        text = _ESCAPE.sub(_meant, text)
    return False


def _meant(escape: re.Match[str]) -> str:
    units, letter = escape[1], escape[2]
    if units is None:
        return _MEANT.get(letter, letter)
    # Two halves of a character are escaped one by one.
    return bytes.fromhex(units.replace("\\", "").replace("u", "")).decode("utf-16-be", "replace")
