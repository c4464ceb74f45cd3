"""`mcpctl annotate ls`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt


def ls(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="Only those of this tool.", show_default=False)
    ] = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: opt.Format = "auto",
    limit: opt.Limit = None,
    offset: opt.Offset = 0,
    count: opt.Count = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """List the notes and overrides in effect of a toolset, or of one tool in it.

    \b
    Examples:
      mcpctl annotate ls
      mcpctl annotate ls linear:create_issue --toolset triage --json
    """
    from mcpctl import output
    from mcpctl.catalog import tool_notes
    from mcpctl.commands.annotate.columns import COLUMNS

    options = output.listing(json, jsonl, format, fields, limit, offset, count)
    output.write_list(tool_notes.listed(opt.paths(config, data_dir), toolset, key, project), COLUMNS, options)
