"""The failures that a user can meet: each has a message, a hint that fixes it, a stable code and an exit code."""

import contextlib
import re
import sys
from collections.abc import Callable
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes with their meanings; `man mcpctl` has the same table."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "ExitCode":
        member = int.__new__(cls, code)
        member._value_, member.meaning = code, meaning
        return member

    OK = 0, "Done, also when there was nothing to list."
    FAILED = 1, "Failed in a way that no other status names."
    USAGE = 2, "Wrong usage: an unknown option or value, or an id that is not unique."
    NOT_FOUND = 3, "Not found: the server, tool, session, call or toolset that was named does not exist."
    UPSTREAM = 4, "A server failed, or its tool answered with an error."
    UNUSABLE = 5, "Data or configuration cannot be used."
    REFUSED = 6, "Refused by policy."
    PROBLEMS = 7, "A check found problems."
    INTERRUPTED = 130, "Interrupted."
    PIPE_CLOSED = 141, "The reader of stdout has gone."


class McpctlError(Exception):
    """`main` prints its message and hint, and exits with `exit_code`."""

    code = "failed"
    exit_code = ExitCode.FAILED

    def __init__(self, message: str, hint: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code:
            self.code = code

    @property
    def body(self) -> dict[str, dict[str, str]]:
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class WrongUsage(McpctlError):
    code = "usage"
    exit_code = ExitCode.USAGE


class UnknownCommand(WrongUsage):
    code = "no_such_command"

    def __init__(self, word: str, noun: str) -> None:
        super().__init__(f"there is no command '{f'{noun} {word}' if noun else word}'", "")
        self.word = word
        self.noun = noun


class NotFound(McpctlError):
    code = "not_found"
    exit_code = ExitCode.NOT_FOUND


class UpstreamFailed(McpctlError):
    code = "upstream_failed"
    exit_code = ExitCode.UPSTREAM


class Unusable(McpctlError):
    code = "unusable"
    exit_code = ExitCode.UNUSABLE


class Refused(McpctlError):
    code = "refused"
    exit_code = ExitCode.REFUSED


class Problems(McpctlError):
    code = "problems"
    exit_code = ExitCode.PROBLEMS


_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)


def inert(text: str) -> str:
    """A line that no CI system takes for a command: `##[…` and `##vso[…` are broken anywhere in it."""
    return _COMMAND.sub("# #", text)


_PIECE = re.compile(r" *(?:\bmcpctl (?:(?!, | \()[^;])+[;,]?(?= |$) *|\S+ *)")  # a word, or a command to its end


def folded(text: str, indent: int = 0, *, out: bool = False) -> str:
    """A line of stderr, or of stdout, on a terminal broken between words, but never in a command, which one copies;
    what follows is indented."""
    if not (sys.stdout if out else sys.stderr).isatty():
        return text
    import shutil

    width = shutil.get_terminal_size().columns
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1].strip() and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append(" " * indent)
            piece = piece.lstrip()
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


_MAX_WARNED = 1000
_MAX_WARNING = 2000
_warned: dict[str, None] = {}
before_warning: list[Callable[[], None]] = []  # they make room on the terminal before a warning


def warn(message: str) -> None:
    """Print a warning on stderr, once for each message, without control characters."""
    message = message[:_MAX_WARNING]
    if message in _warned:
        return
    if len(_warned) >= _MAX_WARNED:
        _warned.pop(next(iter(_warned), ""), None)  # another thread may have removed it meanwhile
    _warned[message] = None
    from mcpctl.base.texts import printable

    for make_room in before_warning:
        make_room()
    with contextlib.suppress(OSError, ValueError):
        print(folded(f"mcpctl: {inert(printable(message))}"), file=sys.stderr, flush=True)  # noqa: T201
