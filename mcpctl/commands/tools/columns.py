"""The columns of tools, for `tools ls` and `tools search`."""

from mcpctl import output
from mcpctl.base import hints
from mcpctl.base.models import PERMISSION_FIELDS, REFRESH_FIELDS, Found, Usage
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.commands import options as opt
from mcpctl.output import Columns, ListOptions, text

BEST = 10
"""How many tools of a search a terminal gets, and how many are explained, without --limit."""
_SHORT = {"read_only": "READ", "destructive": "DESTR", "idempotent": "IDEMP", "open_world": "OPEN"}
_KEEPS = dict.fromkeys(("title", "description", "label", "signature"), 30)
_GOES = (*reversed(_SHORT), "relevance", "label")

COLUMNS = Columns(
    fields=rows.FIELDS,
    shown=("key", *_SHORT, "label"),
    cut=frozenset(_KEEPS),
    keeps=_KEEPS,
    goes=_GOES,
    render=dict.fromkeys(_SHORT, rows.hint_cell),
    labels=_SHORT,
    noun="tools",
    empty="no tools are known yet; list them with: mcpctl tools refresh",
)
FOUND = Columns(
    fields=("relevance", *rows.FIELDS),
    shown=("key", "relevance", *_SHORT, "label"),
    cut=frozenset(_KEEPS),
    keeps=_KEEPS,
    goes=_GOES,
    render=dict.fromkeys(_SHORT, rows.hint_cell),
    labels={**_SHORT, "relevance": "REL"},
    newest=BEST,
    noun="tools",
    empty="no tool matches",
)
PERMITTED = Columns(
    fields=PERMISSION_FIELDS,
    shown=("key", "action", "decision", "decided_by"),
    cut=frozenset(("decided_by",)),
    labels={"decided_by": "BY"},
    noun="tools",
)
REFRESHED = Columns(REFRESH_FIELDS, REFRESH_FIELDS, noun="servers")
EXPLAINED = FOUND._replace(fields=(*FOUND.fields, "explanation"))


def write_found(results: Found, options: ListOptions, *, explained: bool) -> None:
    """Print the results of a search. Explanations are lines of text, unless fields or a JSON format are chosen."""
    as_text = options.effective not in ("json", "jsonl") and options.fields is None and not options.count
    if not explained or not as_text:
        output.write_list(results, EXPLAINED if explained else FOUND, options)
        return
    rows = list(results.rows(BEST if options.limit is None else options.limit or None, options.offset))
    output.write_lines(line for row in rows for line in text.explained(row))
    if not rows:
        output.say(FOUND.empty)
    elif options.limit is None and (total := results.count()) > len(rows) + options.offset:
        output.say(f"{len(rows)} of {total:,} {FOUND.noun}; --limit 0 shows all")


def ordered(order: rows.Order, options: ListOptions, *, with_held: bool = False) -> Columns:
    """The columns of `tools ls`, with those by which it is sorted and grouped; a table has headings for groups."""
    added = ["held"] if with_held else []
    added += [order.sort] if order.sort in rows.USAGE_FIELDS else []
    added += [order.by] if order.by and options.effective != "table" else []
    return COLUMNS._replace(shown=("key", *added, *COLUMNS.shown[1:]), group=order.by or "")


def footnote(catalog: Catalog) -> None:
    """Name the project and the toolset of the rows on a terminal, and the mark of overrides."""
    opt.say_project(catalog.config.project)
    for server, can in catalog.of_others().items():
        output.say(f"'{server}': as it is listed for clients that can do: {can or 'nothing that servers ask'}")
    if (toolset := catalog.toolset) is not None:
        legend = f"; {hints.MARK} is its override" if any(entry.hints for entry in toolset.entries) else ""
        output.say(f"only the tools of toolset '{toolset.name}'{legend}; --toolset none shows all")


def usage(paths: Paths, columns: Columns, options: ListOptions, sort: str | None = None) -> Usage | None:
    """The usage of tools if the rows show it or are sorted by it; else None, since reading the records takes time."""
    fields = {sort} if options.count else {sort, *output.chosen_fields(columns, options)}
    return recorded_usage(paths) if fields.intersection(rows.USAGE_FIELDS) else None


def recorded_usage(paths: Paths) -> Usage:
    """The usage of tools, from the records."""
    from mcpctl.store import records

    with output.progress(opt.READING) as on_progress:
        return records.recorded_usage(paths, on_progress)
