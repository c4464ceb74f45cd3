"""The entry point. The help of the program and its version were made beforehand: what parses command lines takes six
times as long to import as Python takes to start."""

import atexit
import codecs
import contextlib
import gc
import io
import os
import sys
from collections.abc import Sequence

from mcpctl import __version__

# Without this the interpreter looks for garbage in what is imported, and once more before it ends: each is a tenth of
# the time of a short command.
gc.set_threshold(100_000)
atexit.register(gc.freeze)

HELP_WIDTHS = range(50, 79)  # those of the pages in `help.txt`


def main(args: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if args is None else args)
    if sys.platform == "win32":
        print("mcpctl: Windows is not supported yet; use it in WSL", file=sys.stderr)
        return 1
    _prepare_streams()
    if not os.environ.get("_MCPCTL_COMPLETE"):
        with contextlib.suppress(OSError):  # whatever fails here fails again below, where there are words for it
            if text := _made_beforehand(words):
                print(text, end="", flush=True)
                return 0
    from mcpctl.cli.command_run import run

    return run(words)


def _made_beforehand(words: Sequence[str]) -> str:
    """The answer to a command line that always has the same one."""
    if words == ["--version"]:
        return f"mcpctl {__version__}\n"
    if words not in (["--help"], ["-h"]):
        return ""
    with open(__file__.removesuffix("main.py") + "help.txt", encoding="utf-8") as file:  # noqa: PTH123 - takes as long to import
        pages = file.read().split("\f")
    width = min(max(_columns() - 2, HELP_WIDTHS[0]), HELP_WIDTHS[-1])
    return pages[HELP_WIDTHS.index(width)]


def _columns() -> int:
    """The terminal's columns as `shutil.get_terminal_size` has them, which takes as long to import as all of this."""
    with contextlib.suppress(KeyError, ValueError):
        if (columns := int(os.environ["COLUMNS"])) > 0:
            return columns
    with contextlib.suppress(OSError):  # stdout is not a terminal
        return os.get_terminal_size().columns or 80
    return 80


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for the life of the process
        elif hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    codecs.register_error("refuse", _refuse_stdin)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="refuse")


def _refuse_stdin(_: UnicodeError) -> tuple[str, int]:
    from mcpctl.base.errors import WrongUsage

    raise WrongUsage("stdin is not UTF-8", "pass UTF-8 text")
