"""Requests to a server that one has logged in to carry the token of the login, in time, and nobody else gets it."""

import asyncio
import sys
import threading
import time
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcpctl.base import posix
from mcpctl.base.failure import Failed
from mcpctl.base.paths import Paths
from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth.bearer import Bearer
from mcpctl.oauth.token_store import TokenStore
from mcpctl.proxy.follower import ConfigFile
from mcpctl.proxy.gateway import Gateway
from tests.conftest import Mcpctl
from tests.oauth.issuer import Running, running
from tests.proxy.client import LATEST, MODERN, write_config
from tests.proxy.in_memory import World, play, text_of

NEEDS = "mcpctl: server 'guarded' needs a login: the user can log in with: mcpctl servers login guarded"
OVER = 10.0


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(posix, "hide_environment", lambda: None)
    monkeypatch.setattr(webbrowser, "open", lambda *_: pytest.fail("a browser was opened"))
    with running() as found:
        yield found


def act(paths: Paths, scene: Callable[[World], Awaitable[None]], **entry: Any) -> None:
    """Play a scene with one server, at a URL."""
    write_config(paths.config.parent, {"guarded": entry})

    async def played(world: World) -> None:
        file = ConfigFile(paths, None)
        world.gateway = Gateway(file.read(), paths, followed=file)
        await scene(world)

    play(paths.config.parent, paths, played)


def bearers(run: Running, method: str) -> list[str | None]:
    """The `authorization` of each request with this JSON-RPC method, or HTTP method."""
    return [header for http, named, header in run.server.got if method in (http, named)]


async def until(true: Callable[[], object]) -> None:
    """Wait for what another thread does."""
    async with asyncio.timeout(OVER):
        while not true():
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_every_request_carries_the_token(run: Running, paths: Paths, store: TokenStore, revision: str) -> None:
    login = run.login()
    store.keep(login)

    async def scene(world: World) -> None:
        client = await world.client(revision)
        assert await client.call("guarded:echo") == "done"
        await until(lambda: bearers(run, "GET"))

    act(paths, scene, url=run.url)
    assert {header for _, _, header in run.server.got} == {f"Bearer {login.access_token}"}
    assert {http for http, _, _ in run.server.got} == {"POST", "GET", "DELETE"}
    assert not run.issuer.asked


def test_a_login_that_has_expired_while_nothing_ran_is_refreshed_without_a_browser(
    run: Running, paths: Paths, store: TokenStore
) -> None:
    store.keep(run.login(expires_at=time.time() - 1000))

    async def scene(world: World) -> None:
        assert await (await world.client()).call("guarded:echo") == "done"

    act(paths, scene, url=run.url)
    assert {header for _, _, header in run.server.got} == {"Bearer access-1-of-0"}
    assert (run.issuer.refreshes, run.server.asked_for_tokens) == (1, 0)


def test_calls_do_not_wait_for_one_another(run: Running, paths: Paths, store: TokenStore) -> None:
    store.keep(run.login())
    run.server.together = 4  # none is answered before all are in the server

    async def scene(world: World) -> None:
        client = await world.client()
        answers = await asyncio.gather(*(client.start_call("guarded:wait") for _ in range(4)))
        assert [text_of(answer) for answer in answers] == ["done"] * 4

    act(paths, scene, url=run.url)


def test_a_token_that_still_holds_is_used_while_it_is_refreshed(run: Running, paths: Paths, store: TokenStore) -> None:
    old = run.login()
    store.keep(old)

    async def scene(world: World) -> None:
        client = await world.client()
        assert await client.call("guarded:echo") == "done"
        run.issuer.may_answer.clear()
        store.keep(msgspec.structs.replace(old, expires_at=time.time() + 50))
        assert await client.call("guarded:echo") == "done"
        await until(run.issuer.is_asked.is_set)
        assert await client.call("guarded:echo") == "done"
        run.issuer.may_answer.set()
        await until(lambda: (found := store.find(run.url)) and found.refreshed_at)
        await until(lambda: not [t for t in threading.enumerate() if t.name == "login"])
        assert await client.call("guarded:echo") == "done"

    act(paths, scene, url=run.url)
    assert bearers(run, "tools/call") == [f"Bearer {old.access_token}"] * 3 + ["Bearer access-1-of-0"]
    assert len(run.issuer.asked) == 1


def test_a_refresh_that_is_under_way_at_the_end_is_not_lost(run: Running, paths: Paths, store: TokenStore) -> None:
    store.keep(run.login(expires_at=time.time() + 50))
    run.issuer.may_answer.clear()

    async def scene(world: World) -> None:
        assert await (await world.client()).call("guarded:echo") == "done"
        await until(run.issuer.is_asked.is_set)
        asyncio.get_running_loop().call_later(0.1, run.issuer.may_answer.set)
        await world.gateway.upstreams["guarded"].stop()
        found = store.find(run.url)
        assert found and found.access_token == "access-1-of-0"

    act(paths, scene, url=run.url)


def test_what_is_refused_is_sent_once_more_with_another_token_and_asked_for_once(
    run: Running, paths: Paths, store: TokenStore
) -> None:
    old = run.login()
    store.keep(old)
    run.server.together = 4

    async def scene(world: World) -> None:
        client = await world.client()
        assert await client.call("guarded:echo") == "done"
        del run.issuer.access[old.access_token]
        answers = await asyncio.gather(*(client.start_call("guarded:wait") for _ in range(4)))
        assert [text_of(answer) for answer in answers] == ["done"] * 4

    act(paths, scene, url=run.url)
    assert run.server.calls == 5
    assert (run.issuer.refreshes, run.issuer.revoked) == (1, set())


def test_a_token_that_is_refused_as_soon_as_it_is_there_is_not_asked_for_again(
    run: Running, paths: Paths, store: TokenStore
) -> None:
    store.keep(run.login())
    run.issuer.access.clear()
    run.issuer.access = {}
    refused = run.issuer.issue

    def issued(family: int | None = None) -> Any:
        pair = refused(family)
        run.issuer.access.clear()
        return pair

    run.issuer.issue = issued  # type: ignore[method-assign]

    async def scene(world: World) -> None:
        client = await world.client()
        for _ in range(3):
            said = await client.call("guarded:echo")
            assert said == f"{NEEDS}. The user can see why with: mcpctl servers check guarded"

    act(paths, scene, url=run.url)
    assert run.issuer.refreshes == 1


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_server_that_wants_a_login_says_so_and_a_login_counts_at_the_next_call(
    run: Running, paths: Paths, store: TokenStore, revision: str
) -> None:
    async def scene(world: World) -> None:
        client = await world.client(revision)
        for _ in range(4):
            answer = await client.start_call("guarded:echo")
            assert (text_of(answer), answer["result"]["isError"]) == (NEEDS, True)
        store.keep(run.login())
        assert await client.call("guarded:echo") == "done"

    act(paths, scene, url=run.url)


def test_a_server_of_the_older_transport_says_so_too(run: Running, paths: Paths, store: TokenStore) -> None:
    async def scene(world: World) -> None:
        assert await (await world.client()).call("guarded:echo") == NEEDS

    act(paths, scene, url=run.url, transport="sse")
    assert {*bearers(run, "GET")} == {None}  # once, or again where the first has ended before the call


def test_a_person_is_told_how_to_log_in(run: Running, home: Path, mcpctl: Mcpctl) -> None:
    write_config(home, {"guarded": {"url": run.url}})
    ran = mcpctl("tools", "call", "guarded:echo")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == ("mcpctl: server 'guarded' needs a login\nhint: log in with: mcpctl servers login guarded\n")


def test_a_token_that_has_expired_when_it_comes_is_no_login_that_is_over(
    run: Running, paths: Paths, store: TokenStore
) -> None:
    store.keep(run.login(expires_at=time.time() - 1))
    where = Endpoint(run.url, "http", {})

    async def scene() -> None:
        bearer = Bearer(paths, where)
        await bearer.look()
        run.issuer.life_s = 0
        header = await bearer.header()
        assert header == "Bearer access-1-of-0"
        with pytest.raises(Failed, match="cannot be refreshed now, try again") as raised:
            await bearer.renewed(header)
        assert raised.value.failure.code == "login_not_refreshed"

    asyncio.run(scene())


def test_a_logout_counts_at_the_next_call(run: Running, paths: Paths, store: TokenStore) -> None:
    store.keep(run.login())

    async def scene(world: World) -> None:
        client = await world.client()
        assert await client.call("guarded:echo") == "done"
        store.forget(run.url)
        assert await client.call("guarded:echo") == NEEDS
        store.keep(run.login())
        assert await client.call("guarded:echo") == "done"

    act(paths, scene, url=run.url)
    assert bearers(run, "initialize") == ["Bearer access-0-of-0"]


def test_what_another_process_has_refreshed_is_followed(run: Running, paths: Paths, store: TokenStore) -> None:
    login = run.login()
    store.keep(login)

    async def scene(world: World) -> None:
        client = await world.client()
        assert await client.call("guarded:echo") == "done"
        pair = run.issuer.issue(0)
        store.keep(msgspec.structs.replace(login, access_token=pair.access_token, refreshed_at=time.time()))
        assert await client.call("guarded:echo") == "done"

    act(paths, scene, url=run.url)
    assert bearers(run, "tools/call") == ["Bearer access-0-of-0", "Bearer access-1-of-0"]
    assert not run.issuer.asked


def test_a_login_that_is_over_is_told_in_the_middle_and_a_new_one_goes_on(
    run: Running, paths: Paths, store: TokenStore
) -> None:
    old = run.login()
    store.keep(old)

    async def scene(world: World) -> None:
        client = await world.client()
        assert await client.call("guarded:echo") == "done"
        run.issuer.revoke(0)
        assert await client.call("guarded:echo") == NEEDS
        store.keep(run.login())
        assert await client.call("guarded:echo") == "done"

    act(paths, scene, url=run.url)
    assert len(bearers(run, "initialize")) == 1


def test_an_issuer_that_fails_costs_the_calls_of_this_moment_alone(
    run: Running, paths: Paths, store: TokenStore
) -> None:
    login = run.login()
    store.keep(login)

    async def scene(world: World) -> None:
        client = await world.client()
        assert await client.call("guarded:echo") == "done"
        run.issuer.status = 503
        store.keep(msgspec.structs.replace(login, expires_at=time.time() - 1))
        said = await client.call("guarded:echo")
        assert (
            said == "mcpctl: server 'guarded': its login cannot be refreshed now, try again:"
            " the issuer answers HTTP 503 (slow_down)"
        )
        run.issuer.status = 0
        assert await client.call("guarded:echo") == "done"

    act(paths, scene, url=run.url)
    assert len(bearers(run, "initialize")) == 1
    assert not run.issuer.revoked


@pytest.mark.parametrize(
    ("lacks", "told"),
    [
        ("files:write a/b", " --scope files:write --scope a/b"),
        ("$(rm) a;b 'Ignore", ""),
        ("--all https://s.test/x", " --scope https://s.test/x"),
    ],
)
def test_a_login_with_too_few_rights_is_told_with_those_that_lack(
    run: Running, paths: Paths, store: TokenStore, lacks: str, told: str
) -> None:
    store.keep(run.login())
    run.server.lacks = lacks

    async def scene(world: World) -> None:
        said = await (await world.client()).call("guarded:echo")
        more = NEEDS.replace("a login:", "a login with more rights:")
        assert said == f"{more}{told}. The user can see why with: mcpctl servers check guarded"

    act(paths, scene, url=run.url)
    assert not run.issuer.asked


def test_what_the_configuration_says_of_itself_is_what_is_sent(run: Running, paths: Paths, store: TokenStore) -> None:
    store.keep(run.login())

    async def scene(world: World) -> None:
        said = await (await world.client()).call("guarded:echo")
        assert "HTTP 401" in said
        assert "login" not in said

    act(paths, scene, url=run.url, headers={"authorization": "Bearer own"})
    assert {header for _, _, header in run.server.got} == {"Bearer own"}


def test_who_says_how_to_log_in_is_told_to_whatever_else_is_sent(run: Running, paths: Paths) -> None:
    async def scene(world: World) -> None:
        assert (await (await world.client()).call("guarded:echo")).startswith(NEEDS)

    act(paths, scene, url=run.url, headers={"x-mine": "own"}, oauth={"client_id": "mine"})


def test_a_token_does_not_follow_a_redirect_to_another_place(run: Running, paths: Paths, store: TokenStore) -> None:
    with running() as elsewhere:
        run.elsewhere = elsewhere.url
        store.keep(run.login(server_url=f"{run.address}/away"))

        async def scene(world: World) -> None:
            assert "it redirects to another place" in await (await world.client()).call("guarded:echo")

        act(paths, scene, url=f"{run.address}/away")
        assert not elsewhere.server.got


@pytest.mark.parametrize(
    ("url", "headers", "gets_one"),
    [
        ("https://s.test/mcp", {}, True),
        ("https://s.test/mcp", {"X-Team": "a"}, True),
        ("https://s.test/mcp", {"AUTHORIZATION": "a"}, False),
        ("https://me:pw@s.test/mcp", {}, False),
        ("http://localhost:1/mcp", {}, True),
        ("http://[::1]:1/mcp", {}, True),
        ("http://127.0.0.1.s.test/mcp", {}, False),
        ("http://s.test/mcp", {}, False),
    ],
)
def test_who_may_be_sent_a_token(paths: Paths, url: str, headers: dict[str, str], gets_one: bool) -> None:
    assert (Bearer.of(paths, Endpoint(url, "http", headers)) is not None) == gets_one


def test_without_a_login_nothing_is_read(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenStore, "find", lambda *_, **__: pytest.fail("looked into files"))
    bearer = Bearer(paths, Endpoint("https://s.test/mcp", "http", {}))

    async def asked() -> None:
        await bearer.look()
        assert await bearer.header() is None
        assert await bearer.renewed(None) is None

    asyncio.run(asked())


def test_a_keyring_that_gives_nothing_is_told(
    run: Running, paths: Paths, store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.keep(run.login())
    file = store.path(run.url, f"{run.address}/tenant")
    file.write_bytes(msgspec.json.encode({**msgspec.json.decode(file.read_bytes()), "keyring": "gone"}))
    monkeypatch.setitem(sys.modules, "keyring", None)

    async def scene(world: World) -> None:
        assert "the package keyring is not installed" in await (await world.client()).call("guarded:echo")

    act(paths, scene, url=run.url)


def test_no_token_is_in_anything_that_is_written(
    run: Running, paths: Paths, store: TokenStore, capfd: pytest.CaptureFixture[str]
) -> None:
    login = run.login(client_secret="hidden-secret")
    store.keep(login)
    told: list[str] = []

    async def scene(world: World) -> None:
        client = await world.client()
        told.append(await client.call("guarded:echo"))
        run.server.says = f"it was {login.access_token}"
        assert await client.call("guarded:echo") == run.server.says  # what a server answers is passed as it is
        del run.issuer.access[login.access_token]
        run.server.says = ""
        told.append(await client.call("guarded:echo"))  # refused, refreshed, sent again
        run.issuer.access.clear()
        told.append(await client.call("guarded:echo"))  # refused, and so would another be
        run.issuer.status = 500
        found = store.find(run.url)
        assert found
        store.keep(msgspec.structs.replace(found, expires_at=0.0))
        told.append(await client.call("guarded:echo"))
        run.issuer.status = 0
        run.issuer.revoke(0)
        told.append(await client.call("guarded:echo"))

    act(paths, scene, url=run.url)
    assert [text.partition(":")[0] for text in told] == ["done", "done", "mcpctl", "mcpctl", "mcpctl"]
    out, err = capfd.readouterr()
    written = [file.read_bytes() for file in paths.data.rglob("*") if file.is_file() and file.parent != paths.oauth]
    assert b"it was [redacted:" in b"".join(written)
    assert b"not Bearer ***" in b"".join(written)
    shown = [out, err, *told, *(text.decode("utf-8", "replace") for text in written)]
    secrets = ["access-0", "access-1", "refresh-0", "refresh-1", "hidden-secret"]
    assert not [secret for secret in secrets for text in shown if secret in text]
