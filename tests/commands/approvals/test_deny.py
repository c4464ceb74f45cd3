"""`mcpctl approvals deny`"""

import pytest

from mcpctl.paths import Paths
from mcpctl.store import approvals
from mcpctl.store.policy_file import PolicyFile
from tests.commands.approvals.waiting import opened, wanted
from tests.conftest import Mcpctl


def test_a_no_needs_no_terminal_and_holds(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    approval = opened(paths)
    assert mcpctl("approvals", "deny", approval.id).out == f"{approval.id}\n"
    assert mcpctl("approvals", "deny", approval.id).code == 3
    with PolicyFile.connect(paths) as file:
        assert approvals.open_for(file, wanted()).state == "denied"
