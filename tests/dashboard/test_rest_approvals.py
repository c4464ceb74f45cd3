"""Approvals over REST: read as on the command line, and answered once by a person."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mcpctl.base.errors import ExitCode
from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import Login
from mcpctl.policy import answering, approvals
from mcpctl.policy.approvals import CallApproval
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import sqlite
from tests.commands.approvals.waiting import GRANT, opened, wanted
from tests.conftest import Mcpctl
from tests.dashboard.conftest import PERSON
from tests.dashboard.held import asked, printed
from tests.proxy.client import journal_lines

Browser = Callable[..., TestClient]


def answered(client: TestClient, id_: str, said: Any, token: str = PERSON.form_token) -> Any:
    """What REST says to an answer: the status, and the object or the error."""
    answer = client.post(f"/api/v1/approvals/{id_}", json=said, headers={"X-Form-Token": token})
    body = answer.json()
    return answer.status_code, body.get("error", body)


def state(paths: Paths, approval: CallApproval) -> CallApproval:
    with PolicyFile.connect(paths) as file:
        return approvals.find(file, approval.id)


def decisions(home: Path) -> list[tuple[str, str, str]]:
    lines = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    return [(line["decision"], line["channel"], line["scope"]) for line in lines]


def called_again(paths: Paths, number: int = 1) -> CallApproval:
    """What serve gets when the call is made again: the yes that waits for it, or another question."""
    with PolicyFile.connect(paths) as file:
        return approvals.open_for(file, wanted(number))


def test_approvals_are_those_of_the_command_line(browser: Browser, mcpctl: Mcpctl, paths: Paths) -> None:
    client = browser()
    first, second = opened(paths, 1), opened(paths, 2)
    answered(client, first.id, {"decision": "deny"})
    rows = printed(mcpctl, "approvals", "ls")
    assert asked(client, "/approvals") == {"approvals": rows, "total": "2"}
    assert [each["id"] for each in asked(client, "/approvals", pending="true")["approvals"]] == [second.id]
    assert asked(client, f"/approvals/{first.id}") == printed(mcpctl, "approvals", "show", first.id)


@pytest.mark.parametrize(
    ("said", "scope", "session"),
    [
        ({"decision": "allow"}, "once", None),
        ({"decision": "allow", "scope": "once"}, "once", None),
        ({"decision": "allow", "scope": "session"}, "session", GRANT.session),
        ({"decision": "allow", "scope": "always"}, "always", ""),
    ],
)
def test_a_yes_holds_for_as_long_as_was_said(
    browser: Browser, paths: Paths, home: Path, said: Any, scope: str, session: str | None
) -> None:
    client, approval = browser(), opened(paths)
    status, row = answered(client, approval.id, said)
    assert (status, row["id"], row["state"]) == (200, approval.id, "allowed")
    assert (row["scope"], row["channel"]) == (scope, "dashboard")
    with PolicyFile.connect(paths) as file:
        assert approvals.grants(file) == (set() if session is None else {GRANT._replace(session=session)})
    (line,) = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert (line["decision"], line["channel"], line["scope"]) == ("approved", "dashboard", scope)
    again = called_again(paths)
    assert (again.id, again.state) == (approval.id, "allowed")
    assert state(paths, approval).state == "used"
    assert called_again(paths).id != approval.id


def test_a_no_is_kept_and_what_is_closed_stays_closed(browser: Browser, paths: Paths, home: Path) -> None:
    client, approval = browser(), opened(paths)
    status, row = answered(client, approval.id, {"decision": "deny", "scope": "once"})
    assert (status, row["state"], row["scope"]) == (200, "denied", None)
    later = called_again(paths)
    assert (later.state, later.id != approval.id) == ("pending", True)
    for said in ({"decision": "allow"}, {"decision": "deny"}):
        status, error = answered(client, approval.id, said)
        assert (status, error["code"]) == (404, "approval_closed")
    (line,) = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert (line["decision"], line["channel"]) == ("declined", "dashboard")


def test_a_no_takes_back_a_yes_that_still_holds(browser: Browser, paths: Paths) -> None:
    client, approval = browser(), opened(paths)
    answered(client, approval.id, {"decision": "allow", "scope": "always"})
    assert answered(client, approval.id, {"decision": "deny"})[0] == 200
    with PolicyFile.connect(paths) as file:
        assert not approvals.grants(file)


def test_one_of_two_who_take_a_yes_back_at_once_is_told(
    browser: Browser, paths: Paths, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, approval = browser(), opened(paths)
    answered(client, approval.id, {"decision": "allow", "scope": "session"})
    allowed = state(paths, approval)
    monkeypatch.setattr(answering, "found", lambda *_: allowed)  # as both have read it
    said = [answered(client, approval.id, {"decision": "deny"}) for _ in range(2)]
    assert [status for status, _ in said] == [200, 404]
    assert "it is denied" in said[1][1]["message"]
    assert decisions(home) == [("approved", "dashboard", "session"), ("declined", "dashboard", "session")]


def test_a_yes_is_recorded_as_one_though_a_no_follows_at_once(
    browser: Browser, paths: Paths, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, approval = browser(), opened(paths)
    find = approvals.find

    def after_a_no(file: PolicyFile, ref: str) -> CallApproval:
        assert approvals.answer(file, approval.id, scope=None, channel="terminal")
        return find(file, ref)

    monkeypatch.setattr(answering, "found", lambda *_: approval)
    monkeypatch.setattr(approvals, "find", after_a_no)
    assert answered(client, approval.id, {"decision": "allow"})[1]["state"] == "denied"
    assert decisions(home) == [("approved", "dashboard", "once")]


def test_who_finds_the_database_held_is_told_to_try_again(
    browser: Browser, mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, approval = browser(), opened(paths)
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0)
    with PolicyFile.connect(paths) as other, sqlite.transaction(other.db):
        status, error = answered(client, approval.id, {"decision": "allow"})
        ran = mcpctl("approvals", "deny", approval.id)
    assert (status, error["code"]) == (503, "database_held")
    assert (ran.code, ran.err) == (
        ExitCode.UNUSABLE,
        f"mcpctl: cannot write {paths.policy}: database is locked\n"
        "hint: another process has it at this moment; try again\n",
    )
    assert state(paths, approval).state == "pending"


def test_what_is_over_cannot_be_answered(browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "OPEN_S", -1.0)
    client, approval = browser(), opened(paths)
    status, error = answered(client, approval.id, {"decision": "allow"})
    assert (status, error["code"]) == (404, "approval_closed")
    assert "it is expired" in error["message"]
    assert asked(client, "/approvals", pending="true")["total"] == "0"


def test_a_definition_that_is_not_known_cannot_be_allowed_always(browser: Browser, paths: Paths) -> None:
    client = browser()
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, wanted(grant=GRANT._replace(pin="")))
    status, error = answered(client, approval.id, {"decision": "allow", "scope": "always"})
    assert (status, error["code"]) == (403, "definition_unknown")
    assert state(paths, approval).state == "pending"


@pytest.mark.parametrize(
    "said",
    [
        {}, [], None, "allow", {"decision": "maybe"}, {"decision": "allow", "scope": "forever"},
        {"decision": "allow", "scope": None}, {"decision": "allow", "for": "once"}, {"scope": "once"},
    ],
)  # fmt: skip
def test_what_is_no_decision_decides_nothing(browser: Browser, paths: Paths, said: Any) -> None:
    client, approval = browser(), opened(paths)
    status, error = answered(client, approval.id, said)
    assert (status, error["code"]) == (400, "usage")
    assert '"decision": "allow"' in error["hint"]
    assert state(paths, approval).state == "pending"


@pytest.mark.parametrize("body", [b"", b"decision=allow", b"\xff", b'{"decision":"allow"', b"[" * 5000])
def test_a_body_that_is_no_json_decides_nothing(browser: Browser, paths: Paths, body: bytes) -> None:
    client, approval = browser(), opened(paths)
    headers = {"X-Form-Token": PERSON.form_token}
    assert client.post(f"/api/v1/approvals/{approval.id}", content=body, headers=headers).status_code == 400
    assert state(paths, approval).state == "pending"


def test_the_last_one_and_none_are_answered_by_nobody(browser: Browser, paths: Paths) -> None:
    client, approval = browser(), opened(paths)
    assert answered(client, "last", {"decision": "allow"})[0] == 400
    assert answered(client, "ffffff", {"decision": "allow"})[0] == 404
    assert client.post(f"/api/v1/approvals/{approval.id}?scope=always", json={}).status_code == 400
    assert client.post("/api/v1/approvals", json={"decision": "allow"}).status_code == 405
    assert state(paths, approval).state == "pending"


@pytest.mark.parametrize(
    ("login", "read_only", "token"),
    [
        (PERSON, True, PERSON.form_token),
        (PERSON, False, ""),
        (PERSON, False, "another"),
        (Login(may_answer=False, form_token="form-token"), False, "form-token"),
        (Login(may_answer=False, form_token="", by_token=True), False, ""),
    ],
)
def test_whoever_only_reads_decides_nothing(
    browser: Browser, paths: Paths, login: Login, read_only: bool, token: str
) -> None:
    client, approval = browser(login=login, read_only=read_only), opened(paths)
    assert answered(client, approval.id, {"decision": "allow", "scope": "always"}, token)[0] == 403
    assert state(paths, approval).state == "pending"
    assert asked(client, "/approvals")["total"] == "1"


def test_the_beginning_of_an_id_is_not_enough(browser: Browser, paths: Paths) -> None:
    client, approval = browser(), opened(paths)
    status, error = answered(client, approval.id[:-1], {"decision": "allow"})
    assert (status, error["message"]) == (400, "name the approval by its whole id")
    assert state(paths, approval).state == "pending"


def test_a_body_that_is_no_text_is_no_decision(browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    address, headers = f"/api/v1/approvals/{approval.id}", {"X-Form-Token": PERSON.form_token}
    assert browser().post(address, content=b'{"decision":"\xff"}', headers=headers).status_code == 400


def test_nothing_is_kept_while_the_configuration_cannot_be_read(browser: Browser, paths: Paths) -> None:
    client, approval = browser(), opened(paths)
    paths.config.write_text("[policy", encoding="utf-8")
    assert answered(client, approval.id, {"decision": "allow"})[0] == 503
    assert state(paths, approval).state == "pending"
