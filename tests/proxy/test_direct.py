"""Tools that are shown directly: their list, their names, and calls of them, decided on as any others."""

import asyncio
import hashlib
import json
import re
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.base.paths import Paths
from mcpctl.metatools import direct_tools
from mcpctl.metatools.direct_tools import direct_name
from mcpctl.proxy import subscriptions
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import LocalRecords
from mcpctl.store.state import State
from tests.configured import noted, overridden, toolset
from tests.proxy import in_memory
from tests.proxy.client import LATEST, MODERN
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, MemoryServer, World, play, text_of, tool
from tests.table import for_each

pytestmark = BOTH

ERAS = pytest.mark.parametrize("revision", [LATEST, MODERN])
ISSUE: dict[str, Any] = {
    "name": "create_issue", "title": "Create an issue", "description": "Creates an issue.",
    "inputSchema": {"type": "object", "properties": {"title": {"type": "string", "x-own": 1.0}}, "required": ["title"]},
    "outputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False, "destructiveHint": False},
    "icons": [{"src": "https://example.com/i.png"}], "_meta": {"ui": {"resourceUri": "ui://issue"}, "own": [1.50]},
    "x-own": {"kept": None},
}  # fmt: skip


@pytest.fixture(autouse=True)
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks more often whether people have changed anything."""
    monkeypatch.setattr(subscriptions, "_LOOK_S", 0.02)


def github() -> MemoryServer:
    return MemoryServer(ISSUE, tool("delete_repo"), tool("list_issues", readOnlyHint=True))


def clock() -> MemoryServer:
    return MemoryServer(tool("now", readOnlyHint=True), tool("odd name"))


async def listed(client: MemoryClient, **params: Any) -> list[dict[str, Any]]:
    answer = await client.request("tools/list", params)
    tools: list[dict[str, Any]] = answer["result"]["tools"]
    return tools


async def names(client: MemoryClient) -> list[str]:
    return [each["name"] for each in await listed(client)]


async def called(client: MemoryClient, name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    passed = {} if arguments is None else {"arguments": arguments}
    return await client.request("tools/call", {"name": name, **passed, **more})


async def told(client: MemoryClient, method: str) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while (message := await client.questions.get())["method"] != method:
            pass
    return message


def digits(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:8]


OPEN: dict[str, Any] = {"confirm_destructive": False}
META = ["tool_discovery", "tool_execute"]


ODD = "time__odd_name_4ae05e68"
ALL = ["github__create_issue", "github__delete_repo", "github__list_issues", "time__now", ODD]


@for_each("patterns, shown", [
    (["github:create_issue"], [*META, "github__create_issue"]),
    (["time:*", "gith?b:*_issue"], [*META, "github__create_issue", "time__now", ODD]),
    (["@triage"], [*META, "github__list_issues", "time__now"]),
    (["@nothing", "gitlab:*"], META),
    (["equipped"], [*META, "github__list_issues", "time__now"]),
    (["all", "time:now"], ALL),
])  # fmt: skip
def test_the_chosen_tools_follow_the_meta_tools(
    home: Path, paths: Paths, patterns: Sequence[str], shown: Sequence[str]
) -> None:
    async def played(world: World) -> None:
        toolset(paths, "triage", "github:list_issues", "time:now")
        world.configure()
        world.begin(direct=patterns, toolset="triage" if patterns == ["equipped"] else None)
        assert await names(await world.client()) == shown

    play(home, paths, played, github=github, time=clock)


def test_the_list_waits_for_servers_that_have_not_listed_though_others_have(home: Path, paths: Paths) -> None:
    """Many clients list but once."""

    async def known(world: World) -> None:
        world.configure(serve={"direct": ["all"]})
        world.begin()
        assert "github__list_issues" in await names(await world.client())

    async def played(world: World) -> None:
        slow = world.servers["time"]
        world.configure(serve={"direct": ["time:*", "github:list_issues"]})
        world.begin()
        slow.may_list.clear()
        listing = asyncio.ensure_future(names(await world.client()))
        while not slow.connections:
            await asyncio.wait([listing], timeout=0)
        assert not listing.done()
        slow.may_list.set()
        assert await listing == [*META, "github__list_issues", "time__now", ODD]

    play(home, paths, known, github=github)
    play(home, paths, played, github=github, time=clock)


@for_each("server, name, shown", [
    ("github", "create_issue", "github__create_issue"),
    ("a-b", "C.d", "a-b__C_d_" + digits("a-b:C.d")),
    ("a__b", "c", "a__b__c_" + digits("a__b:c")),
    ("a_", "b", "a___b_" + digits("a_:b")),
    ("a", "_b", "a___b_" + digits("a:_b")),
    ("a", "b__c", "a__b__c"),
    ("a", "b_0123abcd", "a__b_0123abcd_" + digits("a:b_0123abcd")),
    ("a", "b_0123abc", "a__b_0123abc"),
    ("a", "\u00e9t\u00e9", "a___t__" + digits("a:\u00e9t\u00e9")),
    ("s" * 20, "t" * 42, "s" * 20 + "__" + "t" * 42),
    ("s" * 20, "t" * 43, "s" * 20 + "__" + "t" * 33 + "_" + digits("s" * 20 + ":" + "t" * 43)),
    ("s" * 64, "t", "s" * 55 + "_" + digits("s" * 64 + ":t")),
])  # fmt: skip
def test_a_name_is_a_function_of_the_key(server: str, name: str, shown: str) -> None:
    assert direct_name(server, name) == shown
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", shown)


@given(*[st.text(st.sampled_from("ab_-"), min_size=1, max_size=8)] * 2, *[st.text("ab_.", min_size=1, max_size=9)] * 2)
def test_no_two_keys_have_one_name(one: str, other: str, first: str, second: str) -> None:
    if (one, first) != (other, second):
        assert direct_name(one, first) != direct_name(other, second)


def test_names_that_are_equal_all_the_same_are_not_shown(
    home: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(direct_tools, "direct_name", lambda server, name: "same" if server == "time" else name)

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["time:*", "github:list_issues"]})
        world.begin()
        client = await world.client()
        assert await names(client) == [*META, "list_issues"]
        assert "Unknown tool" in text_of(await called(client, "same"))
        assert not world.servers["time"].calls

    play(home, paths, played, github=github, time=clock)
    assert "time:now and a tool of time would have one name, and are not shown" in capsys.readouterr().err


@ERAS
def test_a_definition_is_as_its_server_wrote_it_but_for_its_name_and_key(
    home: Path, paths: Paths, revision: str
) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["github:create_issue"]})
        world.begin()
        client = await world.client(revision)
        *_, shown = await listed(client)
        meta = {**ISSUE["_meta"], "mcpctl/key": "github:create_issue"}
        assert json.dumps(shown) == json.dumps({**ISSUE, "name": "github__create_issue", "_meta": meta})

    play(home, paths, played, github=github)


@for_each("own", [True, False])
def test_notes_and_overrides_that_are_in_force_are_shown(home: Path, paths: Paths, tmp_path: Path, own: bool) -> None:
    """A file of a repository only tightens what decides, here too."""
    key = "github:create_issue"
    said = [noted(key, rule="Ask first."), overridden(key, "File it", readOnlyHint=True, openWorldHint=True)]
    path = toolset(paths, "triage", key, toolNotes=said[:1], toolOverrides=said[1:])
    if not own:
        path = path.rename(tmp_path / "triage.json")

    async def played(world: World) -> None:
        world.configure()
        world.begin(direct=["equipped"], toolset=str(path))
        *_, shown = await listed(await world.client())
        assert shown["title"] == "File it"
        assert shown["description"] == "Creates an issue.\n\n### Additional Tool Notes\n\n• **rule**: Ask first."
        assert shown["annotations"] == {"readOnlyHint": own, "destructiveHint": False, "openWorldHint": True}

    play(home, paths, played, github=github)


# ---- calls


@ERAS
def test_a_call_is_put_on_record_as_direct_and_answered_as_it_came(home: Path, paths: Paths, revision: str) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["github:*"]})
        world.begin()
        client = await world.client(revision)
        answers = [
            await called(client, "github__create_issue", {"title": "a"}),
            await called(client, "github__list_issues"),
            await client.start_call("github:list_issues"),
        ]
        assert [text_of(answer) for answer in answers] == ['{"title": "a"}', "{}", "{}"]
        first, second, third = world.servers["github"].calls
        assert (first["name"], first["arguments"]) == ("create_issue", {"title": "a"})
        assert "arguments" not in second
        assert third["arguments"] == {}

    play(home, paths, played, github=github)
    with LocalRecords(paths) as records:
        rows = [*records.calls(CallFilter()).rows(None, 0)]
    assert [(row["via"], row["tool"], row["status"]) for row in reversed(rows)] == [
        ("direct", "create_issue", "ok"), ("direct", "list_issues", "ok"), ("client", "list_issues", "ok"),
    ]  # fmt: skip


def test_a_call_that_comes_before_anything_is_known_waits_for_it(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]}, policy={**OPEN, "deny": ["github:delete_repo"]})
        world.begin()
        client = await world.client()
        calls = [called(client, name) for name in ("github__create_issue", "github__delete_repo", ODD, "time__gone")]
        issue, repo, odd, gone = await asyncio.gather(*calls)
        assert text_of(issue) == "{}"
        assert "denied" in text_of(repo)
        assert "there is no tool 'time:gone'" in text_of(gone)
        assert "List the tools again" in text_of(gone)
        assert "Unknown tool" in text_of(odd)  # no list has said yet whose name that is
        await listed(client)
        assert text_of(await called(client, ODD)) == "{}"

    play(home, paths, played, github=github, time=clock)


SPELLINGS = (
    "github__delete_repo", "github__Delete_Repo", "GITHUB__delete_repo", "github__delete_repo ", " github__delete_repo",
    "github:delete_repo", "github.delete_repo", "github__delete\u200b_repo", "github__delete_rep\u043e",
    "github___delete_repo", "github__delete_repo_" , "mcp__mcpctl__github__delete_repo", "delete_repo", "Delete_repo",
    "github__delete__repo", "github\uff3f\uff3fdelete_repo", "github__\ufb01le", "github__delete_repo\n", "github__",
    "__delete_repo", "github__delete_repo_00000000",
)  # fmt: skip


@for_each("settings", [
    {"policy": {"deny": ["github:delete_repo"]}},
    {"policy": {"deny": ["@not-declared"]}},
    {"servers": {"github": {"tools": {"delete_repo": False}}}},
    {"servers": {"github": {"only": ["create_issue", "list_issues"]}}},
    {"toolset": True},
])  # fmt: skip
def test_a_tool_that_may_not_be_called_is_neither_listed_nor_reached(
    home: Path, paths: Paths, settings: Mapping[str, Any]
) -> None:
    async def played(world: World) -> None:
        toolset(paths, "triage", "github:list_issues")
        world.configure(settings.get("servers"), policy=settings.get("policy", {}), serve={"direct": ["all"]})
        world.begin(toolset="triage" if "toolset" in settings else None)
        client = await world.client()
        assert "github__delete_repo" not in await names(client)
        for name in SPELLINGS:
            answer = await called(client, name)
            assert "error" in answer or answer["result"]["isError"]
        assert [call["name"] for call in world.servers["github"].calls] == []

    play(home, paths, played, github=github)
    with LocalRecords(paths) as records:
        by_tool = {row["tool"]: row["status"] for row in records.calls(CallFilter()).rows(None, 0)}
        assert by_tool["delete_repo"] == "denied"
        assert "github:delete_repo" in {row["key"] for row in records.decisions().rows(None, 0)}


def test_a_client_that_never_lists_again_is_refused_what_is_taken_away(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["github:*"]})
        world.begin()
        client = await world.client()
        await listed(client)
        world.configure(serve={"direct": ["github:*"]}, policy={"deny": ["github:*"]})
        assert "denied by the user's policy" in text_of(await called(client, "github__create_issue"))
        world.configure(serve={"direct": ["time:*"]})
        assert "Unknown tool: github__create_issue" in text_of(await called(client, "github__create_issue"))
        assert not world.servers["github"].calls

    play(home, paths, played, github=github, time=clock)


@ERAS
def test_a_call_that_needs_a_yes_is_asked_about_in_a_form(home: Path, paths: Paths, revision: str) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]}, policy={})
        world.begin()
        client = await world.client(revision, {"elicitation": {}})
        await listed(client)
        call = called(client, "github__delete_repo", {"repo": "app"})
        if revision == MODERN:
            asked = (await call)["result"]
            ((name, request),) = asked["inputRequests"].items()
            assert "github:delete_repo" in request["params"]["message"]
            answers = {name: {"action": "accept", "content": {"answer": "once"}}}
            more = {"requestState": asked["requestState"], "inputResponses": answers}
            answer = await called(client, "github__delete_repo", {"repo": "app"}, **more)
        else:
            asking = asyncio.ensure_future(call)
            form = await told(client, "elicitation/create")
            client.send(id=form["id"], result={"action": "accept", "content": {"answer": "once"}})
            answer = await asking
        assert text_of(answer) == '{"repo": "app"}'
        assert len(world.servers["github"].calls) == 1

    play(home, paths, played, github=github)


@for_each("arguments", [[], "text", 7])
def test_arguments_that_are_no_object_are_refused(home: Path, paths: Paths, arguments: Any) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]})
        world.begin()
        client = await world.client()
        answer = await called(client, "github__list_issues", arguments)
        assert answer["error"]["code"] == -32602
        assert not world.servers["github"].calls

    play(home, paths, played, github=github)


def test_a_call_that_is_taken_back_before_its_name_is_known_is_not_made(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]})
        world.begin()
        client = await world.client()
        client.request("tools/call", {"name": "github__create_issue"}, id="taken back")
        client.send(method="notifications/cancelled", params={"requestId": "taken back"})
        assert text_of(await called(client, "github__list_issues")) == "{}"
        assert [call["name"] for call in world.servers["github"].calls] == ["list_issues"]

    play(home, paths, played, github=github)


@for_each("patterns, said", [
    (["all"], "These are the tools of these MCP servers, each named server__tool: github."),
    (["github:*"], "Some are listed beside these, as server__tool: call those by that name."),
])  # fmt: skip
def test_the_handshake_says_how_tools_are_called(home: Path, paths: Paths, patterns: Sequence[str], said: str) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin(direct=patterns)
        client = await world.client()
        assert client.instructions.endswith(said)
        assert client.instructions.startswith("These are" if patterns == ["all"] else "All tools of these MCP servers")

    play(home, paths, played, github=github)


# ---- changes


async def edited(world: World) -> None:
    world.configure(serve={"direct": ["github:list_issues"]})


async def denied(world: World) -> None:
    world.configure(serve={"direct": ["all"]}, policy={"deny": ["github:create_issue"]})


async def equipped(world: World) -> None:
    with State.connect(world.paths) as state:
        state.equip("triage")


async def changed(world: World) -> None:
    github = world.servers["github"]
    github.tools = [*github.tools, tool("new")]
    github.connections[-1].say(method="notifications/tools/list_changed")


@ERAS
@for_each("change", [edited, denied, equipped, changed])
def test_a_client_that_listens_is_told_of_a_change(
    home: Path, paths: Paths, revision: str, change: Callable[[World], Awaitable[None]]
) -> None:
    async def played(world: World) -> None:
        toolset(paths, "triage", "github:list_issues", "github:delete_repo")
        with State.connect(world.paths) as state:
            state.equip(None)
        world.configure(serve={"direct": ["all"]})
        world.begin()
        client = await world.client(revision)
        before = await names(client)
        if revision == MODERN:
            client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            honoured = await told(client, "notifications/subscriptions/acknowledged")
            assert honoured["params"]["notifications"] == {"toolsListChanged": True}
        await called(client, "github__list_issues")  # it runs
        await change(world)
        await told(client, "notifications/tools/list_changed")
        while await names(client) == before:  # that was still about the first list
            await told(client, "notifications/tools/list_changed")

    play(home, paths, played, github=github)


@ERAS
def test_without_direct_tools_nobody_is_told_of_changes(home: Path, paths: Paths, revision: str) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client(revision)
        assert await names(client) == META
        if revision == MODERN:
            client.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            honoured = await told(client, "notifications/subscriptions/acknowledged")
            assert honoured["params"]["notifications"] == {}

    play(home, paths, played, github=github)


def test_a_page_that_changes_after_it_was_pinned_is_held(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]}, policy={"default": "allow"})
        world.begin()
        client = await world.client()
        assert "github__create_issue" in await names(client)
        server = world.servers["github"]
        server.tools[0] = {**ISSUE, "_meta": {"ui": {"resourceUri": "ui://other"}}}
        server.connections[-1].say(method="notifications/tools/list_changed")
        while "github__create_issue" in await names(client):
            await told(client, "notifications/tools/list_changed")
        assert "held" in text_of(await called(client, "github__create_issue"))
        assert not server.calls

    play(home, paths, played, github=github)


# ---- searches


def test_a_search_says_that_a_tool_is_shown_directly(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["github:create_issue"]})
        world.begin()
        client = await world.client()
        results = (await client.discover("create an issue", "list issues"))["results"]
        assert {each["toolKey"]: each.get("directName") for each in results} == {
            "github:create_issue": "github__create_issue", "github:list_issues": None,
        }  # fmt: skip
        discovery, *_ = await listed(client)
        assert "directName" in discovery["description"]
        jsonschema.validate({"results": results}, discovery["outputSchema"])

    play(home, paths, played, github=github)


# ---- pages of MCP Apps


def app() -> MemoryServer:
    shown = {"ui": {"resourceUri": "ui://app/clock.html"}}
    server = MemoryServer(
        {**tool("show_clock", readOnlyHint=True), "_meta": shown},
        {**tool("tick", readOnlyHint=True), "_meta": {"ui": {"visibility": ["app"]}}},
        {**tool("explain", readOnlyHint=True), "_meta": {"ui": {"visibility": ["model"]}}},
        {**tool("now", readOnlyHint=True), "_meta": {"ui": {"visibility": ["model", "app"]}}},
    )
    server.capabilities = {"resources": {}}

    async def read(_: Any, params: dict[str, Any]) -> dict[str, Any]:
        return {"contents": [{"uri": params["uri"], "mimeType": "text/html;profile=mcp-app", "text": "<p>"}]}

    server.features = {"resources/read": read}
    return server


def test_the_page_of_a_tool_is_read_though_no_list_has_it(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["app:*"]})
        world.begin()
        client = await world.client()
        *_, shown, _, _, _ = await listed(client)
        uri = shown["_meta"]["ui"]["resourceUri"]
        answer = await client.request("resources/read", {"uri": uri})
        assert answer["result"]["contents"][0]["text"] == "<p>"
        other = await client.request("resources/read", {"uri": "ui://app/other.html"})
        assert "there is no resource" in text_of(other)
        assert [params["uri"] for method, params in world.servers["app"].asked if method == "resources/read"] == [uri]

    play(home, paths, played, app=app)


def test_a_page_calls_tools_by_the_names_of_its_server(home: Path, paths: Paths) -> None:
    """Where exactly one tool that is shown has it, and says that pages may."""

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]}, policy={"deny": ["app:denied"]})
        world.begin()
        client = await world.client()
        await listed(client)
        assert text_of(await called(client, "tick", {"a": 1})) == '{"a": 1}'
        assert text_of(await called(client, "show_clock")) == "{}"
        assert "Unknown tool" in text_of(await called(client, "explain"))  # for models alone
        assert "Unknown tool" in text_of(await called(client, "now"))  # two servers have it
        assert text_of(await called(client, "app__now")) == "{}"
        assert [call["name"] for call in world.servers["app"].calls] == ["tick", "show_clock", "now"]

    play(home, paths, played, app=app, time=clock)


def test_a_model_neither_finds_nor_calls_what_is_for_pages_alone(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure(serve={"direct": ["app:show_clock"]})
        world.begin()
        client = await world.client()
        found = await client.discover("tick", "show the clock")
        assert "app:tick" not in [each["toolKey"] for each in found["results"]]
        assert "for the page of its server alone" in await client.call("app:tick")
        assert not world.servers["app"].calls

    play(home, paths, played, app=app)


@ERAS
@for_each("modern", [False, True])
def test_a_server_is_told_that_its_client_shows_pages_whatever_the_eras(
    home: Path, paths: Paths, revision: str, modern: bool
) -> None:
    """Of other extensions only a server of the client's own era is told: they change what is answered."""
    pages = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
    extensions = {"io.modelcontextprotocol/tasks": {}, **pages}

    def of_an_era() -> MemoryServer:
        server = app()
        server.modern = modern
        return server

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]})
        world.begin()
        client = await world.client(revision, {"extensions": extensions})
        assert "app__show_clock" in await names(client)
        await called(client, "app__show_clock")
        is_same = modern == (revision == MODERN)
        assert world.servers["app"].told[-1] == {"extensions": extensions if is_same else pages}

    play(home, paths, played, app=of_an_era)


# ---- long answers and long lists


def test_only_answers_that_promise_no_structure_are_shortened(home: Path, paths: Paths) -> None:
    async def long(_: Any, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "word " * 5000}], "structuredContent": {"all": "word " * 5000}}

    def wordy() -> MemoryServer:
        plain = tool("plain", readOnlyHint=True)
        return MemoryServer({**plain, "name": "typed", "outputSchema": {"type": "object"}}, plain, answer=long)

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]}, responses={"limit_tokens": 100})
        world.begin()
        client = await world.client()
        assert await names(client) == ["wordy__typed", "wordy__plain", "mcpctl_read"]
        whole = await called(client, "wordy__typed")
        assert len(whole["result"]["structuredContent"]["all"]) == 25_000
        short = (await called(client, "wordy__plain"))["result"]
        assert "Read more (path, or offset and limit, or grep): mcpctl_read {" in text_of({"result": short})
        uri = short["_meta"]["mcpctl/shortened"]["uri"]
        more = await called(client, "mcpctl_read", {"uri": uri, "offset": 24_990})
        assert text_of(more).endswith("\nword word ")

    play(home, paths, played, wordy=wordy)


def test_tools_that_are_made_twice_at_once_are_one_list(
    home: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a list comes in again while the first client is answered: the cursor of its first page holds."""
    at_once = threading.Barrier(2)
    merge = direct_tools._merged

    def merged(*given: Any) -> Any:
        at_once.wait(60)
        return merge(*given)

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["many:*"]})
        world.begin()
        await (await world.client()).request("tools/list", {})
        catalog, known = world.gateway.catalog(world.gateway.view(None)), direct_tools.KnownDirectTools()
        monkeypatch.setattr(direct_tools, "_merged", merged)
        first = asyncio.ensure_future(known.made(catalog))
        await asyncio.sleep(0)
        catalog.lists.changes += 1
        assert (await known.made(catalog)).generation == (await first).generation

    play(home, paths, played, many=lambda: MemoryServer(tool("t")))


def test_a_long_list_comes_in_pages(home: Path, paths: Paths) -> None:
    def many() -> MemoryServer:
        return MemoryServer(*(tool(f"t{number}") for number in range(1500)))

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["many:*"]})
        world.begin()
        client = await world.client()
        first = (await client.request("tools/list", {}))["result"]
        assert len(first["tools"]) == 2 + 1000
        last = (await client.request("tools/list", {"cursor": first["nextCursor"]}))["result"]
        assert [each["name"] for each in last["tools"]] == [f"many__t{number}" for number in range(1000, 1500)]
        assert "nextCursor" not in last
        world.servers["many"].tools = []
        wrong = await client.request("tools/list", {"cursor": "0.0"})
        assert wrong["error"]["code"] == -32602

    play(home, paths, played, many=many)


def test_a_page_of_large_definitions_ends_earlier(home: Path, paths: Paths) -> None:
    def large() -> MemoryServer:
        return MemoryServer(*({**tool(f"t{number}"), "description": "x" * 60_000} for number in range(40)))

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]})
        world.begin()
        client = await world.client()
        pages, cursor = [], ""
        while cursor is not None:
            result = (await client.request("tools/list", {"cursor": cursor} if cursor else {}))["result"]
            pages.append([each["name"] for each in result["tools"]])
            cursor = result.get("nextCursor")
        assert [len(page) for page in pages] == [18, 18, 4]
        assert [name for page in pages for name in page] == [f"large__t{number}" for number in range(40)]

    play(home, paths, played, large=large)


def test_serve_says_what_a_client_does_not_take(
    home: Path, paths: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_memory, "INFO", {"name": "cursor-vscode", "version": "1"})

    def many() -> MemoryServer:
        return MemoryServer(*(tool(f"t{number}") for number in range(81)), tool("n" * 50))

    async def played(world: World) -> None:
        world.configure(serve={"direct": ["all"]})
        world.begin()
        client = await world.client()
        await listed(client)
        await listed(client)

    play(home, paths, played, many=many)
    said = capsys.readouterr().err
    assert said.count("Cursor takes 80 tools of all servers together, and 82 are shown") == 1
    assert "Cursor may leave out tools whose names have more than 53 characters here: many__nnn" in said
