"""A browser of the user's, told to open an address.

Never one in the terminal: that is ours, and without one it waits for ever.
"""

import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

_OPEN = """
import sys, webbrowser
url, *named = sys.argv[1:]
def is_opened(name):
    try:
        return webbrowser.get(name).open(url)
    except webbrowser.Error:
        return False
sys.exit(not (any(map(is_opened, named)) if named else webbrowser.open(url)))
"""
_ELSEWHERE = ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_OF_TERMINALS = frozenset(("www-browser", "lynx", "w3m", "links", "links2", "elinks", "browsh", "carbonyl", "chawan"))
_PATIENCE_S = 20.0  # a browser that has not said by then whether it opened the address is taken for failed


def can_open(env: Mapping[str, str] = os.environ) -> bool:
    is_elsewhere = not env.get("BROWSER") and any(env.get(name) for name in _ELSEWHERE)
    return not is_elsewhere and has_window(env)


def has_window(env: Mapping[str, str] = os.environ) -> bool:
    if env.get("BROWSER"):
        return bool(_named(env))
    return sys.platform == "darwin" or any(env.get(name) for name in _DISPLAYS)


def open_(url: str, on_failed: Callable[[], None]) -> None:
    """Have a browser open it; `on_failed` is called once, in a thread, where it could not, or where that is not known
    soon. By a process of its own: browsers write to stdout, which is for data, and some stay in the foreground.
    Isolated, as Python would else import modules of the current folder under the names of its own. Where $BROWSER is
    set, no other is tried; without $TERM, Python tries none that needs a terminal."""
    named, quiet = _named(os.environ), subprocess.DEVNULL
    env = {name: value for name, value in os.environ.items() if name != "TERM"}
    command = [sys.executable, "-I", "-c", _OPEN, url, *named]
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=env)

    def wait() -> None:
        try:
            has_failed = process.wait(_PATIENCE_S) != 0
        except subprocess.TimeoutExpired:
            has_failed = True
        if has_failed:
            on_failed()
        process.wait()

    threading.Thread(target=wait, name="browser", daemon=True).start()


def _named(env: Mapping[str, str]) -> list[str]:
    return [browser for browser in env.get("BROWSER", "").split(os.pathsep) if browser and not _is_of_terminal(browser)]


def _is_of_terminal(browser: str) -> bool:
    try:
        program = shlex.split(browser)[0]
    except (ValueError, IndexError):
        return False
    executable = shutil.which(program)
    names = (Path(program).name, Path(executable).resolve().name if executable else "")
    return not _OF_TERMINALS.isdisjoint(names)
