"""Prompts that are got and resources that are read: from one server, as it answers, in every pair of eras."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.paths import Paths
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryConnection, Scene, World, play, tool
from tests.proxy.library import (
    ASK,
    CONTENTS,
    GET,
    NOTE,
    PROMPT,
    READ,
    Library,
    begun,
    feature,
    library,
    raw_lines,
    see,
)

pytestmark = BOTH

Play = Callable[..., None]
ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
PAIRS = pytest.mark.parametrize(
    ("revision", "modern"), [(LATEST, False), (LATEST, True), (MODERN, False), (MODERN, True)]
)
OF_A = {"uri": "note://a"}
ASK_ME = {"name": "a_ask me"}
ELICIT = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPTED = {"action": "accept", "content": {}}
WANTS_INPUT = json.dumps(
    {
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": ELICIT}},
        "requestState": "s1",
    }
)


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], Library]) -> None:
        play(home, paths, played, **(servers or {"a": Library}))

    return begin


def reads(home: Path) -> list[dict[str, Any]]:
    """The reads on record."""
    return [line for line in journal_lines(home) if line["type"] == "reads.finished"]


def result_in(line: bytes) -> bytes:
    return line.partition(b'"result":')[2].removesuffix(b"}\n")


# ---- what passes


@pytest.mark.parametrize(("revision", "modern"), [(LATEST, False), (MODERN, True)])
def test_the_bytes_of_a_result_are_those_of_its_server(scene: Play, revision: str, modern: bool) -> None:
    complete = '"resultType":"complete"' if modern else '"x":1'

    async def played(world: World) -> None:
        client = await begun(world, revision)
        lines = raw_lines(client)
        await client.request(READ, OF_A)
        await client.request(GET, ASK_ME)
        assert [result_in(line).decode() for line in lines] == list(library(world).answers.values())[1::-1]

    scene(
        played,
        a=lambda: Library(modern=modern, read=CONTENTS[:-1] + f",{complete}}}", get=f"{PROMPT[:-1]},{complete}}}"),
    )


def test_a_client_of_the_newer_revision_gets_what_it_wants_of_an_older_server(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world, MODERN)
        lines = raw_lines(client)
        read = (await client.request(READ, OF_A))["result"]
        got = (await client.request(GET, ASK_ME))["result"]
        assert (read["resultType"], read["ttlMs"], read["cacheScope"]) == ("complete", 0, "private")
        assert read["_meta"].keys() == {"k", "io.modelcontextprotocol/serverInfo"}
        assert (got["resultType"], "ttlMs" in got) == ("complete", False)
        assert CONTENTS[1:-17].encode() in lines[0]  # all but its _meta

    scene(played)


def test_an_older_client_is_not_told_of_result_types(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        assert "resultType" not in (await client.request(READ, OF_A))["result"]

    scene(played, a=lambda: Library(modern=True, read=CONTENTS[:-1] + ',"resultType":"complete"}'))


@PAIRS
def test_only_what_names_it_is_changed_and_only_where_its_server_calls_it_otherwise(
    scene: Play, revision: str, modern: bool
) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        await client.request(READ, {**OF_A, "x": [1]})
        await client.request(READ, {"uri": "mcpctl+a:note://b%20c"})
        await client.request(GET, {**ASK_ME, "arguments": {"q": "é"}, "x": 1})
        sent = [{name: each[name] for name in each if name != "_meta"} for each in library(world).got]
        assert sent == [
            {"uri": "note://a", "x": [1]},
            {"uri": "note://b%20c"},
            {"name": "ask me", "arguments": {"q": "é"}, "x": 1},
        ]

    scene(played, a=lambda: Library(modern=modern))


def test_a_long_result_passes_beside_the_event_loop(scene: Play) -> None:
    text = json.dumps({"contents": [{"uri": "note://a", "text": "é" * 100_000}]}, ensure_ascii=False)

    async def played(world: World) -> None:
        client = await begun(world)
        lines = raw_lines(client)
        await client.request(READ, OF_A)
        assert result_in(lines[0]).decode() == text

    scene(played, a=lambda: Library(read=text))


@ERAS
def test_how_far_it_is_is_told_with_the_token_of_the_client(scene: Play, revision: str) -> None:
    class Slow(Library):
        async def meanwhile(self, connection: MemoryConnection, params: dict[str, Any]) -> None:
            token = params["_meta"]["progressToken"]
            connection.say(method="notifications/progress", params={"progressToken": token, "progress": 1})

    async def played(world: World) -> None:
        client = await begun(world, revision)
        await client.request(READ, {**OF_A, "_meta": {"progressToken": "mine"}})
        assert (await client.questions.get())["params"] == {"progressToken": "mine", "progress": 1}

    scene(played, a=Slow)


def test_reads_and_calls_go_on_side_by_side(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).tools.append(tool("echo"))
        library(world).may_answer.clear()
        first, second = client.request(READ, OF_A), client.request(GET, ASK_ME)
        assert await client.call("a:echo") == "{}"
        assert not first.done()
        library(world).may_answer.set()
        assert "contents" in (await first)["result"]
        assert "messages" in (await second)["result"]

    scene(played)


# ---- what does not


@pytest.mark.parametrize(("revision", "code"), [(LATEST, -32002), (MODERN, -32602)])
def test_what_nobody_has_is_refused_and_asked_of_nobody(scene: Play, home: Path, revision: str, code: int) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        error = (await client.request(READ, {"uri": "nowhere://z"}))["error"]
        message = "mcpctl: there is no resource 'nowhere://z' of any server"
        assert error == {"code": code, "message": message, "data": {"uri": "nowhere://z"}}
        error = (await client.request(GET, {"name": "ask me"}))["error"]
        assert error == {"code": -32602, "message": "mcpctl: there is no prompt 'ask me'"}
        assert library(world).got == []
        first, second = reads(home)
        assert (first["server"], first["name"], first["status"]) == (None, "nowhere://z", "failed")
        assert (second["kind"], json.loads(json.dumps(second["error"]))["code"]) == ("prompt", "unknown_prompt")
        assert not [line for line in journal_lines(home) if line["type"] == "decisions.made"], "no rule decided"

    scene(played)


@pytest.mark.parametrize(("method", "name"), [(READ, "uri"), (GET, "name")])
def test_a_name_as_long_as_a_book_is_told_cut(scene: Play, home: Path, method: str, name: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        error = (await client.request(method, {name: "é\u202e" * 100_000}))["error"]
        assert len(json.dumps(error)) < 3000
        assert "\u202e" not in error["message"]
        assert max(len(json.dumps(line)) for line in journal_lines(home)) < 10_000

    scene(played)


@ERAS
def test_a_uri_of_several_servers_is_read_from_none_of_them(scene: Play, revision: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        see(world, NOTE, feature("resources", '{"uri":"note://a"}', "b"))
        error = (await client.request(READ, OF_A))["error"]
        message = "mcpctl: several servers have this URI: a, b; read mcpctl+a:URI"
        assert error == {"code": -32602, "message": message}
        assert library(world).got == []

    scene(played)


@pytest.mark.parametrize(("method", "params"), [(READ, {}), (READ, {"uri": 5}), (GET, {"name": None}), (GET, {})])
def test_what_says_not_what_it_wants_breaks_the_protocol(scene: Play, method: str, params: dict[str, Any]) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        assert (await client.request(method, params))["error"]["code"] == -32602

    scene(played)


@pytest.mark.parametrize(
    ("revision", "modern", "method", "sent", "got"),
    [
        (LATEST, False, READ, -32002, -32002),
        (LATEST, True, READ, -32602, -32002),
        (MODERN, False, READ, -32002, -32602),
        (MODERN, True, READ, -32602, -32602),
        (LATEST, True, READ, -32603, -32603),
        (LATEST, True, GET, -32602, -32602),
        (MODERN, False, GET, -32002, -32002),
    ],
)
def test_a_servers_error_is_passed_on_with_the_code_of_the_clients_era(
    scene: Play, home: Path, revision: str, modern: bool, method: str, sent: int, got: int
) -> None:
    error = f'{{"error":{{"code":{sent},"message":"none","data":{{"uri":"note://a"}}}}}}'

    async def played(world: World) -> None:
        client = await begun(world, revision)
        answer = await client.request(method, OF_A if method == READ else ASK_ME)
        assert answer["error"] == {"code": got, "message": "none", "data": {"uri": "note://a"}}
        assert [(line["status"], line["error"]["code"]) for line in reads(home)] == [("failed", sent)]

    scene(played, a=lambda: Library(modern=modern, read=error, get=error))


def test_a_server_that_does_not_answer_in_time_is_given_up(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world, call_timeout_s=0.05)
        await client.session.gateway.refresh(["a"], client.session.caller)
        library(world).may_answer.clear()
        error = (await client.request(READ, OF_A))["error"]
        assert error["code"] == -32603
        assert error["message"] == "mcpctl: server 'a': no answer within 0.05 s (call_timeout_s)"
        assert [line["status"] for line in reads(home)] == ["failed"]
        assert library(world).cancelled[0]["reason"] == "timed out"

    scene(played)


def test_a_server_that_ends_is_told_in_words_of_ours(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        answer = client.request(READ, OF_A)
        await library(world).was_asked.wait()
        await library(world).connections[0].stop()
        assert (await answer)["error"]["message"] == "mcpctl: server 'a': it ended (exit status 0)"

    scene(played)


def test_one_that_is_taken_back_is_taken_back_upstream_and_not_answered(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        answer = client.request(READ, OF_A, id=7)
        await library(world).was_asked.wait()
        client.send(method="notifications/cancelled", params={"requestId": 7, "reason": "bored"})
        await client.delivered()
        library(world).may_answer.set()
        assert "result" in await client.request(GET, ASK_ME)
        assert not answer.done()
        assert [each["reason"] for each in library(world).cancelled] == ["bored"]
        assert [line["status"] for line in reads(home)] == ["cancelled", "ok"]

    scene(played)


def test_an_id_that_is_in_use_is_refused(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        first = client.request(READ, OF_A, id=7)
        await library(world).was_asked.wait()
        call = {"name": "tool_execute", "arguments": {"toolKey": "a:any"}}
        assert (await client.request(GET, ASK_ME, id=7))["error"]["code"] == -32600
        assert (await client.request("tools/call", call, id=7))["error"]["code"] == -32600
        assert not first.done()

    scene(played)


@pytest.mark.stdio("a session ends otherwise there")
def test_what_goes_on_when_the_session_ends_is_interrupted(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        answer = client.request(READ, OF_A)
        await library(world).was_asked.wait()
        assert client.session.is_busy
        await client.session.settle(0)
        message = "mcpctl: the session is ending before the server has answered"
        assert (await answer)["error"] == {"code": -32603, "message": message}
        assert [line["status"] for line in reads(home)] == ["interrupted"]

    scene(played)


# ---- decided at the moment of sending


def test_what_may_be_read_no_more_once_its_server_has_started_is_not_read(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_start.clear()
        answer = client.request(READ, OF_A)
        await asyncio.sleep(0)
        see(world, ASK)
        library(world).may_start.set()
        assert (await answer)["error"]["code"] == -32002
        assert library(world).got == []

    scene(played)


def test_a_server_that_was_taken_away_is_not_read_from(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        answer = client.request(READ, OF_A)
        await library(world).was_asked.wait()
        gone: Any = {"a": None}
        world.configure(gone)
        await client.discover("x")
        error = (await answer)["error"]
        assert error["message"] == "mcpctl: server 'a' is not in the configuration any more"

    scene(played)


@ERAS
def test_without_a_valid_token_nothing_is_read(scene: Play, home: Path, paths: Paths, revision: str) -> None:
    with PolicyFile.connect(paths) as file:
        token = tokens.create(file)[1]

    async def played(world: World) -> None:
        client = await begun(world, revision, policy={"require_token": True})
        assert (await client.request("prompts/list", {}))["result"]["prompts"] == []
        error = (await client.request(READ, OF_A))["error"]
        assert "nothing can be found or called without a token" in error["message"]
        assert library(world).got == []
        assert "result" in await client.request(READ, {**OF_A, "_meta": {"token": token}})
        assert [line["status"] for line in reads(home)] == ["denied", "ok"]
        assert token not in json.dumps(library(world).got)

    scene(played)


def test_secrets_in_what_is_read_are_masked_where_the_policy_says_so(scene: Play) -> None:
    secret = "ghp_" + "a1B2" * 9
    contents = json.dumps({"contents": [{"uri": "note://a", "text": secret}]})

    async def played(world: World) -> None:
        client = await begun(world, policy={"redact_responses": "secrets"})
        text = (await client.request(READ, OF_A))["result"]["contents"][0]["text"]
        assert text.startswith("[redacted:")

    scene(played, a=lambda: Library(read=contents))


# ---- what servers ask meanwhile


class Asking(Library):
    """Asks the client before it answers."""

    said: dict[str, Any]

    async def meanwhile(self, connection: MemoryConnection, params: dict[str, Any]) -> None:
        self.said = await connection.ask_client("elicitation/create", ELICIT)


def test_an_older_client_is_asked_what_an_older_server_wants_to_know(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world, capabilities={"elicitation": {}})
        await client.discover("a")  # before anything else is on record, a question is left out
        answer = client.request(READ, OF_A)
        asked = await client.questions.get()
        assert asked["params"]["message"] == "[from server 'a'] Sure?"
        client.send(id=asked["id"], result=ACCEPTED)
        assert "contents" in (await answer)["result"]
        (question,) = [line for line in journal_lines(home) if line["type"] == "questions.asked"]
        assert (question["outcome"], question["call_id"]) == ("accept", reads(home)[0]["id"])

    scene(played, a=Asking)


def test_a_client_of_the_newer_revision_is_asked_what_an_older_server_wants_to_know(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world, MODERN, {"elicitation": {}})
        wanted = (await client.request(READ, OF_A))["result"]
        assert wanted["resultType"] == "input_required"
        ((key, asked),) = wanted["inputRequests"].items()
        assert asked["params"]["message"] == "[from server 'a'] Sure?"
        again = {"requestState": wanted["requestState"], "inputResponses": {key: ACCEPTED}}
        other = await client.request(GET, {**ASK_ME, **again})
        assert (other["error"]["code"], "is not open" in other["error"]["message"]) == (-32602, True)
        assert "contents" in (await client.request(READ, {**OF_A, **again}))["result"]
        server = world.servers["a"]
        assert isinstance(server, Asking)
        assert server.said["result"] == ACCEPTED
        assert len(server.got) == 1
        assert (await client.request(READ, {**OF_A, **again}))["error"]["code"] == -32602
        assert [line["status"] for line in reads(home)] == ["input_required", "failed", "ok", "failed"]

    scene(played, a=Asking)


def test_a_client_of_the_newer_revision_that_cannot_be_asked_is_not(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world, MODERN)
        assert "contents" in (await client.request(READ, OF_A))["result"]
        server = world.servers["a"]
        assert isinstance(server, Asking)
        assert "error" in server.said

    scene(played, a=Asking)


def test_input_that_a_newer_server_wants_is_given_by_a_newer_client(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world, MODERN, {"elicitation": {}})
        wanted = (await client.request(GET, ASK_ME))["result"]
        assert wanted["requestState"] == "s1"
        assert wanted["inputRequests"]["k"]["params"]["message"] == "[from server 'a'] Sure?"
        library(world).answers[GET] = PROMPT[:-1] + ',"resultType":"complete"}'
        again = {"requestState": "s1", "inputResponses": {"k": ACCEPTED}}
        assert "messages" in (await client.request(GET, {**ASK_ME, **again}))["result"]
        sent = library(world).got[1]
        assert (sent["requestState"], sent["inputResponses"]) == ("s1", {"k": ACCEPTED})
        assert [line["status"] for line in reads(home)] == ["input_required", "ok"]
        (question,) = [line for line in journal_lines(home) if line["type"] == "questions.asked"]
        assert question["outcome"] == "accept"

    scene(played, a=lambda: Library(modern=True, get=WANTS_INPUT))


def test_an_older_client_is_asked_for_the_input_that_a_newer_server_wants(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world, capabilities={"elicitation": {}})
        answer = client.request(READ, OF_A)
        asked = await client.questions.get()
        library(world).answers[READ] = CONTENTS[:-1] + ',"resultType":"complete"}'
        client.send(id=asked["id"], result=ACCEPTED)
        assert "contents" in (await answer)["result"]
        assert library(world).got[1]["inputResponses"] == {"k": ACCEPTED}
        assert [line["status"] for line in reads(home)] == ["input_required", "ok"]

    scene(played, a=lambda: Library(modern=True, read=WANTS_INPUT))


def test_input_of_which_a_client_knows_nothing_ends_the_read(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        assert "cannot give" in (await client.request(READ, OF_A))["error"]["message"]
        assert len(reads(home)) == 1

    scene(played, a=lambda: Library(modern=True, read=WANTS_INPUT))


def test_what_a_server_may_not_ask_ends_the_read_as_failed(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world, MODERN, {"elicitation": {}}, may_ask=[])
        assert "may not ask" in (await client.request(READ, OF_A))["error"]["message"]
        (read,) = reads(home)
        assert read["status"] == "failed"
        (question,) = [line for line in journal_lines(home) if line["type"] == "questions.asked"]
        assert (question["outcome"], question["call_id"]) == ("refused", read["id"])

    scene(played, a=lambda: Library(modern=True, read=WANTS_INPUT))


# ---- on record


@ERAS
def test_what_was_read_is_on_record_without_what_it_was(scene: Play, home: Path, revision: str) -> None:
    async def played(world: World) -> None:
        client = await begun(world, revision)
        await client.request(READ, OF_A)
        await client.request(GET, {**ASK_ME, "arguments": {"q": "private"}})
        first, second = reads(home)
        size = len(CONTENTS.encode())
        assert (first["kind"], first["server"], first["name"], first["status"], first["response_bytes"]) == (
            "resource", "a", "note://a", "ok", size,
        )  # fmt: skip
        assert (first["client_name"], first["via"], first["error"]) == ("tester", "client", None)
        assert (second["kind"], second["name"]) == ("prompt", "ask me")
        text = json.dumps(journal_lines(home))
        assert "private" not in text
        assert "x-vendor" not in text
        assert first["session_id"] == second["session_id"] == journal_lines(home)[0]["id"]

    scene(played)


def test_a_secret_in_a_uri_is_not_on_record(scene: Play, home: Path) -> None:
    secret = "ghp_" + "a1B2" * 9

    async def played(world: World) -> None:
        client = await begun(world)
        see(world, feature("resources", json.dumps({"uri": f"https://x.test/?token={secret}"})))
        await client.request(READ, {"uri": f"https://x.test/?token={secret}"})
        await client.request(READ, {"uri": f"https://y.test/?token={secret}"})
        assert library(world).got[0]["uri"].endswith(secret)
        text = json.dumps(journal_lines(home))
        assert "https://x.test/" in text
        assert secret not in text

    scene(played)


def test_an_answer_leaves_once_it_is_on_record(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        before: list[int] = []
        flush = client.flush

        def seen() -> None:
            before.append(len(reads(home)))
            flush()

        client.flush = seen  # type: ignore[method-assign]
        await client.request(READ, OF_A)
        assert before == [1]

    scene(played)


# ---- for others


def test_others_read_and_get_on_record_too(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        features, caller = client.session.features, client.session.caller
        assert await features.read("note://a", caller) == CONTENTS.encode()
        assert await features.read("note://b", caller, "a") == CONTENTS.encode()
        assert await features.prompt("a_ask me", b'{"q":"w"}', caller) == PROMPT.encode()
        assert [each.get("uri", each.get("arguments")) for each in library(world).got] == [
            "note://a", "note://b", {"q": "w"},
        ]  # fmt: skip
        with pytest.raises(Failed) as unknown:
            await features.read("nowhere://z", caller)
        assert unknown.value.failure.code == "unknown_resource"
        library(world).answers[GET] = '{"error":{"code":1,"message":"no"}}'
        with pytest.raises(Failed) as refused:
            await features.prompt("a_ask me", b"", caller)
        assert refused.value.error == b'{"code":1,"message":"no"}'
        client.session.recorder.flush()
        assert [line["status"] for line in reads(home)] == ["ok", "ok", "ok", "failed", "failed"]

    scene(played)


def test_what_others_no_longer_wait_for_is_taken_back(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        library(world).may_answer.clear()
        reading = asyncio.create_task(client.session.features.read("note://a", client.session.caller))
        await library(world).was_asked.wait()
        reading.cancel()
        await asyncio.wait([reading])
        client.session.recorder.flush()
        assert [line["status"] for line in reads(home)] == ["cancelled"]
        assert not client.session.is_busy

    scene(played)


def test_nobody_is_asked_on_behalf_of_others(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await begun(world)
        caller = Caller(MODERN, b"", b'{"elicitation":{}}')
        with pytest.raises(Failed, match="nobody can be asked here"):
            await client.session.features.read("note://a", caller)

    scene(played, a=lambda: Library(modern=True, read=WANTS_INPUT))


class Dead(Library):
    """A server that ends where it is to begin."""

    async def take(self, connection: MemoryConnection, message: dict[str, Any]) -> None:
        connection._is_gone(Failure("server_died", {"reason": "it ended (exit status 1)"}))


def test_of_a_server_that_is_named_and_does_not_start_that_is_told(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"b": {"expose": []}})
        world.begin()
        client = await world.client()
        said = (await client.request(READ, {"uri": "mcpctl+a:note://a"}))["error"]["message"]
        assert said.startswith("mcpctl: server 'a' did not start")
        assert "server 'a' did not start" in await client.call("@mcpctl:read", {"uri": "note://a", "server": "a"})
        unseen = (await client.request(READ, {"uri": "mcpctl+b:note://a"}))["error"]["message"]
        assert unseen == "mcpctl: there is no resource 'mcpctl+b:note://a' of any server"

    scene(played, a=Dead, b=Dead)
