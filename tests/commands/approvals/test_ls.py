"""`mcpctl approvals ls`"""

from mcpctl.base.fields import APPROVAL_FIELDS
from mcpctl.base.paths import Paths
from tests.commands.approvals.waiting import opened
from tests.conftest import Mcpctl


def test_nothing_is_made_by_looking(mcpctl: Mcpctl, paths: Paths) -> None:
    assert mcpctl("approvals", "ls", "--json").json == []
    assert not paths.policy.exists()


def test_all_are_listed_and_those_that_wait(mcpctl: Mcpctl, paths: Paths) -> None:
    first, second = opened(paths), opened(paths, 2)
    rows = mcpctl("approvals", "ls", "--json").json
    assert {row["id"] for row in rows} == {first.id, second.id}
    assert tuple(rows[0]) == APPROVAL_FIELDS
    assert [row["state"] for row in rows] == ["pending", "pending"]
    mcpctl("approvals", "deny", first.id)
    assert [row["id"] for row in mcpctl("approvals", "ls", "--pending", "--json").json] == [second.id]
