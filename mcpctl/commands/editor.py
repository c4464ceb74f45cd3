"""A text changed by the user's editor, in a file of its own that nobody else can look into."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcpctl import output
from mcpctl.base import files
from mcpctl.base.errors import McpctlError


class Draft:
    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._text = text

    def edited(self, most: int) -> str:
        """The text as the user leaves it, of so many bytes; raises `McpctlError` if the editor fails."""
        _run_editor(self.path)
        return files.read_text(self.path, most)

    @property
    def is_worth_keeping(self) -> bool:
        try:
            content = files.read(self.path)
        except McpctlError:
            return self.path.is_file()  # too long, perhaps; a pipe would never end
        return bool(content.strip()) and content != self._text.encode()


@contextmanager
def draft(name: str, text: str) -> Iterator[Draft]:
    """A file of this name with the text. It is removed afterwards, unless the user has changed it in vain."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="mcpctl-"))
    draft, is_kept = Draft(folder / name, text), False
    try:
        draft.path.touch(0o600)
        draft.path.write_bytes(text.encode())
        yield draft
    except (McpctlError, KeyboardInterrupt) as error:
        if is_kept := draft.is_worth_keeping:
            if isinstance(error, McpctlError):
                error.hint += f"; your text is in {draft.path}"
            else:
                output.say(f"your text is in {draft.path}", always=True)
        raise
    finally:
        if not is_kept:
            shutil.rmtree(folder)


def _run_editor(path: Path) -> None:
    import shlex
    import signal
    import subprocess

    variable = next((name for name in ("VISUAL", "EDITOR") if os.environ.get(name)), "")
    hint = "set VISUAL or EDITOR to the command of your editor"
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
