"""The approvals in `policy.db` as rows, and their columns."""

import time

from mcpctl.models import APPROVAL_FIELDS, Found, Row
from mcpctl.output import Columns
from mcpctl.paths import Paths
from mcpctl.store import approvals, clock
from mcpctl.store.approvals import Approval
from mcpctl.store.policy_file import PolicyFile

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


def rows(paths: Paths, *, pending: bool) -> Found:
    """The approvals, the newest first. Where nothing was ever decided, asking makes no database."""
    if not paths.policy.exists():
        return Found.of([], filtered=pending)
    with PolicyFile.connect(paths) as file:
        return Found.of([row(each) for each in approvals.listed(file, pending=pending)], filtered=pending)


def row(approval: Approval) -> Row:
    """One approval, under the names that users see."""
    return {
        "id": approval.id,
        "state": approval.state_at(time.time()),
        "scope": approval.scope,
        "key": approval.key,
        "risk": approval.risk,
        "hints": approval.hints,
        "arguments": approval.arguments,
        "rule": approval.rule,
        "rule_place": approval.rule_place or None,
        "project": approval.project or None,
        "token_id": approval.token or None,
        "session_id": approval.session,
        "arguments_hash": approval.arguments_hash,
        "pin": approval.pin,
        "channel": approval.channel,
        "created_at": clock.iso(approval.created),
        "expires_at": clock.iso(approval.expires),
        "answered_at": clock.iso(approval.answered) if approval.answered else None,
    }
