"""`mcpctl toolsets show`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME|PATH]", help="The toolset; without it, the one in force.", show_default=False),
]


def show(
    name: Name = None,
    fields: opt.Fields = None,
    json: opt.Json = False,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Show a toolset: its tools with their status, notes and overrides.

    The status of a tool is ok, changed (its parameters, output or hints differ from when it was added, which is only
    information) or unknown (no such tool is listed).

    \b
    Examples:
      mcpctl toolsets show
      mcpctl toolsets show ./tools/triage.json --json | jq -r '.tools[] | select(.status != "ok") | .key'
    """
    from mcpctl import output
    from mcpctl.catalog import toolset_builder
    from mcpctl.output import text

    row = toolset_builder.show(opt.paths(config, data_dir), name, project)
    output.write_row(row, json, lambda: text.toolset(row), fields)
