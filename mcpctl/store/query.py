"""How sessions, calls and discoveries are selected: conditions, windows and references, all as bound parameters."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.fields import TABLES, types
from mcpctl.base.models import Found, RawJson, Row

_TYPES = {name: type_ for row in TABLES.values() for name, type_ in types(row).items()}
_JSON_FIELDS = frozenset(name for name, type_ in _TYPES.items() if type_.startswith("Json"))
_BOOL_FIELDS = frozenset(name for name, type_ in _TYPES.items() if type_.startswith("bool"))
_FEW = 1000
"""Rows that are found first and read then; many are read as they are found, so that they need no memory."""
LAST = "\U0010ffff"
"""Sorted behind every text that begins with the text before it."""


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
        """`condition`, with `values` for its question marks if none of them is None."""
        if None not in values:
            self._sql.append(condition)
            self.values.extend(values)
        return self

    @property
    def where(self) -> str:
        return f" WHERE {' AND '.join(self._sql)}" if self._sql else ""


def select(db: sqlite3.Connection, table: str, columns: Mapping[str, str], conditions: Conditions, order: str) -> Found:
    """Rows of `table` under the names in `columns`, each given by its SQL expression."""
    selection = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())

    as_json = [name for name in columns if name in _JSON_FIELDS]
    as_bool = [name for name in columns if name in _BOOL_FIELDS]

    def rows(limit: int | None, offset: int) -> Iterator[Row]:
        chosen = f"{conditions.where} ORDER BY {order} LIMIT ? OFFSET ?"
        if limit is not None and limit <= _FEW:
            # Where all that meets the conditions has to be sorted, it is sorted without its responses.
            chosen = f" WHERE rowid IN (SELECT rowid FROM {table}{chosen}) ORDER BY {order}"
        cursor = db.execute(
            f"SELECT {selection} FROM {table}{chosen}",
            (*conditions.values, -1 if limit is None else limit, offset),
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
    return Conditions().when("id >= ? AND id < ?", prefix, prefix + LAST) if prefix else Conditions()


def distinct(db: sqlite3.Connection, table: str, expression: str) -> list[str]:
    return [row[0] for row in db.execute(f"SELECT DISTINCT {expression} FROM {table}") if row[0] is not None]


def resolve(db: sqlite3.Connection, table: str, ref: str, order: str, lister: str) -> str:
    """The full id that `ref` names: a full id, a unique prefix, or `last`."""
    noun = table.removesuffix("s")
    if ref == "last":
        ids = [row[0] for row in db.execute(f"SELECT id FROM {table} ORDER BY {order} LIMIT 1")]
        if not ids:
            raise NotFound(f"no {noun} is on record yet", "connect a client to: mcpctl serve", f"{noun}_not_found")
        return str(ids[0])
    prefix = ref.lower()
    ids = [
        row[0]
        for row in db.execute(
            f"SELECT id FROM {table} WHERE id >= ? AND id < ? ORDER BY {order} LIMIT 4", (prefix, prefix + LAST)
        )
    ]
    if not prefix or not ids:
        raise NotFound(f"no {noun} '{ref}'", f"list them with: {lister}", f"{noun}_not_found")
    if len(ids) > 1 and prefix not in ids:
        raise WrongUsage(
            f"'{ref}' is the beginning of several {table}: {', '.join(ids[:3])}{', …' if len(ids) > 3 else ''}",
            "give more of the id",
            f"{noun}_ambiguous",
        )
    return prefix if prefix in ids else str(ids[0])
