"""Calls that wait for consent."""

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.approvals import CallApproval, Grant
from mcpctl.policy.policy_file import PolicyFile

GRANT = Grant("files:delete", "sha256/v1:ab;d1", "", "", "c0ffee00-0000-4000-8000-000000000001")


def wanted(number: int = 1, grant: Grant = GRANT) -> CallApproval:
    """A call that needs a yes."""
    return CallApproval(
        f"binding {number}", *grant, "destructive", "hints", '{"path": "/x"}', "ab", "ask files:*", "config.toml:3",
        client="claude-code", effect="It may make changes that cannot be undone.",
    )  # fmt: skip


def opened(paths: Paths, number: int = 1) -> CallApproval:
    """One that waits for it."""
    with PolicyFile.connect(paths) as file:
        return approvals.open_for(file, wanted(number))
