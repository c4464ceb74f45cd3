"""Limits on how often tools are called: exact among all processes of a data directory, and asked of nobody else."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import limits, pausing
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.proxy import consent_forms, limiting
from tests.configured import configure, demo_tools, listed, stub
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH, Serve
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, Scene, World, play, text_of, tool

pytestmark = BOTH

Play = Callable[..., None]
ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
UNASKED = {"confirm_destructive": False}
WEATHER = {"weather": [sys.executable, "-m", "mcpctl.demo.weather"]}


def shop() -> MemoryServer:
    return MemoryServer(
        tool("refund", readOnlyHint=False, destructiveHint=True), tool("refund_all", readOnlyHint=False),
        tool("look", readOnlyHint=True),
    )  # fmt: skip


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **{"shop": shop, **servers})

    return begin


def limited(world: World, *, begins: bool = True, **policy: Any) -> MemoryServer:
    world.configure(policy={**UNASKED, **policy})
    if begins:
        world.begin()
    return world.servers["shop"]


async def calls(client: MemoryClient, count: int, key: str = "shop:refund") -> list[str]:
    return [await client.call(key) for _ in range(count)]


@ERAS
def test_calls_over_the_limit_are_refused_with_when_it_is_free_again(scene: Play, home: Path, revision: str) -> None:
    async def played(world: World) -> None:
        server = limited(world, limit={"shop:refund*": "2/h"})
        client = await world.client(revision)
        said = [*await calls(client, 1), await client.call("shop:refund_all"), *await calls(client, 3)]
        assert [text == "{}" for text in said] == [True, True, False, False, False]
        assert "limits such calls to 2 in an hour; one is free at 20" in said[-1]
        assert "in 60 min" in said[-1]
        assert await calls(client, 3, "shop:look") == ["{}"] * 3
        assert len(server.calls) == 5

    scene(played)
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert {(line["decision"], line["rule"], line["rule_place"]) for line in made} == {
        ("denied", "limit shop:refund* 2/h", "config.toml:8"),
    }
    assert len(made) == 3


def test_many_at_once_get_just_as_many_as_the_limit_leaves(scene: Play) -> None:
    async def played(world: World) -> None:
        server = limited(world, limit={"@destructive": "5/d", "*": "100/d"})
        client = await world.client()
        answers = await asyncio.gather(*(client.start_call("shop:refund") for _ in range(12)))
        assert sum(text_of(answer) == "{}" for answer in answers) == 5
        assert len(server.calls) == 5

    scene(played)


def test_refused_calls_do_not_count_for_any_limit(scene: Play) -> None:
    async def played(world: World) -> None:
        limited(world, limit={"shop:refund": "1/h", "shop:*": "3/h"})
        client = await world.client()
        await calls(client, 5)
        assert [text == "{}" for text in await calls(client, 3, "shop:look")] == [True, True, False]

    scene(played)


def test_a_call_that_never_left_gives_its_place_back(
    scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = limiting.take

    async def paused_meanwhile(*given: Any) -> Any:
        full = await take(*given)
        pausing.pause(paths, None, "script")
        return full

    async def played(world: World) -> None:
        server = limited(world, limit={"shop:refund": "1/h"})
        client = await world.client()
        with monkeypatch.context() as patched:
            patched.setattr(limiting, "take", paused_meanwhile)
            assert "paused" in await client.call("shop:refund")
        pausing.resume(paths, "terminal")
        assert [text == "{}" for text in await calls(client, 2)] == [True, False]
        assert len(server.calls) == 1

    scene(played)


async def agreed(client: MemoryClient, arguments: dict[str, Any]) -> str:
    """The text of a call whose question, if there is one, is answered with a yes to this call."""
    calling = client.start_call("shop:refund", arguments)
    yes = {"action": "accept", "content": {"answer": "once"}}
    if client.revision == MODERN:
        answer = await calling
        while "requestState" in answer["result"]:
            (asked,) = answer["result"]["inputRequests"]
            state = {"requestState": answer["result"]["requestState"], "inputResponses": {asked: yes}}
            answer = await client.start_call("shop:refund", arguments, **state)
        return text_of(answer)
    asking = asyncio.create_task(client.questions.get())
    await asyncio.wait({calling, asking}, return_when=asyncio.FIRST_COMPLETED)
    if asking.done():
        client.send(id=asking.result()["id"], result=yes)
    asking.cancel()
    return text_of(await calling)


@ERAS
def test_what_is_asked_about_counts_once_it_is_sent_and_over_the_limit_nobody_is_asked(
    scene: Play, monkeypatch: pytest.MonkeyPatch, revision: str
) -> None:
    monkeypatch.setattr(consent_forms, "BY_ITSELF_MS", 0)
    monkeypatch.setattr(consent_forms, "_FILLED_MS", 0)

    async def played(world: World) -> None:
        server = limited(world, limit={"shop:refund": "2/h"}, ask=["shop:refund"])
        client = await world.client(revision, {"elicitation": {}})
        said = [await agreed(client, {"order": number}) for number in range(4)]
        assert ["limits such calls" in text for text in said] == [False, False, True, True]
        assert len(server.calls) == 2
        assert client.questions.empty()

    scene(played)


def test_a_policy_that_is_only_recorded_notes_what_is_over_the_limit(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        limited(world, limit={"shop:refund": "1/h"}, mode="record")
        assert await calls(await world.client(), 3) == ["{}"] * 3

    scene(played)
    made = [line for line in journal_lines(home) if line["type"] == "decisions.made"]
    assert [(line["decision"], line["rule"], line["enforced"]) for line in made] == [
        ("denied", "limit shop:refund 1/h", False)
    ] * 2


@ERAS
def test_a_call_in_several_rounds_counts_once(scene: Play, paths: Paths, revision: str) -> None:
    def asking() -> MemoryServer:
        async def answer(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
            if "inputResponses" in params:
                return {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}
            request = {"method": "elicitation/create", "params": {"message": "sure?", "requestedSchema": {}}}
            return {"resultType": "input_required", "requestState": "s", "inputRequests": {"a": request}}

        return MemoryServer(tool("refund", readOnlyHint=False), answer=answer, modern=True)

    async def played(world: World) -> None:
        limited(world, limit={"shop:refund": "1/h"})
        client = await world.client(revision, {"elicitation": {}})
        for number in range(2):
            answering = client.start_call("shop:refund")
            if revision == LATEST:
                if number == 0:
                    form = await client.questions.get()
                    client.send(id=form["id"], result={"action": "accept", "content": {}})
                text = text_of(await answering)
            else:
                result = (await answering)["result"]
                if "requestState" in result:
                    given = {"a": {"action": "accept", "content": {}}}
                    state = {"requestState": result["requestState"], "inputResponses": given}
                    result = (await client.start_call("shop:refund", **state))["result"]
                text = result["content"][0]["text"]
            assert text == "done" if number == 0 else "limits such calls" in text

    scene(played, shop=asking)


@pytest.mark.parametrize("later_s", [3599, 3601, -7200])
def test_the_window_slides_and_a_clock_that_is_set_back_frees_nothing_for_longer(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, later_s: float
) -> None:
    configure(paths, policy={"limit": {"*": "2/h"}})
    from mcpctl.config import config

    rules, now = config.load(paths.config).policy.limits, time.time()
    with PolicyFile.connect(paths) as file:
        assert limits.take(file, rules, "a") is None
        assert limits.take(file, rules, "b") is None
        monkeypatch.setattr("mcpctl.policy.limits.time.time", lambda: now + later_s)
        full = limits.take(file, rules, "c")
        assert (full is None) == (later_s == 3601)
        if later_s < 0:
            assert full
            assert full.free_at
            assert full.free_at <= now + later_s + 3600
            monkeypatch.setattr("mcpctl.policy.limits.time.time", lambda: now + later_s + 3601)
            assert limits.take(file, rules, "d") is None


def test_the_limit_of_a_project_counts_that_projects_calls(scene: Play) -> None:
    async def played(world: World) -> None:
        projects = {"a": {"policy": {"limit": {"shop:refund": "1/h"}}}, "b": {}}
        world.configure({"shop": {"projects": ["a", "b"]}}, policy=UNASKED, projects=projects)
        world.begin()
        client = await world.client()

        async def called(project: str) -> bool:
            return text_of(await client.start_call("shop:refund", _meta={"projectId": project})) == "{}"

        assert [await called(project) for project in "bbaab"] == [True, True, True, False, True]

    scene(played)


def test_a_limit_on_reading_on_counts_that_alone(scene: Play) -> None:
    async def played(world: World) -> None:
        limited(world, limit={"@mcpctl:read": "2/h", "*": "1/h"})
        client = await world.client()
        said = [await client.call("@mcpctl:read", {"uri": "mcpctl://calls/none"}) for _ in range(3)]
        assert ["limits such calls" in text for text in said] == [False, False, True]
        assert await client.call("shop:look") == "{}"

    scene(played)


def test_explain_says_how_much_is_left(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()}, policy={**UNASKED, "limit": {"s:*": "3/2h", "other:*": "1/d"}})
    listed(paths, "s", [tool("t")])
    from mcpctl.config import config

    assert [limit["left"] for limit in mcpctl("policy", "explain", "s:t", "--json").json["limits"]] == [3]
    with PolicyFile.connect(paths) as file:
        for call in "abc":
            limits.take(file, config.load(paths.config).policy.limits[:1], call)
    (limit,) = mcpctl("policy", "explain", "s:t", "--json").json["limits"]
    assert (limit["rule"], limit["most"], limit["seconds"], limit["left"]) == ("limit s:* 3/2h", 3, 7200, 0)
    assert limit["free_at"]
    assert "limit:       s:* 3/2h (config.toml:" in mcpctl("policy", "explain", "s:t").out
    assert mcpctl("policy", "explain", "s:t", "--json").json["decision"] == "allow"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"s:*": "ten an hour"}, "limit: 'ten an hour' for 's:*' must be a number of calls in a time, such as 10/h"),
        ({"s:*": "0/h"}, "to have it never called, write it in deny"),
        ({"s:*": "20000/h"}, "at most 10,000 calls in a year"),
        ({"s:*": "1/9999d"}, "at most 10,000 calls in a year"),
        ({"s": "1/h"}, "did you mean 's:*'?"),
        ({"s:*": 10}, "must be text, such as limit = {"),
        ("10/h", 'policy.limit: must be a table, such as limit = { "shop:refund*" = "10/h" }'),
    ],
)
def test_a_wrong_limit_is_named_with_what_it_can_be(mcpctl: Mcpctl, paths: Paths, limit: Any, said: str) -> None:
    configure(paths, {"s": stub()}, policy={"limit": limit})
    ran = mcpctl("policy", "check")
    assert ran.code == 5
    assert said in ran.err


@pytest.mark.process
@pytest.mark.slow
def test_a_limit_of_one_call_is_told_as_one(paths: Paths, mcpctl: Mcpctl) -> None:
    demo_tools(paths, policy={"limit": {"weather:*": "1/d"}})
    add = ("tools", "call", "weather:get_forecast", "city=Oslo")
    assert [mcpctl(*add).code, mcpctl(*add).code] == [0, 6]
    assert "that would be more than 1 call in a day (limit" in mcpctl(*add).err


@pytest.mark.stdio("of processes")
@pytest.mark.process
@pytest.mark.slow
def test_the_limit_is_exact_among_several_serves_and_commands(serve: Serve, mcpctl: Mcpctl) -> None:
    policy = {"limit": {"weather:*": "9/d"}}
    clients = [serve(WEATHER, policy=policy, process=True), *(serve(process=True) for _ in range(2))]
    for client in clients:
        client.discover("forecast")  # they have listed it then, and no call waits for that
    ids = [
        (client, client.start_call("weather:get_forecast", {"city": "Oslo"})) for _ in range(5) for client in clients
    ]
    answers = [client.answer(id).text for client, id in ids]
    assert sum("limits such calls" not in text for text in answers) == 9
    ran = mcpctl("tools", "call", "weather:get_forecast", "city=Oslo")
    assert ran.code == 6
    assert "that would be more than 9 calls in a day (limit weather:* 9/d, config.toml:" in ran.err
