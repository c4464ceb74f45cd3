"""`mcpctl sessions ls`"""

import re

import pytest

from mcpctl.base.fields import SESSION_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import retention
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, CURSOR, at, call, created, opened, searched, session, two_sessions


def ids(mcpctl: Mcpctl, *options: str) -> list[str]:
    return mcpctl("sessions", "ls", "--fields", "id", *options).out.split()


def test_the_session_with_the_latest_activity_is_first(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, CURSOR, 1, call(1, 2, CURSOR))
    session(paths, CLAUDE, 0, call(2, 3))
    assert ids(mcpctl) == [CLAUDE, CURSOR]


def test_a_row_has_every_field(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, CLAUDE, 0, [*call(1, 1), *call(2, 2), searched(3, 3)])
    (row,) = mcpctl("sessions", "ls", "--json").json
    assert tuple(row) == SESSION_FIELDS
    assert row == {
        "id": CLAUDE,
        "client_name": "claude-code",
        "client_version": "2.0",
        "protocol_version": "2025-11-25",
        "status": "closed",
        "start_time": at(0),
        "last_activity": at(3),
        "end_time": at(5),
        "tool_call_count": 2,
        "total_tokens": 34,
        "discovery_count": 1,
        "discovery_tokens": 40,
        "capabilities": {"roots": {}},
        "project": None,
        "toolset": None,
        "config_path": None,
        "direct": None,
        "token_id": None,
    }


def test_a_session_that_lives_is_active_and_has_no_end(mcpctl: Mcpctl, paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    (row,) = mcpctl("sessions", "ls", "--json").json
    assert (row["status"], row["end_time"]) == ("active", None)
    journal.close()


def test_a_session_that_was_killed_is_closed_since_its_last_activity(mcpctl: Mcpctl, paths: Paths) -> None:
    opened(paths, created(), call(1, 1)).close()
    before = [file.read_bytes() for file in paths.sessions.iterdir()]
    (row,) = mcpctl("sessions", "ls", "--json").json
    assert (row["status"], row["end_time"]) == ("closed", row["last_activity"])
    assert [file.read_bytes() for file in paths.sessions.iterdir()] == before


def test_status_tells_the_living_from_the_closed_and_the_killed(mcpctl: Mcpctl, paths: Paths) -> None:
    living, killed, closed = (f"{n}e551015-0000-4000-8000-000000000000" for n in range(3))
    journal = opened(paths, created(living, 3))
    opened(paths, created(killed, 2)).close()
    session(paths, closed, 1)
    assert ids(mcpctl, "--status", "active") == [living]
    assert ids(mcpctl, "--status", "closed") == [killed, closed]
    assert mcpctl("sessions", "ls", "--status", "closed", "--count").out == "2\n"
    journal.close()


def test_client_chooses_by_name(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    assert ids(mcpctl, "--client", "cursor") == [CURSOR]
    ran = mcpctl("sessions", "ls", "--client", "curser", "--json")
    assert (ran.code, ran.error["code"], ran.error["hint"]) == (3, "client_not_found", "did you mean 'cursor'?")


def test_project_chooses_what_was_in_force(mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(paths, created(CLAUDE, 1, project="acme")).close()
    opened(paths, created(CURSOR, 0)).close()
    assert ids(mcpctl, "--project", "acme") == [CLAUDE]
    assert mcpctl("sessions", "ls", "--project", "acne").code == 3
    assert mcpctl("sessions", "show", CLAUDE, "--json").json["project"] == "acme"
    monkeypatch.setenv("MCPCTL_PROJECT", "acme")
    assert ids(mcpctl) == [CLAUDE, CURSOR]


@pytest.mark.parametrize("bad", ["open", "ACTIVE", ""])
def test_an_unknown_status_is_refused_with_the_values_there_are(mcpctl: Mcpctl, bad: str) -> None:
    ran = mcpctl("sessions", "ls", "--status", bad)
    assert ran.code == 2
    assert "active, closed" in ran.err


def test_a_terminal_is_told_what_was_removed_and_why(mcpctl: Mcpctl, paths: Paths) -> None:
    session(paths, CLAUDE, 0)
    session(paths, CURSOR, 1)
    retention.tidy(paths, RecordSettings(keep_sessions=1))
    said = mcpctl("sessions", "ls", tty=True).err
    assert re.fullmatch(r"1 older session was removed on \d{4}-\d\d-\d\d: keep_sessions = 1 in \[records\]\n", said)
    session(paths, CLAUDE, 2)
    session(paths, f"3{CLAUDE[1:]}", 3)
    retention.tidy(paths, RecordSettings(keep_sessions=1))
    assert mcpctl("sessions", "ls", tty=True).err.startswith("3 older sessions were removed, the last on ")
    assert mcpctl("sessions", "ls").err == ""


def test_tokens_are_those_of_calls_and_searches_as_in_the_dashboard(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    row = mcpctl("sessions", "ls", "--limit", "1", "--json").json[0]
    assert "tokens" not in row
    shown = mcpctl("sessions", "ls", "--limit", "1", "--fields", "tokens,total_tokens").out
    assert shown == f"{row['total_tokens'] + row['discovery_tokens']}\t{row['total_tokens']}\n"
