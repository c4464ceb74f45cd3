"""The page of approvals: what is asked, and answers that are given there."""

import json
import re
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import Login
from mcpctl.policy import answering, approvals
from mcpctl.policy.approvals import CallApproval
from mcpctl.policy.policy_file import PolicyFile
from tests import recorded
from tests.commands.approvals.waiting import GRANT, opened, wanted
from tests.dashboard.conftest import PERSON
from tests.dashboard.test_tools_pages import text_of
from tests.proxy.client import journal_lines

Browser = Callable[..., TestClient]


def form(answer: str = "once", token: str = PERSON.form_token) -> dict[str, str]:
    return {"answer": answer, "form_token": token}


def kept(paths: Paths, id_: str) -> CallApproval:
    with PolicyFile.connect(paths) as file:
        return approvals.find(file, id_)


def test_what_waits_is_shown_whole(browser: Browser, paths: Paths) -> None:
    recorded.session(paths, id_=GRANT.session)
    approval = opened(paths)
    page = browser().get("/approvals").text
    text = text_of(page)
    assert (
        "1 call waits for your consent. Show what waits now files:delete claude-code (session c0ffee00) wants" in text
    )
    assert "It may make changes that cannot be undone." in text
    assert '<span class="">path: /x</span>' in page
    assert "Rule ask files:*, config.toml:3" in text
    assert f'data-until="{answering.row(approval)["expires_at"]}"' in page
    assert f'<form method="post" action="/approvals/{approval.id}">' in page
    assert '<input type="hidden" name="form_token" value="form-token">' in page
    buttons = re.findall(r'<button name="answer" value="(\w+)"', page)
    assert buttons == ["deny", "once", "session", "always"], "what the Enter key could press says no"
    assert "autofocus" not in page


def test_what_is_long_is_cut_among_others_and_whole_on_its_own_page(browser: Browser, paths: Paths) -> None:
    content = "all is well\n" * 3000 + "</pre><b>rm -rf ~/"
    asked = wanted()._replace(whole=json.dumps({"content": content, "old": "a\nb", "new": "a\nc"}), found="'rm -rf ~/'")
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, asked)
    client = browser()
    page = client.get("/approvals").text
    assert "2,977 lines not shown" in page
    assert f'<a href="/approvals/{approval.id}">show all of it</a>' in page
    assert "the checks find in them: 'rm -rf ~/' ." in text_of(page)
    assert re.findall(r'<button name="answer" value="(\w+)"', page) == ["deny", "once"], "not all of it is shown"
    assert '<span class="gone">  - b</span><span class="come">  + c</span>' in page
    whole = client.get(f"/approvals/{approval.id}").text
    assert whole.count("| all is well") == 3000
    assert "| &lt;/pre&gt;&lt;b&gt;rm -rf ~/" in whole
    assert "not shown" not in whole
    assert re.findall(r'<button name="answer" value="(\w+)"', whole) == ["deny", "once", "session", "always"]
    client.post(f"/approvals/{approval.id}", data=form("deny"))
    after = client.get(f"/approvals/{approval.id}").text
    assert "It was denied in the dashboard at " in text_of(after)
    assert 'value="once"' not in after
    assert client.get("/approvals/ffffff").status_code == 404


def test_many_are_shown_a_few_at_a_time(browser: Browser, paths: Paths) -> None:
    for number in range(23):
        opened(paths, number)
    page = browser().get("/approvals").text
    assert "23 calls wait" in page
    assert page.count("<article") == 20
    assert "3 more wait" in text_of(page)


def test_to_allow_more_than_the_call_takes_a_step_more(browser: Browser, paths: Paths) -> None:
    opened(paths)
    first, more = browser().get("/approvals").text.split("<details>")
    assert 'value="once"' in first
    assert 'value="always"' in more


@pytest.mark.parametrize(
    ("answer", "state", "scope", "said"),
    [
        ("once", "allowed", "once", "files:delete is allowed once"),
        ("session", "allowed", "session", "files:delete is allowed for its session"),
        ("always", "allowed", "always", "files:delete is allowed always"),
        ("deny", "denied", None, "files:delete is denied"),
    ],
)
def test_an_answer_is_kept_and_said(
    answer: str, state: str, scope: str | None, said: str, browser: Browser, paths: Paths
) -> None:
    approval = opened(paths)
    client = browser()
    answered = client.post(f"/approvals/{approval.id}", data=form(answer), follow_redirects=False)
    assert (answered.status_code, answered.headers["location"]) == (303, f"/approvals?answered={approval.id}")
    now = kept(paths, approval.id)
    assert (now.state, now.scope, now.channel) == (state, scope, "dashboard")
    with PolicyFile.connect(paths) as file:
        held = {"session": {GRANT}, "always": {GRANT._replace(session="")}}.get(answer, set())
        assert approvals.grants(file) == held
    page = text_of(client.get(answered.headers["location"]).text)
    assert f"Approvals {said}" in page
    assert "Nothing waits for your consent." in page
    (line,) = [line for line in journal_lines(paths.config.parent) if line["type"] == "decisions.made"]
    assert (line["channel"], line["decision"]) == ("dashboard", "declined" if answer == "deny" else "approved")


def test_a_form_that_is_sent_twice_changes_nothing_more(browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    client = browser()
    assert client.post(f"/approvals/{approval.id}", data=form()).status_code == 200
    for again in ("once", "always", "deny"):
        answered = client.post(f"/approvals/{approval.id}", data=form(again))
        assert answered.status_code == 409
        assert "This was answered already, here: files:delete is allowed" in text_of(answered.text)
    now = kept(paths, approval.id)
    assert (now.state, now.scope) == ("allowed", "once")


def test_one_that_was_answered_elsewhere_stays_as_it_is(browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    with PolicyFile.connect(paths) as file:
        approvals.answer(file, approval.id, scope=None, channel="terminal")
    answered = browser().post(f"/approvals/{approval.id}", data=form("always"))
    assert "This was answered already, in a terminal: files:delete is denied. Nothing was changed." in text_of(
        answered.text
    )
    assert kept(paths, approval.id).state == "denied"


def test_one_that_has_expired_is_said_to_be_over(
    browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "OPEN_S", -1.0)
    approval = opened(paths)
    client = browser()
    assert "Nothing waits for your consent." in client.get("/approvals").text
    answered = client.post(f"/approvals/{approval.id}", data=form())
    assert answered.status_code == 409
    assert "Nobody answered in time, so it has expired" in text_of(answered.text)
    assert kept(paths, approval.id).answered is None


def test_one_that_somebody_answers_meanwhile(browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    approval = opened(paths)
    answer = approvals.answer

    def beaten(file: PolicyFile, id_: str, **how: object) -> bool:
        answer(file, id_, scope=None, channel="terminal")
        return False

    monkeypatch.setattr(approvals, "answer", beaten)
    answered = browser().post(f"/approvals/{approval.id}", data=form())
    assert (answered.status_code, kept(paths, approval.id).state) == (409, "denied")
    assert "answered already, in a terminal" in text_of(answered.text)


@pytest.mark.parametrize("id_", ["last", "ffffff", "x", "%20"])
def test_only_an_id_names_one(id_: str, browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    client = browser()
    for named in (id_, approval.id[:3]):
        assert client.post(f"/approvals/{named}", data=form()).status_code == 404
    assert kept(paths, approval.id).state == "pending"


def test_a_wrong_token_answers_nothing(browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    client = browser()
    for sent in (form(token="other"), {"answer": "once"}, {}):
        answered = client.post(f"/approvals/{approval.id}", data=sent)
        assert answered.status_code == 403
        assert "form is not of your login" in answered.text
    assert kept(paths, approval.id).state == "pending"


def test_a_form_without_an_answer_answers_nothing(browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    for answer in ("", "maybe", "ONCE"):
        assert browser().post(f"/approvals/{approval.id}", data=form(answer)).status_code == 400
    assert kept(paths, approval.id).state == "pending"


@pytest.mark.parametrize(
    ("login", "read_only"), [(PERSON, True), (Login(may_answer=False, form_token=PERSON.form_token), False)]
)
def test_who_may_only_read_has_no_buttons(login: Login, read_only: bool, browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    client = browser(login=login, read_only=read_only)
    page = client.get("/approvals").text
    assert "<form" not in page
    assert f"mcpctl approvals allow {approval.id}" in text_of(page)
    assert client.post(f"/approvals/{approval.id}", data=form()).status_code == 403
    assert kept(paths, approval.id).state == "pending"


def test_a_definition_that_is_not_known_cannot_be_allowed_always(browser: Browser, paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, wanted(grant=GRANT._replace(pin="")))
    client = browser()
    assert 'value="always"' not in client.get("/approvals").text
    answered = client.post(f"/approvals/{approval.id}", data=form("always"))
    assert answered.status_code == 403
    assert "The definition of files:delete is not known" in text_of(answered.text)
    assert kept(paths, approval.id).state == "pending"


def test_the_address_says_only_what_is_on_record(browser: Browser, paths: Paths) -> None:
    approval = opened(paths)
    client = browser()
    for answered in (approval.id, "ffffff", "<b>", "last"):
        assert 'class="notice' not in client.get("/approvals", params={"answered": answered}).text


def test_a_hostile_call_is_only_shown(browser: Browser, paths: Paths) -> None:
    hostile = "</pre><script>alert(1)</script>\u202e"
    asked = wanted(grant=GRANT._replace(key=f"files:{hostile}"))._replace(
        arguments=hostile, rule=hostile, rule_place=hostile, hints=hostile, risk=hostile
    )
    with PolicyFile.connect(paths) as file:
        approvals.open_for(file, asked)
        approvals.answer(file, approvals.open_for(file, asked._replace(binding="2")).id, scope=None, channel=hostile)
    page = browser().get("/approvals").text
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in page


def test_nothing_that_waits_is_said(browser: Browser) -> None:
    page = browser().get("/approvals").text
    assert "Nothing waits for your consent." in page
    assert "Earlier" not in page


def test_a_standing_yes_is_shown_and_taken_back(browser: Browser, paths: Paths) -> None:
    visitor = browser()
    visitor.post(f"/approvals/{opened(paths).id}", data=form("always"))
    page = visitor.get("/approvals").text
    assert "Standing yeses" in text_of(page)
    (address,) = re.findall(r'action="(/approvals/standing/\w+)"', page)
    assert visitor.post(address, data=form("take-back", token="other")).status_code == 403
    done = visitor.post(address, data=form("take-back"))
    assert "files:delete is asked about again." in text_of(done.text)
    assert "Standing yeses" not in text_of(done.text)
    with PolicyFile.connect(paths) as file:
        assert not approvals.grants(file)
    assert visitor.post(address, data=form("take-back")).status_code == 404


@pytest.mark.parametrize(
    ("config", "changes", "buttons"),
    [
        ('[policy]\nconfirm = "always"\n', {}, ["deny", "once"]),
        ("[policy]\n", {"hidden": 1}, ["deny", "once"]),
        ("[policy]\n", {}, ["deny", "once", "session", "always"]),
    ],
)
def test_no_more_is_offered_than_is_kept(
    config: str, changes: dict[str, int], buttons: list[str], browser: Browser, paths: Paths
) -> None:
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(config, encoding="utf-8")
    with PolicyFile.connect(paths) as file:
        approval = approvals.open_for(file, wanted()._replace(**changes))  # type: ignore[arg-type]
    visitor = browser()
    page = visitor.get("/approvals").text
    assert re.findall(r'<button name="answer" value="(\w+)"', page) == buttons
    if "always" not in buttons:
        assert visitor.post(f"/approvals/{approval.id}", data=form("always")).status_code == 403
        assert kept(paths, approval.id).state == "pending"
