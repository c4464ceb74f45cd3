"""The columns of tokens."""

from typing import Any

from mcpctl.base.models import TOKEN_FIELDS
from mcpctl.output import Columns


def _names(names: Any) -> str:
    return ",".join(names)


COLUMNS = Columns(
    fields=TOKEN_FIELDS,
    shown=("id", "state", "projects", "servers", "read_only", "created", "expires"),
    cut=frozenset(("projects", "servers")),
    keeps={"projects": 10, "servers": 10},
    goes=("created", "read_only"),
    render={"projects": _names, "servers": _names},
    noun="tokens",
    empty="no tokens; make one with: mcpctl tokens create",
)
