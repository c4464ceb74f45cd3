"""Logins to the SDK's own issuer and server: by a browser, by what a person pastes, and by a client's own secret."""

import asyncio
import contextlib
import os
import re
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.errors import McpctlError
from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import OAuth
from mcpctl.config.settings import OAuthSettings
from mcpctl.oauth import login
from mcpctl.oauth.callback import Callback
from mcpctl.oauth.login import NewLogin, Wish, log_in
from mcpctl.oauth.requests import LoginFailed
from tests.oauth import sites
from tests.oauth.sites import LOGS_IN, Sites, browser
from tests.proxy.client import until

SETTINGS = OAuthSettings()
DOCUMENT = "https://mcpctl.example/client.json"


@pytest.fixture
def at(request: pytest.FixtureRequest) -> Iterator[Sites]:
    with sites.running(**getattr(request, "param", {})) as found:
        yield found


@pytest.fixture(autouse=True)
def stdin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Type into what stdin is; it never ends."""
    ours, theirs = os.pipe()
    kept = os.dup(0)
    os.dup2(ours, 0)

    def type_(text: str) -> None:
        os.write(theirs, text.encode())

    yield type_
    os.close(theirs)
    os.dup2(kept, 0)
    os.close(kept)
    os.close(ours)


def in_browser(monkeypatch: pytest.MonkeyPatch, folder: Path, lines: str = LOGS_IN) -> Path:
    path = browser(folder, lines)
    monkeypatch.setenv("BROWSER", str(path))
    return path


def logged_in(at: Sites, oauth: OAuth | None = None, settings: OAuthSettings = SETTINGS, **wish: Any) -> NewLogin:
    found = asyncio.run(log_in(Endpoint(at.url, "http", {}, oauth=oauth), settings, Wish("s", **wish), lambda _: None))
    assert found
    return found


def test_a_login_in_the_browser_has_all_that_a_refresh_needs(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = in_browser(monkeypatch, tmp_path)
    before = time.time()
    found = logged_in(at)
    tokens, issuer = found.tokens, at.issuer
    assert found.registration == "dynamic"
    assert (tokens.server_url, tokens.issuer, tokens.resource) == (at.url, issuer.name, at.url)
    assert tokens.token_endpoint == f"{issuer.name}/token"
    assert tokens.access_token in issuer.access and tokens.refresh_token in issuer.refresh
    assert before + 3600 <= (tokens.expires_at or 0) <= time.time() + 3600
    client = issuer.clients[tokens.client_id]
    assert (client.application_type, client.client_name) == ("native", "mcpctl")
    assert (tokens.token_endpoint_auth_method, tokens.client_secret) == ("none", None)
    assert tokens.scopes == "read"  # which the server has asked for, of all that the issuer has
    shown = Path(f"{script}.page")
    page = until("the page that the browser gets", lambda: shown.exists() and shown.read_text(encoding="utf-8"))
    assert "close this page" in page and "code" not in page and "state" not in page


def test_the_issuer_is_told_for_which_server_and_proved_that_it_is_the_same_who_asks(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_browser(monkeypatch, tmp_path, f'open(__file__ + ".url", "w").write(url)\n{LOGS_IN}')
    logged_in(at)
    sent = dict(urllib.parse.parse_qsl((tmp_path / "browser.url").read_text(encoding="utf-8").partition("?")[2]))
    assert (sent["resource"], sent["code_challenge_method"], sent["scope"]) == (at.url, "S256", "read")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/callback", sent["redirect_uri"])
    form = dict(at.issuer.asked)["token"]
    assert form["resource"] == at.url and form["redirect_uri"] == sent["redirect_uri"]
    assert sent["code_challenge"] not in form["code_verifier"] and len(form["code_verifier"]) >= 43


@pytest.mark.parametrize("secret", [None, "s3cret&="])
@pytest.mark.parametrize("at", [{"registers": False}], indirect=True)
def test_a_client_of_the_configuration_is_used_and_its_secret_is_not_kept(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, secret: str | None
) -> None:
    in_browser(monkeypatch, tmp_path)
    at.issuer.know("ours", secret)
    found = logged_in(at, OAuth(client_id="ours", client_secret=secret or "", scopes=["read", "write"]))
    assert (found.registration, found.tokens.client_id, found.tokens.scopes) == ("configured", "ours", "read write")
    assert found.tokens.client_secret is None
    assert found.tokens.token_endpoint_auth_method == ("client_secret_basic" if secret else "none")
    assert "register" not in dict(at.issuer.asked)


@pytest.mark.parametrize("at", [{"registers": False}], indirect=True)
def test_a_client_and_scopes_that_are_given_come_before_those_of_the_configuration(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_browser(monkeypatch, tmp_path)
    at.issuer.know("other")
    found = logged_in(at, OAuth(client_id="ours", client_secret="x"), client_id="other", scopes=["write"])
    assert (found.tokens.client_id, found.tokens.scopes) == ("other", "write")
    assert found.tokens.token_endpoint_auth_method == "none"


@pytest.mark.parametrize("at", [{"documents": True}], indirect=True)
def test_a_metadata_document_comes_before_a_registration(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_browser(monkeypatch, tmp_path)
    at.issuer.know(DOCUMENT)
    found = logged_in(at, settings=OAuthSettings(client_metadata_url=DOCUMENT))
    assert (found.registration, found.tokens.client_id) == ("metadata document", DOCUMENT)
    assert "register" not in dict(at.issuer.asked)


@pytest.mark.parametrize("at", [{"registers": False}], indirect=True)
def test_where_nobody_can_be_registered_it_says_how_to_do_it_by_hand(at: Sites) -> None:
    with pytest.raises(McpctlError) as raised:
        logged_in(at)
    assert raised.value.code == "no_client"
    assert re.search(
        r"redirect URL http://127\.0\.0\.1:(\d+)/callback, .* client_id=ID .* redirect_port=\1", raised.value.hint
    )


@pytest.mark.parametrize("at", [{"takes_localhost_alone": True}], indirect=True)
def test_an_issuer_that_takes_no_number_gets_the_name_of_this_machine(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_browser(monkeypatch, tmp_path)
    logged_in(at)
    assert dict(at.issuer.asked)["token"]["redirect_uri"].startswith("http://localhost:")


def test_what_comes_back_with_another_state_is_not_taken(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forged = """
target = go(url).headers["location"]
import re
for query in ("code=forged&state=wrong", "code=forged", "error=access_denied&state=wrong", "state=&code=x"):
    answer = go(re.sub(r"\\?.*", "?" + query, target))
    assert answer.status == 400 and b"Begin again" in answer.read()
assert go(re.sub("/callback", "/favicon.ico", target)).status == 404
go(target)
"""
    in_browser(monkeypatch, tmp_path, forged)
    assert logged_in(at).tokens.access_token in at.issuer.access
    assert dict(at.issuer.asked)["token"]["code"] != "forged"


def test_what_a_browser_has_opened_for_nothing_is_no_error_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def run(opened: contextlib.ExitStack) -> None:
        async with Callback(0) as callback:
            for _ in range(3):
                opened.enter_context(socket.create_connection(("127.0.0.1", callback.port)))
            reader, writer = await asyncio.open_connection("127.0.0.1", callback.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await reader.read()
            writer.close()
            await writer.wait_closed()

    with contextlib.ExitStack() as opened:
        asyncio.run(run(opened))
    assert not caplog.records


def test_nobody_who_comes_back_is_not_waited_for_without_end(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(login, "WAIT_S", 0.2)
    in_browser(monkeypatch, tmp_path, "")
    with pytest.raises(McpctlError, match="nobody came back") as raised:
        logged_in(at)
    assert raised.value.code == "login_timeout"


@pytest.mark.parametrize("at", [{"refuses": True}], indirect=True)
def test_a_refusal_is_told_in_plain_words_and_cannot_command_a_terminal(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_browser(monkeypatch, tmp_path)
    with pytest.raises(LoginFailed) as raised:
        logged_in(at)
    assert raised.value.message == "the login was refused: not \N{REPLACEMENT CHARACTER}[31mtoday ::error::"


@pytest.mark.parametrize("at", [{"iss": "https://evil.example"}], indirect=True)
def test_an_answer_of_another_issuer_is_not_taken(at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_browser(monkeypatch, tmp_path)
    with pytest.raises(LoginFailed, match=r"from another issuer: https://evil\.example in place of") as raised:
        logged_in(at)
    assert raised.value.message.endswith(at.issuer.name)
    assert "token" not in dict(at.issuer.asked)


@pytest.mark.parametrize("what", ["all of it", "all of it in quotes", "the code alone"])
def test_what_is_pasted_is_taken_where_no_browser_can_be_opened(
    at: Sites, stdin: Callable[[str], None], what: str
) -> None:
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if not (found := re.search(r"^  (http\S+)$", text, re.MULTILINE)):
            return
        with sites.opener().open(found[1]) as answer:
            target = answer.headers["location"]
        code = re.search(r"code=([^&]+)", target)
        assert code
        wrong = re.sub(r"state=[^&]+", "state=wrong", target)
        pasted = {"all of it": target, "all of it in quotes": f'"{target}"', "the code alone": code[1]}[what]
        stdin(f"\nwhat?\n{wrong}\n{pasted}\n")

    where, wish = Endpoint(at.url, "http", {}), Wish("s", in_browser=False)
    found = asyncio.run(log_in(where, SETTINGS, wish, tell))
    assert found and found.tokens.access_token in at.issuer.access
    assert told[2:] == [login._NOT_THAT] * 2


def test_a_browser_that_cannot_be_opened_is_no_dead_end(
    at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stdin: Callable[[str], None]
) -> None:
    in_browser(monkeypatch, tmp_path, "sys.exit(1)")
    for name in ("www-browser", "lynx"):  # which are not asked in its place
        (tmp_path / name).write_text("#!/bin/sh\ncat /dev/zero\n", encoding="utf-8")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("TERM", "xterm")

    def tell(text: str) -> None:
        if found := re.search(r"^  (http\S+)$", text, re.MULTILINE):
            with sites.opener().open(found[1]) as answer:
                stdin(answer.headers["location"] + "\n")

    assert asyncio.run(log_in(Endpoint(at.url, "http", {}), SETTINGS, Wish("s"), tell))


def test_a_port_that_is_taken_is_that_of_another_login(at: Sites) -> None:
    at.issuer.know("ours")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(McpctlError, match=f"port {port} of this machine is taken, by another login") as raised:
            logged_in(at, OAuth(client_id="ours", redirect_port=port))
    assert raised.value.code == "login_under_way"


def test_a_port_that_is_taken_in_one_of_two_ways_is_not_shared(at: Sites) -> None:
    at.issuer.know("ours")
    try:
        other = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6")
    with other, pytest.raises(McpctlError, match="is taken, by another login"):
        logged_in(at, OAuth(client_id="ours", redirect_port=other.getsockname()[1]))


def test_it_is_said_who_gets_access_to_what(at: Sites, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_browser(monkeypatch, tmp_path)
    told: list[str] = []
    assert asyncio.run(log_in(Endpoint(at.url, "http", {}), SETTINGS, Wish("s"), told.append))
    server, issuer = (re.match(r"http://[^/]+", url)[0] for url in (at.url, at.issuer.name))  # type: ignore[index]
    assert told[0] == f"this gives 's' at {server} access to what you have at {issuer}"


def test_a_client_logs_in_with_its_own_secret_without_anybody(at: Sites) -> None:
    oauth = OAuth(client_id="robot", client_secret="s3cret", scopes=["write"], grant="client_credentials")
    found = logged_in(at, oauth)
    tokens, form = found.tokens, dict(at.issuer.asked)["token"]
    assert (tokens.grant, tokens.refresh_token, tokens.scopes) == ("client_credentials", None, "write")
    assert form["authorization"].startswith("Basic ") and "client_secret" not in form
    assert (form["grant_type"], form["resource"]) == ("client_credentials", at.url)


@pytest.mark.parametrize(("at", "says"), [({"claims": "/"}, True), ({"claims": "/mcp"}, False)], indirect=["at"])
def test_a_login_for_more_than_the_server_is_said_to_be_one(at: Sites, says: bool) -> None:
    oauth = OAuth(client_id="robot", client_secret="s3cret", grant="client_credentials")
    told: list[str] = []
    found = asyncio.run(log_in(Endpoint(at.url, "http", {}, oauth=oauth), SETTINGS, Wish("s"), told.append))
    assert found and found.tokens.resource == (at.url.removesuffix("mcp") if says else at.url)
    whole = at.url.removesuffix("mcp")
    assert told == ([f"the login is for all of {whole}: others who serve there can use it, too"] if says else [])


def test_a_server_that_needs_no_login_has_none(at: Sites) -> None:
    where = Endpoint(at.open_url, "http", {})
    assert asyncio.run(log_in(where, SETTINGS, Wish("s"), lambda _: None)) is None
    assert at.issuer.asked == []


def test_a_server_that_names_no_server_of_its_own_says_so(at: Sites) -> None:
    with pytest.raises(LoginFailed, match="the server answers HTTP 404"):
        asyncio.run(log_in(Endpoint(f"{at.open_url}/none", "http", {}), SETTINGS, Wish("s"), lambda _: None))


@pytest.mark.parametrize("wish", [{}, {"client_id": "other"}])
def test_a_client_whose_secret_is_not_here_does_not_ask_anybody_to_log_in(at: Sites, wish: dict[str, Any]) -> None:
    oauth = OAuth(client_id="robot", client_secret="s3cret" if wish else "", grant="client_credentials")
    with pytest.raises(McpctlError, match="the client of 's' has no secret here"):
        logged_in(at, oauth, **wish)
    assert at.issuer.asked == []


@pytest.mark.parametrize(
    "answer",
    [b"[]", b"{}", b'{"access_token": "a\\r\\nb"}', b'{"access_token": "a", "token_type": "mac"}', b"x" * (2 << 20)],
    ids=["no object", "nothing", "a header of its own", "another kind", "too much"],
)
def test_what_is_not_a_token_is_not_kept(at: Sites, answer: bytes) -> None:
    at.issuer.answer = answer
    oauth = OAuth(client_id="robot", client_secret="s3cret", grant="client_credentials")
    with pytest.raises(LoginFailed) as raised:
        logged_in(at, oauth)
    assert "s3cret" not in raised.value.message


def test_a_life_without_measure_is_cut(at: Sites) -> None:
    at.issuer.answer = b'{"access_token": "a", "token_type": "bearer", "expires_in": 1%s}' % (b"0" * 400)
    found = logged_in(at, OAuth(client_id="robot", client_secret="s3cret", grant="client_credentials"))
    assert found.tokens.expires_at and found.tokens.expires_at < time.time() + 11 * 366 * 86400


def test_a_refusal_of_the_token_endpoint_is_told_without_what_was_sent(at: Sites) -> None:
    at.issuer.answer, at.issuer.status = b'{"error": "invalid_client", "error_description": "bad s3cret"}', 401
    with pytest.raises(LoginFailed) as raised:
        logged_in(at, OAuth(client_id="robot", client_secret="s3cret", grant="client_credentials"))
    assert raised.value.message == "the issuer gave no token: HTTP 401 Unauthorized: bad ***"


def test_an_issuer_that_calls_itself_something_else_is_not_logged_in_with(at: Sites) -> None:
    at.issuer.name = "http://127.0.0.1:1/other"
    with pytest.raises(LoginFailed, match=r"calls itself http://127\.0\.0\.1:1/other"):
        logged_in(at)
