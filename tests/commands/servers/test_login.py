"""`mcpctl servers login`"""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands.confirmation import AGENTS
from mcpctl.commands.server_logins import say_works
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import Tokens
from tests.configured import configure
from tests.conftest import Mcpctl
from tests.oauth import sites
from tests.oauth.logins import login
from tests.oauth.sites import Sites, browser

ROBOT = {"client_id": "robot", "client_secret": "${ROBOT_SECRET}", "grant": "client_credentials"}


@pytest.fixture
def at() -> Iterator[Sites]:
    with sites.running() as found:
        yield found


@pytest.fixture(autouse=True)
def person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Somebody at a terminal of their own, with a browser."""
    for name in AGENTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: True)
    monkeypatch.setenv("BROWSER", str(browser(tmp_path)))


def kept(paths: Paths, url: str) -> Tokens:
    found = TokenStore(paths).find(url)
    assert found
    return found


@pytest.mark.slow
def test_who_has_logged_in_is_told_what_the_server_lists(mcpctl: Mcpctl, paths: Paths, at: Sites) -> None:
    configure(paths, {"s": {"url": at.url}})
    ran = mcpctl("servers", "login", "s")
    assert (ran.code, ran.out) == (0, "s\n")
    assert (
        f"mcpctl: logged in to 's' at {at.issuer.name}" in ran.err or f"logged in to 's' at {at.issuer.name}" in ran.err
    )
    assert "it lists 1 tool" in ran.err
    tokens = kept(paths, at.url)
    assert tokens.access_token in at.issuer.access
    assert tokens.access_token not in ran.err and (tokens.refresh_token or "") not in ran.err
    assert mcpctl("tools", "refresh", "s", "--fields", "server,tools").out == "s\t1\n"


def test_what_else_it_lists_is_said_where_there_is_some(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"status": "ok", "problems": [], "tools": 0, "prompts": 1, "resources": 1200}
    monkeypatch.setattr("mcpctl.calling.server_check.check", lambda *_: [row])
    said: list[str] = []
    monkeypatch.setattr("mcpctl.output.say", lambda text, **_: said.append(text))
    say_works(paths, "s")
    assert said == ["it lists 0 tools, 1 prompt, 1,200 resources"]


def remembered() -> None:
    """Wait for what the last command remembers of servers, as the end of its process would."""
    for thread in threading.enumerate():
        if thread.name.startswith("keep"):
            thread.join(10)


def logins(mcpctl: Mcpctl) -> list[object]:
    """What `servers ls` says of them."""
    remembered()
    return [row["login"] for row in mcpctl("servers", "ls", "--json").json]


@pytest.mark.slow
def test_lists_say_where_a_login_is_needed_and_where_there_is_one(mcpctl: Mcpctl, paths: Paths, at: Sites) -> None:
    configure(paths, {"open": {"url": at.open_url}, "s": {"url": at.url}})
    assert logins(mcpctl) == [None, None]
    assert "LOGIN" not in mcpctl("servers", "ls", "--format", "table").out
    checked = mcpctl("servers", "check")
    assert checked.code == 4
    assert "server 's' needs a login: mcpctl servers login s" in checked.out + checked.err
    assert logins(mcpctl) == [None, "needed"]
    assert mcpctl("servers", "login", "s").code == 0
    assert logins(mcpctl) == [None, "logged in"]
    table = mcpctl("servers", "ls", "--format", "table").out
    assert "LOGIN" in table and "logged in" in table
    at.issuer.access.clear()
    at.issuer.refresh.clear()
    tokens = kept(paths, at.url)
    TokenStore(paths).keep(msgspec.structs.replace(tokens, expires_at=1.0, logged_in_at=0.5))
    assert mcpctl("servers", "check", "s").code == 4
    assert logins(mcpctl) == [None, "expired"]
    assert mcpctl("servers", "logout", "s").code == 0
    assert logins(mcpctl) == [None, "needed"]


def test_a_login_that_nothing_refreshes_ends_when_its_token_does(mcpctl: Mcpctl, paths: Paths) -> None:
    url = "https://a.example/mcp"
    configure(paths, {"s": {"url": url}, "v": {"url": "https://${NOWHERE}/"}, "w": {"url": url, "oauth": {}}})
    assert logins(mcpctl) == [None, None, "needed"]
    tokens = login(server_url=url, refresh_token=None, expires_at=4e9)
    TokenStore(paths).keep(tokens)
    row = mcpctl("servers", "show", "s", "--json").json
    assert (row["login"], row["login_expires_at"]) == ("logged in", "2096-10-02T07:06:40.000Z")
    TokenStore(paths).keep(msgspec.structs.replace(tokens, expires_at=1.0))
    assert logins(mcpctl) == ["expired", None, "expired"]
    TokenStore(paths).keep(msgspec.structs.replace(tokens, expires_at=1.0, refresh_token="r"))
    row = mcpctl("servers", "show", "s", "--json").json
    assert (row["login"], row["login_expires_at"]) == ("logged in", None)


@pytest.mark.slow
def test_as_json_it_is_one_object_without_a_secret(mcpctl: Mcpctl, paths: Paths, at: Sites) -> None:
    configure(paths, {"s": {"url": at.url}})
    ran = mcpctl("servers", "login", "s", "--scope", "read", "--scope", "write", "--json")
    tokens = kept(paths, at.url)
    assert ran.json == {
        "server": "s", "issuer": at.issuer.name, "scopes": ["read", "write"], "registration": "dynamic",
        "expires_at": ran.json["expires_at"],
    }  # fmt: skip
    assert ran.json["expires_at"].endswith("Z")
    assert tokens.access_token not in ran.out


def test_who_is_logged_in_logs_in_anew(mcpctl: Mcpctl, paths: Paths, at: Sites) -> None:
    configure(paths, {"s": {"url": at.url}})
    mcpctl("servers", "login", "s")
    first = kept(paths, at.url)
    mcpctl("servers", "login", "s")
    assert kept(paths, at.url).access_token != first.access_token
    assert len(list(paths.oauth.glob("*.json"))) == 1


def test_nobody_logs_in_where_there_is_no_keyring_to_keep_it(
    mcpctl: Mcpctl, paths: Paths, at: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    configure(paths, {"s": {"url": at.url}}, oauth={"store": "keyring"})
    ran = mcpctl("servers", "login", "s")
    assert ran.code == 5
    assert "the package keyring is not installed" in ran.err
    assert at.issuer.asked == []


@pytest.mark.slow
def test_a_client_with_its_own_secret_needs_nobody(
    mcpctl: Mcpctl, paths: Paths, at: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: False)
    monkeypatch.setenv("ROBOT_SECRET", "s3cret")
    configure(paths, {"s": {"url": at.url, "oauth": {**ROBOT, "scopes": ["read"]}}})
    ran = mcpctl("servers", "login", "s", "--json")
    assert (ran.json["registration"], ran.json["scopes"]) == ("configured", ["read"])
    assert "s3cret" not in (ran.out + ran.err + next(paths.oauth.glob("*.json")).read_text(encoding="utf-8"))


@pytest.mark.parametrize("agent", [*AGENTS, None])
def test_no_agent_logs_in_for_its_user(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch, agent: str | None
) -> None:
    configure(paths, {"s": {"url": "https://a.invalid/mcp"}})
    if agent:
        monkeypatch.setenv(agent, "1")
    else:
        monkeypatch.setattr("mcpctl.base.posix.has_terminal", lambda: False)
    ran = mcpctl("servers", "login", "s")
    assert ran.code == 6
    assert "only a person can log in" in ran.err


def test_a_server_without_a_login_says_so(mcpctl: Mcpctl, paths: Paths, at: Sites) -> None:
    configure(paths, {"s": {"url": at.open_url}})
    ran = mcpctl("servers", "login", "s", "--json")
    assert (ran.code, ran.json["issuer"]) == (0, None)
    assert "'s' needs no login" in ran.err
    assert not paths.oauth.exists()


@pytest.mark.parametrize(
    ("entry", "code", "what"),
    [
        ({"command": "true"}, 2, "server 's' is a command, and logs in by itself"),
        (
            {"url": "https://a.invalid", "headers": {"authorization": "Bearer x"}},
            2,
            "has the header Authorization already",
        ),
        ({"url": "https://${NOT_SET}/mcp"}, 1, "variable NOT_SET is not set"),
        ({"url": "http://a.invalid/mcp"}, 4, "http://a.invalid, which is not encrypted"),
        ({"url": "http://127.0.0.1:1/mcp"}, 4, "nothing listens there"),
    ],
)
def test_what_one_cannot_log_in_to_is_named(
    mcpctl: Mcpctl, paths: Paths, entry: dict[str, object], code: int, what: str
) -> None:
    configure(paths, {"s": entry})
    ran = mcpctl("servers", "login", "s")
    assert (ran.code, what in ran.err) == (code, True), ran.err
    assert mcpctl("servers", "login", "other").code == 3


def test_a_login_that_the_server_does_not_take_is_an_error(
    mcpctl: Mcpctl, paths: Paths, at: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(self: object, token: str) -> None:
        return None

    monkeypatch.setattr("tests.oauth.sites.Issuer.verify_token", nobody)
    configure(paths, {"s": {"url": at.url}})
    ran = mcpctl("servers", "login", "s")
    assert (ran.code, ran.out) == (4, "")
    assert "the login is kept; see: mcpctl servers check s" in ran.err
    assert kept(paths, at.url)


@pytest.mark.slow
def test_nothing_that_a_browser_prints_is_on_stdout(
    mcpctl: Mcpctl, paths: Paths, at: Sites, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    browser(tmp_path, f'print("Opening in existing browser session.", flush=True)\n{sites.LOGS_IN}')
    configure(paths, {"s": {"url": at.url}})
    assert mcpctl("servers", "login", "s").out == "s\n"
    assert "Opening" not in "".join(capfd.readouterr())
    assert os.environ["BROWSER"] == str(tmp_path / "browser")
