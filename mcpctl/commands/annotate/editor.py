"""A note's text in the user's editor."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.toolsets.toolset import HIDDEN, Note

_MAX_TEXT = 1 << 16


@contextmanager
def opened(note: Note) -> Iterator[str]:
    """The note's text as the user leaves it in the editor; its name must be one that notes may have.

    The file is in a folder of its own, that nobody else can look into. It is removed afterwards, unless the text that
    the user wrote cannot be used. Raises `McpctlError` if the editor fails, or the text is empty.
    """
    shown = HIDDEN.sub("", note.text.replace("\r\n", "\n"))
    folder = Path(tempfile.mkdtemp(prefix="mcpctl-"))
    path = folder / f"{note.name}.md"
    is_kept = False
    try:
        path.touch(0o600)
        path.write_text(f"{shown}\n", encoding="utf-8")
        _run(path)
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


def _run(path: Path) -> None:
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
