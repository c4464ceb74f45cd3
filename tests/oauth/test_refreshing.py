"""New tokens are asked for where the issuer said, once for all processes, and no pair is ever lost or used twice."""

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from mcpctl.base.failure import Failed
from mcpctl.oauth import bearer, requests, token_store
from mcpctl.oauth.bearer import refreshed
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import Tokens
from tests.oauth.issuer import Running, running

REFRESHER = """
import os
import sys
from pathlib import Path
from mcpctl.wire import http_client
from mcpctl.oauth.bearer import refreshed
from mcpctl.oauth.token_store import TokenStore
from mcpctl.base.paths import Paths
import msgspec
url, processes, times = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
data = Path(sys.argv[1])
store = TokenStore(Paths(data, data))
others = []
while len(others) < processes - 1 and (pid := os.fork()):
    others.append(pid)
if len(others) < processes - 1:
    others = []
for _ in range(times):
    found = store.find(url)
    refreshed(store, msgspec.structs.replace(found, expires_at=0.0), None)
assert [os.waitpid(pid, 0)[1] for pid in others] == [0] * len(others)
"""
"""Refreshes what it finds, as soon as it has found it, in several processes: to import all takes longer than that."""


@pytest.fixture
def run() -> Iterator[Running]:
    with running() as found:
        yield found


def kept(store: TokenStore, tokens: Tokens) -> Tokens:
    """A login, once it is kept."""
    store.keep(tokens)
    return tokens


def code(store: TokenStore, tokens: Tokens, secret: str | None = None) -> str:
    """The code with which a refresh fails."""
    with pytest.raises(Failed) as raised:
        refreshed(store, tokens, secret)
    assert not raised.value.failure.was_sent
    assert not raised.value.failure.said
    secrets = [tokens.access_token, tokens.refresh_token or tokens.access_token]
    assert not [secret for secret in secrets if secret in str(raised.value)]
    return raised.value.failure.code


def test_new_tokens_are_kept_with_when_they_expire(run: Running, store: TokenStore) -> None:
    old = kept(store, run.login(expires_at=time.time() - 1))
    new = refreshed(store, old, None)
    assert (new.access_token, new.refresh_token) == ("access-1-of-0", "refresh-1-of-0")
    assert new.expires_at and time.time() + 3500 < new.expires_at < time.time() + 3700
    found = store.find(run.url)
    assert found and (found.access_token, found.refreshed_at) == (new.access_token, new.refreshed_at)
    assert found.logged_in_at == old.logged_in_at
    (form,) = run.issuer.asked
    assert form == {
        "grant_type": "refresh_token", "refresh_token": old.refresh_token, "client_id": "me", "resource": run.url,
    }  # fmt: skip
    assert run.server.asked_for_tokens == 0


def test_what_an_answer_leaves_out_stays(store: TokenStore) -> None:
    with running(life_s=None, rotates=False) as run:
        old = kept(store, run.login(expires_at=time.time() - 1, refresh_token="mine", scopes="a"))
        run.issuer.live["mine"] = 0
        new = refreshed(store, old, None)
    assert (new.refresh_token, new.expires_at, new.scopes) == ("mine", None, "a b")


@pytest.mark.parametrize(
    "odd, life_s",
    [
        ('"expires_in":"60"', 60.0),
        ('"expires_in":60.5', 60.5),
        ('"expires_in":-1', 0.0),
        ('"expires_in":"inf"', bearer.LONGEST_LIFE_S),
        ('"expires_in":1e300', bearer.LONGEST_LIFE_S),
        (f'"expires_in":{10**400}', None),
        ('"expires_in":"nan"', None),
        ('"expires_in":""', None),
        ('"expires_in":true', None),
        ('"expires_in":[60]', None),
        ('"scope":["a"]', None),
    ],
)
def test_no_new_pair_is_lost_for_what_is_beside_it(
    run: Running, store: TokenStore, monkeypatch: pytest.MonkeyPatch, odd: str, life_s: float | None
) -> None:
    async def answered(*_: object) -> httpx2.Response:
        return httpx2.Response(200, content=b'{"access_token":"new","refresh_token":"next",%b}' % odd.encode())

    monkeypatch.setattr(requests.Requests, "send", answered)
    new = refreshed(store, kept(store, run.login()), None)
    assert (new.access_token, new.refresh_token, new.scopes) == ("new", "next", "a b")
    assert new.refreshed_at
    assert new.expires_at == (None if life_s is None else new.refreshed_at + life_s)


def test_a_login_that_is_over_is_not_asked_for_again_and_again(
    run: Running, store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = kept(store, run.login(expires_at=time.time() - 1))
    run.issuer.revoke(0)
    assert [code(store, old) for _ in range(3)] == ["needs_login"] * 3
    assert len(run.issuer.asked) == 1
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + bearer._ASKED_AGAIN_S + 1)
    assert code(store, old) == "needs_login"
    assert len(run.issuer.asked) == 2
    kept(store, run.login(expires_at=time.time() - 1))
    assert refreshed(store, old, None).over_at is None


def test_a_pair_of_anothers_is_taken(run: Running, store: TokenStore) -> None:
    old = kept(store, run.login(expires_at=time.time() - 1))
    first = refreshed(store, old, None)
    assert refreshed(store, old, None).access_token == first.access_token
    assert run.issuer.refreshes == 1


def test_a_pair_of_anothers_that_has_expired_is_refreshed_in_turn(run: Running, store: TokenStore) -> None:
    old = kept(store, run.login(expires_at=time.time() - 1))
    first = refreshed(store, old, None)
    store.keep(msgspec.structs.replace(first, expires_at=time.time() - 1))
    assert refreshed(store, old, None).access_token == "access-2-of-0"
    assert not run.issuer.revoked


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
@pytest.mark.parametrize("registered", ["hush & co", None])
def test_a_client_with_a_secret_says_who_it_is(store: TokenStore, method: str, registered: str | None) -> None:
    with running(secret="hush & co", method=method) as run:
        how = {"token_endpoint_auth_method": method, "client_secret": registered}
        old = kept(store, run.login(expires_at=time.time() - 1, **how))
        assert refreshed(store, old, "hush & co").access_token == "access-1-of-0"
        (form,) = run.issuer.asked
    basic = "Basic " + base64.b64encode(b"me:hush%20%26%20co").decode()
    assert (form.get("client_secret"), form.get("authorization")) == (
        ("hush & co", None) if method == "client_secret_post" else (None, basic)
    )


def test_client_credentials_are_asked_for_again(run: Running, store: TokenStore) -> None:
    how = {"grant": "client_credentials", "refresh_token": None, "token_endpoint_auth_method": "client_secret_post"}
    old = kept(store, run.login(expires_at=time.time() - 1, **how))
    assert refreshed(store, old, "hush").access_token == "access-1-of-1"
    (form,) = run.issuer.asked
    assert form == {
        "grant_type": "client_credentials", "scope": "a b", "resource": run.url, "client_id": "me",
        "client_secret": "hush",
    }  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"refresh_token": "never issued"},
        {"refresh_token": None},
        {"client_id": "somebody else"},
        {"client_secret": "s", "secret_expires_at": 1.0},
        {"token_endpoint_auth_method": "private_key_jwt"},
    ],
)
def test_a_login_that_is_over_needs_another(run: Running, store: TokenStore, given: dict[str, Any]) -> None:
    tokens = kept(store, run.login(**given))
    assert code(store, tokens, tokens.client_secret) == "needs_login"
    assert store.find(run.url)


def test_a_login_that_is_deleted_is_not_brought_back(run: Running, store: TokenStore) -> None:
    tokens = kept(store, run.login())
    store.forget(run.url)
    assert code(store, tokens) == "needs_login"
    assert store.find(run.url) is None


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500, 503])
def test_an_issuer_that_fails_costs_no_login(run: Running, store: TokenStore, status: int) -> None:
    tokens = kept(store, run.login())
    run.issuer.status = status
    assert code(store, tokens) == "login_not_refreshed"
    run.issuer.status = 0
    assert refreshed(store, tokens, None).refresh_token == "refresh-1-of-0"


@pytest.mark.parametrize(
    "endpoint",
    ["http://127.0.0.1:1/token", "http://as.test/token", "/away", "/mcp", "ftp://as.test/token", "https://a@as.test/t"],
)
def test_an_issuer_that_cannot_be_asked_costs_no_login(run: Running, store: TokenStore, endpoint: str) -> None:
    endpoint = f"{run.address}{endpoint}" if endpoint.startswith("/") else endpoint
    tokens = kept(store, run.login(token_endpoint=endpoint))
    assert code(store, tokens) == "login_not_refreshed"
    found = store.find(run.url)
    assert found and found.refresh_token == tokens.refresh_token


def test_a_redirect_on_the_same_origin_is_followed(run: Running, store: TokenStore) -> None:
    tokens = kept(store, run.login(token_endpoint=f"{run.address}/moved"))
    assert refreshed(store, tokens, None).access_token == "access-1-of-0"


def test_an_issuer_that_does_not_answer_is_not_waited_for(
    run: Running, store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "_SECONDS", 0.01)
    tokens = kept(store, run.login())
    run.issuer.may_answer.clear()
    assert code(store, tokens) == "login_not_refreshed"


def test_one_who_cannot_have_the_lock_is_told(run: Running, store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_store, "_WAIT_S", 0.01)
    tokens = kept(store, run.login())
    with store.locked(tokens):
        assert code(store, tokens) == "login_not_refreshed"
    assert not run.issuer.asked


def test_a_pair_that_cannot_be_kept_is_used_all_the_same(
    run: Running, store: TokenStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = kept(store, run.login())
    with monkeypatch.context() as patched:
        patched.setattr(token_store, "_MOST_BYTES", 10)
        patched.setattr(token_store.TokenStore, "read", lambda *_: old)
        new = refreshed(store, old, None)
    assert "a refreshed login is not kept" in capsys.readouterr().err
    assert refreshed(store, new, None).access_token == "access-2-of-0"
    assert not run.issuer.revoked


# ---- several processes


def refresher(store: TokenStore, run: Running, processes: int, times: int) -> "subprocess.Popen[bytes]":
    """Processes each of which refreshes the login so often."""
    folder = store.path(run.url, "").parent.parent
    return subprocess.Popen([sys.executable, "-c", REFRESHER, str(folder), run.url, str(processes), str(times)])


@pytest.mark.slow
@pytest.mark.process
def test_five_processes_refresh_one_login_and_its_family_is_never_revoked(run: Running, store: TokenStore) -> None:
    run.issuer.life_s = 0  # so that nobody can take another's: every refresh is one at the issuer
    kept(store, run.login(expires_at=0.0))
    with refresher(store, run, 5, 100) as process:
        assert process.wait() == 0
    assert (run.issuer.refreshes, run.issuer.revoked) == (500, set())


@pytest.mark.slow
@pytest.mark.process
def test_one_that_is_killed_in_a_refresh_leaves_nothing_locked_nor_half_written(
    run: Running, store: TokenStore
) -> None:
    old = kept(store, run.login(expires_at=0.0))
    run.issuer.may_answer.clear()
    with refresher(store, run, 1, 1) as process:
        assert run.issuer.is_asked.wait(60)
        os.kill(process.pid, signal.SIGKILL)
    found = store.find(run.url)
    assert found and found.refresh_token == old.refresh_token
    with store.locked(old):
        pass  # which the killed one had
    assert [path.suffix for path in store.path(run.url, "").parent.iterdir() if path.suffix == ".new"] == []
