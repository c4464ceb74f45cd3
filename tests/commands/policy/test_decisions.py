"""`mcpctl policy decisions`: who said yes or no to which call, through what, and when."""

import os

import pytest

from mcpctl.base import posix
from mcpctl.base.callers import Client
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store.recorder import Origin, Recorder
from tests.commands.approvals.waiting import opened as waiting
from tests.conftest import Mcpctl
from tests.recorded import CURSOR, at, call, call_id, created, decided, opened, session, two_sessions

HASH = "a" * 64


@pytest.fixture
def decisions(paths: Paths) -> None:
    """Two calls that a person let through, one at a terminal and one in the client, and one that a rule refused."""
    yes = {"key": "notes:drop", "arguments_hash": HASH, "rule": "ask notes:*", "scope": "once"}
    two_sessions(paths)
    journal = opened(paths, created("5e551015-0000-4000-8000-000000000000", 20, client_name="mcpctl", via="cli"))
    journal.close()
    session(paths, "6e551015-0000-4000-8000-000000000000", 20, [
        *call(7, 21, "6e551015-0000-4000-8000-000000000000", server="notes", tool="drop"),
        decided(None, "approved", 20, **yes, channel="terminal", person="anna@box, /dev/pts/3", waited_ms=4000),
        decided(call_id(7), "allowed", 21, **yes, channel="terminal", waited_ms=4000),
        decided(call_id(4), "denied", 11, key="notes:delete_note", session_id=CURSOR),
        decided(call_id(5), "denied", 11, key="notes:typo", rule="unknown_tool", rule_place=None),  # of older versions
        decided(call_id(1), "approved", 3, **{**yes, "key": "weather:get_forecast"}, channel="client"),
    ])  # fmt: skip


def test_decisions_say_who_and_what_about_newest_first(mcpctl: Mcpctl, decisions: None) -> None:
    rows = mcpctl("policy", "decisions", "--json").json
    assert {row["made_at"] for row in rows} == {at(2)}
    found = {(row["decision"], row["key"], row["channel"], row["person"], row["call_id"]) for row in rows}
    assert found == {
        ("approved", "notes:drop", "terminal", "anna@box, /dev/pts/3", None),
        ("allowed", "notes:drop", "terminal", "anna@box, /dev/pts/3", call_id(7)),
        ("denied", "notes:delete_note", "rule", None, call_id(4)),
        ("approved", "weather:get_forecast", "client", "claude-code", call_id(1)),
    }
    assert {row["client_name"] for row in rows} == {"claude-code", "cursor"}


@pytest.mark.parametrize(
    ("options", "decisions_found"),
    [
        ("--decision approved,allowed", ["allowed", "approved", "approved"]),
        ("--decision denied", ["denied"]),
        ("--channel client", ["approved"]),
        ("--client cursor", ["denied"]),
        ("--server weather", ["approved"]),
        ("--tool delete_note", ["denied"]),
        ("--tool notes:d*", ["allowed", "approved", "denied"]),
        ("--tool notes.delete_note", ["denied"]),
        ("--session 2c02", ["denied"]),
        ("--since 2100-01-02", []),
        ("--until 2100-01-02 --decision denied", ["denied"]),
    ],
)
def test_decisions_are_chosen(mcpctl: Mcpctl, decisions: None, options: str, decisions_found: list[str]) -> None:
    rows = mcpctl("policy", "decisions", "--json", *options.split()).json
    assert sorted(row["decision"] for row in rows) == decisions_found
    assert mcpctl("policy", "decisions", "--count", *options.split()).out == f"{len(decisions_found)}\n"


def test_a_list_of_calls_shows_the_consent_to_each(mcpctl: Mcpctl, decisions: None) -> None:
    rows = mcpctl("calls", "ls", "--json", "--fields", "id,consent").json
    consents = {row["id"][0]: row["consent"] for row in rows}
    assert consents == {
        "7": "allowed once, terminal: anna@box, /dev/pts/3", "1": "approved once, client: claude-code",
        "4": "denied, rule", **dict.fromkeys("2356"),
    }  # fmt: skip


def test_an_answer_at_a_terminal_is_put_on_record_with_the_user(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    approval = waiting(paths)
    assert mcpctl("approvals", "deny", approval.id).code == 0
    (row,) = mcpctl("policy", "decisions", "--json").json
    assert (row["decision"], row["channel"], row["key"]) == ("declined", "terminal", approval.key)
    assert row["person"].startswith(f"{posix.person('').partition('@')[0]}@{os.uname().nodename}")


def test_a_login_of_the_dashboard_is_named(paths: Paths) -> None:
    recorder = Recorder(paths, RecordSettings(), via="cli")
    origin = Origin(Client("mcpctl"))
    recorder.decision_made("a:b", "approved", "ask a:b", origin=origin, channel="dashboard", login="1a2b")
    recorder.decision_made("a:b", "denied", "deny a:b", origin=origin)
    recorder.close()
    (journal,) = paths.sessions.iterdir()
    yes, no = [line for line in journal.read_text().splitlines() if "decisions.made" in line]
    assert f"@{os.uname().nodename}, login 1a2b of the dashboard" in yes
    assert '"person":null' in no


def test_an_unknown_decision_is_refused_with_those_there_are(mcpctl: Mcpctl) -> None:
    failed = mcpctl("policy", "decisions", "--decision", "yes")
    assert failed.code == 2
    assert "values: allowed, asked, approved, declined" in failed.err
