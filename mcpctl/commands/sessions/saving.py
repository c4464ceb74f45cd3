"""The columns of what sessions cost."""

from mcpctl.models import SAVING_FIELDS
from mcpctl.output import Columns

COLUMNS = Columns(
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
