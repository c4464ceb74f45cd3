"""How servers are listed."""

import shlex
from typing import Any

from mcpctl import servers
from mcpctl.output import Columns


def _words(args: Any) -> str:
    return shlex.join(args) if args else ""


COLUMNS = Columns(
    fields=servers.FIELDS,
    shown=("name", "enabled", "transport", "tools", "command", "args", "problem"),
    cut=frozenset(("command", "args", "env", "problem")),
    render={"args": _words},
    noun="servers",
    empty="no servers yet; add one with: mcpctl servers add NAME -- COMMAND ARGS",
)
