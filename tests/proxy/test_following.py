"""A running `serve` follows config.toml: what is taken away is gone at once, what is added is there."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failed
from mcpctl.base.paths import Paths
from mcpctl.policy.view import View
from mcpctl.proxy import follower, memory
from mcpctl.proxy.follower import ConfigFile
from mcpctl.store import sqlite
from mcpctl.store.records import LocalRecords
from mcpctl.store.state import State
from tests.configured import toolset
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, Client
from tests.proxy.conftest import BOTH, Serve
from tests.proxy.in_memory import TIMEOUT_S, MemoryConnection, MemoryServer, Scene, World, play, text_of, tool
from tests.servers import command

pytestmark = BOTH

Play = Callable[..., None]


@pytest.fixture
def scene(home: Path, paths: Paths) -> Play:
    """Plays a scene with servers in memory."""

    def begin(played: Scene, **servers: Callable[[], MemoryServer]) -> None:
        play(home, paths, played, **servers)

    return begin


def one() -> MemoryServer:
    return MemoryServer(tool("first", readOnlyHint=True))


def two() -> MemoryServer:
    return MemoryServer(tool("second"))


def keys(found: dict[str, Any]) -> list[str]:
    return sorted(hit["toolKey"] for hit in found["results"])


@pytest.mark.parametrize(
    "taken, words",
    [
        (None, "there is no tool 'two:second'"),
        ({"enabled": False}, "server 'two' is disabled"),
        ({"tools": {"second": False}}, "is not permitted"),
        ({"only": ["first", "other*"]}, "is not permitted"),
        ({"projects": ["other"]}, "is not in the project in force"),
        ({"cwd": 7}, "server 'two' cannot be used"),
    ],
)
def test_what_is_taken_away_is_neither_found_nor_called(taken: dict[str, Any] | None, words: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure(projects={"acme": {}})
        world.begin(project="acme")
        client = await world.client()
        assert [await client.call(key) for key in ("one:first", "two:second")] == ["{}", "{}"]
        assert keys(await client.discover("first second")) == ["one:first", "two:second"]
        world.configure({"two": taken}, projects={"acme": {}})  # type: ignore[dict-item]
        assert words in await client.call("two:second")
        assert keys(await client.discover("first second")) == ["one:first"]
        assert len(world.servers["two"].calls) == 1
        assert "two" not in world.gateway.upstreams or (taken and {"tools", "only"} & taken.keys())

    scene(played, one=one, two=two)


def test_a_server_that_is_taken_away_ends_and_its_calls_are_told(scene: Play) -> None:
    async def never(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        answer = client.start_call("two:second")
        await world.servers["two"].was_called.wait()
        world.configure({"two": {"enabled": False}})
        assert await client.call("one:first") == "{}"
        told = text_of(await answer)
        assert told.startswith("mcpctl: server 'two' is not in the configuration any more. The call was sent and may")
        await world.servers["two"].connections[0].gone.wait()

    scene(played, one=one, two=lambda: MemoryServer(tool("second"), answer=never))


def test_what_is_added_is_there_for_the_next_search(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"two": None})  # type: ignore[dict-item]
        world.begin()
        client = await world.client()
        assert keys(await client.discover("first second")) == ["one:first"]
        world.configure()
        assert keys(await client.discover("first second")) == ["one:first", "two:second"]
        assert await client.call("two:second") == "{}"

    scene(played, one=one, two=two)


def test_what_is_switched_off_while_a_search_waits_is_not_found(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client, server = await world.client(), world.servers["one"]
        server.may_list.clear()
        search = asyncio.ensure_future(client.discover("first"))
        while not server.connections:
            await asyncio.sleep(0.005)
        world.configure({"one": {"tools": {"first": False}}})
        server.may_list.set()
        assert keys(await search) == []

    scene(played, one=one)


def test_what_is_switched_off_while_notes_wait_gets_none(
    scene: Play, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played(world: World) -> None:
        toolset(paths, "mine", "one:first")
        world.configure()
        world.begin(annotate=True, toolset="mine")
        client = await world.client()
        assert await client.call("one:first") == "{}"
        unlisted = world.gateway.searching.unlisted

        async def switched_off(view: View) -> list[str]:
            world.configure({"one": {"tools": {"first": False}}})
            return await unlisted(view)

        monkeypatch.setattr(world.gateway.searching, "unlisted", switched_off)
        note = {"toolRef": {"namespacedName": "one.first"}, "notes": [{"name": "use", "note": "first"}]}
        answer = await client.request("tools/call", {"name": "add-tool-annotation", "arguments": note})
        assert "not permitted" in text_of(answer)

    scene(played, one=one)


def test_a_server_that_is_changed_finishes_its_calls_before_the_new_one_starts(scene: Play) -> None:
    hold = asyncio.Event()

    async def held(_: MemoryConnection, params: dict[str, Any]) -> dict[str, Any]:
        await hold.wait()
        return {"content": [{"type": "text", "text": "old"}]}

    async def played(world: World) -> None:
        world.configure({"two": None})  # type: ignore[dict-item]
        world.begin()
        client = await world.client()
        old = client.start_call("one:first")
        server = world.servers["one"]
        await server.was_called.wait()
        world.configure({"one": {"env": {"A": "1"}}, "two": None})  # type: ignore[dict-item]
        new = client.start_call("one:first", {"new": 1})
        # A call of another kind has its answer meanwhile; nothing of the changed server has been started.
        assert "there is no tool" in await client.call("two:second")
        assert len(server.connections) == 1
        hold.set()
        assert text_of(await old) == "old"
        assert text_of(await new) == "old"
        assert len(server.connections) == 2
        assert server.connections[0].gone.is_set()

    scene(played, one=lambda: MemoryServer(tool("first"), answer=held), two=two)


def test_a_change_that_needs_no_new_process_keeps_the_one_that_runs(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await client.call("one:first")
        world.configure({"one": {"call_timeout_s": 5, "tools": {"other": False}}})
        await client.call("one:first")
        assert len(world.servers["one"].connections) == 1
        assert world.upstream("one").server.call_timeout_s == 5

    scene(played, one=one)


@pytest.mark.parametrize("broken", ["[servers.one\n", "[serverz.one]\n", None])
def test_a_file_that_cannot_be_used_changes_nothing_and_is_said_once(
    broken: str | None, home: Path, scene: Play, capsys: pytest.CaptureFixture[str]
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        assert await client.call("one:first") == "{}"
        if broken is None:
            (home / "config.toml").unlink()
        else:
            (home / "config.toml").write_text(broken, encoding="utf-8")
        for _ in range(2):
            assert await client.call("one:first") == "{}"
        assert keys(await client.discover("first")) == ["one:first"]
        world.configure({"one": {"enabled": False}})
        assert "is disabled" in await client.call("one:first")

    scene(played, one=one)
    assert capsys.readouterr().err.count("still using the last configuration that could be read") == 1


def saved_in_place(file: Path, text: str, *, cut: int) -> None:
    """Empty the file and write the beginning, as an editor does that has not come to the end of it."""
    with file.open("w", encoding="utf-8") as opened:
        opened.write(text[:cut])


@pytest.mark.parametrize("cut", ["nothing", "the first server", "no policy", "half a word", "no file"])
def test_a_file_that_is_being_saved_in_place_ends_no_server_and_loosens_nothing(
    cut: str, home: Path, scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    was_seen, is_whole, look = threading.Event(), threading.Event(), ConfigFile._look

    def seen(file: ConfigFile) -> object:
        if was_seen.is_set():  # however long the editor takes, it is looked at again once it is done
            is_whole.wait(TIMEOUT_S)
        found = look(file)
        was_seen.set()
        return found

    monkeypatch.setattr(ConfigFile, "_look", seen)

    async def played(world: World) -> None:
        world.configure(policy={"deny": ["two:second"]})
        text = (home / "config.toml").read_text(encoding="utf-8")
        places = {"nothing": 0, "the first server": text.index("[servers.two]"), "no policy": text.index("[policy]")}
        world.begin()
        client = await world.client()
        assert await client.call("one:first") == "{}"
        assert "is denied" in await client.call("two:second")
        for _ in range(3):
            was_seen.clear()
            is_whole.clear()
            saved_in_place(home / "config.toml", text, cut=places.get(cut, len(text) - 3))
            if cut == "no file":
                (home / "config.toml").unlink()
            calls = [client.start_call("one:first"), client.start_call("two:second")]
            await asyncio.to_thread(was_seen.wait, TIMEOUT_S)
            (home / "config.toml").write_text(text, encoding="utf-8")
            is_whole.set()
            assert text_of(await calls[0]) == "{}"
            assert "is denied" in text_of(await calls[1])
        assert [len(each.connections) for each in world.servers.values()] == [1, 1]
        assert world.servers["two"].calls == []

    scene(played, one=one, two=two)


@pytest.mark.parametrize("whole", ["", "[servers.one]\ncommand = 'one'\n"])
def test_a_file_that_stays_as_it_was_saved_in_place_counts_for_the_call_that_came_meanwhile(
    whole: str, home: Path, scene: Play
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        assert await client.call("two:second") == "{}"
        (home / "config.toml").write_text(whole, encoding="utf-8")
        assert "there is no tool 'two:second'" in await client.call("two:second")
        await world.servers["two"].connections[0].gone.wait()

    scene(played, one=one, two=two)


@pytest.mark.parametrize(
    "before, after",
    [
        ({"one": {}}, {"one": {"enabled": False}}),
        ({"one": {"tools": {"first": True}}}, {"one": {"tools": {"first": False}}}),
        ({"one": {}}, {"one": {"tools": {"first": False}}}),
        ({"policy": {}}, {"policy": {"deny": ["one:*"]}}),
        ({"policy": {"ask": ["one:*"]}}, {"policy": {"ask": ["one:*"], "deny": ["one:*"]}}),
    ],
)
def test_what_only_tightens_is_not_waited_for(
    before: dict[str, Any], after: dict[str, Any], scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played(world: World) -> None:
        def configure(said: dict[str, Any]) -> None:
            world.configure({name: said[name] for name in said if name == "one"}, policy=said.get("policy", {}))

        configure(before)
        world.begin()
        client = await world.client()
        await world.gateway.current()
        monkeypatch.setattr(follower, "_SETTLED_S", 3600)
        configure(after)
        assert "denied" in (said := await client.call("one:first")) or "disabled" in said or "permitted" in said

    scene(played, one=one)


def test_a_file_that_is_written_without_end_counts_as_it_was_and_is_looked_at_again(
    home: Path, scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        assert await client.call("one:first") == "{}"
        looks = 0
        look = ConfigFile._look

        def written_meanwhile(file: ConfigFile) -> object:
            nonlocal looks
            looks += 1
            (home / "config.toml").write_text(f"[servers.other{looks}]\ncommand = 'x'\n", encoding="utf-8")
            return look(file)

        with monkeypatch.context() as patched:
            patched.setattr(ConfigFile, "_look", written_meanwhile)
            (home / "config.toml").write_text("", encoding="utf-8")
            assert await client.call("one:first", {"a": 1}) == '{"a": 1}'
        assert looks > 2
        while "there is no tool 'one:first'" not in await client.call("one:first"):
            await asyncio.sleep(0)

    scene(played, one=one)


def test_the_toolset_of_a_project_is_followed_with_it(home: Path, scene: Play) -> None:
    (home / "data" / "toolsets").mkdir(parents=True)
    named = '{"name": "mine", "tools": [{"namespacedName": "two.second"}]}'
    (home / "data" / "toolsets" / "mine.json").write_text(named, encoding="utf-8")

    async def played(world: World) -> None:
        world.configure(projects={"acme": {}})
        world.begin(project="acme")
        client = await world.client()
        assert [await client.call(key) for key in ("one:first", "two:second")] == ["{}", "{}"]
        world.configure(projects={"acme": {"toolset": "mine"}})
        assert "is not in the toolset 'mine'" in await client.call("one:first")
        assert keys(await client.discover("first second")) == ["two:second"]

    scene(played, one=one, two=two)


def test_new_rules_of_redaction_count_for_what_is_recorded_next(home: Path, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client = await world.client()
        await client.call("one:first", {"pin": "1234-before"})
        world.configure(records={"redact_keys": ["pin"]})
        await client.call("one:first", {"pin": "5678-after"})

    scene(played, one=one)
    (journal,) = (home / "data" / "sessions").glob("*.jsonl")
    assert b"1234-before" in journal.read_bytes()
    assert b"5678-after" not in journal.read_bytes()


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.usefixtures("person")
def test_commands_change_what_a_running_serve_does(home: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client: Client = serve({"counter": command("counter")})
    assert not client.call("counter:count").is_error
    assert mcpctl("servers", "disable", "counter").code == 0
    assert "server 'counter' is disabled" in client.call("counter:count").text
    assert mcpctl("servers", "enable", "counter").code == 0
    assert not client.call("counter:count").is_error
    words = command("pages", "5")
    assert mcpctl("servers", "add", "pages", "--", *words).code == 0
    assert any(hit["toolKey"].startswith("pages:") for hit in client.discover("tool")["results"])


def test_an_edit_that_loosens_is_one_decision_on_record(home: Path, paths: Paths, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure({"two": {"tools": {"second": False}}})
        world.begin()
        client = await world.client()
        assert "is not permitted" in await client.call("two:second")
        world.configure()
        assert await client.call("two:second") == "{}"
        world.configure({"two": {"enabled": False}})
        assert "is disabled" in await client.call("two:second")

    scene(played, one=one, two=two)
    with LocalRecords(paths) as records:
        (made,) = records.loosened(None)
    assert (made["rule"], made["rule_place"], made["channel"]) == ("configuration loosened", "config.toml", "file")
    assert "two:second" in made["key"].split(", ")


def test_a_search_that_finds_out_during_the_end_whom_to_ask_starts_nobody(
    scene: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def played(world: World) -> None:
        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def unlisted(_: View) -> list[str]:
            asked.set()
            await may_answer.wait()
            return ["one"]

        world.configure()
        world.begin()
        await world.gateway.current()
        monkeypatch.setattr(world.gateway.searching, "unlisted", unlisted)
        client = await world.client()
        search = asyncio.create_task(client.discover("first"))
        await asked.wait()

        async def last_answers() -> None:
            may_answer.set()
            assert (await search)["results"] == []

        await world.gateway.stop(last_answers())
        assert world.servers["one"].connections == []
        world.begin()

    scene(played, one=one)


def test_a_list_that_another_process_keeps_from_being_kept_is_kept_later(
    paths: Paths, scene: Play, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0)
    monkeypatch.setattr(memory, "_FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(memory, "_SOON_S", 0.0)
    with State.connect(paths):
        pass

    async def played(world: World) -> None:
        world.configure()
        world.begin()
        await world.gateway.current()
        server = world.gateway.config.servers["one"]
        with closing(sqlite3.connect(paths.state, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await world.gateway.refresh(["one"], Caller(LATEST))
            assert world.has_listed("one")
            assert world.gateway.memory._keeping
            other.execute("ROLLBACK")
        await world.gateway.memory._keeping
        with State.connect(paths) as state:
            assert state.capability_sets("one", server.fingerprint) != []

    scene(played, one=one)
    assert "cannot be kept" not in capsys.readouterr().err


def test_nothing_is_asked_of_a_connection_that_has_ended(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        await world.gateway.current()
        connection = await world.gateway.upstreams["one"].connected(Caller(LATEST))
        await connection.stop()
        with pytest.raises(Failed, match="it ended"):
            await connection.ask("prompts/list", {}, Caller(LATEST))

    scene(played, one=one)


def test_a_server_that_ends_is_not_started_again(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        await world.gateway.current()
        upstream = world.gateway.upstreams["one"]
        await upstream.stop()
        with pytest.raises(Failed, match="it is ending"):
            await upstream.connected(Caller(LATEST))
        assert world.servers["one"].connections == []

    scene(played, one=one)


def test_a_change_while_all_ends_begins_nothing_anew(scene: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        await world.gateway.current()
        upstream = world.gateway.upstreams["one"]
        stop = upstream.stop

        async def changed() -> None:
            world.configure(records={"keep_sessions": 7})
            assert world.gateway.follower.look() is None
            await stop()

        monkeypatch.setattr(upstream, "stop", changed)  # which the end of the scene calls

    scene(played, one=one)


@pytest.mark.parametrize("change", ["gone", "another command"])
def test_a_call_that_waits_for_a_server_that_is_changed_is_answered(change: str, scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client, server = await world.client(), world.servers["two"]
        server.may_start.clear()
        waiting = client.start_call("two:new")
        while not server.connections:
            await asyncio.sleep(0)
        if change == "gone":
            world.configure(servers={"two": {"enabled": False}})
        else:
            world.configure(servers={"two": {"env": {"A": "1"}}})
        assert await client.call("one:first") == "{}"
        server.may_start.set()
        assert ("disabled" if change == "gone" else "there is no tool") in text_of(await waiting)

    scene(played, one=one, two=two)


def test_a_call_that_is_taken_back_while_its_server_is_replaced_is_not_sent(scene: Play) -> None:
    async def played(world: World) -> None:
        world.configure()
        world.begin()
        client, server = await world.client(), world.servers["two"]
        await client.call("two:second")
        server.calls.clear()
        await server.connections[-1].stop()
        server.may_start.clear()
        client.start_call("two:second", id=900)
        world.configure(servers={"two": {"env": {"A": "1"}}})
        assert await client.call("one:first") == "{}"
        client.send(method="notifications/cancelled", params={"requestId": 900})
        await client.delivered()
        server.may_start.set()
        await client.call("two:second")
        assert len(server.calls) == 1

    scene(played, one=one, two=two)
