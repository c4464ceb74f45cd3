"""Login links: once, within a minute, and only ours."""

import os
import time

import pytest
from starlette.testclient import TestClient

from mcpctl.base import posix
from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import LINK_S, MOST, Login, Logins, bearer_token, login_code
from tests.dashboard.conftest import PORT
from tests.dashboard.test_guard import KEY, Visitor, opened

COOKIE = f"mcpctl_{PORT}"


@pytest.fixture
def visitor(paths: Paths) -> Visitor:
    """Who has no login yet."""
    return opened(paths)


def link(*, may_answer: bool = True, key: bytes = KEY) -> str:
    return f"/login/{login_code(key, may_answer=may_answer)}"


def refused(visitor: TestClient, path: str) -> str:
    """What a link says that does not log in."""
    found = visitor.get(path)
    assert (found.status_code, "set-cookie" in found.headers) == (401, False)
    assert "mcpctl dashboard --print-url" in found.text
    return found.text


def test_a_link_gives_a_cookie_that_only_this_site_and_no_script_sees(visitor: Visitor) -> None:
    found = visitor.get(link())
    assert (found.status_code, found.headers["location"]) == (303, "/")
    name, *attributes = found.headers["set-cookie"].split("; ")
    assert name.startswith(f"{COOKIE}=")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=strict"]  # for as long as the browser runs


def test_a_stolen_link_that_was_used_is_worth_nothing(visitor: Visitor, paths: Paths) -> None:
    path = link()
    assert visitor.get(path).status_code == 303
    visitor.cookies.clear()
    refused(visitor, path)


def test_a_link_in_the_history_leads_home_whoever_is_logged_in(visitor: Visitor) -> None:
    path = link()
    visitor.get(path)
    again = visitor.get(path)
    assert (again.status_code, again.headers["location"], "set-cookie" in again.headers) == (303, "/", False)


def test_a_link_expires(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    path, late, now = link(), link(), time.time()
    monkeypatch.setattr(time, "time", lambda: now + LINK_S - 1)
    assert visitor.get(path).status_code == 303
    visitor.cookies.clear()
    monkeypatch.setattr(time, "time", lambda: now + LINK_S + 2)
    refused(visitor, late)
    refused(visitor, path)


def test_a_used_link_stays_used_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    logins, code, now = Logins(KEY), login_code(KEY, may_answer=True), time.time()
    assert logins.exchange(code)
    for later in (3600, 0):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        logins.exchange(login_code(KEY, may_answer=True))
        assert logins.exchange(code) is None


def test_why_a_link_does_not_log_in_is_not_to_be_learned(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    used, late, now = link(), link(), time.time()
    visitor.get(used)
    visitor.cookies.clear()
    monkeypatch.setattr(time, "time", lambda: now + LINK_S + 2)
    code = link().removeprefix("/login/")
    changed = code[:-1] + ("a" if code[-1] != "a" else "b")
    foreign = link(key=bytes(32))
    others = ("/login/", "/login/x", "/login/%F0%9F%92%A9", f"/login/{changed}", f"/login/{code}aaaaaaaa", "/login/a/b")
    assert len({refused(visitor, path) for path in (used, late, foreign, *others)}) == 1
    assert visitor.get(f"/login/{code}").status_code == 303


def test_what_a_link_allows_cannot_be_changed_in_it(visitor: Visitor) -> None:
    code = login_code(KEY, may_answer=False)
    for place in range(len(code)):
        refused(visitor, f"/login/{code[:place]}{'b' if code[place] != 'b' else 'c'}{code[place + 1 :]}")
    assert visitor.get(f"/login/{code}").status_code == 303


@pytest.mark.parametrize(
    ("method", "headers"),
    [("HEAD", {}), ("POST", {}), ("GET", {"Sec-Purpose": "prefetch;prerender"}), ("GET", {"Purpose": "prefetch"}),
     ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"})],
)  # fmt: skip
def test_only_following_a_link_uses_it_up(visitor: Visitor, method: str, headers: dict[str, str]) -> None:
    path = link()
    assert visitor.request(method, path, headers=headers).status_code == 403
    assert visitor.get(path).status_code == 303


def test_another_user_of_the_machine_who_sees_the_link_neither_logs_in_nor_uses_it_up(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = link()
    for owner, status in ((os.geteuid() + 1, 403), (os.geteuid(), 303), (0, 401)):
        monkeypatch.setattr(posix, "owner_of_connection", lambda local, remote, owner=owner: owner)
        assert visitor.get(path).status_code == status
        visitor.cookies.clear()


def test_another_user_of_the_machine_who_has_the_cookie_answers_nothing(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.get(link())
    monkeypatch.setattr(posix, "owner_of_connection", lambda local, remote: os.geteuid() + 1)
    found = visitor.post("/approvals/x", headers={"Origin": f"http://127.0.0.1:{PORT}"})
    assert (found.status_code, found.text) == (403, "a login is for the user who has logged in\n")


def test_a_link_on_another_page_logs_in_without_a_redirect_that_would_bring_no_cookie(visitor: Visitor) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    found = visitor.get(link(), headers=headers)
    assert (found.status_code, COOKIE in visitor.cookies) == (200, True)
    assert '<meta http-equiv="refresh" content="0; url=/">' in found.text
    assert '<a href="/">' in found.text
    # Nothing else may be reached from there, and no frame may show it.
    assert visitor.get("/sessions", headers=headers).status_code == 403
    assert visitor.get(link(), headers={**headers, "Sec-Fetch-Dest": "iframe"}).status_code == 403


def test_logins_are_bounded_and_the_one_in_use_stays() -> None:
    logins = Logins(KEY)
    cookies = [logins.exchange(login_code(KEY, may_answer=True)) or "" for _ in range(MOST)]
    assert logins.of_cookie(cookies[0])
    assert logins.exchange(login_code(KEY, may_answer=True))
    assert [bool(logins.of_cookie(cookie)) for cookie in cookies[:3]] == [True, False, True]


def test_logins_are_told_apart_and_a_script_is_always_the_same() -> None:
    logins = Logins(KEY)
    cookies = [logins.exchange(login_code(KEY, may_answer=may)) or "" for may in (True, False)]
    first, second = (logins.of_cookie(cookie) or Login(False, "") for cookie in cookies)
    assert (first.may_answer, second.may_answer) == (True, False)
    assert len({first.id, second.id, first.form_token, second.form_token}) == 4
    assert logins.of_cookie(cookies[0]) is first
    script = logins.of_bearer(bearer_token(KEY))
    assert script
    assert (script.may_answer, script.by_token) == (False, True)
    assert logins.of_bearer(bearer_token(KEY)) is script
    assert logins.of_bearer(bearer_token(bytes(32))) is None


def test_no_login_outlives_its_dashboard() -> None:
    cookie = Logins(KEY).exchange(login_code(KEY, may_answer=True))
    assert cookie
    assert Logins(KEY).of_cookie(cookie) is None
