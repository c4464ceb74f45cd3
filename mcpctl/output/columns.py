"""The columns of a list, and the options of the command that prints it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Row

FORMATS = ("auto", "table", "tsv", "json", "jsonl")
MOST = 1_000_000_000  # the most rows: SQLite has a largest number
KEPT = 20
_LONGEST_NAME = 100


class Columns(NamedTuple):
    """The fields of a list: all of them for JSON, fewer for people, and how people see their values."""

    fields: Sequence[str]
    shown: Sequence[str]
    table: Sequence[str] = ()  # the fields of a table, where it shows others than tab-separated values
    also: Sequence[str] = ()  # fields that `--fields` may name besides, made of others
    cut: frozenset[str] = frozenset()  # fields that a narrow table cuts first; never keys, since people copy them
    keeps: Mapping[str, int] = {}  # how much of a field a table shows at least, where not `KEPT` of those in `cut`
    goes: Sequence[str] = ()  # columns that go first in a narrow terminal, after empty ones; the rest, last one first
    ids: frozenset[str] = frozenset()
    """Fields of which a table shows only the beginning (commands take it as the id), unless `--fields` names them and
    there is room."""
    render: Mapping[str, Callable[[Any], str]] = {}  # the text of a field's value in tables and tab-separated values
    labels: Mapping[str, str] = {}  # shorter headings for some fields
    group: str = ""  # the field whose values are headings in a table; the rows come sorted by it
    more: str = "--fields"  # the option that shows what a narrow table leaves out
    newest: int = 50  # how many rows a terminal gets without `--limit`
    noun: str = "rows"
    empty: str = ""  # the message on a terminal if there are no rows

    @property
    def leaving(self) -> Sequence[str]:
        """The fields in the order in which their columns go; the first column stays."""
        _, *others = self.table or self.shown
        named = [name for name in self.goes if name in others]
        return [*named, *(name for name in reversed(others) if name not in named)]

    def heading(self, name: str) -> str:
        return self.labels.get(name, name.upper())

    def named(self, typed: str) -> str | None:
        """The field of a name that a person typed: its own, or its column's heading; in any case."""
        name = typed.lower()
        if name in self.fields or name in self.also:
            return name
        return next((each for each in self.fields if self.heading(each).lower() == name), None)


@dataclass(frozen=True)
class ListOptions:
    format: str = "auto"
    fields: str | None = None
    limit: int | None = None
    offset: int = 0
    count: bool = False

    @property
    def effective(self) -> str:
        if self.format != "auto":
            return self.format
        return "table" if sys.stdout.isatty() else "tsv"


def chosen_format(json: bool, jsonl: bool, format: str, every: Sequence[str] = FORMATS) -> str:
    """The one format that `--json`, `--jsonl` and `--format` ask for; without any the first of `every`."""
    formats = ["json"] * json + ["jsonl"] * jsonl + [format] * (format != every[0])
    if len(formats) > 1:
        raise WrongUsage("give one of --json, --jsonl and --format", "leave the others out")
    if format not in every:
        raise WrongUsage(f"unknown format '{format}'", f"formats: {', '.join(every)}")
    return formats[0] if formats else every[0]


def chosen_fields(columns: Columns, options: ListOptions) -> Sequence[str]:
    """The fields to print, in their order; raises `WrongUsage` for an unknown one."""
    if options.fields is None:
        of_table = columns.table or columns.shown
        return {"json": columns.fields, "jsonl": columns.fields, "table": of_table}.get(
            options.effective, columns.shown
        )
    return _named(options.fields, columns)


def members(row: Row, fields: str) -> Row:
    """The members of one thing that `--fields` names, in their order; raises `WrongUsage` for unknown ones."""
    return {name: row[name] for name in _named(fields, Columns(tuple(row), tuple(row)))}


def _named(fields: str, columns: Columns) -> list[str]:
    typed = [name.strip() for name in fields.split(",") if name.strip()]
    if not typed:
        raise WrongUsage("--fields names no field", f"fields: {', '.join(columns.fields)}")
    return [columns.named(name) or _unknown(name, (*columns.fields, *columns.also)) for name in typed]


def _unknown(typed: str, fields: Sequence[str]) -> NoReturn:
    from mcpctl.base.near_names import did_you_mean

    hint = f"{did_you_mean(typed[:_LONGEST_NAME].lower(), fields, '')} fields: {', '.join(fields)}".lstrip()
    raise WrongUsage(f"unknown field '{typed}'", hint)
