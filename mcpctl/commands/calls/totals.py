"""How totals of calls are sorted and shown."""

from collections.abc import Sequence

from mcpctl.base.fields import TOTAL_FIELDS
from mcpctl.base.models import Row
from mcpctl.output import Columns
from mcpctl.store.filters import CallFilter, grouping
from mcpctl.store.records import Records

_SHOWN = ("calls", "failed", "p50_ms", "p95_ms", "longest_ms", "total_tokens")
_LONGEST_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"


def rows(records: Records, groups: Sequence[str], wanted: CallFilter, sort: str | None) -> Sequence[Row]:
    """A row for each group, and how long its bar is."""
    found = records.totals(*grouping(groups), wanted=wanted, sort=sort)
    bar = sort if sort not in (None, "last_used") else "calls"
    return [{**row, "bar": row[bar] or 0} for row in found]


def columns(groups: Sequence[str], found: Sequence[Row], format: str) -> Columns:
    """How they are shown: in a table with a bar, if there are several."""
    fields, largest = grouping(groups), max((row["bar"] for row in found), default=0)
    bars = ("bar",) if format == "table" and groups else ()
    return Columns(
        fields=(*fields, *TOTAL_FIELDS, *bars),
        shown=(*fields, *_SHOWN, *(bars if largest else ())),
        cut=frozenset(("server", "tool", "client_name", "bar")),
        keeps={"bar": _LONGEST_BAR},
        goes=("longest_ms", "p50_ms", "bar"),
        labels={
            "client_name": "CLIENT", "p50_ms": "P50", "p95_ms": "P95", "longest_ms": "MAX", "total_tokens": "TOKENS",
        },
        render={"bar": lambda value: _bar(value / (largest or 1))},
        newest=10_000 if {"day", "hour"}.intersection(groups) else 50,
        noun="groups",
    )  # fmt: skip


def _bar(share: float) -> str:
    whole, eighths = divmod(max(round(share * _LONGEST_BAR * 8), share > 0), 8)
    return "█" * whole + _EIGHTHS[eighths].strip()
