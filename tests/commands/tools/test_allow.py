"""`mcpctl tools allow`"""

from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.commands.servers.test_add import by_hand
from tests.commands.tools.test_deny import entry, of_s
from tests.configured import READ, WRITE, listed
from tests.conftest import Mcpctl


@pytest.mark.parametrize(
    ("members", "tools", "only"),
    [
        ({"tools": {"WRITE": False, "read": False}}, {"read": False}, None),
        ({"tools": {"write": False, "Write": False}}, {}, None),
        ({"only": ["read"]}, {}, ["read", "write"]),
        ({"only": []}, {}, ["write"]),
        ({"only": ["wr*"], "tools": {"write": False}}, {}, ["wr*"]),
    ],
)
def test_what_is_allowed_is_not_barred_by_its_entry_any_more(
    members: Any, tools: Any, only: Any, mcpctl: Mcpctl, paths: Paths, person: None
) -> None:
    entry(paths, **members)
    (row,) = mcpctl("tools", "allow", "s:write", "--json").json
    assert (row["action"], row["decision"]) == ("allowed", "allow")
    assert of_s(paths) == (tools, only)


def test_what_a_rule_denies_still_is_said_with_its_place(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    by_hand(paths, "[servers.s]\ncommand = 'true'\n[servers.s.tools]\nwrite = false\n[policy]\ndeny = [\n 's:w*']\n")
    listed(paths, "s", [READ, WRITE])
    ran = mcpctl("tools", "allow", "s:write", "s:read")
    assert ran.code == 0
    assert f"s:write is still denied: deny s:w* ({paths.config}, line 5); see: mcpctl policy explain s:write" in ran.err
    assert "s:read is asked about at each call: confirm_destructive @destructive" in ran.err
    by_hand(paths, "[servers.s]\ncommand = 'true'\nenabled = false\n")
    assert "s:write is still refused: server 's' is disabled; enable it" in mcpctl("tools", "allow", "s:write").err


@pytest.mark.parametrize("by", ["a model", "no terminal"])
def test_anybody_may_deny_and_only_a_person_allow(
    by: str, mcpctl: Mcpctl, paths: Paths, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "a model":
        monkeypatch.setenv("CLAUDECODE", "1")
    else:
        monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: False)
    entry(paths, only=["read", "write"])
    assert mcpctl("tools", "deny", "s:write").code == 0
    before = paths.config.read_bytes()
    for loosening in (
        ["tools", "allow", "s:write"],
        ["servers", "set", "s", "--unset", "tools"],
        ["servers", "set", "s", "--unset", "only"],
        ["servers", "set", "s", "--only", "*"],
    ):
        ran = mcpctl(*loosening)
        assert (ran.code, "only a person can" in ran.err) == (6, True)
    assert paths.config.read_bytes() == before
    assert mcpctl("servers", "set", "s", "--only", "read").code == 0
