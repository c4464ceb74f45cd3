"""A browser of the user's, told to open an address."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping

_OPEN = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
_ELSEWHERE = ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def can_open(env: Mapping[str, str] = os.environ) -> bool:
    """Whether there may be a browser whose window the user sees."""
    if env.get("BROWSER"):
        return True
    if any(env.get(name) for name in _ELSEWHERE):
        return False
    return sys.platform == "darwin" or any(env.get(name) for name in _DISPLAYS)


def open_(url: str, on_failed: Callable[[], None]) -> None:
    """Have it opened; `on_failed` is called, in a thread, where it could not be.

    By a process of its own: browsers write to stdout, which is for data, and some stay in the foreground. Isolated, as
    Python would else import what the current folder has under the names of its own modules.
    """

    def run() -> None:
        quiet = subprocess.DEVNULL
        command = [sys.executable, "-I", "-c", _OPEN, url]
        done = subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, check=False)
        if done.returncode:
            on_failed()

    threading.Thread(target=run, name="browser", daemon=True).start()
