"""`mcpctl approvals show`"""

import json

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from tests.commands.approvals.waiting import opened, wanted
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


def test_it_is_a_question_and_full_has_all_of_it_with_hashes_last(mcpctl: Mcpctl, paths: Paths) -> None:
    asked = wanted()._replace(whole=json.dumps({"content": "line\n" * 100 + "\x1b[2Jthe end"}))
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, asked)
    shown = mcpctl("approvals", "show", approval.id).out.splitlines()
    assert shown[0] == "claude-code (session c0ffee00) wants to call files:delete."
    assert "  … 86 lines not shown …" in shown
    assert shown[-2].endswith(f"mcpctl approvals show --full {approval.id}")
    assert shown[-1].startswith("It can be answered until ")
    full = mcpctl("approvals", "show", approval.id, "--full").out
    assert full.count("  |   | line\n") == 100
    assert "  |   | \\x1b[2Jthe end\n" in full
    assert full.index("It can be answered until ") < full.index("arguments_hash: ab\n")
    mcpctl("approvals", "deny", approval.id)
    assert "It was denied by a command at " in mcpctl("approvals", "show", approval.id).out


def test_nobody_is_told_to_answer_what_is_over(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "OPEN_S", -1.0)
    shown = mcpctl("approvals", "show", opened(paths).id, tty=True)
    assert "Nobody answered until " in shown.out
    assert "allow" not in shown.err
