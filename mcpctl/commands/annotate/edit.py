"""`mcpctl annotate edit`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Name = Annotated[str, typer.Argument(metavar="NAME", help="The note's name.", autocompletion=complete.notes)]
Text = Annotated[
    str | None,
    typer.Argument(metavar="[TEXT|-]", help="The note's new text; - reads it from stdin.", show_default=False),
]


def edit(
    key: opt.ToolKey,
    name: Name,
    text: Text = None,
    dry_run: opt.DryRun = False,
    json: opt.Json = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Change the text of a note. Prints its name if the text has changed.

    Without a TEXT a terminal opens the text in $VISUAL or $EDITOR, else in vi; a text that is left as it is, or empty,
    changes nothing.

    \b
    Examples:
      mcpctl annotate edit linear:create_issue team-selection
      mcpctl annotate edit github:merge ci 'Only when CI is green.' --toolset ./tools/triage.json --dry-run
    """
    from mcpctl.catalog import tool_notes
    from mcpctl.commands import agreement
    from mcpctl.commands.annotate import columns, editor
    from mcpctl.errors import WrongUsage
    from mcpctl.toolsets.toolset_files import check_name

    if text is None and not agreement.is_terminal():
        raise WrongUsage("no text was given", "give the TEXT, or - to read it from stdin")
    check_name(name, "note")
    found = tool_notes.find(opt.paths(config, data_dir), toolset, key, name, project)
    if text is None:
        with editor.opened(found.note) as after:
            change = found.rewrite(after, dry_run=dry_run)
    else:
        change = found.rewrite(columns.text_of(text), dry_run=dry_run)
    columns.write_change(key, change, [name] if change.diff else [], dry_run, json)
