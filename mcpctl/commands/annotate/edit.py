"""`mcpctl annotate edit`"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.toolsets.toolset import Note

_MAX_TEXT = 1 << 16


def edit(
    key: opt.ToolKey,
    name: str = opt.argument("NAME", "The note's name.", complete.notes),
    text: str | None = opt.argument("[TEXT|-]", "The note's new text; - reads it from stdin.", default=None),
    dry_run: bool = opt.DRY_RUN,
    json: bool = opt.JSON,
    *,
    place: opt.ToolsetLocation,
) -> None:
    """Change the text of a note. Prints its name if the text has changed.

    Without a TEXT a terminal opens the text in $VISUAL or $EDITOR, else in vi; a text that is left as it is, or empty,
    changes nothing.

    Examples:
      mcpctl annotate edit linear:create_issue team-selection
      mcpctl annotate edit github:merge ci 'Only when CI is green.' --toolset ./tools/triage.json --dry-run
    """
    from mcpctl.catalog import tool_notes
    from mcpctl.commands import annotations, confirmation
    from mcpctl.toolsets.toolset_files import check_name

    if text is None and not confirmation.is_terminal():
        raise WrongUsage("no text was given", "give the TEXT, or - to read it from stdin")
    check_name(name, "note")
    kept = tool_notes.find(tool_notes.ToolsetChoice(place.paths(), place.toolset, place.project), key, name)
    if text is None:
        with _edited(kept.note) as after:
            change = kept.rewrite(after, dry_run=dry_run)
    else:
        change = kept.rewrite(annotations.text_of(text), dry_run=dry_run)
    annotations.write_change(key, change, [name] if change.diff else [], dry_run, json)


@contextmanager
def _edited(note: "Note") -> Iterator[str]:
    """The note's text as the user leaves it in the editor; its name must be one that notes may have. Raises
    `McpctlError` if the editor fails, or the text is empty."""
    from mcpctl.commands import editor
    from mcpctl.toolsets.toolset import HIDDEN

    shown = HIDDEN.sub("", note.text.replace("\r\n", "\n"))
    with editor.draft(f"{note.name}.md", f"{shown}\n") as draft:
        text = draft.edited(_MAX_TEXT).strip()
        if not text:
            raise McpctlError("the text is empty; nothing was written", "remove a note with: mcpctl annotate rm")
        yield note.text if text == shown.strip() else text
