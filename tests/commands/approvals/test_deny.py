"""`mcpctl approvals deny`"""

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from tests.commands.approvals.waiting import opened, wanted
from tests.conftest import Mcpctl


def test_a_no_needs_no_terminal_and_bars_no_later_call(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    approval = opened(paths)
    assert mcpctl("approvals", "deny", approval.id).out == f"{approval.id}\n"
    assert mcpctl("approvals", "deny", approval.id).code == 3
    with PolicyFile.connect(paths) as file:
        assert approvals.find(file, approval.id).state == "denied"
        later = approvals.open_for(file, wanted())
    assert (later.state, later.id != approval.id) == ("pending", True)


def test_the_last_one_is_denied_by_nobody(mcpctl: Mcpctl, paths: Paths) -> None:
    opened(paths)
    assert mcpctl("approvals", "deny", "last").code == 2
    assert "last" not in mcpctl("approvals", "deny", "--help").out
