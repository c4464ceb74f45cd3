"""`mcpctl annotate edit`"""

from typing import Annotated

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Name = Annotated[str, opt.argument("NAME", "The note's name.", complete.notes)]
Text = Annotated[str | None, opt.argument("[TEXT|-]", "The note's new text; - reads it from stdin.")]


def edit(
    key: opt.ToolKey,
    name: Name,
    text: Text = None,
    dry_run: opt.DryRun = False,
    json: opt.Json = False,
    *,
    place: opt.ToolsetPlace,
) -> None:
    """Change the text of a note. Prints its name if the text has changed.

    Without a TEXT a terminal opens the text in $VISUAL or $EDITOR, else in vi; a text that is left as it is, or empty,
    changes nothing.

    \b
    Examples:
      mcpctl annotate edit linear:create_issue team-selection
      mcpctl annotate edit github:merge ci 'Only when CI is green.' --toolset ./tools/triage.json --dry-run
    """
    from mcpctl.base.errors import WrongUsage
    from mcpctl.catalog import tool_notes
    from mcpctl.commands import agreement
    from mcpctl.commands.annotate import columns, editor
    from mcpctl.toolsets.toolset_files import check_name

    if text is None and not agreement.is_terminal():
        raise WrongUsage("no text was given", "give the TEXT, or - to read it from stdin")
    check_name(name, "note")
    found = tool_notes.find(place.paths(), place.toolset, key, name, place.project)
    if text is None:
        with editor.opened(found.note) as after:
            change = found.rewrite(after, dry_run=dry_run)
    else:
        change = found.rewrite(columns.text_of(text), dry_run=dry_run)
    columns.write_change(key, change, [name] if change.diff else [], dry_run, json)
