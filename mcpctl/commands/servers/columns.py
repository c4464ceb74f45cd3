"""How servers are listed."""

import shlex
from collections.abc import Sequence
from typing import Any

from mcpctl import output, servers
from mcpctl.errors import UpstreamFailed
from mcpctl.models import CHECK_FIELDS, IMPORT_FIELDS, Row
from mcpctl.output import Columns


def _words(args: Any) -> str:
    return shlex.join(args) if args else ""


def _names(projects: Any) -> str:
    return ",".join(projects or ())


def _sentences(notes: Any) -> str:
    return "; ".join(notes)


COLUMNS = Columns(
    fields=servers.FIELDS,
    shown=("name", "enabled", "transport", "tools", "command", "args", "problem"),
    cut=frozenset(("command", "args", "env", "problem")),
    render={"args": _words, "projects": _names},
    noun="servers",
    empty="no servers yet; add one with: mcpctl servers add NAME -- COMMAND ARGS",
)
IMPORTED = Columns(
    fields=IMPORT_FIELDS,
    shown=("name", "action", "source", "source_name", "why"),
    cut=frozenset(("why", "path")),
    render={"notes": _sentences},
    noun="servers",
    empty="no servers to import",
)

CHECKED = Columns(
    fields=CHECK_FIELDS,
    shown=("server", "status", "revision", "tools", "connect_ms", "problems"),
    cut=frozenset(("problems",)),
    render={"problems": _sentences},
    labels={"connect_ms": "MS"},
    noun="servers",
    empty="no servers to check; add one with: mcpctl servers add NAME -- COMMAND ARGS",
)


def failures(rows: Sequence[Row]) -> None:
    """After a check: every problem in full at a terminal; raises `UpstreamFailed` when a server has failed."""
    for row in rows:
        for problem in row["problems"] or () if row["status"] == "odd" else ():
            output.say(f"{row['server']}: {problem}")
    failed = [row for row in rows if row["status"] == "failed"]
    if failed:
        told = "\n".join(
            problem if f"'{row['server']}'" in problem else f"server '{row['server']}': {problem}"
            for row in failed
            for problem in row["problems"]
        )
        again = f"mend it, then: mcpctl servers check {failed[0]['server']}"
        raise UpstreamFailed(f"{len(failed)} of {len(rows)} servers failed\n{told}", again, "check_failed")
