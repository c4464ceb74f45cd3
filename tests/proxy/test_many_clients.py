"""Many people's clients in one process: what one of them sets, sees, waits for or has approved is its own."""

import ast
import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import mcpctl
from mcpctl.base.callers import BY_TOKEN, MODERN_REVISION, speaker
from mcpctl.base.paths import Paths
from mcpctl.policy import approvals, tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.proxy.watched_resources import UPDATED
from mcpctl.search.posting_lists import Corpus
from mcpctl.store.records import LocalRecords
from mcpctl.store.retention import Upkeep
from mcpctl.store.run import Run, in_runs
from tests.proxy.client import LATEST
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, Scene, World, play, text_of, tool
from tests.store.test_run import open_journals

Play = Callable[..., None]
PACKAGE = Path(mcpctl.__file__).parent


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene on this test's home."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def token(paths: Paths, *servers: str) -> str:
    with PolicyFile.connect(paths) as file:
        return tokens.create(file, servers=servers)[1]


async def keys(client: MemoryClient) -> set[str]:
    return {result["toolKey"] for result in (await client.discover("read"))["results"]}


async def all_is_listed(world: World, client: MemoryClient, server: str) -> None:
    """Have all that a server has known, so that no other client asks for it."""
    upstream = world.gateway.upstream(server, client.session.caller)
    assert upstream
    assert await upstream.refresh_all(client.session.caller) is None


# ---- nothing of a process

OF_A_PROCESS = {
    "sys.stdin", "sys.stdout", "os._exit", "os.getppid", "signal.signal", "loop.add_signal_handler", "tokens.own_token",
    "own_token", "posix.parents",
}  # fmt: skip
CORE = ("proxy", "upstreams", "catalog", "metatools", "search")


def names_in(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.alias):
            yield node.name


@pytest.mark.slow
def test_the_core_knows_nothing_of_the_process_that_it_runs_in() -> None:
    files = [file for room in CORE for file in (PACKAGE / room).rglob("*.py") if file.name != "process.py"]
    found = {
        str(file.relative_to(PACKAGE)): names for file in files if (names := OF_A_PROCESS.intersection(names_in(file)))
    }
    assert found == {}


def test_the_token_of_a_request_without_one_is_that_of_its_client_and_not_the_process_s(
    scene: Play, paths: Paths
) -> None:
    async def played(world: World) -> None:
        of_ann, of_bob = token(paths, "notes"), token(paths, "files")
        world.configure(policy={"require_token": True})
        world.begin()
        ann, bob = [await world.client(token=each) for each in (of_ann, of_bob)]
        nobody = await world.client()
        assert [await keys(each) for each in (ann, bob, nobody)] == [{"notes:read"}, {"files:read"}, set()]
        # One that a request claims goes before it, and a project alone leaves it as it is.
        claimed = await bob.discover("read", _meta={"token": of_ann})
        assert {result["toolKey"] for result in claimed["results"]} == {"notes:read"}
        assert await bob.call("files:read", {"n": 1}, _meta={"projectId": ""}) == '{"n": 1}'

    scene(
        played,
        notes=lambda: MemoryServer(tool("read", readOnlyHint=True)),
        files=lambda: MemoryServer(tool("read", readOnlyHint=True)),
    )


# ---- work of a call


async def functions_of_a_call(client: MemoryClient) -> int:
    """All functions that a warm call needs at least, those written in C included."""
    counts: list[int] = []

    def on_event(frame: FrameType, event: str, argument: Any) -> None:
        counts[-1] += event in ("call", "c_call")

    for _ in range(20):
        counts.append(0)
        sys.setprofile(on_event)
        await client.call("files:read", {"n": 1})
        sys.setprofile(None)
    return min(counts)


def test_the_work_of_a_call_is_the_same_among_a_thousand_sessions_as_alone(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        alone = await functions_of_a_call(client)
        for _ in range(999):
            other = await world.client(MODERN_REVISION)
        await other.call("files:read", {"n": 1})
        assert await functions_of_a_call(client) <= alone

    scene(played, files=lambda: MemoryServer(tool("read", readOnlyHint=True)))


# ---- slowness


def test_pages_of_a_list_wait_for_the_client_that_takes_nothing_and_for_no_other(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        slow, quick = [await world.client(holder=name) for name in ("slow", "quick")]
        slow.readers.hold()
        waiting = slow.request("prompts/list", {})
        assert (await quick.request("prompts/list", {}))["result"] == {"prompts": []}
        assert not waiting.done()
        slow.readers.release()
        assert (await waiting)["result"] == {"prompts": []}

    scene(played, files=lambda: MemoryServer(tool("read")))


def test_servers_of_one_client_that_start_slowly_keep_no_other_client_s_waiting(scene: Play) -> None:
    slow = [f"slow{n}" for n in range(8)]

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        for name in slow:
            world.servers[name].may_start.clear()
        one, other = [await world.client(holder=name) for name in ("one", "other")]
        waiting = world.gateway.background(world.gateway.refresh(slow, one.session.caller))
        while sum(len(world.servers[name].connections) for name in slow) < 4:
            await asyncio.sleep(0)
        assert await world.gateway.refresh(["quick"], other.session.caller) == {}
        assert not waiting.done()

    servers = {name: lambda: MemoryServer(tool("read")) for name in ("quick", *slow)}
    scene(played, **servers)


# ---- a server's process belongs to a key


def told(server: MemoryServer) -> list[list[str]]:
    return [list(capabilities) for capabilities in server.told]


def test_a_process_belongs_to_a_session_of_an_older_client_and_to_a_token_of_newer_ones(
    scene: Play, paths: Paths
) -> None:
    async def played(world: World) -> None:
        of_ann, of_bob = token(paths), token(paths)
        world.configure(policy={})
        world.begin()
        files = world.servers["files"]
        for holder in ("one", "two"):
            client = await world.client(capabilities={holder: {}}, holder=holder)
            for n in range(3):
                await client.call("files:read", {"n": n})
        assert (len(files.connections), told(files)) == (2, [["one"], ["two"]])
        for text, of_client in ((of_ann, "a"), (of_bob, "b"), (of_ann, "a"), (None, "nobody"), (None, "nobody")):
            client = await world.client(MODERN_REVISION, {of_client: {}}, token=text, holder=BY_TOKEN)
            await client.call("files:read", {})
        # The token that a request claims in a process for many is a key as well.
        await client.call("files:read", {}, _meta={"token": of_bob})
        assert (sum(not each.gone.is_set() for each in files.connections), told(files)[2:]) == (5, [[], [], []])

    scene(played, files=lambda: MemoryServer(tool("read", readOnlyHint=True)))


def test_a_shared_server_has_one_process_for_all_clients(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"files": {"shared": True}})
        world.begin()
        for holder in ("one", "two", "three", ""):
            client = await world.client(holder=holder)
            assert await client.call("files:read", {"n": 1}) == '{"n": 1}'
        assert len(world.servers["files"].connections) == 1
        # Where it is shared no more, each has its own from then on; what was shared ends.
        world.configure()
        for one in world.clients:
            await one.call("files:read", {"n": 2})
        shared, *own = world.servers["files"].connections
        assert len(own) == 4
        await shared.gone.wait()

    scene(played, files=lambda: MemoryServer(tool("read")))


async def reading(world: World, *names: str) -> list[MemoryClient]:
    """Clients of these names, each of which has called a server of its own and one that all share."""
    world.configure({"all": {"shared": True}})
    world.begin()
    clients = [await world.client(holder=name) for name in names]
    for client in clients:
        for server in ("own", "all"):
            await client.call(f"{server}:read")
    return clients


def test_the_servers_of_a_client_end_with_it_and_those_of_others_go_on(scene: Play) -> None:
    async def played(world: World) -> None:
        _, left = await reading(world, "gone", "left")
        world.gateway.let_go("gone")
        first, second = world.servers["own"].connections
        await first.gone.wait()
        assert not second.gone.is_set()
        for server in ("own", "all"):
            await left.call(f"{server}:read")
        assert [len(world.servers[name].connections) for name in ("own", "all")] == [2, 1]

    scene(played, own=lambda: MemoryServer(tool("read")), all=lambda: MemoryServer(tool("read")))


def test_the_process_that_has_been_idle_longest_makes_room_for_another(scene: Play) -> None:
    may_answer = asyncio.Event()

    async def answer(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        if params["arguments"]:
            await may_answer.wait()
        return {"content": []}

    async def played(world: World) -> None:
        world.configure()
        world.begin(most_processes=3)
        clients = [await world.client(holder="0")]
        await all_is_listed(world, clients[0], "files")
        clients += [await world.client(holder=str(n)) for n in range(1, 5)]
        connections = world.servers["files"].connections

        def running() -> list[int]:
            return [number for number, each in enumerate(connections) if not each.gone.is_set()]

        for client in (*clients[:3], clients[0]):
            await client.call("files:read")
        await clients[3].call("files:read")
        assert running() == [0, 2, 3]
        busy = [clients[n].start_call("files:read", {"wait": 1}) for n in (0, 2, 3)]
        assert "3 servers run already" in await clients[4].call("files:read")
        may_answer.set()
        await asyncio.gather(*busy)
        assert await clients[4].call("files:read") == ""
        # One whose process made room gets another; nobody is told that it failed.
        assert await clients[1].call("files:read") == ""
        assert len(running()) == 3

    scene(played, files=lambda: MemoryServer(tool("read"), answer=answer))


def test_many_that_come_at_once_start_no_more_processes_than_there_may_be(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin(most_processes=4)
        most = 0

        async def call(client: MemoryClient) -> str:
            nonlocal most
            text = await client.call("files:read", {"n": 1})
            most = max(most, sum(not each.gone.is_set() for each in world.servers["files"].connections))
            return text

        clients = [await world.client(holder=str(n)) for n in range(30)]
        texts = await asyncio.gather(*map(call, clients))
        assert {text for text in texts if "run already" not in text} == {'{"n": 1}'}
        assert most <= 4

    scene(played, files=lambda: MemoryServer(tool("read")))


# ---- what one client sets


class Watched(MemoryServer):
    """A server that tells of its resource."""

    def __init__(self, name: str) -> None:
        super().__init__(tool("read"))
        self.capabilities = {"resources": {"subscribe": True}}
        self.resources = [{"uri": f"{name}://x", "name": name}]
        self.features = {"resources/subscribe": self.agree, "resources/unsubscribe": self.agree}

    async def agree(self, _: MemoryConnection, __: dict[str, Any]) -> dict[str, Any]:
        """The answer to a subscription."""
        return {}


async def logging(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
    connection.say(method="notifications/message", params={"level": "info", "data": params["arguments"]["say"]})
    return {"content": []}


def heard(client: MemoryClient) -> list[Any]:
    messages = [client.questions.get_nowait() for _ in range(client.questions.qsize())]
    return [each["params"]["data"] for each in messages if each["method"] == "notifications/message"]


def test_a_log_level_is_that_of_the_client_which_has_set_it(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"all": {"shared": True}})
        world.begin()
        loud, quiet = [await world.client(holder=name) for name in ("loud", "quiet")]
        for client in (quiet, loud):
            for server in ("own", "all"):
                await client.call(f"{server}:log", {"say": ""})
            heard(client)
        for client, level in ((loud, "debug"), (quiet, "error")):
            await client.request("logging/setLevel", {"level": level})
        own, shared = world.servers["own"].connections, world.servers["all"].connections
        # A server of several is to log what any of them wants.
        assert [each.log_level for each in (*own, *shared)] == [b'"error"', b'"debug"', b'"debug"']
        for client in (loud, quiet):
            await client.call("all:log", {"say": "of a call"})
        assert (heard(loud), heard(quiet)) == (["of a call"], [])
        own[0].say(method="notifications/message", params={"level": "alert", "data": "to quiet"})
        own[1].say(method="notifications/message", params={"level": "alert", "data": "to loud"})
        shared[0].say(method="notifications/message", params={"level": "alert", "data": "to all"})
        assert (heard(loud), heard(quiet)) == (["to loud", "to all"], ["to quiet", "to all"])

    def server() -> MemoryServer:
        made = MemoryServer(tool("log"), answer=logging)
        made.capabilities = {"logging": {}}
        return made

    scene(played, own=server, all=server)


def test_a_change_of_roots_is_told_to_the_servers_of_the_client_alone(scene: Play) -> None:
    async def played(world: World) -> None:
        one, other = await reading(world, "one", "other")
        other.send(method="notifications/roots/list_changed")
        for client in (one, other):
            await client.call("own:read")
        connections = [*world.servers["own"].connections, *world.servers["all"].connections]
        changes = [each.notified.count("notifications/roots/list_changed") for each in connections]
        assert changes == [0, 1, 0]

    scene(played, own=lambda: MemoryServer(tool("read")), all=lambda: MemoryServer(tool("read")))


def test_a_client_is_told_of_resources_by_its_own_servers_and_by_shared_ones(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"all": {"shared": True}})
        world.begin()
        clients = [await world.client(holder=name) for name in ("one", "other")]
        for client in clients:
            await all_is_listed(world, client, "own")
            await all_is_listed(world, client, "all")
            for server in ("own", "all"):
                answer = await client.request("resources/subscribe", {"uri": f"{server}://x"})
                assert answer["result"] == {}
        subscribed = [method for server in world.servers.values() for method, _ in server.asked if "/sub" in method]
        assert len(subscribed) == 3
        for place, connection in enumerate(world.servers["own"].connections):
            connection.say(method=UPDATED, params={"uri": "own://x", "by": place})
        world.servers["all"].connections[0].say(method=UPDATED, params={"uri": "all://x", "by": "all"})
        for place, client in enumerate(clients):
            messages = [client.questions.get_nowait() for _ in range(client.questions.qsize())]
            assert [each["params"]["by"] for each in messages if each["method"] == UPDATED] == [place, "all"]
        await clients[0].request("resources/unsubscribe", {"uri": "all://x"})
        world.servers["all"].connections[0].say(method=UPDATED, params={"uri": "all://x"})
        assert [client.questions.qsize() for client in clients] == [0, 1]

    scene(played, own=lambda: Watched("own"), all=lambda: Watched("all"))


def test_a_client_takes_back_its_own_request_of_an_id_that_others_have_too(scene: Play) -> None:
    may_answer = asyncio.Event()

    async def answer(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        await may_answer.wait()
        return {"content": [{"type": "text", "text": params["arguments"]["of"]}]}

    async def played(world: World) -> None:
        world.configure({"all": {"shared": True}})
        world.begin()
        ann, bob = [await world.client(holder=name) for name in ("ann", "bob")]
        calls = [client.start_call("all:read", {"of": name}, id=7) for client, name in ((ann, "ann"), (bob, "bob"))]
        await world.servers["all"].was_called.wait()
        ann.send(method="notifications/cancelled", params={"requestId": 7})
        await asyncio.sleep(0)
        may_answer.set()
        assert text_of(await calls[1]) == "bob"
        assert not calls[0].done()
        assert len(world.servers["all"].cancelled) == 1

    scene(played, all=lambda: MemoryServer(tool("read"), answer=answer))


async def asking(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
    """Ask before the answer, if that is wanted."""
    words = params["arguments"].get("ask")
    if words is None:
        await connection.may_end.wait()
        return {"content": []}
    said = await connection.ask_client("elicitation/create", {"message": words, "requestedSchema": {}})
    answer = said["result"]["content"]["x"] if "result" in said else said["error"]["message"]
    return {"content": [{"type": "text", "text": answer}]}


def test_a_parked_call_goes_on_for_the_client_alone_whose_it_is(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"all": {"shared": True}})
        world.begin()
        ann, bob = [await world.client(MODERN_REVISION, {"elicitation": {}}, holder=name) for name in ("ann", "bob")]
        parked = (await ann.start_call("all:do", {"ask": "how?"}))["result"]
        responses = {"1": {"action": "accept", "content": {"x": "so"}}}
        goes_on = {"requestState": parked["requestState"], "inputResponses": responses}
        answer = await bob.start_call("all:do", {"ask": "how?"}, **goes_on)
        assert "is not open" in answer["error"]["message"]
        assert await ann.call("all:do", {"ask": "how?"}, **goes_on) == "so"

    scene(played, all=lambda: MemoryServer(tool("do"), answer=asking))


# ---- questions of a shared server


def questions_on_record(paths: Paths) -> list[tuple[str, str | None]]:
    files = sorted(paths.sessions.glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [(line["outcome"], line["message"]) for line in lines if line["type"] == "questions.asked"]


def test_a_shared_server_asks_only_while_one_call_alone_is_in_flight_there(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure({"all": {"shared": True}})
        world.begin()
        ann, bob = [await world.client(capabilities={"elicitation": {}}, holder=name) for name in ("ann", "bob")]
        asked = ann.start_call("all:do", {"ask": "of ann"})
        question = await ann.questions.get()
        ann.send(id=question["id"], result={"action": "accept", "content": {"x": "ann says so"}})
        assert text_of(await asked) == "ann says so"
        waiting = bob.start_call("all:do", {})
        await asyncio.sleep(0)
        assert "cannot be asked" in await ann.call("all:do", {"ask": "whose is this?"})
        (connection,) = world.servers["all"].connections
        connection.may_end.set()
        await waiting
        assert [client.questions.qsize() for client in (ann, bob)] == [0, 0]

    scene(played, all=lambda: MemoryServer(tool("do"), answer=asking))
    # Both calls have it on record, and neither the words that may be another one's.
    assert sorted(questions_on_record(paths), key=str) == [
        ("accept", "[from server 'all'] of ann"), ("refused", ""), ("refused", ""),
    ]  # fmt: skip


def test_a_server_of_one_client_may_ask_while_others_have_calls_at_theirs(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        ann, bob = [await world.client(capabilities={"elicitation": {}}, holder=name) for name in ("ann", "bob")]
        waiting = [client.start_call("own:do", {}) for client in (ann, bob)]
        asked = ann.start_call("own:do", {"ask": "how?"})
        question = await ann.questions.get()
        ann.send(id=question["id"], result={"action": "accept", "content": {"x": "so"}})
        assert text_of(await asked) == "so"
        assert bob.questions.empty()
        for connection in world.servers["own"].connections:
            connection.may_end.set()
        await asyncio.gather(*waiting)

    scene(played, own=lambda: MemoryServer(tool("do"), answer=asking))


# ---- what people approve


def approve(paths: Paths, session: str, scope: str) -> None:
    """Have a person say yes to the call of this session that waits."""
    with PolicyFile.connect(paths) as file:
        (waiting,) = [
            each for each in approvals.listed(file) if (each.session, each.state) == (session, approvals.PENDING)
        ]
        grant = waiting.grant._replace(session="") if scope == approvals.ALWAYS else None
        assert approvals.answer(file, waiting.id, scope=scope, channel="terminal", grant=grant)


WHO = ("ann", "ann again", "bob", "one", "other")  # the last two have no token


async def who_runs(clients: Mapping[str, MemoryClient]) -> list[str]:
    texts = {name: await client.call("files:delete", {"n": 1}) for name, client in clients.items()}
    assert all(text == '{"n": 1}' or "not run yet" in text for text in texts.values())
    return [name for name, text in texts.items() if text == '{"n": 1}']


@pytest.mark.parametrize("revision", [LATEST, MODERN_REVISION])
def test_nothing_that_one_person_has_approved_runs_for_another(revision: str, scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        of_ann, of_bob = token(paths), token(paths)
        texts = dict(zip(WHO, (of_ann, of_ann, of_bob, None, None), strict=True))
        world.configure(policy={"confirm": "session"})
        world.begin()
        clients = {
            name: await world.client(revision, token=text, holder=BY_TOKEN if revision == MODERN_REVISION else name)
            for name, text in texts.items()
        }
        assert await who_runs(clients) == []
        for name in ("ann", "one"):
            approve(paths, clients[name].session.recorder.session_id, approvals.ONCE)
            assert await who_runs(clients) == [name]
            assert await who_runs(clients) == []
        # A standing yes is for the token that it was given for; without one, for calls without a token.
        approve(paths, clients["one"].session.recorder.session_id, approvals.ALWAYS)
        assert await who_runs(clients) == ["one", "other"]
        approve(paths, clients["ann again"].session.recorder.session_id, approvals.ALWAYS)
        assert await who_runs(clients) == ["ann", "ann again", "one", "other"]

    scene(played, files=lambda: MemoryServer(tool("delete", destructiveHint=True)))


# ---- descriptors


def test_sessions_that_do_nothing_for_a_while_hold_no_descriptor_and_go_on_after_it(
    scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.proxy.index_keeping._EVERY_S", 0.01)
    monkeypatch.setattr("mcpctl.proxy.index_keeping._REST_S", 0.0)
    run = Run(paths)

    async def played(world: World) -> None:
        world.configure({"files": {"shared": True}})
        world.begin(run=run)
        clients = [await world.client(holder=str(n)) for n in range(40)]
        await asyncio.gather(*(client.call("files:read", {"n": 1}) for client in clients))
        while sum(in_runs(paths.runs).values()) < 40:
            await asyncio.sleep(0.01)
        assert open_journals(paths) < 5  # but for those that the index is caught up from
        await clients[0].call("files:read", {"n": 2})
        with LocalRecords(paths) as records:
            rows = list(records.sessions().rows(None, 0))
        assert {row["status"] for row in rows} == {"active"}
        assert sorted(row["tool_call_count"] for row in rows) == [1] * 39 + [2]

    scene(played, files=lambda: MemoryServer(tool("read", readOnlyHint=True)))
    run.close()


# ---- what is seen


def count_of_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tools were read for an index, each time that one was made by reading."""
    reads: list[int] = []
    read = Corpus.read

    def counted(documents: Iterable[Sequence[str]]) -> Corpus:
        corpus = read(documents)
        reads.append(len(corpus))
        return corpus

    monkeypatch.setattr(Corpus, "read", counted)
    return reads


@pytest.mark.slow
def test_tokens_that_see_the_same_share_one_index(scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = count_of_reads(monkeypatch)

    async def played(world: World) -> None:
        # The projects that they are for differ, and so do their names of servers that are not there.
        with PolicyFile.connect(paths) as file:
            texts = [tokens.create(file, projects=[f"p{n}"], servers=["files", f"x{n}"])[1] for n in range(200)]
        world.configure(policy={})
        world.begin()
        clients = [await world.client(MODERN_REVISION, token=text, holder=BY_TOKEN) for text in texts]
        assert await keys(clients[0]) == {"files:read"}
        made = len(reads)
        for client in (*clients, *clients):
            assert await keys(client) == {"files:read"}
        assert len(reads) == made
        views = [world.gateway.view(speaker(text)) for text in texts]
        assert len({id(view.config) for view in views}) == 1

    scene(
        played,
        files=lambda: MemoryServer(tool("read", readOnlyHint=True)),
        notes=lambda: MemoryServer(tool("read", readOnlyHint=True)),
    )


@pytest.mark.slow
def test_what_eight_see_is_at_hand_and_the_ninth_is_made_from_parts(
    scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = count_of_reads(monkeypatch)
    names = [f"s{n}" for n in range(9)]

    async def played(world: World) -> None:
        texts = [token(paths, "common", name) for name in names]
        world.configure(policy={})
        world.begin()
        clients = [await world.client(token=text, holder=text) for text in texts]
        for name, client in zip(names[:8], clients, strict=False):
            assert await keys(client) == {"common:read", f"{name}:read"}
        made = len(reads)
        for client in clients[:8]:
            await keys(client)
        assert len(reads) == made, "all eight are at hand"
        await all_is_listed(world, clients[8], "s8")
        await keys(clients[8])
        assert len(reads) <= made + 1, "that of all tools, since one has come"
        made = len(reads)
        for name, client in zip(names, clients, strict=True):
            assert await keys(client) == {"common:read", f"{name}:read"}
        assert len(reads) == made

    servers = {name: lambda: MemoryServer(tool("read", readOnlyHint=True)) for name in ("common", *names)}
    scene(played, **servers)


# ---- a client whose requests come each in its own way


def test_requests_of_one_session_may_come_in_ways_of_their_own(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        first = await world.client(MODERN_REVISION, {"elicitation": {}}, holder=BY_TOKEN)

        async def way() -> MemoryClient:
            return await world.client(MODERN_REVISION, {"elicitation": {}}, holder=BY_TOKEN, of=first)

        ways = [await way() for _ in range(3)]
        waiting = [client.start_call("own:do", {}, id=1) for client in ways]
        parked = (await (await way()).start_call("own:do", {"ask": "how?"}, id=1))["result"]
        assert parked["resultType"] == "input_required"
        ways[0].send(method="notifications/cancelled", params={"requestId": 1})
        await ways[0].session.close(0)
        world.clients.remove(ways[0])
        # The ways that remain, and those that come, have what the session has. One view is enough for all of them.
        callers = [view.caller for view in world.gateway.follower.snapshot.views.values() if view.caller]
        assert len(callers) == 1
        answers = {"1": {"action": "accept", "content": {"x": "so"}}}
        goes_on = {"requestState": parked["requestState"], "inputResponses": answers}
        assert await (await way()).call("own:do", {"ask": "how?"}, id=1, **goes_on) == "so"
        for connection in world.servers["own"].connections:
            connection.may_end.set()
        for answer in waiting[1:]:
            assert text_of(await answer) == ""
        assert not waiting[0].done()

    scene(played, own=lambda: MemoryServer(tool("do"), answer=asking))
    assert len(list(paths.sessions.glob("*.jsonl"))) == 1
    with LocalRecords(paths) as records:
        statuses = [row["status"] for row in records.calls().rows(None, 0)]
    assert sorted(statuses) == ["cancelled", "input_required", "ok", "ok", "ok"]


def test_the_index_of_the_records_is_kept_once_for_all_clients(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    tidied: list[Upkeep] = []

    def tidy(upkeep: Upkeep) -> bool:
        tidied.append(upkeep)
        return True

    monkeypatch.setattr(Upkeep, "tidy", tidy)
    monkeypatch.setattr("mcpctl.proxy.index_keeping._EVERY_S", 1000)

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        for n in range(20):
            await keys(await world.client(holder=str(n)))
        await world.gateway.index._run(lambda _: None)  # after all that is waited for there
        assert len(tidied) == 1

    scene(played, files=lambda: MemoryServer(tool("read", readOnlyHint=True)))
