"""The lists of tools: of `tools ls`, and of `tools search`."""

from mcpctl import output
from mcpctl.base import hints
from mcpctl.base.errors import warn
from mcpctl.base.models import Found, Usage
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.commands import options as opt
from mcpctl.commands.columns import DIRECT_TOOLS, TOOLS
from mcpctl.config.config import Config
from mcpctl.output import Columns, ListOptions, text


def write_found(results: Found, columns: Columns, options: ListOptions, *, explained: bool) -> None:
    """Print the results of a search. Explanations are lines of text, unless fields or a JSON format are chosen."""
    as_text = options.effective not in ("json", "jsonl") and options.fields is None and not options.count
    if not explained or not as_text:
        columns = columns._replace(fields=(*columns.fields, "explanation")) if explained else columns
        output.write_list(results, columns, options)
        return
    rows = list(results.rows(columns.newest if options.limit is None else options.limit or None, options.offset))
    output.write_lines(line for row in rows for line in text.explained(row))
    if not rows:
        output.say(columns.empty)
    elif options.limit is None:
        output.say_more(len(rows), results, columns, options)


def ordered(order: rows.Order, options: ListOptions, *, with_held: bool = False, with_direct: bool = False) -> Columns:
    added = ["held"] if with_held else []
    added += [order.sort] if order.sort in rows.USAGE_FIELDS else []
    added += [order.by] if order.by and options.effective != "table" else []
    columns = DIRECT_TOOLS if with_direct else TOOLS
    place = columns.shown.index("key") + 1
    shown = (*columns.shown[:place], *added, *columns.shown[place:])
    return columns._replace(shown=shown, group=order.by or "")


def footnote(catalog: Catalog) -> None:
    opt.say_project(catalog.config.project)
    of_others = {name: catalog.listed(name) for name in catalog.config.enabled if catalog.own(name) is None}
    for server, listed in of_others.items():
        if listed:
            can = listed.capabilities or "nothing that servers ask"
            output.say(f"'{server}': as it is listed for clients that can do: {can}")
    if (toolset := catalog.toolset) is not None:
        legend = f"; {hints.MARK} is its override" if any(entry.hints for entry in toolset.entries) else ""
        output.say(f"only the tools of toolset '{toolset.name}'{legend}; --toolset none shows all")


def of_ad_hoc(paths: Paths, given: opt.AdHocServer, project: str | None) -> tuple[Config, str]:
    """The configuration with a server that the command line has, which is listed, and its name there."""
    from mcpctl.calling import one_shot
    from mcpctl.commands import server_options

    server = server_options.ad_hoc(given)
    with output.progress("listing tools", "servers") as on_progress:
        return one_shot.list_ad_hoc(paths, server, on_progress, project)


def usage(paths: Paths, columns: Columns, options: ListOptions, sort: str | None = None) -> Usage | None:
    """The usage of tools if the rows show it or are sorted by it; else None, since reading the records takes time."""
    fields = {sort} if options.count else {sort, *output.chosen_fields(columns, options)}
    return recorded_usage(paths) if fields.intersection(rows.USAGE_FIELDS) else None


def direct(paths: Paths, catalog: Catalog, listed: Found) -> Found:
    """The rows of the tools that clients are shown directly, each with its name there."""
    from mcpctl.metatools import direct_tools

    shown, problems = direct_tools.of_command(paths, catalog)
    for problem in problems:
        warn(f"direct in [serve]: {problem}")
    named = ((shown.names.get(row["key"]), row) for row in listed.rows(None, 0))
    rows = [{"direct": name, **row} for name, row in named if name]
    return Found.of(rows, filtered=bool(catalog.config.serve.direct))


def unused(listed: Found) -> Found:
    return Found.of([row for row in listed.rows(None, 0) if not row["usage"]], filtered=True)


def recorded_usage(paths: Paths) -> Usage:
    from mcpctl.store import records

    with output.progress(opt.READING) as on_progress:
        return records.recorded_usage(paths, on_progress)
