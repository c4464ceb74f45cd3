"""`mcpctl policy pause`: nothing is called any more by any command, with or without a policy, and it is said."""

import sqlite3
import time
from contextlib import closing

import pytest

from mcpctl.base import posix
from mcpctl.base.paths import Paths
from mcpctl.policy import approvals, pausing
from mcpctl.policy.approvals import CallApproval
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import clock
from tests.configured import configure, demo_tools, listed, stub
from tests.conftest import Mcpctl

SILENT = {"name": "t", "inputSchema": {"type": "object"}}


def test_without_a_policy_nothing_is_called_and_the_error_says_how_to_go_on(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("policy", "pause", "--json")
    assert (ran.code, ran.json["until"], ran.err) == (0, None, "")
    for words in (
        ("tools", "call", "weather:get_forecast", "city=Oslo"), ("prompts", "get", "x"), ("resources", "read", "x:y"),
    ):  # fmt: skip
        refused = mcpctl(*words)
        assert refused.code == 6, words
        assert "nothing is called, searched or read: paused since" in refused.err
        assert "go on with: mcpctl policy resume" in refused.err
    assert mcpctl("tools", "ls").code == 0
    assert mcpctl("calls", "ls", "--json").json[0]["status"] == "denied"


def test_an_agent_may_pause_and_its_shorter_pause_leaves_a_longer_one(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    first = mcpctl("policy", "pause", "--for", "2h", "--json").json
    assert mcpctl("policy", "pause", "--for", "1m", "--json").json == first
    longer = mcpctl("policy", "pause", "--for", "3h", "--json").json
    assert longer["since"] == first["since"]
    assert longer["until"] > first["until"]
    assert mcpctl("policy", "pause", "--json").json["until"] is None
    assert mcpctl("policy", "pause", "--for", "1m", "--json").json["until"] is None


def test_a_pause_for_a_time_is_over_after_it(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    mcpctl("policy", "pause", "--for", "1m")
    assert pausing.current(paths)
    later = time.time() + 61
    monkeypatch.setattr("mcpctl.policy.policy_file.time.time", lambda: later)
    assert pausing.current(paths) is None


@pytest.mark.parametrize("ends", ["soon", "-1h", "0m", "2001-01-01", "99999999w"])
def test_a_wrong_time_is_named_and_nothing_is_paused(mcpctl: Mcpctl, paths: Paths, ends: str) -> None:
    ran = mcpctl("policy", "pause", f"--for={ends}")
    assert ran.code == 2
    assert f"'{ends}' is not a time" in ran.err
    assert not paths.policy.exists()


def test_it_works_though_the_configuration_cannot_be_read(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths)
    paths.config.write_text("[policy\n", encoding="utf-8")
    ran = mcpctl("policy", "pause")
    assert ran.code == 0
    assert "this is not on record" in ran.err
    assert pausing.current(paths)


def test_it_works_though_state_db_is_damaged(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, policy={})
    with PolicyFile.connect(paths):
        pass
    paths.state.write_bytes(b"x" * 5000)
    ran = mcpctl("policy", "pause")
    assert ran.code == 0
    assert "a running mcpctl serve without a policy may not notice" in ran.err
    assert pausing.current(paths)


def test_it_is_on_record_once_with_who_did_it(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    configure(paths)
    mcpctl("policy", "pause")
    mcpctl("policy", "pause")
    mcpctl("policy", "resume")
    (session,) = mcpctl("sessions", "ls", "--json").json
    made = mcpctl("sessions", "show", session["id"], "--json").json["decisions"]
    assert [(each["key"], each["decision"], each["channel"]) for each in made] == [
        ("*", "paused", "terminal"),
        ("*", "resumed", "terminal"),
    ]
    rows = mcpctl("policy", "decisions", "--json").json
    assert [row["person"].partition(",")[0] for row in rows] == [posix.person().partition(",")[0]] * 2


def test_explain_check_and_doctor_say_it(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()}, policy={"allow": ["s:t"], "confirm_destructive": False})
    listed(paths, "s", [SILENT])
    mcpctl("policy", "pause")
    row = mcpctl("policy", "explain", "s:t", "--json").json
    assert (row["decision"], row["code"], row["enforced"], row["decided_by"]) == (
        "refused", "paused", True, "allow s:t",
    )  # fmt: skip
    text = mcpctl("policy", "explain", "s:t").out
    assert "decision:    refused: it is not called" in text
    assert "rule:        allow s:t, once that has ended" in text
    assert "nothing is called now: paused since" in mcpctl("policy", "check").err
    found = [row for row in mcpctl("doctor", "--json").json if row["code"] == "D152"]
    assert [row["status"] for row in found] == ["warning"]


def test_a_yes_given_meanwhile_says_that_nothing_is_called(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    configure(paths, {"s": stub()}, policy={})
    wanted = CallApproval("b", "s:t", "", "", "", "", "destructive", "", "{}", "h", "ask s:t", "")
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, wanted)
    mcpctl("policy", "pause")
    ran = mcpctl("approvals", "allow", approval.id)
    assert ran.code == 0
    assert "but nothing is called while it is paused since" in ran.err


def test_a_policy_db_of_before_is_paused_too(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, policy={})
    with PolicyFile.connect(paths):
        pass
    with closing(sqlite3.connect(paths.policy)) as db:
        db.executescript("DROP TABLE pause; DELETE FROM steps WHERE name = 'pause'")
    assert mcpctl("policy", "pause").code == 0
    assert pausing.current(paths)


def test_the_end_of_a_pause_is_shown_in_utc(mcpctl: Mcpctl, paths: Paths) -> None:
    mcpctl("policy", "pause", "--for", "2h")
    paused = pausing.current(paths)
    assert paused
    assert paused.until
    day, _, minute = clock.iso(paused.until)[:16].partition("T")
    assert paused.told.endswith(f"until {day} {minute}Z")


@pytest.mark.parametrize("until", ["1e18", "9e999", "'x'", "-1"])
def test_an_end_that_no_clock_has_pauses_until_it_is_resumed(mcpctl: Mcpctl, paths: Paths, until: str) -> None:
    demo_tools(paths)
    mcpctl("policy", "pause")
    with closing(sqlite3.connect(paths.policy)) as db:
        db.executescript(f"UPDATE pause SET since = 1e18, until = {until}")
    ran = mcpctl("tools", "call", "weather:get_forecast", "city=Oslo")
    if until == "-1":
        assert ran.code == 0
    else:
        assert (ran.code, "until it is resumed" in ran.err) == (6, True)


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_damaged_policy_db_refuses_calls_until_one_command_has_mended_it(
    mcpctl: Mcpctl, paths: Paths, person: None, is_gone: bool
) -> None:
    demo_tools(paths)
    mcpctl("policy", "pause")
    paths.policy.unlink() if is_gone else paths.policy.write_bytes(b"x" * 9000)
    ran = mcpctl("tools", "call", "weather:get_forecast", "city=Oslo")
    assert ran.code == 6
    assert "whether it is paused cannot be told" in ran.err
    mended = f"rm -f {paths.policy} {paths.state}"
    for words in (("policy", "pause"), ("policy", "resume")):
        assert mended in mcpctl(*words).err
    assert mended in mcpctl("doctor").out
    paths.policy.unlink(missing_ok=True)
    paths.state.unlink()
    assert mcpctl("tools", "call", "weather:get_forecast", "city=Oslo").code == 0
