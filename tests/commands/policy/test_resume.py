"""`mcpctl policy resume`: a person, and nobody else, ends a pause."""

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import pausing
from tests.configured import demo_tools
from tests.conftest import Mcpctl


@pytest.mark.process
def test_after_it_calls_go_through_again(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    demo_tools(paths)
    mcpctl("policy", "pause")
    ran = mcpctl("policy", "resume", "--json")
    assert ran.json["channel"] == "terminal"
    assert pausing.current(paths) is None
    assert mcpctl("tools", "call", "weather:get_forecast", "city=Oslo").code == 0


@pytest.mark.parametrize("agent", ["CLAUDECODE", "CODEX_SANDBOX", ""])
def test_no_agent_and_no_script_may(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, agent: str, person: None
) -> None:
    mcpctl("policy", "pause")
    if agent:
        monkeypatch.setenv(agent, "1")
    else:
        monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: False)
    ran = mcpctl("policy", "resume")
    assert ran.code == 6
    assert "only a person can end a pause" in ran.err
    assert pausing.current(paths)


def test_where_nothing_is_paused_it_says_so(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    ran = mcpctl("policy", "resume")
    assert (ran.code, ran.err) == (0, "nothing was paused\n")
    assert mcpctl("policy", "resume", "--json").json is None
    assert not paths.policy.exists()
