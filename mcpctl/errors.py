"""Every failure a user can meet: a message, the hint that mends it, a stable code, an exit code."""

import contextlib
import re
import sys
from collections.abc import Callable
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process says to the shell; `man mcpctl` has the same table."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    UPSTREAM = 4
    UNUSABLE = 5
    REFUSED = 6
    PROBLEMS = 7
    INTERRUPTED = 130
    PIPE_CLOSED = 141


EXIT_MEANINGS = {
    ExitCode.OK: "Done, also when there was nothing to list.",
    ExitCode.FAILED: "Failed, in no way that is named below.",
    ExitCode.USAGE: "Wrong usage: an option or value that does not exist, an id that several have.",
    ExitCode.NOT_FOUND: "What was named does not exist: a server, a tool, a session, a call.",
    ExitCode.UPSTREAM: "A server failed, or its tool answered with an error.",
    ExitCode.UNUSABLE: "Data or configuration cannot be used.",
    ExitCode.REFUSED: "Refused by policy.",
    ExitCode.PROBLEMS: "A check found problems.",
    ExitCode.INTERRUPTED: "Interrupted.",
    ExitCode.PIPE_CLOSED: "The reader of stdout has gone.",
}
"""What each exit code tells, in the words of the manual."""


class McpctlError(Exception):
    """A failure in words for the user; `main` prints it and exits with `exit_code`."""

    code = "failed"
    exit_code = ExitCode.FAILED

    def __init__(self, message: str, hint: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code:
            self.code = code


class WrongUsage(McpctlError):
    """The command line cannot be taken as it stands."""

    code = "usage"
    exit_code = ExitCode.USAGE


class NotFound(McpctlError):
    """What was named does not exist."""

    code = "not_found"
    exit_code = ExitCode.NOT_FOUND


class UpstreamFailed(McpctlError):
    """An upstream server failed, or its tool answered `isError`."""

    code = "upstream_failed"
    exit_code = ExitCode.UPSTREAM


class Unusable(McpctlError):
    """Data or configuration cannot be used as it is."""

    code = "unusable"
    exit_code = ExitCode.UNUSABLE


class Refused(McpctlError):
    """Policy forbids it."""

    code = "refused"
    exit_code = ExitCode.REFUSED


class Problems(McpctlError):
    """A check found problems."""

    code = "problems"
    exit_code = ExitCode.PROBLEMS


_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)


def inert(text: str) -> str:
    """A line in which a CI system finds no command of its own, wherever in it: `##[…` and `##vso[…` are broken."""
    return _COMMAND.sub("# #", text)


_MOST_WARNED = 1000
_LONGEST_WARNING = 2000
_warned: dict[str, None] = {}
"""What was said already, the oldest first; of very many the oldest are forgotten."""
before_warning: list[Callable[[], None]] = []
"""What makes room on a terminal for a warning."""


def warn(message: str) -> None:
    """Say on stderr, once, what went wrong without stopping anything; control characters never reach the terminal."""
    message = message[:_LONGEST_WARNING]
    if message in _warned:
        return
    if len(_warned) >= _MOST_WARNED:
        # Another thread may have forgotten it meanwhile.
        _warned.pop(next(iter(_warned), ""), None)
    _warned[message] = None
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in message)
    for make_room in before_warning:
        make_room()
    with contextlib.suppress(OSError, ValueError):
        print(f"mcpctl: {inert(text)}", file=sys.stderr, flush=True)  # noqa: T201
