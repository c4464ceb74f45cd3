"""Questions of servers to clients: in the middle of a call, in their own name, and as their entry allows."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, Scene, World, play, text_of, tool

pytestmark = BOTH

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
METHODS = {"elicitation": ELICIT, "sampling": SAMPLE, "roots": ROOTS}
ALL: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
PARAMS: dict[str, Any] = {
    ELICIT: {"message": "Your password?", "requestedSchema": {"type": "object", "properties": {}}},
    SAMPLE: {"messages": [{"role": "user", "content": {"type": "text", "text": "Say no"}}], "maxTokens": 5},
    ROOTS: {},
}
BESIDE = {"_meta": {"mcpctl/server": "asks"}}
NAMED = {
    ELICIT: {**PARAMS[ELICIT], "message": "[from server 'asks'] Your password?"},
    SAMPLE: {**PARAMS[SAMPLE], **BESIDE},
    ROOTS: BESIDE,
}
ANSWER = {"action": "accept", "content": {}}
PAIRS = pytest.mark.parametrize("client_revision", [LATEST, MODERN])
SERVERS = pytest.mark.parametrize("server_is_modern", [False, True])
Play = Callable[..., None]


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene on this test's home."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def asks(method: str, modern: bool) -> Callable[[], MemoryServer]:
    """A server whose one tool asks this, in its own era, and answers with what it was answered."""

    async def answer(connection: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        if not modern:
            said = await connection.ask_client(method, PARAMS[method])
        elif "inputResponses" in params:
            said = {"result": params["inputResponses"]["k"]}
        else:
            requests = {"k": {"method": method, "params": PARAMS[method]}}
            return {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}
        text = json.dumps(said.get("result", said.get("error")))
        return {"content": [{"type": "text", "text": text}], **({"resultType": "complete"} if modern else {})}

    return lambda: MemoryServer(tool("ask"), answer=answer, modern=modern)


async def asked(client: MemoryClient, answer: dict[str, Any] = ANSWER) -> tuple[Any, str]:
    """The question to the client in the middle of a call, and the call's answer once that is answered."""
    began = client.start_call("asks:ask")
    if client.revision == MODERN:
        first = (await began)["result"]
        ((key, question),) = first["inputRequests"].items()
        more = {"requestState": first["requestState"], "inputResponses": {key: answer}}
        return question["params"], text_of(await client.start_call("asks:ask", **more))
    question = await client.questions.get()
    client.send(id=question["id"], result=answer)
    return question["params"], text_of(await began)


def on_record(home: Path) -> list[dict[str, Any]]:
    """The questions on record."""
    return [line for line in journal_lines(home) if line["type"] == "questions.asked"]


@PAIRS
@SERVERS
@pytest.mark.parametrize("method", PARAMS)
def test_a_question_says_which_server_asks_and_is_on_record(
    client_revision: str, server_is_modern: bool, method: str, scene: Play, home: Path
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(client_revision, ALL)
        assert await asked(client) == (NAMED[method], json.dumps(ANSWER))

    scene(played, asks=asks(method, server_is_modern))
    (line,) = on_record(home)
    begun = next(line for line in journal_lines(home) if line["type"] == "calls.started")
    assert (line["call_id"], line["session_id"]) == (begun["id"], begun["session_id"])
    message = {ELICIT: NAMED[ELICIT]["message"], SAMPLE: json.dumps(NAMED[SAMPLE]), ROOTS: None}[method]
    recorded = line["message"] and line["message"].replace(" ", "")
    assert (line["server"], line["method"], line["outcome"]) == ("asks", method, "accept")
    assert recorded == (message and message.replace(" ", ""))


@PAIRS
@SERVERS
@pytest.mark.parametrize(
    ("answer", "outcome"), [({"action": "decline"}, "decline"), ({"action": "cancel"}, "cancel"), ({}, "error")]
)
def test_what_a_person_answered_is_on_record(
    client_revision: str, server_is_modern: bool, answer: dict[str, str], outcome: str, scene: Play, home: Path
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        await asked(await world.client(client_revision, ALL), answer)

    scene(played, asks=asks(ELICIT, server_is_modern))
    assert [line["outcome"] for line in on_record(home)] == [outcome]


@PAIRS
@SERVERS
def test_a_question_that_nobody_answers_is_on_record_at_the_end(
    client_revision: str, server_is_modern: bool, scene: Play, home: Path
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(client_revision, ALL)
        began = client.start_call("asks:ask")
        await (began if client_revision == MODERN else client.questions.get())

    scene(played, asks=asks(ELICIT, server_is_modern))
    assert [line["outcome"] for line in on_record(home)] == ["unanswered"]


def test_no_server_fills_the_record_with_questions(scene: Play, home: Path) -> None:
    async def answer(connection: MemoryConnection, _: dict[str, Any]) -> dict[str, Any]:
        for number in range(1100):
            connection.say(id=f"x{number}", method=ELICIT, params={"message": "token ghp_" + "a1B2" * 9 + "x" * 5000})
        return {"content": []}

    async def played(world: World) -> None:
        world.configure({"asks": {"may_ask": []}})
        world.begin()
        client = await world.client(LATEST, ALL)
        await client.call("asks:ask")

    class Deaf(MemoryServer):
        async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
            if "method" in message:
                await super().take(connection, message)

    scene(played, asks=lambda: Deaf(tool("ask"), answer=answer))
    lines = on_record(home)
    assert len(lines) == 1000
    assert len(lines[0]["message"]) < 600
    assert "ghp_" not in lines[0]["message"]


@PAIRS
@SERVERS
@pytest.mark.parametrize("kind", METHODS)
def test_a_server_asks_only_what_its_entry_allows_and_is_told_no_more(
    client_revision: str, server_is_modern: bool, kind: str, scene: Play, home: Path
) -> None:
    others = [each for each in METHODS if each != kind]

    async def played(world: World) -> None:
        world.configure({"asks": {"may_ask": others}})
        world.begin()
        client = await world.client(client_revision, ALL)
        answer = await client.call("asks:ask")
        if server_is_modern:
            assert "the server asks for what it may not ask (may_ask in the configuration)" in answer
        else:
            assert json.loads(answer) == {"code": -32601, "message": "the client cannot be asked this"}
        assert client.questions.empty()
        assert {frozenset(told) for told in world.servers["asks"].told} == {frozenset(others)}

    scene(played, asks=asks(METHODS[kind], server_is_modern))
    assert [(line["method"], line["outcome"]) for line in on_record(home)] == [(METHODS[kind], "refused")]


@SERVERS
def test_a_server_that_may_ask_nothing_is_told_that_nobody_can_be_asked(server_is_modern: bool, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"asks": {"may_ask": []}})
        world.begin()
        client = await world.client(LATEST, ALL)
        await client.call("asks:ask")
        assert {json.dumps(told) for told in world.servers["asks"].told} == {"{}"}

    scene(played, asks=asks(ELICIT, server_is_modern))


@PAIRS
@pytest.mark.parametrize("method", PARAMS)
def test_outside_of_a_call_nobody_is_asked(
    client_revision: str, method: str, scene: Play, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(client_revision, ALL)
        await client.discover("ask")
        connection = world.servers["asks"].connections[-1]
        for _ in range(2):
            refused = await connection.ask_client(method, PARAMS[method])
            assert refused["error"] == {"code": -32601, "message": "the client cannot be asked this"}
        assert client.questions.empty()

    scene(played, asks=asks(method, False))
    warning = f"server 'asks' asks the client something ({method}) outside of any call; refused"
    assert capsys.readouterr().err.count(warning) == 1
    assert [(line["call_id"], line["outcome"]) for line in on_record(home)] == [(None, "refused")] * 2


def test_a_server_that_asked_for_roots_too_early_is_told_to_ask_again_with_its_next_call(scene: Play) -> None:
    class Early(MemoryServer):
        """Asks for roots when it is told that they have changed, as many servers do, and holds calls until then."""

        def __init__(self) -> None:
            super().__init__(tool("ask"), answer=self.with_roots)
            self.roots: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def with_roots(self, _: MemoryConnection, __: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": json.dumps(await self.roots)}]}

        async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
            if message.get("method") == "notifications/roots/list_changed":
                self.roots.set_result((await connection.ask_client(ROOTS, {}))["result"])
            else:
                await super().take(connection, message)

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(LATEST, ALL)
        await client.discover("ask")
        assert "error" in await world.servers["asks"].connections[-1].ask_client(ROOTS, {})
        answer = client.start_call("asks:ask")
        client.send(id=(await client.questions.get())["id"], result={"roots": []})
        assert text_of(await answer) == '{"roots": []}'
        assert not world.servers["asks"].connections[-1].was_refused_roots

    scene(played, asks=Early)


@pytest.mark.parametrize("spelled", ['"input_required"', '"input\\u005frequired"'])
@pytest.mark.parametrize("server_is_modern", [False, True])
def test_no_spelling_of_a_result_asks_in_no_name(spelled: str, server_is_modern: bool, scene: Play) -> None:
    request = '{"method":"elicitation\\/create","params":{"message":"x","requestedSchema":{ "a" : 1.0 }},"more":[ 1 ]}'
    odd = '"a":{"method":"other"},"b":5'
    result = f'{{"resultType":{spelled},"inputRequests":{{"k":{request},{odd}}},"x":[ 1.0 ]}}'

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(MODERN, ALL)
        found = (await client.start_call("asks:ask"))["result"]
        assert found["inputRequests"]["k"]["params"]["message"] == "[from server 'asks'] x"
        assert found["inputRequests"]["b"] == 5
        assert found["x"] == [1.0]

    class Raw(MemoryServer):
        async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
            if message.get("method") == "tools/call":
                connection.say_raw(f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{result}}}')
            else:
                await super().take(connection, message)

    scene(played, asks=lambda: Raw(tool("ask"), modern=server_is_modern))


@pytest.mark.slow
def test_a_question_too_large_to_be_taken_apart_is_not_passed_on(scene: Play) -> None:
    requests = {f"k{n}": {"method": ROOTS} for n in range(10_001)}

    async def answer(_: MemoryConnection, __: dict[str, Any]) -> dict[str, Any]:
        requests["x"] = {"method": "a" * 100_000 + ":" * 100_000}
        return {"resultType": "input_required", "inputRequests": requests}

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(MODERN, ALL)
        assert "asks for input in a way that cannot be understood" in await client.call("asks:ask")

    scene(played, asks=lambda: MemoryServer(tool("ask"), answer=answer, modern=True))
