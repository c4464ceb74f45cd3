"""`mcpctl annotate edit`"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
    """The note's text as the user leaves it in the editor; its name must be one that notes may have.

    The file is in a folder that nobody else can look into. It is removed afterwards, unless the user's text cannot be
    used. Raises `McpctlError` if the editor fails, or the text is empty.
    """
    import shutil
    import tempfile

    from mcpctl.base import files
    from mcpctl.toolsets.toolset import HIDDEN

    shown = HIDDEN.sub("", note.text.replace("\r\n", "\n"))
    folder = Path(tempfile.mkdtemp(prefix="mcpctl-"))
    path = folder / f"{note.name}.md"
    is_kept = False
    try:
        path.touch(0o600)
        path.write_text(f"{shown}\n", encoding="utf-8")
        _run_editor(path)
        try:
            if text := files.read_text(path, _MAX_TEXT).strip():
                yield note.text if text == shown.strip() else text
        except McpctlError as error:
            is_kept = True
            error.hint += f"; your text is in {path}"
            raise
        if not text:
            raise McpctlError("the text is empty; nothing was written", "remove a note with: mcpctl annotate rm")
    finally:
        if not is_kept:
            shutil.rmtree(folder)


def _run_editor(path: Path) -> None:
    import shlex
    import signal
    import subprocess

    variable = next((name for name in ("VISUAL", "EDITOR") if os.environ.get(name)), "")
    hint = "set VISUAL or EDITOR to the command of your editor, or give the TEXT"
    try:
        command = shlex.split(os.environ.get(variable, "vi"))
        editor = subprocess.Popen([*command, path], stdout=2)
    except (OSError, ValueError) as error:
        raise McpctlError(f"cannot start the editor of {variable or 'the system, vi'}: {error}", hint) from error
    with editor:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the editor
        try:
            status = editor.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    if status:
        raise McpctlError(f"the editor ended with status {status}; nothing was written", hint)
