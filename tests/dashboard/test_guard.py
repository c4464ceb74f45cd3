"""What other sites, other programs and strangers get from the dashboard: nothing."""

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from mcpctl.base.errors import NotFound, Unusable, UpstreamFailed, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.dashboard.app import MOST_BYTES, guarded
from mcpctl.dashboard.dashboard import Dashboard, login_of
from mcpctl.dashboard.guard import require_answering
from mcpctl.dashboard.running import Logins, bearer_token, login_code
from tests.dashboard.conftest import PORT
from tests.table import for_each

KEY = bytes(range(32))
ORIGIN = f"http://127.0.0.1:{PORT}"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ERRORS = {
    "not-found": (NotFound("there is no call x", "see calls ls"), 404),
    "usage": (WrongUsage("--limit is no number", "give one"), 400),
    "unusable": (Unusable("index.db is broken", "mcpctl db rebuild"), 503),
    "upstream": (UpstreamFailed("github: <b>no</b>", "try again"), 502),
    "bug": (KeyError("secret"), 500),
}


def answer(request: Request) -> PlainTextResponse:
    """What stands for answering an approval."""
    require_answering(request)
    return PlainTextResponse(f"answered by {login_of(request).id}")


def fail(request: Request) -> PlainTextResponse:
    raise ERRORS[request.path_params["name"]][0]


class Visitor(TestClient):
    """Somebody's browser, and what they may have found out."""

    def log_in(self, *, may_answer: bool = True) -> None:
        assert self.get(f"/login/{login_code(KEY, may_answer=may_answer)}").status_code == 303

    @property
    def form_token(self) -> str:
        return str(self.get("/form-token", headers={"Sec-Fetch-Site": "same-origin"}).text)


def opened(paths: Paths, *, read_only: bool = False) -> Visitor:
    guard = guarded(Dashboard(paths, PORT, read_only, Logins(KEY)))
    routes = [
        Route("/answer", answer, methods=["POST"]), Route("/api/v1/answer", answer, methods=["POST"]),
        Route("/fail/{name}", fail), Route("/api/v1/fail/{name}", fail),
        Route("/form-token", lambda request: PlainTextResponse(login_of(request).form_token)),
        Route("/body", lambda request: PlainTextResponse("read"), methods=["POST"]),
    ]  # fmt: skip
    guard._inner.router.routes[:0] = routes  # type: ignore[attr-defined]
    return Visitor(guard, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False)


@pytest.fixture
def visitor(paths: Paths) -> Visitor:
    """Who has no login yet."""
    return opened(paths)


@pytest.fixture
def person(visitor: Visitor) -> Visitor:
    """Who has logged in with a link of their own."""
    visitor.log_in()
    return visitor


def test_who_has_logged_in_sees_pages_and_others_the_command_for_a_link(visitor: Visitor) -> None:
    before = visitor.get("/sessions")
    assert (before.status_code, "mcpctl dashboard --print-url" in before.text) == (401, True)
    assert 'href="/tool-calls"' not in before.text
    visitor.log_in()
    assert visitor.get("/sessions").status_code == 200


def test_the_interface_says_it_with_the_object_of_the_command_line(visitor: Visitor) -> None:
    found = visitor.get("/api/v1/anything")
    assert (found.status_code, found.headers["www-authenticate"]) == (401, "Bearer")
    assert found.json()["error"]["code"] == "not_logged_in"
    assert "mcpctl dashboard --print-url" in found.json()["error"]["hint"]


HOSTS = ("evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1.:{PORT}", "",
         f"127.0.0.1:{PORT}@evil.example", f"0.0.0.0:{PORT}", f"LOCALHOST:{PORT}", f"127.1:{PORT}")  # fmt: skip


@for_each("host", HOSTS)
@for_each("path", ["/sessions", "/static/style.css", "/login/x"])
def test_a_page_that_rebinds_its_name_gets_one_line(person: Visitor, host: str, path: str) -> None:
    found = person.get(path, headers={"Host": host})
    assert (found.status_code, found.text) == (421, "this dashboard has no such address\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_the_three_names_of_this_machine_are_ours(visitor: Visitor, host: str) -> None:
    assert visitor.get("/static/style.css", headers={"Host": f"{host}:{PORT}"}).status_code == 200
    found = visitor.post("/answer", headers={"Host": f"{host}:{PORT}", "Origin": f"http://{host}:{PORT}"})
    assert found.status_code == 401


def test_two_hosts_are_none(person: Visitor) -> None:
    found = person.get("/sessions", headers=[("Host", f"127.0.0.1:{PORT}"), ("Host", "evil.example")])
    assert found.status_code == 421


@for_each("site", ["cross-site", "same-site", "Same-Origin", "x"])
@for_each("path", ["/sessions", "/static/style.css", "/api/v1/tools", "/login/x"])
def test_what_another_site_causes_is_not_answered(person: Visitor, site: str, path: str) -> None:
    found = person.get(path, headers={"Sec-Fetch-Site": site})
    assert (found.status_code, found.text) == (403, "this dashboard does not answer other sites\n")


@for_each("origin", ["https://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1",
                                    f"http://localhost:{PORT}", f"http://127.0.0.1:{PORT}.evil.example"])  # fmt: skip
@for_each("method", ["GET", "POST"])
def test_a_foreign_origin_is_not_answered(person: Visitor, origin: str, method: str) -> None:
    headers = {"Origin": origin, "X-Form-Token": person.form_token}
    assert person.request(method, "/answer", headers=headers).status_code == 403


def test_a_form_of_another_site_changes_nothing_even_with_the_token(person: Visitor) -> None:
    headers = {**FORM, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    data = {"form_token": person.form_token}
    assert person.post("/answer", data=data, headers={**headers, "Origin": "null"}).status_code == 403
    assert person.post("/answer", data=data, headers=headers).status_code == 403
    assert person.post("/answer", data=data).status_code == 403  # an old browser that sends no Origin


@for_each("method", ["OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "FOO"])
def test_a_preflight_and_other_methods_get_no_permission(person: Visitor, method: str) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for given in (headers, {}):
        found = person.request(method, "/answer", headers=given)
        assert (found.status_code, found.headers["allow"]) == (405, "GET, HEAD, POST")
        assert not [name for name in found.headers if name.startswith("access-control")]


def test_a_person_answers_with_the_form_token_as_field_or_header(person: Visitor) -> None:
    token = person.form_token
    assert person.post("/answer", data={"form_token": token}, headers={"Origin": ORIGIN}).status_code == 200
    found = person.post("/api/v1/answer", json={}, headers={"Origin": ORIGIN, "X-Form-Token": token})
    assert found.text.startswith("answered by ")


def refusal(visitor: Visitor, **headers: str) -> tuple[int, str]:
    given = {"Origin": ORIGIN, **{name.replace("_", "-"): value for name, value in headers.items()}}
    found = visitor.post("/api/v1/answer", json={}, headers=given)
    return found.status_code, found.json()["error"]["code"]


def test_without_the_form_token_of_this_login_nothing_is_answered(person: Visitor) -> None:
    first = person.form_token
    for token in ("", "x", first[:-1], "\xfc"):
        found = person.post(
            "/api/v1/answer", json={}, headers={b"Origin": ORIGIN.encode(), b"X-Form-Token": token.encode()}
        )
        assert (found.status_code, found.json()["error"]["code"]) == (403, "wrong_form_token")
    # In a body of another kind, which a form of any site can send, it does not count.
    text = person.post(
        "/answer", content=f"form_token={first}", headers={"Origin": ORIGIN, "Content-Type": "text/plain"}
    )
    assert text.status_code == 403
    person.log_in()
    assert refusal(person, X_Form_Token=first) == (403, "wrong_form_token")


def test_a_bearer_token_reads_and_never_answers(visitor: Visitor) -> None:
    token = {"Authorization": f"Bearer {bearer_token(KEY)}"}
    assert visitor.get("/sessions", headers=token).status_code == 200
    assert refusal(visitor, **token) == (403, "token_only_reads")
    assert visitor.post("/body", headers={**token, "Origin": ORIGIN}).status_code == 403
    visitor.log_in()
    headers = {**token, "X-Form-Token": visitor.form_token}
    assert refusal(visitor, **headers) == (403, "token_only_reads")


@for_each("value", ["Bearer x", "Bearer", "Basic eDp5", "", f"bearer {bearer_token(KEY)[:-1]}", "Bearer \xfc"])
def test_a_wrong_token_is_nobody_whatever_cookie_comes_along(person: Visitor, value: str) -> None:
    assert person.get("/sessions", headers={b"Authorization": value.encode("latin-1")}).status_code == 401


def test_a_login_that_only_reads_and_a_dashboard_that_does_answer_nothing(visitor: Visitor, paths: Paths) -> None:
    visitor.log_in(may_answer=False)
    assert refusal(visitor, X_Form_Token=visitor.form_token) == (403, "login_only_reads")
    board = opened(paths, read_only=True)
    board.log_in()
    assert refusal(board, X_Form_Token=board.form_token) == (403, "read_only")


def test_a_forged_cookie_and_that_of_another_port_are_nobody(person: Visitor) -> None:
    cookie = person.cookies[f"mcpctl_{PORT}"]
    person.cookies.clear()
    for given in (
        f"mcpctl_{PORT}=forged",
        f"mcpctl_{PORT + 1}={cookie}",
        f"mcpctl_{PORT}={cookie}x",
        "mcpctl_=",
        ";;=",
    ):
        assert person.get("/sessions", headers={"Cookie": given}).status_code == 401
    assert person.get("/sessions", headers={"Cookie": f"mcpctl_{PORT}={cookie}"}).status_code == 200


def test_a_cookie_that_another_site_puts_before_ours_does_not_lock_out(person: Visitor) -> None:
    given = f"mcpctl_{PORT}=evil; a=b; mcpctl_{PORT}={person.cookies[f'mcpctl_{PORT}']}; mcpctl_{PORT}=evil"
    person.cookies.clear()
    assert person.get("/sessions", headers={"Cookie": given}).status_code == 200


def test_the_second_tab_is_the_same_login(person: Visitor) -> None:
    assert person.form_token == person.form_token
    person.get("/sessions", headers={"Sec-Fetch-Site": "same-origin"})
    assert person.get("/sessions", headers={"Sec-Fetch-Site": "none"}).status_code == 200


@for_each(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/%2e%2e%2fguard.py",
     "/static//etc/passwd", "/static/%5c..%5capp.py", "/static/%00", "/static/../../../../etc/passwd", "/static/"],
)  # fmt: skip
def test_static_files_are_only_those(visitor: Visitor, path: str) -> None:
    found = visitor.get(ORIGIN + path)
    assert found.status_code in (401, 404)
    assert "import" not in found.text


def test_static_does_not_lead_to_pages_without_a_login(visitor: Visitor) -> None:
    for path in ("/static/%2e%2e/sessions", "/static/..%2fapi/v1/sessions", "//sessions", "/Static/style.css"):
        assert visitor.get(ORIGIN + path).status_code in (401, 404)


@pytest.mark.parametrize(
    "path", ["/login/x%0d%0aSet-Cookie:%20a=b", "/sessions%0d%0aX-Injected:%201", "/%0aX-Injected:1"]
)
def test_nothing_of_an_address_becomes_a_header(person: Visitor, path: str) -> None:
    for found in (person.get(path), visitor_of(person).get(path)):
        assert found.status_code in (303, 401, 404)
        assert not {"x-injected", "set-cookie"} & set(found.headers)


def visitor_of(person: Visitor) -> Visitor:
    """Somebody without a login at the same dashboard."""
    return Visitor(person.app, base_url=ORIGIN, follow_redirects=False)


def test_a_body_has_a_bound(person: Visitor) -> None:
    headers = {"Origin": ORIGIN, **JSON}
    assert person.post("/body", content=b"x" * MOST_BYTES, headers=headers).status_code == 200
    for content in (b"x" * (MOST_BYTES + 1), iter([b"x" * MOST_BYTES, b"x"])):
        found = person.post("/body", content=content, headers=headers)
        assert (found.status_code, "64 kB" in found.text) == (413, True)


@for_each("path", ["/sessions", "/static/style.css", "/login/x", "/api/v1/none", "/none", "/fail/bug"])
@for_each("host", [f"127.0.0.1:{PORT}", "evil.example"])
def test_every_answer_has_the_headers(person: Visitor, path: str, host: str) -> None:
    found = person.get(path, headers={"Host": host})
    policy = found.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert {name: found.headers.get_list(name) for name in (
        "referrer-policy", "x-content-type-options", "cache-control", "x-frame-options",
        "cross-origin-opener-policy", "cross-origin-resource-policy",
    )} == {
        "referrer-policy": ["same-origin"], "x-content-type-options": ["nosniff"], "cache-control": ["no-store"],
        "x-frame-options": ["DENY"], "cross-origin-opener-policy": ["same-origin"],
        "cross-origin-resource-policy": ["same-origin"],
    }  # fmt: skip
    assert not [name for name in found.headers if name.startswith("access-control")]


@pytest.mark.parametrize("name", ERRORS)
def test_failures_are_pages_and_objects(person: Visitor, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    error, status = ERRORS[name]
    page, said = person.get(f"/fail/{name}"), person.get(f"/api/v1/fail/{name}")
    assert (page.status_code, said.status_code) == (status, status)
    assert 'href="/tool-calls"' in page.text
    assert "<b>no" not in page.text
    assert "secret" not in page.text + said.text
    if name == "bug":
        assert said.json()["error"]["message"] == "internal error"
        assert "Traceback" not in page.text + said.text
        assert "KeyError" in capsys.readouterr().err
    else:
        assert said.json() == error.body  # type: ignore[attr-defined]


def test_an_address_without_anything_is_said_in_both_shapes(person: Visitor) -> None:
    assert (person.get("/none").status_code, person.get("/api/v1/none").json()["error"]["code"]) == (404, "not_found")
    wrong = person.post("/api/v1/fail/bug", headers={"Origin": ORIGIN})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")
