"""The columns of sessions, and of what they cost."""

from mcpctl.base.fields import SESSION_FIELDS
from mcpctl.base.models import SAVING_FIELDS
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
SAVED = Columns(
    fields=SAVING_FIELDS,
    shown=("id", "client_name", "tools", "definitions_tokens", "metatools_tokens", "discovery_tokens", "saved_tokens"),
    cut=frozenset(("client_name",)),
    goes=("metatools_tokens", "discovery_tokens", "tools", "definitions_tokens", "client_name"),
    ids=frozenset(("id",)),
    labels={
        "client_name": "CLIENT", "definitions_tokens": "DEFINITIONS", "metatools_tokens": "META-TOOLS",
        "discovery_tokens": "SEARCHES", "saved_tokens": "SAVED",
    },
    noun="sessions",
    empty="no session is on record yet; connect a client to: mcpctl serve",
)  # fmt: skip
