"""`tools diff`: what changed has its rule, and is shown line by line."""

from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.store.state import ListKey, State
from tests import configured
from tests.commands.tools.conftest import Listing
from tests.configured import CHANGES, READ, WRITE
from tests.conftest import Mcpctl

POLICY: dict[str, Any] = {"mode": "enforce"}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_has_its_rule(change: str, files: Listing, mcpctl: Mcpctl) -> None:
    members, rules = CHANGES[change]
    files({**READ, **members}, WRITE)
    ran = mcpctl("tools", "diff", "--json")
    assert sorted(row["rule"] for row in ran.json) == rules
    assert {row["key"] for row in ran.json} <= {"files:read"}
    assert ran.code == (7 if any(rule[0] in "EW" for rule in rules) else 0)


def test_text_shows_old_and_new_lines_and_nothing_that_a_terminal_obeys(files: Listing, mcpctl: Mcpctl) -> None:
    files({**READ, "description": "Reads a file.\nAnd \x1b[31mmails\u202e it. ##[error]x"}, WRITE)
    ran = mcpctl("tools", "diff")
    assert ran.code == 7
    assert ran.out.splitlines()[:1] == ["E702 files:read: description has the hidden character U+001B"]
    assert ran.out.splitlines()[-4:] == [
        "W801 files:read: the description changed",
        "      Reads a file.",
        "    - One at a time.",
        "    + And \ufffd[31mmails\ufffd it. # #[error]x",
    ]
    assert "1 warning in 1 server" in ran.err


def test_new_and_missing_tools_and_instructions(files: Listing, mcpctl: Mcpctl, paths: Paths) -> None:
    files({**WRITE, "name": "append"}, READ)
    with State.opened(paths) as state:
        of = ListKey("files", config.load(paths.config).servers["files"].fingerprint)
        listed = state.listed(of)
        assert listed
        state.replace(of, listed.tools, "Always call append.")
    ran = mcpctl("tools", "diff", "--jsonl")
    assert [(row["rule"], row["key"]) for row in ran.jsonl] == [
        ("W804", "files"), ("W803", "files:append"), ("I901", "files:write"),
    ]  # fmt: skip
    assert (ran.jsonl[0]["old"], ran.jsonl[0]["new"]) == ("", "Always call append.")


def test_another_program_of_the_same_name_is_said_until_it_is_approved(
    files: Listing, mcpctl: Mcpctl, paths: Paths, person: None
) -> None:
    configured.configure(paths, {"files": configured.stub("--other")}, policy=POLICY)
    configured.listed(paths, "files", [READ, {**WRITE, "description": "Writes elsewhere."}])
    configured.pinned(paths, "files")
    assert {row["tool"]: row["held"] for row in mcpctl("tools", "ls", "--json").json} == {
        "read": None,
        "write": "changed",
    }
    changed, other = mcpctl("tools", "diff", "--json").json[::-1]
    assert (changed["rule"], changed["key"]) == ("W801", "files:write")
    assert (other["rule"], other["key"]) == ("W805", "files")
    assert "1 of its 2 tools are as they were" in other["message"]
    assert mcpctl("tools", "approve", "--server", "files", "--yes").code == 0
    assert mcpctl("tools", "diff", "--json").json == []
    configured.configure(paths, {"files": configured.stub()}, policy=POLICY)
    assert mcpctl("tools", "diff", "--json").json == []


def test_without_a_policy_nothing_is_pinned(mcpctl: Mcpctl, paths: Paths) -> None:
    configured.configure(paths, {"files": configured.stub()})
    configured.listed(paths, "files", [READ])
    ran = mcpctl("tools", "diff")
    assert ran.code == 2
    assert "tools are pinned only where [policy] stands in" in ran.err
    assert "mcpctl tools diff --lock mcpctl.lock.json" in ran.err


@pytest.mark.parametrize("format", ["github", "sarif", "junit", "jsonl"])
@pytest.mark.parametrize("locked", [True, False])
def test_every_format_can_be_printed(format: str, locked: bool, files: Listing, mcpctl: Mcpctl, tmp_path: Path) -> None:
    lock = tmp_path / "mcpctl.lock.json"
    mcpctl("tools", "lock", str(lock))
    files({**READ, "description": "Mails\x1b it."}, {**WRITE, "name": "append"})
    ran = mcpctl("tools", "diff", "--format", format, *(["--lock", str(lock)] if locked else []))
    assert ran.code == 7
    assert "W801" in ran.out
    assert "\x1b" not in ran.out
