"""How servers are listed."""

import shlex
from typing import Any

from mcpctl import servers
from mcpctl.clients import importing
from mcpctl.output import Columns


def _words(args: Any) -> str:
    return shlex.join(args) if args else ""


def _sentences(notes: Any) -> str:
    return "; ".join(notes)


COLUMNS = Columns(
    fields=servers.FIELDS,
    shown=("name", "enabled", "transport", "tools", "command", "args", "problem"),
    cut=frozenset(("command", "args", "env", "problem")),
    render={"args": _words},
    noun="servers",
    empty="no servers yet; add one with: mcpctl servers add NAME -- COMMAND ARGS",
)
IMPORTED = Columns(
    fields=importing.FIELDS,
    shown=("name", "action", "source", "source_name", "why"),
    cut=frozenset(("why", "path")),
    render={"notes": _sentences},
    noun="servers",
    empty="no servers to import",
)
