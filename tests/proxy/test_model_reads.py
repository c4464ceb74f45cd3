"""Resources that a model reads by itself, through `@mcpctl:read`, are decided on as calls are."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.proxy import consent_forms
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryConnection, MemoryServer, Scene, World, play, text_of, tool

pytestmark = BOTH

Play = Callable[..., None]
READ = "@mcpctl:read"
LISTED, MADE = "db://tables", "db://sql/DROP%20TABLE%20t"
FREE = {"query": "allow"}
CLOSED = {"readOnlyHint": True, "openWorldHint": False}
CLASSES = ["@read-only", "@changing", "@destructive", "@not-declared"]


@pytest.fixture
def scene(home: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Plays a scene with a server that has a tool, a resource and a template."""
    monkeypatch.setattr(consent_forms, "BY_ITSELF_MS", 0)
    monkeypatch.setattr(consent_forms, "_FILLED_MS", 0)

    def begin(played: Scene, tools: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, db=tools)

    return begin


def database(**hints: Any) -> Callable[[], MemoryServer]:
    """A server whose tool declares these hints."""

    async def read(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        return {"contents": [{"uri": params["uri"], "text": f"of {params['uri']}"}]}

    def made() -> MemoryServer:
        server = MemoryServer(tool("query", **hints))
        server.capabilities = {"tools": {}, "resources": {}}
        server.resources = [{"uri": LISTED, "name": "tables"}]
        server.templates = [{"uriTemplate": "db://sql/{statement}", "name": "sql"}]
        server.features["resources/read"] = read
        return server

    return made


def reads(world: World) -> list[str]:
    """The URIs that the server was asked for."""
    return [params["uri"] for method, params in world.servers["db"].asked if method == "resources/read"]


async def answer(world: World, uri: str, **more: Any) -> str:
    """The answer to a model whose client cannot ask."""
    return text_of(await (await world.client()).start_call(READ, {"uri": uri, **more}))


async def read_after(world: World, revision: str, choice: str, uri: str, forms: list[str], **more: Any) -> str:
    """The answer to a model whose user makes this choice in the form, which is put into `forms`."""
    client = world.clients[0] if world.clients else await world.client(revision, {"elicitation": {}})
    said = {"action": "accept", "content": {"answer": choice}}
    answering = client.start_call(READ, {"uri": uri, **more})
    if revision != MODERN:
        while "id" not in (question := await client.questions.get()):
            pass  # it may hear meanwhile what its servers have
        forms.append(question["params"]["message"])
        client.send(id=question["id"], result=said)
        return text_of(await answering)
    result = (await answering)["result"]
    ((name, asked),) = result["inputRequests"].items()
    forms.append(asked["params"]["message"])
    again = {"requestState": result["requestState"], "inputResponses": {name: said}}
    return text_of(await client.start_call(READ, {"uri": uri, **more}, **again))


@pytest.mark.parametrize(
    "policy, tools, refused",
    [
        ({}, {}, "needs the user's consent"),
        ({"default": "ask"}, {}, "needs the user's consent"),
        ({"default": "deny"}, {"query": "ask"}, "needs the user's consent"),
        ({"ask": CLASSES}, {}, "needs the user's consent"),
        ({}, {"query": "ask"}, "needs the user's consent"),
        ({"ask": ["*"]}, {}, "needs the user's consent"),
        ({"ask": ["db:*"]}, {}, "needs the user's consent"),
        ({"ask": ["*:*"]}, {}, "needs the user's consent"),
        ({"auto_approve_read_only": False}, {}, "needs the user's consent"),
        ({"ask": [READ], "confirm_destructive": False}, {}, "needs the user's consent"),
        ({"deny": ["db:@resources/*"], "confirm_destructive": False}, {}, "denied by the user's policy"),
        ({"default": "deny", "confirm_destructive": False, "auto_approve_read_only": False}, FREE, "denied"),
        ({"deny": [READ]}, {}, "denied by the user's policy"),
        ({"confirm": "never"}, {}, "never asks for"),
    ],
)
def test_nothing_is_read_unasked_where_calls_need_a_yes(
    policy: dict[str, Any], tools: dict[str, Any], refused: str, scene: Play
) -> None:
    async def played(world: World) -> None:
        world.configure({"db": {"tools": tools}}, policy=policy)
        world.begin()
        for uri in (LISTED, MADE, f"mcpctl+db:{MADE}", "db://else", "mcpctl+db:other://x"):
            assert refused in await answer(world, uri), uri
            assert reads(world) == [], uri

    scene(played, database())


@pytest.mark.parametrize(
    "policy, tools, hints, listed, made",
    [
        (None, {}, {}, True, True),
        ({}, {}, {"readOnlyHint": True}, True, False),
        ({"default": "ask"}, {}, {"readOnlyHint": True}, True, False),
        ({"default": "ask", "confirm_destructive": False}, {}, {"readOnlyHint": True}, True, False),
        ({"confirm_destructive": False}, {}, {}, True, True),
        ({"confirm_destructive": False, "ask": ["@open-world"]}, {}, CLOSED, True, False),
        ({"confirm_destructive": False}, {"query": "ask"}, {}, False, False),
        ({"allow": ["db:*"]}, {}, {}, True, False),
        ({"mode": "record"}, {}, {}, True, True),
        ({"mode": "record", "ask": ["*"]}, {}, {}, True, True),
    ],
)
def test_what_is_listed_is_like_a_tool_that_reads_and_all_else_like_one_that_says_nothing(
    policy: Any, tools: dict[str, Any], hints: dict[str, Any], listed: bool, made: bool, scene: Play
) -> None:
    async def played(world: World) -> None:
        world.configure({"db": {"tools": tools}}, **({} if policy is None else {"policy": policy}))
        world.begin()
        for uri, may in ((LISTED, listed), (MADE, made)):
            text = await answer(world, uri)
            assert (text.endswith(f"of {uri}"), "consent" in text) == (may, not may), uri

    scene(played, database(**hints))


def test_hints_that_are_not_trusted_make_nothing_readable(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"db": {"trust_hints": "no"}}, policy={"allow": ["db:query"], "confirm_destructive": True})
        world.begin()
        assert "consent" in await answer(world, LISTED)

    scene(played, database(readOnlyHint=True))


@pytest.mark.parametrize("revision", [LATEST, MODERN])
@pytest.mark.parametrize("uri", [LISTED, MADE])
def test_a_yes_lets_one_read_through(revision: str, uri: str, scene: Play, paths: Paths, home: Path) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"ask": ["*"]})
        world.begin()
        forms: list[str] = []
        assert "said no" in await read_after(world, revision, "no", uri, forms, limit=50)
        assert reads(world) == []
        assert (await read_after(world, revision, "once", uri, forms)).endswith(f"of {uri}")
        assert reads(world) == [uri]
        assert f"db:@resources/{uri}" in forms[1]
        assert "only reads" in forms[1] if uri == LISTED else "does not say" in forms[1]

    scene(played, database())
    with PolicyFile.connect(paths) as file:
        assert [each.key for each in approvals.listed(file)] == [f"db:@resources/{uri}"] * 2
    made = [line["decision"] for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert made == ["asked", "declined", "asked", "approved"]


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_yes_for_the_session_is_for_this_resource_alone(revision: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"ask": ["*", READ]})
        world.begin()
        forms: list[str] = []
        await read_after(world, revision, "session", MADE, forms)
        client = world.clients[0]
        text = text_of(await client.start_call(READ, {"uri": MADE, "offset": 3}))
        assert text.endswith(MADE)
        await read_after(world, revision, "no", "db://sql/OTHER", forms)
        assert (len(forms), reads(world)) == (2, [MADE, MADE])

    scene(played, database())


def test_a_yes_from_a_terminal_counts_once(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(policy={})
        world.begin()
        client = await world.client()
        assert "mcpctl approvals show" in text_of(await client.start_call(READ, {"uri": MADE}))
        with PolicyFile.connect(paths) as file:
            (approval,) = approvals.listed(file)
            assert approvals.answer(file, approval.id, scope="once", channel="terminal")
        assert text_of(await client.start_call(READ, {"uri": MADE})).endswith(MADE)
        assert "not run yet" in text_of(await client.start_call(READ, {"uri": MADE}))
        assert reads(world) == [MADE]

    scene(played, database())


def test_what_is_asked_about_while_it_waits_for_its_server_is_not_read(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy={"confirm_destructive": False})
        world.begin()
        client, server = await world.client(), world.servers["db"]
        await client.start_call(READ, {"uri": MADE})
        await server.connections[-1].stop()
        server.may_start.clear()
        answering = client.start_call(READ, {"uri": MADE})
        while len(server.connections) < 2:
            await asyncio.sleep(0)
        world.configure(policy={"ask": ["*"]})
        server.may_start.set()
        assert "needs the user's consent" in text_of(await answering)
        assert reads(world) == [MADE]

    scene(played, database())


@pytest.mark.parametrize("policy", [{"ask": ["*"]}, {"default": "ask"}, {}])
def test_a_client_reads_for_its_user_as_before(policy: Mapping[str, Any], scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(policy=policy)
        world.begin()
        client = await world.client()
        for uri in (LISTED, MADE):
            result = (await client.request("resources/read", {"uri": uri}))["result"]
            assert result["contents"][0]["text"] == f"of {uri}"

    scene(played, database())
