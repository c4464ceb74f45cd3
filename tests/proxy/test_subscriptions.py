"""Subscriptions of clients of both eras: to resources that change, and to lists of prompts and resources that do."""

import asyncio
import gc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.callers import MODERN_REVISION
from mcpctl.base.feature_names import PROMPTS, RESOURCES
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog.features import Feature
from mcpctl.proxy import subscriptions
from mcpctl.proxy.gateway import Gateway
from mcpctl.upstreams import server_lists
from mcpctl.upstreams.connection import Connection
from tests.proxy.client import LATEST, META
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, Scene, World, play, tool
from tests.proxy.library import seen

pytestmark = BOTH

SUBSCRIPTION = META + "subscriptionId"
CHANGED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
Play = Callable[..., None]


class Telling(MemoryServer):
    """A server whose resources can be subscribed to, in its era."""

    def __init__(self, *, modern: bool = False) -> None:
        super().__init__(tool("first"), modern=modern)
        self.capabilities = {"resources": {"subscribe": True}, "prompts": {}}
        self.refuses = False
        self.heard: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        """The resources that it was asked to tell of, and no longer."""
        self.listens: list[Any] = []
        """The ids of the requests that it has open, of 2026-07-28."""

    async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
        method, params = message.get("method", ""), message.get("params", {})
        if method in ("resources/subscribe", "resources/unsubscribe"):
            error = {"error": {"code": -32001, "message": "it never changes"}}
            connection.say(id=message["id"], **(error if self.refuses else {"result": {}}))
            self.heard.put_nowait((method, params["uri"]))
        elif method == "subscriptions/listen" and "resourceSubscriptions" in params["notifications"]:
            uris = [] if self.refuses else params["notifications"]["resourceSubscriptions"]
            agreed = {"notifications": {"resourceSubscriptions": uris}, "_meta": {SUBSCRIPTION: message["id"]}}
            connection.say(method=ACKNOWLEDGED, params=agreed)
            self.listens.append(message["id"])
            self.heard.put_nowait((method, params["notifications"]["resourceSubscriptions"]))
        elif method == "notifications/cancelled" and params["requestId"] in self.listens:
            self.listens.remove(params["requestId"])
            self.heard.put_nowait((method, params["requestId"]))
        else:
            await super().take(connection, message)

    def tell(self, uri: str) -> None:
        """Say that a resource has changed, as its era does."""
        meta = {"_meta": {SUBSCRIPTION: self.listens[-1]}} if self.listens else {}
        self.connections[-1].say(method=CHANGED, params={"uri": uri, **meta})

    def nothing_more(self) -> bool:
        """Whether it was asked nothing since."""
        return self.heard.empty()


def feature(kind: str, name: str, server: str = "one") -> Feature:
    return Feature(kind, server, name, Tool(server, f"@{kind}/{name}", {"name": name}, name))


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[Feature]:
    """The features that clients may list, which a test can change."""
    found = [feature(RESOURCES, "test://a"), feature(RESOURCES, "note://b")]
    monkeypatch.setattr(Gateway, "features", lambda gateway, view: seen(found, str(len(found))))
    return found


@pytest.fixture
def scene(home: Path, paths: Paths, listed: list[Feature]) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        async def begun(world: World) -> None:
            world.configure()
            world.begin()
            await played(world)

        play(home, paths, begun, **servers)

    return begin


def one(world: World) -> Telling:
    server = world.servers["one"]
    assert isinstance(server, Telling)
    return server


async def subscribed(client: MemoryClient, uri: str, method: str = "resources/subscribe") -> Any:
    answer = await client.request(method, {"uri": uri})
    return answer.get("result", answer.get("error"))


def listening(client: MemoryClient, id: Any = None, **wanted: Any) -> "asyncio.Future[dict[str, Any]]":
    return client.request("subscriptions/listen", {"notifications": wanted}, id=id)


async def told(client: MemoryClient) -> tuple[str, Mapping[str, Any]]:
    """The next notification of a client."""
    message = await client.questions.get()
    return message["method"], message.get("params", {})


EITHER_ERA = pytest.mark.parametrize("server", [Telling, lambda: Telling(modern=True)], ids=["older", "newer"])


@EITHER_ERA
def test_a_resource_is_asked_for_once_and_no_longer_than_anybody_wants_to_know(
    server: Callable[[], Telling], scene: Play
) -> None:
    async def played(world: World) -> None:
        world.configure({"one": {"shared": True}})
        first, second = await world.client(), await world.client()
        assert [await subscribed(client, "test://a") for client in (first, second)] == [{}, {}]
        asked = await one(world).heard.get()
        assert asked in (("resources/subscribe", "test://a"), ("subscriptions/listen", ["test://a"]))
        one(world).tell("test://a")
        assert [await told(client) for client in (first, second)] == [(CHANGED, {"uri": "test://a"})] * 2
        assert await subscribed(first, "test://a", "resources/unsubscribe") == {}
        one(world).tell("test://a")
        assert await told(second) == (CHANGED, {"uri": "test://a"})
        assert first.questions.empty()
        assert one(world).nothing_more()
        assert await subscribed(second, "test://a", "resources/unsubscribe") == {}
        asked = await one(world).heard.get()
        assert asked in (("resources/unsubscribe", "test://a"), ("notifications/cancelled", asked[1]))

    scene(played, one=server)


@EITHER_ERA
def test_a_newer_client_is_told_what_is_honoured_and_then_what_changes(
    server: Callable[[], Telling], scene: Play
) -> None:
    async def played(world: World) -> None:
        client = await world.client(MODERN_REVISION)
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": False}
        listening(client, "mine", **wanted, resourceSubscriptions=["test://a", "nowhere://a"])
        meta = {"_meta": {SUBSCRIPTION: "mine"}}
        honoured = {"promptsListChanged": True, "resourceSubscriptions": ["test://a"]}
        assert await told(client) == (ACKNOWLEDGED, {"notifications": honoured, **meta})
        one(world).tell("note://b")
        one(world).tell("test://a")
        assert await told(client) == (CHANGED, {"uri": "test://a", **meta})
        await one(world).heard.get()
        client.send(method="notifications/cancelled", params={"requestId": "mine"})
        await one(world).heard.get()
        one(world).tell("test://a")
        assert client.questions.empty()

    scene(played, one=server)


@pytest.mark.stdio("the ids of requests over HTTP are their own")
def test_several_listen_requests_are_told_each_of_its_own(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await world.client(MODERN_REVISION)
        for id_, uri in ((7, "test://a"), ("7", "note://b")):
            listening(client, id_, resourceSubscriptions=[uri])
            assert (await told(client))[1]["_meta"] == {SUBSCRIPTION: id_}
        for id_, uri in ((7, "test://a"), ("7", "note://b")):
            one(world).tell(uri)
            assert await told(client) == (CHANGED, {"uri": uri, "_meta": {SUBSCRIPTION: id_}})
        error = (await listening(client, 7))["error"]
        assert error == {"code": -32600, "message": "Invalid Request: a request of this id is open"}

    scene(played, one=Telling)


@pytest.mark.stdio("a session ends otherwise there")
def test_the_end_of_a_session_ends_what_listens_with_a_result(scene: Play) -> None:
    async def played(world: World) -> None:
        client, other = await world.client(MODERN_REVISION), await world.client()
        answer = listening(client, "mine", resourceSubscriptions=["test://a"])
        await told(client)
        await one(world).heard.get()
        world.clients.remove(client)
        await client.session.close(0)
        result = (await answer)["result"]
        assert (result["resultType"], result["_meta"][SUBSCRIPTION]) == ("complete", "mine")
        assert await one(world).heard.get() == ("resources/unsubscribe", "test://a")
        assert await other.call("one:first") == "{}"

    scene(played, one=Telling)


def test_a_uri_is_told_as_the_client_knows_it(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await world.client()
        assert await subscribed(client, "mcpctl+one:test://a") == {}
        assert await one(world).heard.get() == ("resources/subscribe", "test://a")
        for uri in ("test://a", "test://a/part"):
            one(world).tell(uri)
            assert await told(client) == (CHANGED, {"uri": f"mcpctl+one:{uri}"})
        one(world).tell("test://ab")
        assert await subscribed(client, "test://a") == {}
        assert one(world).nothing_more()
        one(world).tell("test://a")
        assert [(await told(client))[1]["uri"] for _ in range(2)] == ["mcpctl+one:test://a", "test://a"]

    scene(played, one=Telling)


def test_what_a_server_refuses_is_passed_on_and_asked_again_when_wanted_again(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"one": {"shared": True}})
        client, newer = await world.client(), await world.client(MODERN_REVISION)
        one(world).refuses = True
        assert await subscribed(client, "test://a") == {"code": -32001, "message": "it never changes"}
        listening(newer, resourceSubscriptions=["test://a"])
        assert (await told(newer))[1]["notifications"] == {}
        one(world).refuses = False
        assert await subscribed(client, "test://a") == {}
        one(world).tell("test://a")
        assert await told(client) == (CHANGED, {"uri": "test://a"})
        assert newer.questions.empty()

    scene(played, one=Telling)


def test_what_a_newer_server_does_not_honour_is_refused(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await world.client()
        one(world).refuses = True
        assert (await subscribed(client, "test://a"))["code"] == -32603

    scene(played, one=lambda: Telling(modern=True))


@EITHER_ERA
def test_a_server_that_is_back_is_asked_again_and_what_it_said_meanwhile_is_made_up_for(
    server: Callable[[], Telling], scene: Play
) -> None:
    async def played(world: World) -> None:
        client = await world.client()
        await subscribed(client, "test://a")
        first = await one(world).heard.get()
        await one(world).connections[-1].stop()
        one(world).listens.clear()
        assert await client.call("one:first") == "{}"
        assert await one(world).heard.get() == first
        assert await told(client) == (CHANGED, {"uri": "test://a"})
        one(world).tell("test://a")
        assert await told(client) == (CHANGED, {"uri": "test://a"})
        assert client.questions.empty()

    scene(played, one=server)


@EITHER_ERA
@pytest.mark.parametrize("revision", [LATEST, MODERN_REVISION])
def test_a_server_that_dies_is_connected_again_for_who_watches(
    revision: str, server: Callable[[], Telling], scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_lists, "FIRST_WAIT_S", 0.0)

    async def played(world: World) -> None:
        client = await world.client(revision)
        if revision == LATEST:
            await subscribed(client, "test://a")
        else:
            listening(client, resourceSubscriptions=["test://a"])
            await told(client)
        first = await one(world).heard.get()
        for _ in range(2):
            await world.upstream("one").refresh_all(client.session.caller)  # nothing else begins with it again
            await one(world).connections[-1].stop()
            one(world).listens.clear()
            assert await one(world).heard.get() == first
            assert (await told(client))[1]["uri"] == "test://a"
        one(world).tell("test://a")
        assert (await told(client))[1]["uri"] == "test://a"
        assert client.questions.empty()

    scene(played, one=server)


def test_a_server_that_cannot_be_started_again_is_tried_again_while_somebody_watches(
    scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_lists, "FIRST_WAIT_S", 0.0)

    async def played(world: World) -> None:
        client = await world.client()
        await subscribed(client, "test://a")
        await one(world).heard.get()
        tried, opened = asyncio.Event(), world.gateway._transports.open
        may_start = False

        async def refuse(*given: Any) -> Connection:
            tried.set()
            if not may_start:
                raise FileNotFoundError(2, "gone", "one")
            return await opened(*given)

        monkeypatch.setattr(world.gateway._transports, "open", refuse)
        await one(world).connections[-1].stop()
        for _ in range(2):
            await tried.wait()
            tried.clear()
        may_start = True
        monkeypatch.setattr(world.upstream("one"), "_not_before", 0.0)
        assert await one(world).heard.get() == ("resources/subscribe", "test://a")
        await subscribed(client, "test://a", "resources/unsubscribe")
        assert await one(world).heard.get() == ("resources/unsubscribe", "test://a")
        count = len(one(world).connections)
        await one(world).connections[-1].stop()
        assert (await client.call("one:first"), len(one(world).connections)) == ("{}", count + 1)

    scene(played, one=Telling)


def test_a_newer_server_that_ends_a_subscription_is_asked_again(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_lists, "FIRST_WAIT_S", 0.0)

    async def played(world: World) -> None:
        client = await world.client()
        await subscribed(client, "test://a")
        await one(world).heard.get()
        one(world).connections[-1].say(id=one(world).listens.pop(), result={"resultType": "complete"})
        assert await told(client) == (CHANGED, {"uri": "test://a"})
        assert await one(world).heard.get() == ("subscriptions/listen", ["test://a"])

    scene(played, one=lambda: Telling(modern=True))


@pytest.mark.stdio("what is not read is on the way of its stream")
def test_a_client_that_does_not_read_goes_without(scene: Play) -> None:
    async def played(world: World) -> None:
        client, other = await world.client(), await world.client()
        for each in (client, other):
            await subscribed(each, "test://a")
        client.pending = bounds.UNREAD_NOTICES + 1
        one(world).tell("test://a")
        await told(other)
        client.pending = 0
        one(world).tell("test://a/b")
        assert await told(client) == (CHANGED, {"uri": "test://a/b"})

    scene(played, one=Telling)


def test_nothing_is_told_of_what_may_not_be_seen_any_more(scene: Play, listed: list[Feature]) -> None:
    async def played(world: World) -> None:
        client = await world.client()
        for uri in ("test://a", "note://b"):
            await subscribed(client, uri)
        listed.pop(0)
        one(world).tell("test://a")
        one(world).tell("note://b")
        assert await told(client) == (CHANGED, {"uri": "note://b"})
        assert (await subscribed(client, "test://a"))["code"] == -32002

    scene(played, one=Telling)


def test_clients_are_told_once_of_lists_that_really_changed(scene: Play, listed: list[Feature]) -> None:
    async def played(world: World) -> None:
        client, newer = await world.client(), await world.client(MODERN_REVISION)
        listening(newer, "mine", resourcesListChanged=True)
        await told(newer)

        def changed() -> None:
            for _ in range(5):
                for each in world.clients:
                    each.session.lists_changed()

        changed()
        listed.append(feature(PROMPTS, "greet"))
        changed()
        assert await told(client) == ("notifications/prompts/list_changed", {})
        listed.append(feature(RESOURCES, "test://c"))
        changed()
        assert await told(client) == ("notifications/resources/list_changed", {})
        assert await told(newer) == ("notifications/resources/list_changed", {"_meta": {SUBSCRIPTION: "mine"}})
        listed.pop()
        changed()
        assert await told(client) == ("notifications/resources/list_changed", {})

    scene(played, one=Telling)


@pytest.mark.stdio("streams are bounded as requests in flight are")
def test_a_client_has_a_bounded_number_of_subscriptions(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "WATCHED", 1)
    monkeypatch.setattr(bounds, "LISTENS", 1)

    async def played(world: World) -> None:
        client, newer = await world.client(), await world.client(MODERN_REVISION)
        assert await subscribed(client, "test://a") == {}
        assert (await subscribed(client, "note://b"))["message"] == "a client can watch at most 1 resources"
        both = await listening(newer, resourceSubscriptions=["test://a", "note://b"])
        assert both["error"]["message"] == "a client can watch at most 1 resources"
        listening(newer)
        await told(newer)
        assert (await listening(newer))["error"]["message"] == "a client has at most 1 subscriptions open"

    scene(played, one=Telling)


@pytest.mark.parametrize(
    "wanted", [None, [], {"resourceSubscriptions": "test://a"}, {"resourceSubscriptions": [1]}], ids=str
)
def test_a_filter_that_is_none_is_refused(wanted: Any, scene: Play) -> None:
    async def played(world: World) -> None:
        client = await world.client(MODERN_REVISION)
        answer = await client.request("subscriptions/listen", {"notifications": wanted})
        assert answer["error"]["code"] == -32602

    scene(played, one=Telling)


def test_what_a_client_leaves_out_it_may_write_as_null(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await world.client(MODERN_REVISION)
        listening(client, resourcesListChanged=None, resourceSubscriptions=None)
        assert (await told(client))[1]["notifications"] == {}

    scene(played, one=Telling)


def test_a_server_that_is_back_in_the_other_era_is_told_in_its_own_that_nobody_wants_to_know(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await world.client(MODERN_REVISION)
        listening(client, "first", resourceSubscriptions=["test://a"])
        await one(world).heard.get()
        client.send(method="notifications/cancelled", params={"requestId": "first"})
        await one(world).heard.get()
        await one(world).connections[-1].stop()
        one(world).modern = False
        one(world).listens.clear()
        older = await world.client()
        await subscribed(older, "test://a")
        assert await one(world).heard.get() == ("resources/subscribe", "test://a")
        await subscribed(older, "test://a", "resources/unsubscribe")
        assert await one(world).heard.get() == ("resources/unsubscribe", "test://a")

    scene(played, one=lambda: Telling(modern=True))


def test_each_era_has_its_own_way_to_ask(scene: Play) -> None:
    async def played(world: World) -> None:
        client, newer = await world.client(), await world.client(MODERN_REVISION)
        assert (await listening(client))["error"]["code"] == -32601
        assert (await subscribed(newer, "test://a"))["code"] == -32601

    scene(played, one=Telling)


def test_a_server_that_does_not_answer_keeps_no_newer_client_waiting(
    scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "_AGREED_S", 0.0)

    async def played(world: World) -> None:
        one(world).may_start.clear()
        client = await world.client(MODERN_REVISION)
        listening(client, resourceSubscriptions=["test://a"])
        assert (await told(client))[1]["notifications"] == {"resourceSubscriptions": ["test://a"]}
        one(world).may_start.set()
        await one(world).heard.get()
        one(world).tell("test://a")
        assert (await told(client))[0] == CHANGED

    scene(played, one=Telling)


def test_a_client_is_told_of_the_parts_of_what_it_watches_and_of_nothing_beside(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await world.client()
        for uri in ("test://a/b", "test://a/b/", "test://c"):
            assert await subscribed(client, uri) == {}
        heard = {
            "test://a/b": ["test://a/b"],
            "test://a/b/": ["test://a/b/", "test://a/b/"],
            "test://a/b/c/d": ["test://a/b/c/d", "test://a/b/c/d"],
        }
        for uri in ("test://a", "test://a/bc", "test://cd", "test:///", "/", "", "test://c" + 5000 * "/", *heard):
            one(world).tell(uri)
        assert [(await told(client))[1]["uri"] for _ in range(5)] == [
            each for told_of in heard.values() for each in told_of
        ]

    scene(played, one=Telling)


def unknown_server() -> Telling:
    server = Telling()
    server.resources = [{"uri": "test://a", "name": "a"}]
    return server


def test_what_is_subscribed_to_before_anything_is_known_is_looked_for(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        assert await subscribed(await world.client(), "test://a") == {}
        one(world).tell("test://a")
        # That there are lists now may be told before.
        while (message := await told(world.clients[0]))[0] == "notifications/resources/list_changed":
            pass
        assert message == (CHANGED, {"uri": "test://a"})

    play(home, paths, played, one=unknown_server)


def test_a_newer_client_that_listens_first_has_servers_list_what_they_have(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(MODERN_REVISION)
        listening(client, resourceSubscriptions=["test://a", "nowhere://a"])
        assert (await told(client))[1]["notifications"] == {"resourceSubscriptions": ["test://a"]}

    play(home, paths, played, one=unknown_server)


def test_a_newer_client_that_only_listens_is_told_of_the_first_lists(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(MODERN_REVISION)
        listening(client, resourcesListChanged=True)
        assert (await told(client))[0] == ACKNOWLEDGED
        assert (await told(client))[0] == "notifications/resources/list_changed"

    play(home, paths, played, one=unknown_server)


def test_nobody_is_asked_for_a_client_without_a_token(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"require_token": True})
        world.begin()
        client = await world.client(MODERN_REVISION)
        listening(client, resourceSubscriptions=["test://a"])
        assert (await told(client))[1]["notifications"] == {}
        assert not one(world).connections

    play(home, paths, played, one=unknown_server)


def test_a_subscription_that_is_taken_back_at_once_leaves_nothing_behind(
    scene: Play, recwarn: pytest.WarningsRecorder
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(MODERN_REVISION)
        client.request("subscriptions/listen", {"notifications": {}}, id=9)
        client.send(method="notifications/cancelled", params={"requestId": 9})
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await client.delivered()

    scene(played)
    gc.collect()
    assert not [each for each in recwarn if "never awaited" in str(each.message)]
