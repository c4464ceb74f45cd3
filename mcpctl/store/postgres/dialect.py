"""The SQL of records that differs in PostgreSQL. Its functions `says` and `has_argument` are in `schema.py`."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mcpctl.base.models import RawJson
from mcpctl.store.sqlite import Dialect

_SPECIAL = str.maketrans({"!": "!!", "%": "!%", "_": "!_", "*": "%", "?": "_"})


class PostgresDialect(Dialect):
    number = "id"
    every = None
    also: Mapping[str, str] = {
        "machine": "coalesce((SELECT left(name, 100) FROM machines WHERE id = {0}.machine), CAST({0}.machine AS text))"
    }
    p50 = "percentile_disc(0.5) WITHIN GROUP (ORDER BY {}) FILTER (WHERE {})"
    p95 = "percentile_disc(0.95) WITHIN GROUP (ORDER BY {}) FILTER (WHERE {})"
    error_code = "error_code({})"
    size = "octet_length({})"
    after = (
        "to_char((CAST({} AS timestamptz) + interval '{} seconds') AT TIME ZONE 'UTC',"
        ' \'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\')'
    )
    day = "to_char(CAST({} AS timestamptz), 'YYYY-MM-DD')"
    hour = "to_char(CAST({} AS timestamptz), 'YYYY-MM-DD HH24:00')"
    has = "strpos({}, {}) > 0"
    like = "{} ILIKE ? ESCAPE '!'"

    @staticmethod
    def as_json(text: str) -> RawJson:
        """Who writes there need not be mcpctl: what is no JSON is a text."""
        try:
            msgspec.json.decode(text, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return RawJson(msgspec.json.encode(text).decode())
        return RawJson(text)

    def by_order(self, expression: str) -> str:
        return expression

    def some(self, table: str, chosen: str, order: str) -> str:
        return chosen

    def fits(self, column: str, glob: str) -> tuple[str, str]:
        return f"{column} LIKE ? ESCAPE '!'", glob.translate(_SPECIAL)

    def said(self, lowered: str) -> str:
        # A pattern with both cases of each letter, since what a database takes for the same letter depends on it.
        return "".join(f"[{letter}{letter.upper()}]" if letter.isalpha() and len(letter.upper()) == 1
                       else letter if letter.isalnum() else f"\\{letter}" for letter in lowered)  # fmt: skip

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, Any]:
        return f"{column} = ANY(?)", list(values)
