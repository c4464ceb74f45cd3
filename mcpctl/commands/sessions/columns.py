"""How sessions are listed."""

from mcpctl.models import SESSION_FIELDS
from mcpctl.output import Columns

COLUMNS = Columns(
    fields=SESSION_FIELDS,
    shown=("id", "client_name", "status", "last_activity", "tool_call_count", "discovery_count", "tokens"),
    also=("tokens",),
    cut=frozenset(("client_name", "client_version", "capabilities")),
    goes=("discovery_count", "tokens", "status"),
    ids=frozenset(("id",)),
    labels={
        "client_name": "CLIENT", "last_activity": "ACTIVE", "tool_call_count": "CALLS", "discovery_count": "SEARCHES",
    },
    noun="sessions",
    empty="no session is on record yet; connect a client to: mcpctl serve",
)  # fmt: skip
