"""`@mcpctl:read` reads on in what was shortened, in bounds and for whom it was kept; it is a call like every other."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.paths import Paths
from mcpctl.metatools.offers import Offer
from mcpctl.store import responses
from mcpctl.store.responses import ResponseOwner
from tests.proxy.client import MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, MemoryConnection, MemoryServer, Scene, World, play, text_of, tool
from tests.proxy.library import NOTE, Library, see

pytestmark = BOTH

Play = Callable[..., None]
ITEMS = [{"id": number, "title": f"Title {number}", "body": "lorem ipsum " * 5} for number in range(300)]
DOCUMENT = json.dumps({"items": ITEMS, "next": "p2"})
LINES = "\n".join(f"line {number}: é {'needle' if number % 100 == 7 else 'hay'}" for number in range(1000))
RESULTS = {"document": DOCUMENT, "lines": LINES}
OWN_ID = "00000000-0000-4000-8000-000000000001"
DASH = "\N{EN DASH}"


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers or {"files": files})

    return begin


def files() -> MemoryServer:
    """A server whose tools answer with one of the texts."""

    async def answer(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": RESULTS[params["name"]]}]}

    return MemoryServer(*(tool(name, readOnlyHint=True) for name in RESULTS), answer=answer)


async def began(world: World, *, split: bool = False, **sections: Any) -> MemoryClient:
    """A client of a gateway that shortens."""
    world.configure(**{"responses": {"limit_tokens": 1000}, **sections})
    world.begin(split=split)
    return await world.client()


async def uri_of(client: MemoryClient, name: str = "document", **more: Any) -> str:
    """The URI of the whole answer of a call."""
    result = (await client.start_call(f"files:{name}", **more))["result"]
    return str(result["_meta"]["mcpctl/shortened"]["uri"])


async def read(client: MemoryClient, uri: str, **arguments: Any) -> list[str]:
    """The texts that a read answers; of one that failed, `failed` before them."""
    result = (await client.start_call("@mcpctl:read", {"uri": uri, **arguments}))["result"]
    return ["failed"] * bool(result.get("isError")) + [block["text"] for block in result["content"]]


def test_pieces_follow_each_other_and_are_the_text(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        uri = await uri_of(client, "lines")
        size, offset, got = len(LINES.encode()), 0, ""
        while offset < size:
            remark, piece = await read(client, uri, offset=offset, limit=4001)
            end = offset + len(piece.encode())
            more = f"; next offset {end}" if end < size else ""
            assert remark == f"bytes {offset:,}{DASH}{end:,} of {size:,}{more}"
            assert offset < end <= offset + 4001
            offset, got = end, got + piece
        assert got == LINES
        assert (await read(client, uri))[0].startswith(f"bytes 0{DASH}8,000 of")
        assert await read(client, uri, offset=size + 5) == [f"bytes {size:,}{DASH}{size:,} of {size:,}", ""]

    scene(played)


@pytest.mark.slow
def test_a_path_selects_and_what_is_too_much_is_an_error_with_its_size_and_shape(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        uri = await uri_of(client)
        assert await read(client, uri, path="items[1:3].{id: id, title: title}") == [
            '[{"id": 1, "title": "Title 1"}, {"id": 2, "title": "Title 2"}]'
        ]
        assert await read(client, uri, path="items[7].title") == ["Title 7"]
        size = len(json.dumps([item["title"] for item in ITEMS]))
        (titles,) = await read(client, uri, path="items[*].title", limit=size)
        assert len(titles) == size
        assert (await read(client, uri, path="items[*].title", limit=size - 1))[0] == "failed"
        failed, reason = await read(client, uri, path="items[*].title", limit=100)
        assert failed == "failed"
        assert reason.startswith(
            f"mcpctl: path: what it selects has {size:,} bytes, more than limit (100)."
            " Shape: [300 \N{MULTIPLICATION SIGN} string]."
        )
        _, reason = await read(client, uri, path="join(' ', items[*].title)", limit=100)
        assert " Shape: string." in reason
        remark, _ = await read(client, uri, path="items[*].title", limit=100, offset=0)
        assert remark == f"bytes 0{DASH}100 of {size:,}; next offset 100"
        remark, null = await read(client, uri, path="nothing")
        assert (null, remark[:30]) == ("null", "path: nothing is there. Shape ")

    scene(played)


def test_words_are_found_as_they_stand_with_lines_around_them(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        uri = await uri_of(client, "lines")
        remark, found = await read(client, uri, grep="NEEDLE")
        first = LINES.encode().index(b"line 7:")
        assert remark.startswith("10 matches, each after the byte where it begins")
        assert found.splitlines()[0] == f"{first}: line 7: é needle"
        assert len(found.splitlines()) == 10
        _, found = await read(client, uri, grep="needle", context=1, limit=100)
        assert found == f"{LINES.encode().index(b'line 6:')}: line 6: é hay\nline 7: é needle\nline 8: é hay"
        assert (await read(client, uri, grep="(a+)+$"))[0].startswith("no match")
        remark, found = await read(client, uri, grep="é needle", limit=50)
        offset = int(remark.partition("next offset ")[2])
        _, found = await read(client, uri, grep="é needle", limit=50, offset=offset)
        assert found.startswith(f"{offset}: line 207: ")

    scene(played)


@pytest.mark.parametrize(
    "arguments, reason",
    [
        ({}, "the argument 'uri' is missing; the arguments are uri, path, offset"),
        ({"uri": ""}, "'uri' must be a text of 1 to 8,192 characters"),
        ({"uri": "x", "limit": 10**9}, "'limit' must be a number of bytes from 16 to 100,000"),
        ({"uri": "x", "offset": -1}, "'offset' must be a number of bytes, 0 or more"),
        ({"uri": "x", "grep": ""}, "'grep' must be a text of 1 to 200 characters"),
        ({"uri": "x", "regex": "a"}, "unknown argument 'regex'; the arguments are uri, path, offset, limit, grep,"),
        ({"uri": "x", "context": "a"}, "'context' must be a number of lines from 0 to 10"),
        ({"uri": 7}, "'uri' must be a text"),
        ({"uri": f"mcpctl://calls/{OWN_ID}"}, "no such call"),
        ({"uri": "mcpctl://calls/../../state"}, "no such call"),
        ({"uri": "mcpctl://calls/"}, "no such call"),
    ],
)
def test_what_cannot_be_read_is_said_once(arguments: dict[str, Any], reason: str, scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        answer = await client.start_call("@mcpctl:read", arguments)
        assert answer["result"]["isError"]
        assert reason in text_of(answer)
        assert len(answer["result"]["content"]) == 1

    scene(played)


def play_failing(scene: Play, path: str) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        uri = await uri_of(client)
        hostile = client.start_call("@mcpctl:read", {"uri": uri, "path": path})
        assert await client.call("files:lines")  # others go on meanwhile
        answer = await hostile
        assert answer["result"]["isError"]
        assert text_of(answer).startswith("mcpctl: path: ")

    scene(played)


@pytest.mark.parametrize("path", ["items[", "x" * 1001, "(" * 900, "foo(@)"])
def test_a_path_that_is_wrong_is_an_error_and_harms_nobody(path: str, scene: Play) -> None:
    play_failing(scene, path)


@pytest.mark.parametrize("memory", [32 << 20, pytest.param(bounds.PATH_MEMORY, marks=pytest.mark.slow)])
def test_a_path_that_takes_too_much_is_an_error_and_harms_nobody(
    memory: int, scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "PATH_MEMORY", memory)
    play_failing(scene, " | ".join(["[@,@]"] * 60))


def test_it_is_a_call_on_record_whose_answer_is_not(scene: Play, home: Path) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        uri = await uri_of(client)
        await read(client, uri, path="next")

    scene(played)
    lines = journal_lines(home)
    first, second = (line for line in lines if line["type"] == "calls.started")
    end = next(line for line in lines if line["type"] == "calls.finished" and line["id"] == second["id"])
    assert (second["server"], second["tool"], second["via"]) == ("@mcpctl", "read", "client")
    assert second["parent_id"] == first["id"]
    assert second["annotations"]["readOnlyHint"]["value"] is True
    assert (end["status"], end["response"], end["response_bytes"] > 0) == ("ok", None, True)
    assert "shortened" not in end


@pytest.mark.parametrize(
    "owner, may",
    [
        ({"session_id": OWN_ID}, False),
        ({"session_id": OWN_ID, "project": "other"}, False),
        ({"session_id": OWN_ID, "project": "acme"}, True),
        ({"session_id": OWN_ID, "token_id": "t1"}, False),
        ({"session_id": OWN_ID, "project": "acme", "server": "elsewhere"}, False),
    ],
)
def test_only_the_session_the_project_or_the_token_reads_it(
    owner: Mapping[str, str], may: bool, scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "sweep", lambda _: None)  # a session that is not on record keeps nothing

    async def played(world: World) -> None:
        world.configure({"files": {"projects": ["acme"]}}, responses={"limit_tokens": 1000})
        world.begin(project="acme")
        client = await world.client()
        whole = ResponseOwner(**{"server": "files", "tool": "document", **owner})
        responses.keep(paths, OWN_ID, whole, b'{"content":[{"type":"text","text":"whole"}]}', keep_mb=1)
        texts = await read(client, f"mcpctl://calls/{OWN_ID}")
        assert ("whole" in texts) == may
        assert may or "no such call" in texts[1]

    scene(played)


def test_a_token_lets_its_own_answers_be_read() -> None:
    mine = ResponseOwner(session_id="a", server="s", tool="t", token_id="t1")
    assert mine.lets(ResponseOwner(session_id="b", server="s", tool="t", token_id="t1"))
    assert not mine.lets(ResponseOwner(session_id="b", server="s", tool="t"))
    assert not mine.lets(ResponseOwner(session_id="a", server="s", tool="t", token_id="t2"))
    assert not mine.lets(ResponseOwner(session_id="a", server="s", tool="t"))
    assert not ResponseOwner(session_id="a", server="s", tool="t").lets(
        ResponseOwner(session_id="b", server="s", tool="t")
    )


def test_what_was_kept_before_the_policy_masks_is_read_masked(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ghp_" + "a1B2" * 9
    monkeypatch.setitem(RESULTS, "lines", f"token={secret}\n{LINES}")

    async def played(world: World) -> None:
        client = await began(world)
        uri = await uri_of(client, "lines")
        assert secret in (await read(client, uri))[1]
        world.configure(responses={"limit_tokens": 1000}, policy={"redact_responses": "secrets"})
        assert secret not in (await read(client, uri))[1]

    scene(played)


def test_what_made_room_is_said_to_be_gone(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        uri = await uri_of(client)
        shutil.rmtree(paths.responses)
        failed, reason = await read(client, uri)
        assert (failed, "not kept any more" in reason) == ("failed", True)

    scene(played)


def test_with_several_tools_that_call_it_is_called_with_the_one_that_reads(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world, split=True)
        uri = await uri_of(client, meta_tool="tool_execute_read")
        for name in ("write", "destructive"):
            refused = await client.call("@mcpctl:read", {"uri": uri}, meta_tool=f"tool_execute_{name}")
            assert "'@mcpctl:read' is not called with" in refused
        assert "p2" in await client.call("@mcpctl:read", {"uri": uri, "path": "next"}, meta_tool="tool_execute_read")

    scene(played)


@pytest.mark.parametrize(
    "policy, reason",
    [
        ({"deny": ["@mcpctl:read"]}, "denied by the user's policy"),
        ({"deny": ["@mcpctl:*"], "mode": "record"}, ""),
        ({"default": "deny", "allow": ["files:*"]}, ""),
        ({"ask": ["*"], "allow": [], "confirm_destructive": False, "mode": "record"}, ""),
        ({"ask": ["@mcpctl:read"], "confirm": "never"}, "consent"),
    ],
)
def test_a_rule_that_names_it_decides_and_no_other(policy: dict[str, Any], reason: str, scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world, policy=policy)
        uri = await uri_of(client)
        answer = await client.call("@mcpctl:read", {"uri": uri, "path": "next"})
        assert (reason in answer) if reason else (answer == "p2")

    scene(played)


@pytest.mark.parametrize(
    "sections",
    [
        {"policy": {"deny": ["files:doc*"]}},
        {"servers": {"files": {"tools": {"document": False}}}},
        {"servers": {"files": {"only": ["lines"]}}},
    ],
)
def test_what_a_tool_gave_before_it_was_denied_is_read_no_more(sections: dict[str, Any], scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        uri, other = await uri_of(client), await uri_of(client, "lines")
        settings = dict(sections)
        world.configure(settings.pop("servers", None), responses={"limit_tokens": 1000}, **settings)
        failed, reason = await read(client, uri)
        assert (failed, "no such call" in reason) == ("failed", True)
        assert "needle" in (await read(client, other, grep="needle"))[1]

    scene(played)


def test_without_the_token_that_is_required_nothing_is_read(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world, policy={"require_token": True})
        assert "without a token" in await client.call("@mcpctl:read", {"uri": f"mcpctl://calls/{OWN_ID}"})

    scene(played)


def test_no_search_finds_it_and_no_other_name_of_ours_is_called(scene: Play) -> None:
    async def played(world: World) -> None:
        client = await began(world)
        assert not (await client.discover("@mcpctl:read", "read more of an answer"))["results"][2:]
        assert "there is no" in await client.call("@mcpctl:write")
        assert "there is no" in await client.call("@mcpctl")

    scene(played)


def test_a_client_of_the_newer_era_reads_too(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(responses={"limit_tokens": 1000})
        world.offer = Offer()
        world.begin()
        client = await world.client(MODERN)
        uri = await uri_of(client)
        result = (await client.start_call("@mcpctl:read", {"uri": uri, "path": "next"}))["result"]
        assert (result["content"][0]["text"], result["resultType"]) == ("p2", "complete")

    scene(played)


# ---- resources


def shelf(contents: list[dict[str, Any]]) -> Callable[[], Library]:
    """A server whose resource has these contents."""
    return lambda: Library(read=json.dumps({"contents": contents}))


def resource(contents: list[dict[str, Any]], checked: Callable[[MemoryClient], Any], scene: Play) -> None:
    """Play a scene with a client of one server that has a resource, `note://a`."""

    async def played(world: World) -> None:
        world.configure(responses={"limit_tokens": 1000})
        world.begin()
        see(world, NOTE)
        await checked(await world.client())

    scene(played, a=shelf(contents))


def test_what_an_answer_links_to_is_read_in_the_same_way(scene: Play) -> None:
    async def checked(client: MemoryClient) -> None:
        size = len(DOCUMENT)
        remark, piece = await read(client, "note://a", limit=100)
        assert (remark, piece) == (f"bytes 0{DASH}100 of {size:,}; next offset 100", DOCUMENT[:100])
        assert await read(client, "note://a", path="next") == ["p2"]
        assert "1 matches" in (await read(client, "note://a", grep='"next"'))[0]
        assert await read(client, "note://a", path="next", server="a") == ["p2"]

    resource([{"uri": "note://a", "text": DOCUMENT}], checked, scene)


def test_bytes_come_as_they_are_or_not_at_all(scene: Play) -> None:
    blob = {"uri": "note://a", "mimeType": "image/png", "blob": "aGk=" * 100}

    async def checked(client: MemoryClient) -> None:
        answer = await client.start_call("@mcpctl:read", {"uri": "note://a", "limit": 400})
        assert answer["result"]["content"] == [{"type": "resource", "resource": blob}]
        assert await read(client, "note://a", limit=399) == ["image/png: 300 bytes, more than limit; not shown"]

    resource([blob], checked, scene)


def test_what_its_server_says_where_it_refuses_is_passed_on(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        see(world, NOTE)
        assert await read(await world.client(), "note://a") == [
            "failed", "mcpctl: server 'a' answered with an error, in its own words:", "No such note",
        ]  # fmt: skip

    scene(played, a=lambda: Library(read='{"error":{"code":-32002,"message":"No such note"}}'))


def test_a_resource_that_nobody_has_is_said(scene: Play) -> None:
    async def checked(client: MemoryClient) -> None:
        failed, reason = await read(client, "other://x")
        assert failed == "failed"
        assert reason.startswith("mcpctl: ")
        assert "could not be read" not in reason

    resource([], checked, scene)


@pytest.mark.parametrize(
    "policy, may",
    [
        ({"ask": ["a:*"]}, False),
        ({"ask": ["*"], "allow": ["@read-only"]}, False),
        ({"ask": ["a:*"], "mode": "record"}, True),
        ({"ask": ["a:send_*", "@destructive"]}, True),
        ({"default": "ask"}, True),
        ({"default": "ask", "auto_approve_read_only": False}, False),
        ({"default": "ask", "allow": ["a:*"]}, True),
    ],
)
def test_a_model_reads_nothing_of_a_server_about_which_the_user_is_asked(
    policy: dict[str, Any], may: bool, scene: Play
) -> None:
    async def played(world: World) -> None:
        world.configure(policy=policy)
        world.begin()
        see(world, NOTE)
        client = await world.client()
        texts = await read(client, "note://a")
        assert texts[-1] == "whole" if may else "needs the user's consent" in texts[1]
        answer = await client.request("resources/read", {"uri": "note://a"})
        assert answer["result"]["contents"][0]["text"] == "whole"

    scene(played, a=shelf([{"uri": "note://a", "text": "whole"}]))
