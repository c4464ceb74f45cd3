"""A request sees and may call tools by its token, by the project that it names, and by the token of the process."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.metatools import discovery
from mcpctl.policy import tokens
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.search import providers
from tests.configured import toolset
from tests.proxy.client import LATEST, MODERN, journal_lines
from tests.proxy.conftest import BOTH
from tests.proxy.in_memory import MemoryClient, MemoryServer, Scene, World, play, tool

pytestmark = BOTH

Play = Callable[..., None]
PROJECTS = {"free": [], "acme": ["acme"], "zoo": ["zoo"], "both": ["acme", "zoo"]}
"""The servers, by the projects that they name."""
EVERY = frozenset(PROJECTS)
REQUIRED = {"require_token": True}


def server() -> MemoryServer:
    return MemoryServer(tool("look", readOnlyHint=True), tool("change", destructiveHint=False))


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with a server of no project, one of each of two, and one of both."""

    def begin(played: Scene) -> None:
        play(home, paths, played, **dict.fromkeys(PROJECTS, server))

    return begin


def configure(world: World, policy: dict[str, Any] | None = None, **projects: Any) -> None:
    """Write the servers with their projects, and a policy where one is given."""
    sections = {"policy": policy} if policy is not None else {}
    servers = {name: {"projects": names} for name, names in PROJECTS.items()}
    world.configure(servers, projects={"acme": {}, "zoo": {}, "idle": {}, **projects}, **sections)


def made(paths: Paths, **bounds: Any) -> str:
    """The text of a new token."""
    with PolicyFile.connect(paths) as file:
        return tokens.create(file, **bounds)[1]


def revoke_all(paths: Paths) -> None:
    with PolicyFile.connect(paths) as file:
        tokens.revoke(file, [token.id for token in tokens.every(file)])


async def sees(client: MemoryClient, **meta: Any) -> set[str]:
    """The servers that are seen, in searches and calls alike."""
    params: dict[str, Any] = {"_meta": meta} if meta else {}
    found = await client.discover("look", "change", *(f"{name}:look" for name in PROJECTS), **params)
    servers = {entry["toolKey"].partition(":")[0] for entry in found["results"]}
    answers = {name: await client.start_call(f"{name}:look", **params) for name in PROJECTS}
    assert {name for name, answer in answers.items() if not answer["result"].get("isError")} == servers
    # A tool that is not seen is named nowhere but in the answer to who has named it.
    told = text(await client.discover("a zebra", **params)) + text(await client.start_call("nobody:look", **params))
    assert not [name for name in EVERY - servers if re.search(rf"\b{name}[:,. ]", told)], told
    notice = re.sub(r"'[^']*'", "", found.get("notice", ""))  # without the queries that it repeats
    assert not [name for name in EVERY - servers if name in notice]
    return servers


def text(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)


# ---- projects


SEEN: dict[str | None, list[tuple[dict[str, Any], Set[str], Set[str]]]] = {
    None: [
        ({}, EVERY, {"free"}),
        ({"projectId": ""}, {"free"}, {"free"}),
        ({"projectId": "UNASSIGNED"}, {"free"}, {"free"}),
        ({"projectId": "acme"}, {"free", "acme", "both"}, {"free", "acme", "both"}),
        ({"projectId": "idle"}, {"free"}, {"free"}),
        ({"projectId": "Acme"}, set(), set()),
        ({"projectId": "acne"}, set(), set()),
        ({"projectId": "acme\u0000"}, set(), set()),
        ({"projectId": 7}, set(), set()),
        ({"projectId": None}, set(), set()),
        ({"projectId": "a" * 257}, set(), set()),
    ],
    "acme": [
        ({}, {"free", "acme", "both"}, {"free", "acme", "both"}),
        ({"projectId": "acme"}, {"free", "acme", "both"}, {"free", "acme", "both"}),
        ({"projectId": "zoo"}, {"free", "both"}, {"free", "both"}),
        ({"projectId": "UNASSIGNED"}, {"free"}, {"free"}),
        ({"projectId": "acne"}, set(), set()),
    ],
}
"""By the project of the process: what a request names, and the servers that it sees without and with a policy."""


@pytest.mark.parametrize("project", SEEN)
@pytest.mark.parametrize("has_policy", [False, True])
@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_request_sees_what_both_its_project_and_that_of_the_process_see(
    scene: Play, project: str | None, has_policy: bool, revision: str
) -> None:
    async def played(world: World) -> None:
        configure(world, {} if has_policy else None)
        world.begin(project=project)
        for meta, off, on in SEEN[project]:
            assert await sees(await world.client(revision), **meta) == (on if has_policy else off), meta

    scene(played)


def test_a_policy_that_is_only_recorded_hides_nothing(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        configure(world, {"mode": "record", **REQUIRED})
        world.begin()
        client = await world.client()
        assert await sees(client) == EVERY
        assert await sees(client, token="no token") == EVERY
        reads = made(paths, read_only=True, servers=["zoo"])
        assert await sees(client, token=reads) == EVERY
        assert "isError" not in (await client.start_call("acme:change", _meta={"token": reads}))["result"]

    scene(played)


def test_requests_of_several_projects_have_the_toolset_and_the_rules_of_each(scene: Play, paths: Paths) -> None:
    toolset(paths, "looking", "free:look", "acme:look", "both:look")

    async def played(world: World) -> None:
        of_zoo: Any = {"policy": {"deny": ["free:*"], "allow": ["*"], "mode": "record"}}
        configure(world, {"deny": ["*:change", "both:look"]}, acme={"toolset": "looking"}, zoo=of_zoo)
        world.begin()
        client = await world.client()

        async def answers(key: str, **meta: Any) -> str:
            return await client.call(key, _meta=meta)

        for _ in range(2):
            assert await answers("acme:look", projectId="acme") == "{}"
            assert "denied" in await answers("both:look", projectId="acme")
            assert "not in the toolset 'looking'" in await answers("acme:change", projectId="acme")
            # A project that only the request names lets through nothing that [policy] keeps back.
            assert "denied" in await answers("free:look", projectId="zoo")
            assert "denied" in await answers("both:look", projectId="zoo")
            assert await answers("zoo:look", projectId="zoo") == "{}"
            assert await answers("free:look") == "{}"
        granted, bare = made(paths, projects=["zoo"]), made(paths)
        await asyncio.sleep(0)  # a turn of the loop looks once
        assert await answers("zoo:change", projectId="zoo", token=granted) == "{}"
        assert "denied" in await answers("zoo:change", projectId="zoo", token=bare)

    scene(played)


def test_the_index_of_a_search_is_kept_for_each_project(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    of_config = providers.builder

    def counting(*given: Any, **named: Any) -> Any:
        build = of_config(*given, **named)

        def counted(tools: Any, *more: Any) -> Any:
            built.append(len(tools))
            return build(tools, *more)

        return counted

    monkeypatch.setattr(discovery, "builder", counting)

    async def played(world: World) -> None:
        configure(world)
        world.begin()
        client = await world.client()
        for project in ("acme", "zoo"):
            await sees(client, projectId=project)
        known = len(built)
        for project in ("acme", "zoo", "acme", "zoo"):
            await client.discover("look", _meta={"projectId": project})
        assert len(built) == known

    scene(played)


def test_the_first_search_of_each_project_waits_for_its_servers(scene: Play) -> None:
    async def played(world: World) -> None:
        configure(world, {})
        world.begin()
        client = await world.client()
        await client.request("tools/list", {})
        while "zoo" not in world.gateway.added:
            await asyncio.sleep(0.005)
        await sees(client, projectId="acme")
        world.servers["zoo"].may_list.clear()
        search = asyncio.create_task(client.discover("zoo:look", _meta={"projectId": "zoo"}))
        await asyncio.wait([search], timeout=0.2)  # in which one that waits for nobody ends
        world.servers["zoo"].may_list.set()
        assert "zoo:look" in text(await search)

    scene(played)


# ---- tokens


@pytest.mark.parametrize(
    ("bounds", "project", "meta", "expected"),
    [
        ({}, None, {}, {"free"}),
        ({}, None, {"projectId": "acme"}, {"free", "acme", "both"}),
        ({}, "zoo", {}, {"free", "zoo", "both"}),
        ({"projects": ["acme"]}, None, {}, {"free"}),
        ({"projects": ["acme"]}, None, {"projectId": "acme"}, {"free", "acme", "both"}),
        ({"projects": ["acme"]}, None, {"projectId": "zoo"}, set()),
        ({"projects": ["acme"]}, "acme", {}, {"free", "acme", "both"}),
        ({"projects": ["acme"]}, "zoo", {}, {"free", "both"}),
        ({"projects": ["acme"]}, "zoo", {"projectId": "zoo"}, {"free", "both"}),
        ({"projects": ["acme", "zoo"]}, None, {"projectId": "zoo"}, {"free", "zoo", "both"}),
        ({"projects": ["acme", "zoo"]}, None, {"projectId": "idle"}, set()),
        ({"projects": ["acme", "zoo"]}, None, {}, {"free"}),
        ({"projects": ["UNASSIGNED"]}, "acme", {}, {"free"}),
        ({"servers": ["acme", "zoo"]}, "acme", {}, {"acme"}),
        ({"servers": ["acme"]}, None, {}, set()),
        ({"servers": ["acme", "zoo"], "projects": ["zoo"]}, "acme", {}, set()),
        ({"servers": ["acme", "both"], "projects": ["zoo"]}, "acme", {}, {"both"}),
    ],
)
@pytest.mark.parametrize("is_own", [True, False])
def test_a_token_bounds_what_is_seen_and_gives_nothing(
    scene: Play, paths: Paths, bounds: Any, project: str | None, meta: Any, expected: set[str], is_own: bool
) -> None:
    text_ = made(paths, **bounds)

    async def played(world: World) -> None:
        configure(world, REQUIRED)
        world.begin(project=project, token=text_ if is_own else None)
        given = meta if is_own else {**meta, "token": text_}
        for revision in (LATEST, MODERN):
            assert await sees(await world.client(revision), **given) == expected, revision

    scene(played)


@pytest.mark.parametrize("is_required", [True, False])
def test_a_token_that_is_not_valid_sees_nothing(scene: Play, paths: Paths, is_required: bool) -> None:
    bad = ["", "no token", "mcpctl_", 7, None, ["x"], {"a": 1}, "x" * 257]
    bad += [made(paths, expires=time.time() - 1), made(paths)]
    revoke_all(paths)
    with PolicyFile.connect(paths) as file:
        bad.append(tokens.every(file)[0].hash)
    own = made(paths)

    async def played(world: World) -> None:
        configure(world, {"require_token": is_required})
        world.begin(token=own)
        client = await world.client()
        assert await sees(client) == {"free"}
        for claimed in bad:
            assert await sees(client, token=claimed) == set(), claimed
            assert "is not valid" in await client.call("free:look", _meta={"token": claimed}), claimed

    scene(played)


@pytest.mark.parametrize("own", [None, "mcpctl_wrong"])
@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_without_a_token_nothing_is_told_from_anything(
    scene: Play, home: Path, paths: Paths, own: str | None, revision: str
) -> None:
    toolset(paths, "mine", "free:look")

    async def played(world: World) -> None:
        configure(world, REQUIRED)
        world.begin(token=own, annotate=True, toolset="mine")
        client = await world.client(revision)
        assert await sees(client) == set()
        keys = (
            "free:look",
            "free:nothing",
            "nobody:look",
            "NONE:look",
            "free:LOOK",
            "free.look",
            "free",
            ":",
            "x:\u202e",
        )
        answers = {key: await client.start_call(key) for key in keys}
        (said,) = {text(answer["result"]) for answer in answers.values()}
        assert not [name for name in EVERY if name in said]
        for name in ("free.look", "free.nothing", "nobody.look"):
            noted = {"toolRef": {"namespacedName": name}, "notes": [{"name": "use", "note": "first"}]}
            params = {"name": "add-tool-annotation", "arguments": noted}
            refused = await client.request("tools/call", params)
            assert refused["result"]["isError"]
            assert name not in text(refused)
        assert not any(each.connections for each in world.servers.values())

    scene(played)
    assert '"notes"' not in (paths.toolsets / "mine.json").read_text()
    lines = journal_lines(home)
    refused = [line for line in lines if line["type"] == "decisions.made" and not line.get("call_id")]
    code = "token_not_valid" if own else "no_token"
    assert {(line["decision"], line["rule"]) for line in refused} == {("denied", code)}
    assert {line["key"] for line in refused} == {"tool_discovery", "add-tool-annotation"}
    assert {line["status"] for line in lines if line["type"] == "calls.finished"} == {"denied"}


@pytest.mark.parametrize("policy, named", [(None, EVERY), ({}, {"free"}), (REQUIRED, set())])
@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_descriptions_name_the_servers_that_the_process_sees(
    scene: Play, paths: Paths, policy: Any, named: set[str], revision: str
) -> None:
    token = made(paths, servers=["acme", "free"])

    async def descriptions(client: MemoryClient, **meta: Any) -> set[str]:
        params = {"_meta": meta} if meta else {}
        listed = await client.request("tools/list", params)
        told = [each["description"] for each in listed["result"]["tools"]]
        if revision == MODERN:
            told.append((await client.request("server/discover", params))["result"]["instructions"])
        else:
            members = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {}, **params}
            told.append((await client.request("initialize", members))["result"]["instructions"])
        sets = [{name for name in EVERY if f" {name}," in t or f" {name}." in t or f" {name})" in t
                 or f"({name}" in t} for t in told]  # fmt: skip
        assert len({frozenset(each) for each in sets}) == 1
        return sets[0]

    async def played(world: World) -> None:
        configure(world, policy)
        world.begin()
        client = await world.client(revision)
        await world.gateway.current()
        assert await descriptions(client) == named
        if policy is not None:
            assert await descriptions(client, token=token, projectId="acme") == {"free", "acme"}
            assert await descriptions(client, token="wrong") == set()
        assert await descriptions(client) == named

    async def with_own(world: World) -> None:
        configure(world, policy)
        world.begin(token=token, project="acme")
        client = await world.client(revision)
        assert await descriptions(client) == ({"free", "acme", "both"} if policy is None else {"free", "acme"})
        revoke_all(paths)
        await asyncio.sleep(0)  # a turn of the loop looks once
        assert await descriptions(client) == ({"free", "acme", "both"} if policy is None else set())

    scene(played)
    scene(with_own)


def test_a_read_only_token_neither_finds_nor_calls_what_may_change_anything(scene: Play, paths: Paths) -> None:
    toolset(paths, "mine", "free:look", "free:change")

    async def played(world: World) -> None:
        configure(world, {})
        world.begin(token=made(paths, read_only=True), annotate=True, toolset="mine")
        client = await world.client()
        found = await client.discover("free:change", "free:look")
        assert [entry["toolKey"] for entry in found["results"]] == ["free:look"]
        assert "only permits tools that read" in await client.call("free:change")
        assert "not in the toolset" in await client.call("free:Change")
        assert "isError" not in (await client.start_call("free:look"))["result"]
        note = {"toolRef": {"namespacedName": "free.look"}, "notes": [{"name": "use", "note": "first"}]}
        answer = await client.request("tools/call", {"name": "add-tool-annotation", "arguments": note})
        assert "only permits tools that read" in text(answer)
        assert [call["name"] for call in world.servers["free"].calls] == ["look"]

    scene(played)


def test_tokens_of_one_scope_find_by_what_each_permits(scene: Play, paths: Paths) -> None:
    reads, changes = made(paths, read_only=True), made(paths)

    async def played(world: World) -> None:
        configure(world, REQUIRED)
        world.begin()
        client = await world.client()
        for _ in range(2):
            for token, expected in ((reads, {"free:look"}), (changes, {"free:look", "free:change"})):
                found = await client.discover("look", "change", _meta={"token": token})
                assert {entry["toolKey"] for entry in found["results"]} == expected

    scene(played)


def test_hints_that_do_not_count_for_rules_do_not_count_for_a_read_only_token(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        world.configure({"free": {"trust_hints": "no"}}, policy={})
        world.begin(token=made(paths, read_only=True))
        client = await world.client()
        assert "only permits tools that read" in await client.call("free:look")

    scene(played)


def test_what_a_token_does_not_reach_is_not_told_from_what_is_not_there(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        configure(world, {})
        world.begin(token=made(paths, servers=["free"]))
        client = await world.client()
        there, absent = await client.call("zoo:look"), await client.call("owl:look")
        assert there.replace("zoo", "owl") == absent
        assert "server 'owl' is not one that the token may use" in absent
        every, of_zoo = made(paths, projects=["acme"], servers=[*EVERY]), made(paths, projects=["zoo"])
        await asyncio.sleep(0)  # a turn of the loop looks once
        assert await client.call("owl:look", _meta={"token": every, "projectId": "acme"}) == absent
        assert await client.call("owl:look", _meta={"token": of_zoo}) == absent

    scene(played)


def test_a_token_that_is_revoked_or_expires_counts_no_longer(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        configure(world, REQUIRED)
        own, other = made(paths), made(paths)
        world.begin(token=own)
        client = await world.client()
        assert await sees(client) == {"free"}
        revoke_all(paths)
        assert await sees(client) == set()
        assert await sees(client, token=other) == set()
        assert await sees(client, token=made(paths)) == {"free"}

    scene(played)


def test_a_token_expires_while_serve_runs(scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()

    async def played(world: World) -> None:
        configure(world, REQUIRED)
        world.begin(token=made(paths, expires=now + 60))
        client = await world.client()
        assert await sees(client) == {"free"}
        for place in ("memory", "follower"):
            monkeypatch.setattr(f"mcpctl.proxy.{place}.time", SimpleNamespace(time=lambda: now + 61))
        assert await sees(client) == set()

    scene(played)


def test_a_policy_that_begins_to_need_a_token_needs_it_at_once(scene: Play, paths: Paths) -> None:
    async def played(world: World) -> None:
        configure(world)
        world.begin()
        client = await world.client()
        assert await sees(client) == EVERY
        configure(world, REQUIRED)
        assert await sees(client) == set()
        assert await sees(client, token=made(paths), projectId="zoo") == {"free", "zoo", "both"}
        listed = await client.request("tools/list", {})
        assert "zoo" not in text(listed)

    scene(played)


def test_a_project_without_a_policy_of_its_own_is_no_way_around_a_token(scene: Play) -> None:
    async def played(world: World) -> None:
        configure(world, REQUIRED, acme={"policy": {"mode": "off"}})
        world.begin()
        assert await sees(await world.client(), projectId="acme") == set()

    scene(played)


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_state_that_is_sent_back_tells_nothing_of_a_server_that_is_not_seen(
    scene: Play, paths: Paths, revision: str
) -> None:
    async def played(world: World) -> None:
        configure(world, REQUIRED)
        world.begin(project="acme")
        client = await world.client(revision)
        await client.start_call("acme:look", _meta={"token": made(paths)})
        (said,) = {
            text((await client.start_call(f"{name}:look", requestState=state))["result"])
            for name in ("acme", "zoo", "nobody")
            for state in ("", "mine")
        }
        assert "without a token" in said

    scene(played)


# ---- what is passed on


@pytest.mark.parametrize("policy", [None, {}, REQUIRED])
@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_claims_are_for_mcpctl_alone(
    scene: Play, home: Path, paths: Paths, capfd: pytest.CaptureFixture[str], policy: Any, revision: str
) -> None:
    token = made(paths)
    written: list[str] = []

    async def played(world: World) -> None:
        configure(world, policy)
        world.begin()
        client = await world.client(revision)
        meta = {"token": token, "projectId": "acme", "progressToken": "mine", "x/y": 1}
        for name in ("tool_discovery", "add-tool-annotation", "nothing"):
            await client.request("tools/call", {"name": name, "arguments": {"query": ["look"]}, "_meta": meta})
        for method in ("tools/list", "ping", "server/discover", "logging/setLevel", "nothing"):
            answer = await client.request(method, {"level": "debug", "_meta": meta})
            written.append(text(answer))
        written.append(text(await client.start_call("acme:look", {"a": 1}, _meta=meta)))
        client.send(method="notifications/roots/list_changed", params={"_meta": meta})
        (call,) = world.servers["acme"].calls
        assert call["arguments"] == {"a": 1}
        assert call["_meta"]["x/y"] == 1
        assert not {"token", "projectId"} & call["_meta"].keys()

    scene(played)
    journals = "".join(file.read_text() for file in (home / "data" / "sessions").iterdir())
    assert "calls.finished" in journals
    everything = "".join((journals, *written, *capfd.readouterr()))
    assert token not in everything
    assert "projectId" not in everything
    # A log of a database goes with the last who closes it, who may be in a thread that is ending.
    kept = [file for file in (home / "data").rglob("*") if file.is_file() and file.suffix not in (".db-wal", ".db-shm")]
    assert not [file for file in kept if token.encode() in file.read_bytes()]


def test_a_call_that_is_taken_back_takes_its_claims_to_nobody(scene: Play, paths: Paths) -> None:
    async def never(*_: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def played(world: World) -> None:
        configure(world)
        world.servers["free"].answer = never
        world.begin()
        client = await world.client()
        client.start_call("free:look", id="long")
        await world.servers["free"].was_called.wait()
        meta = {"token": "secret", "projectId": "acme", "kept": 1}
        client.send(method="notifications/cancelled", params={"requestId": "long", "_meta": meta})
        while not world.servers["free"].cancelled:
            await asyncio.sleep(0.005)
        (cancelled,) = world.servers["free"].cancelled
        assert cancelled["_meta"] == {"kept": 1}

    scene(played)
