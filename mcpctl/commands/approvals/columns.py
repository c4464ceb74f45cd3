"""The columns of approvals."""

from mcpctl.models import APPROVAL_FIELDS
from mcpctl.output import Columns

COLUMNS = Columns(
    fields=APPROVAL_FIELDS,
    shown=("id", "created_at", "state", "key", "risk", "arguments"),
    cut=frozenset(("key", "arguments", "hints", "rule")),
    keeps={"key": 30},
    goes=("risk", "created_at", "arguments"),
    labels={"created_at": "ASKED"},
    noun="approvals",
    empty="nothing waits for your consent",
)
