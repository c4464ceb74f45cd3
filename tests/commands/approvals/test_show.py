"""`mcpctl approvals show`"""

import pytest

from mcpctl.base.paths import Paths
from tests.commands.approvals.waiting import opened
from tests.conftest import Mcpctl


@pytest.mark.parametrize("length", [5, 6])
def test_one_is_shown_by_the_beginning_of_its_id(length: int, mcpctl: Mcpctl, paths: Paths) -> None:
    approval = opened(paths)
    shown = mcpctl("approvals", "show", approval.id[:length], "--json").json
    assert (shown["key"], shown["arguments"], shown["rule_place"]) == (
        "files:delete",
        '{"path": "/x"}',
        "config.toml:3",
    )


def test_the_newest_is_shown_and_how_to_answer(mcpctl: Mcpctl, paths: Paths) -> None:
    opened(paths)
    newest = opened(paths, 2)
    assert f"mcpctl approvals allow {newest.id}" in mcpctl("approvals", "show", tty=True).err


def test_there_may_be_none(mcpctl: Mcpctl, paths: Paths) -> None:
    assert mcpctl("approvals", "show").code == 3
    opened(paths)
    assert mcpctl("approvals", "show", "xyz").code == 3
    assert mcpctl("approvals", "show", "").code == 3
