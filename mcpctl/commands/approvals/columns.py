"""The columns of approvals."""

from mcpctl.base.fields import APPROVAL_FIELDS
from mcpctl.base.models import STANDING_FIELDS
from mcpctl.output import Columns

COLUMNS = Columns(
    fields=APPROVAL_FIELDS,
    shown=("id", "created_at", "state", "scope", "key", "risk", "arguments"),
    cut=frozenset(("key", "arguments", "hints", "rule")),
    keeps={"key": 30},
    goes=("risk", "created_at", "scope", "arguments"),
    labels={"created_at": "ASKED"},
    noun="approvals",
    empty="nothing waits for your consent",
)
STANDING = Columns(
    fields=STANDING_FIELDS,
    shown=("id", "key", "scope", "since", "until", "project", "token_id"),
    cut=frozenset(("key",)),
    keeps={"key": 30},
    goes=("token_id", "project", "since"),
    labels={"token_id": "TOKEN"},
    noun="standing yeses",
    empty="no yes holds for more than one call",
)
