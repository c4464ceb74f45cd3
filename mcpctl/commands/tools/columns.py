"""How tools are listed: by `tools ls` and `tools search` alike."""

import dataclasses

from mcpctl import hints, output
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.commands import options as opt
from mcpctl.models import REFRESH_FIELDS, Found, Usage
from mcpctl.output import Columns, ListOptions, text
from mcpctl.paths import Paths

BEST = 10
"""Tools that a terminal gets of a search, and that are explained, where no --limit asks for more."""
_SHORT = {"read_only": "READ", "destructive": "DESTR", "idempotent": "IDEMP", "open_world": "OPEN"}

COLUMNS = Columns(
    fields=rows.FIELDS,
    shown=("key", *_SHORT, "label"),
    cut=frozenset(("title", "description", "label", "signature")),
    render=dict.fromkeys(_SHORT, rows.hint_cell),
    labels={**_SHORT, "last_used": "LAST USED", "label": "TITLE OR DESCRIPTION"},
    noun="tools",
    empty="no tools are known yet; list them with: mcpctl tools refresh",
)
FOUND = Columns(
    fields=("relevance", *rows.FIELDS),
    shown=("key", "relevance", *_SHORT, "label"),
    cut=frozenset(("title", "description", "label", "signature")),
    render=dict.fromkeys(_SHORT, rows.hint_cell),
    labels={**_SHORT, "relevance": "REL", "last_used": "LAST USED", "label": "TITLE OR DESCRIPTION"},
    newest=BEST,
    noun="tools",
    empty="no tool matches",
)
REFRESHED = Columns(REFRESH_FIELDS, REFRESH_FIELDS, noun="servers")
EXPLAINED = dataclasses.replace(FOUND, fields=(*FOUND.fields, "explanation"))


def write_found(found: Found, asked: ListOptions, *, explained: bool) -> None:
    """Print what a search found; explained, as text, each with lines of its own, unless fields are chosen."""
    as_text = asked.effective not in ("json", "jsonl") and asked.fields is None and not asked.count
    if not explained or not as_text:
        output.write_list(found, EXPLAINED if explained else FOUND, asked)
        return
    rows = list(found.rows(BEST if asked.limit is None else asked.limit or None, asked.offset))
    output.write_lines(line for row in rows for line in text.explained(row))
    if not rows:
        output.say(FOUND.empty)


def ordered(order: rows.Order, asked: ListOptions) -> Columns:
    """The columns of `tools ls`, with what it is sorted by, and grouped by; in a table groups have headings instead."""
    named = [order.sort] if order.sort in rows.USAGE_FIELDS else []
    named += [order.by] if order.by and asked.effective != "table" else []
    return dataclasses.replace(COLUMNS, shown=("key", *named, *COLUMNS.shown[1:]), group=order.by or "")


def footnote(catalog: Catalog) -> None:
    """Tell a person at a terminal of which project and toolset the rows are, and what marks overrides."""
    opt.say_project(catalog.config.project)
    if (toolset := catalog.toolset) is not None:
        marked = f"; {hints.MARK} is its override" if any(entry.hints for entry in toolset.entries) else ""
        output.say(f"only the tools of toolset '{toolset.name}'{marked}; --toolset none shows all")


def usage(paths: Paths, columns: Columns, listing: ListOptions, sort: str | None = None) -> Usage | None:
    """How much tools were used, if the list shows it; else None, since finding out takes a look at the records."""
    fields = {sort} if listing.count else {sort, *output.chosen(columns, listing)}
    return recorded_usage(paths) if fields.intersection(rows.USAGE_FIELDS) else None


def recorded_usage(paths: Paths) -> Usage:
    """How much tools were used."""
    from mcpctl.store import records

    with output.progress(opt.READING) as on_progress:
        return records.recorded_usage(paths, on_progress)
