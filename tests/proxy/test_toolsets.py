"""With a toolset in force: the tools that a model sees and may call, and their record."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_snapshot.plugin import Snapshot

from mcpctl.base import files
from mcpctl.base.paths import Paths
from mcpctl.toolsets.in_force import ToolsetsInForce
from tests.configured import configure, listed, noted, overridden, reference, stub, toolset
from tests.conftest import Mcpctl
from tests.proxy.client import LATEST, MODERN, Client, journal_lines
from tests.proxy.conftest import BOTH, Serve
from tests.proxy.in_memory import MemoryServer, World, play, tool
from tests.servers import command

pytestmark = [pytest.mark.process, BOTH]

SERVERS = {"counter": command("counter"), "strict": command("strict")}
NOTES = [noted("counter:echo", **{"team-rule": "Ask the zookeeper first."})]
NOTED = "Returns its arguments.\n\n### Additional Tool Notes\n\n• **team-rule**: Ask the zookeeper first."


@pytest.fixture
def served(paths: Paths, serve: Serve) -> Any:
    """Starts `mcpctl serve` with options on two servers, with a tool that only reads and one that says nothing."""
    configure(paths, {name: {"command": words[0], "args": words[1:]} for name, words in SERVERS.items()})

    def start(*options: str, revision: str = LATEST) -> Client:
        return serve(options=options, revision=revision)

    return start


def result(client: Client, key: str, **more: Any) -> dict[str, Any]:
    """The answer of a search for a key."""
    (found,) = [entry for entry in client.discover(key, **more)["results"] if entry["toolKey"] == key]
    assert isinstance(found, dict)
    return found


def keys(client: Client, query: str) -> list[str]:
    return [entry["toolKey"] for entry in client.discover(query)["results"]]


def calls(home: Path) -> list[dict[str, Any]]:
    return [line for line in journal_lines(home) if line["type"] == "calls.started"]


# ---- what a model sees


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_model_sees_the_notes_the_title_and_the_hints_of_the_toolset(
    served: Any, paths: Paths, revision: str
) -> None:
    overrides = [overridden("counter:echo", "Echo, carefully", readOnlyHint=False, destructiveHint=True)]
    toolset(paths, "triage", "counter:echo", "counter:count", toolNotes=NOTES, toolOverrides=overrides)
    client = served("--toolset", "triage", revision=revision)
    answer = client.tool("tool_discovery", {"query": ["counter:echo"]}).json["result"]
    content = answer["structuredContent"]
    assert json.loads(answer["content"][0]["text"]) == content
    echo = content["results"][0]
    assert (echo["description"], echo["title"]) == (NOTED, "Echo, carefully")
    assert echo["annotations"] == {"readOnlyHint": False, "destructiveHint": True}
    assert result(client, "counter:count")["annotations"] == {"readOnlyHint": True}
    assert result(client, "counter:echo")["description"] == NOTED
    assert {key.partition(":")[0] for key in keys(client, "anything strict wants")} <= {"counter"}
    assert "executeWith" not in echo


def test_a_tool_is_found_by_its_notes_and_they_are_never_cut(home: Path, served: Any, paths: Paths) -> None:
    configure(paths, {"s": stub()}, search={"answer_tokens": 300})
    long = "A very long description. " * 200
    listed(paths, "s", [{"name": f"t{n}", "description": long, "inputSchema": {"type": "object"}} for n in range(9)])
    note = "Never without the zookeeper. " * 10
    toolset(paths, "zoo", *(f"s:t{n}" for n in range(9)), toolNotes=[noted("s:t7", rule=note)])
    client = served("--toolset", "zoo")
    found = client.discover("zookeeper")["results"]
    assert found[0]["toolKey"] == "s:t7"
    assert found[0]["description"].endswith(f"### Additional Tool Notes\n\n• **rule**: {note}")
    wide = {entry["toolKey"]: entry for entry in client.discover("very long description", "t7")["results"]}
    assert note in wide["s:t7"]["description"]


def test_a_tool_that_is_not_in_it_is_neither_found_nor_called(home: Path, served: Any, paths: Paths) -> None:
    toolset(paths, "triage", "counter:count")
    client = served("--toolset", "triage")
    found = client.discover("counter:echo")
    assert "counter:echo" not in [entry["toolKey"] for entry in found["results"]]
    assert "Not in the toolset in force, 'triage': counter:echo." in found["notice"]
    for key in ("counter:echo", "counter:nothing", "strict:anything"):
        refused = client.call(key, {})
        assert refused.is_error
        assert f"tool '{key}' is not in the toolset 'triage'" in refused.text
    assert not client.call("counter:count").is_error
    client.close()
    lines = journal_lines(home)
    finished = {line["id"]: line for line in lines if line["type"] == "calls.finished"}
    started = [line for line in lines if line["type"] == "calls.started"]
    assert [finished[line["id"]]["status"] for line in started] == ["denied"] * 3 + ["ok"]
    assert {line["toolset"] for line in started} == {"triage"}
    assert [line["toolset"] for line in lines if line["type"] == "sessions.created"] == ["triage"]


@pytest.mark.slow
def test_a_toolset_of_hashes_alone_permits_what_they_are_of(mcpctl: Mcpctl, served: Any, paths: Paths) -> None:
    assert mcpctl("tools", "refresh").code == 0
    mcpctl("toolsets", "build", "triage", "counter:echo")
    path = paths.toolsets / "triage.json"
    made = json.loads(path.read_text(encoding="utf-8"))
    del made["tools"][0]["namespacedName"]
    path.write_text(json.dumps(made), encoding="utf-8")
    paths.state.unlink()
    client = served("--toolset", "triage")
    assert not client.call("counter:echo", {}).is_error
    assert "is not in the toolset" in client.call("counter:count").text
    assert keys(client, "counter:echo") == ["counter:echo"]


# ---- what changes meanwhile


@pytest.mark.usefixtures("person")
def test_a_running_serve_follows_what_is_equipped_and_what_its_file_says(
    home: Path, mcpctl: Mcpctl, served: Any, paths: Paths
) -> None:
    toolset(paths, "triage", "counter:echo")
    client = served()
    assert result(client, "counter:count")
    mcpctl("toolsets", "equip", "triage")
    assert "counter:count" not in keys(client, "counter:count")
    assert "is not in the toolset" in client.call("counter:count").text
    mcpctl("annotate", "add", "counter:echo", "team-rule", "Ask the zookeeper first.")
    assert result(client, "counter:echo")["description"] == NOTED
    assert keys(client, "zookeeper") == ["counter:echo"]
    mcpctl("toolsets", "add", "triage", "counter:count")
    assert not client.call("counter:count").is_error
    mcpctl("toolsets", "unequip")
    assert result(client, "counter:echo")["description"] == "Returns its arguments."
    assert not client.call("counter:count").is_error
    client.close()
    assert [line["toolset"] for line in calls(home)] == ["triage", "triage", None]


def test_a_file_that_breaks_counts_as_it_was_and_is_said_to(served: Any, paths: Paths) -> None:
    path = toolset(paths, "triage", "counter:echo", toolNotes=NOTES)
    client = served("--toolset", "triage")
    assert result(client, "counter:echo")["description"] == NOTED
    good = path.read_bytes()
    for broken in (b"{", None):
        path.write_bytes(broken) if broken else path.unlink()
        found = client.discover("counter:echo")
        assert "it applies as it was last read" in found["notice"]
        assert found["results"][0]["description"] == NOTED
        assert not client.call("counter:echo", {}).is_error
        assert "is not in the toolset" in client.call("counter:count").text
        path.write_bytes(good)
        assert "notice" not in client.discover("counter:echo")
    assert client.stderr.count("it applies as it was last read") == 2


def test_one_that_is_equipped_and_never_was_readable_holds_no_tool(mcpctl: Mcpctl, served: Any, paths: Paths) -> None:
    path = toolset(paths, "triage", "counter:echo")
    mcpctl("toolsets", "equip", "triage")
    path.write_text("{", encoding="utf-8")
    client = served()
    found = client.discover("counter:echo")
    assert found["results"] == []
    assert "no tool can be found or called" in found["notice"]
    assert client.call("counter:echo", {}).is_error


@pytest.mark.parametrize(("name", "code"), [("nothing", 3), ("./nothing.json", 3), ("Bad", 2)])
def test_one_that_was_named_and_is_not_there_stops_serve_before_it_begins(
    mcpctl: Mcpctl, paths: Paths, name: str, code: int
) -> None:
    assert mcpctl("serve", "--toolset", name).code == code


@pytest.mark.slow
def test_two_clients_may_have_one_each(served: Any, paths: Paths) -> None:
    toolset(paths, "one", "counter:echo")
    toolset(paths, "two", "counter:count")
    one, two = served("--toolset", "one"), served("--toolset", "two")
    assert (keys(one, "counter"), keys(two, "counter")) == (["counter:echo"], ["counter:count"])


# ---- what is on record


def test_a_call_records_the_hints_of_its_moment(home: Path, mcpctl: Mcpctl, served: Any, paths: Paths) -> None:
    toolset(paths, "triage", "counter:count", "counter:echo")
    mcpctl("toolsets", "equip", "triage")
    client = served()
    client.call("counter:count")
    mcpctl("annotate", "set", "counter:count", "--no-read-only", "--open-world")
    client.call("counter:count")
    client.call("counter:echo", {})
    client.close()
    declared = {"readOnlyHint": {"value": True, "source": "declared"}}
    overridden_ = {
        "readOnlyHint": {"value": False, "source": "override"},
        "openWorldHint": {"value": True, "source": "override"},
    }
    assert [line["annotations"] for line in calls(home)] == [declared, overridden_, None]
    assert [row["annotations"] for row in mcpctl("calls", "ls", "--json").json] == [None, overridden_, declared]
    assert mcpctl("calls", "ls", "--fields", "annotations").out.splitlines() == ["----", "r*--O*", "R---"]


# ---- a tool each for what reads, writes and destroys

EXECUTES = ["tool_execute_read", "tool_execute_write", "tool_execute_destructive"]


def test_split_execute_offers_three_in_place_of_one(served: Any, snapshot: Snapshot) -> None:
    client = served("--split-execute", "--allow-annotate")
    listed_ = client.ask("tools/list").json["result"]["tools"]
    assert [tool["name"] for tool in listed_] == ["tool_discovery", *EXECUTES, "add-tool-annotation"]
    snapshot.snapshot_dir = Path(__file__).parent / "snapshots"
    snapshot.assert_match(json.dumps(listed_, indent=2, ensure_ascii=False) + "\n", "tools-list-split.json")
    assert "outputSchema" not in listed_[1]
    assert all(name in listed_[0]["description"] for name in EXECUTES)
    told = client.tool("tool_execute", {"toolKey": "counter:count"}).json["error"]
    assert all(name in told["data"] for name in EXECUTES)


@pytest.mark.slow
def test_each_calls_its_own_kind_and_names_the_right_one_for_others(home: Path, served: Any, paths: Paths) -> None:
    keys_ = ["counter:count", "counter:echo"]
    toolset(paths, "mine", *keys_, toolOverrides=[overridden("counter:echo", destructiveHint=False)])
    for options, right in (((), EXECUTES[2]), (("--toolset", "mine"), EXECUTES[1])):
        client = served("--split-execute", *options)
        kinds = {"counter:count": EXECUTES[0], "counter:echo": right}
        for key, kind in kinds.items():
            for name in EXECUTES:
                answer = client.tool(name, {"toolKey": key, "arguments": {}})
                assert answer.is_error == (name != kind)
                assert name == kind or f"is not called with {name} but with {kind}" in answer.text
            for detail in ("auto", "names", "full"):
                assert result(client, key, detail=detail)["executeWith"] == kind
        client.close()


def test_what_a_file_of_others_loosens_is_shown_and_permits_nothing(served: Any, paths: Paths, tmp_path: Path) -> None:
    overrides = [overridden("counter:echo", readOnlyHint=True), overridden("counter:count", destructiveHint=True)]
    path = toolset(paths, "theirs", "counter:echo", "counter:count", path=tmp_path / "t.json", toolOverrides=overrides)
    client = served("--split-execute", "--toolset", str(path))
    echo = result(client, "counter:echo")
    assert (echo["annotations"], echo["executeWith"]) == ({"readOnlyHint": True}, EXECUTES[2])
    assert result(client, "counter:count")["executeWith"] == EXECUTES[2]
    assert client.tool(EXECUTES[0], {"toolKey": "counter:echo", "arguments": {}}).is_error


def test_a_tool_that_cannot_be_known_counts_as_destructive(served: Any, paths: Paths) -> None:
    configure(paths, {"raw": command_table("raw", "no-list")})
    client = served("--split-execute")
    refused = client.tool(EXECUTES[0], {"toolKey": "raw:anything", "arguments": {}})
    assert refused.is_error


def command_table(name: str, *arguments: str) -> dict[str, Any]:
    words = command(name, *arguments)
    return {"command": words[0], "args": words[1:]}


# ---- notes that models add


def annotate(client: Client, ref: dict[str, Any], **notes: str) -> Any:
    given = [{"name": name, "note": text} for name, text in notes.items()]
    return client.tool("add-tool-annotation", {"toolRef": ref, "notes": given})


@pytest.mark.parametrize("revision", [LATEST, MODERN])
def test_a_model_may_add_notes_where_it_is_allowed(served: Any, paths: Paths, revision: str) -> None:
    path = toolset(paths, "triage", "counter:echo", toolNotes=NOTES)
    client = served("--toolset", "triage", "--allow-annotate", revision=revision)
    assert [tool["name"] for tool in client.ask("tools/list").json["result"]["tools"]][2:] == ["add-tool-annotation"]
    client.discover("echo")
    answer = annotate(client, reference("counter:echo"), **{"team-rule": "Other.", "new": "Zebras too."})
    content = answer.json["result"]["structuredContent"]
    assert content["addedNotes"] == [{"name": "new", "note": "Zebras too."}]
    assert content["skippedNotes"] == ["team-rule"]
    assert json.loads(answer.text) == content
    assert result(client, "counter:echo")["description"] == f"{NOTED}\n• **new**: Zebras too."
    by_hash = annotate(client, {"refId": content["tool"]["refId"]}, more="By its hash.")
    assert not by_hash.is_error
    saved = json.loads(path.read_text(encoding="utf-8"))["toolNotes"][0]["notes"]
    assert [note["name"] for note in saved] == ["team-rule", "new", "more"]


def test_what_a_model_may_not_add_is_refused_in_words(served: Any, paths: Paths) -> None:
    path = toolset(paths, "triage", "counter:echo")
    before = path.read_bytes()
    client = served("--toolset", "triage", "--allow-annotate")
    client.discover("echo")
    refusals = {
        "is not in the toolset": annotate(client, reference("counter:count"), ok="x"),
        "no tool 'counter:ecko'": annotate(client, reference("counter:ecko"), ok="x"),
        "no tool has the refId": annotate(client, {"refId": "0" * 64}, ok="x"),
        "cannot name a note": annotate(client, reference("counter:echo"), BAD="x"),
        "is too long": annotate(client, reference("counter:echo"), ok="x" * 501),
        "0 notes at once": annotate(client, reference("counter:echo")),
        "another form": client.tool("add-tool-annotation", {"toolRef": 7}),
    }
    for told, answer in refusals.items():
        assert answer.is_error
        assert told in answer.text
    assert path.read_bytes() == before
    assert (
        "no toolset is equipped"
        in annotate(served("--allow-annotate", "--toolset", "none"), reference("counter:echo"), ok="x").text
    )


def test_a_model_may_not_add_notes_by_default(served: Any, paths: Paths) -> None:
    toolset(paths, "triage", "counter:echo")
    answer = annotate(served("--toolset", "triage"), reference("counter:echo"), ok="x")
    assert answer.json["error"]["code"] == -32602


# ---- in process


def test_what_is_in_force_is_looked_up_without_reading_what_has_not_changed(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcpctl.config.config import Config
    from mcpctl.store.state import State

    path = toolset(paths, "triage", "a:b")
    with State.opened(paths, create=True) as state:
        followed, config = ToolsetsInForce(paths, "triage", state), Config(paths.config)
        first = followed.of(config).toolset
        assert first
        followed.look()
        assert not followed.outdated
        os.utime(path)
        followed.look()
        assert followed.of(config).toolset is first
        followed.read()
        assert followed.of(config).toolset is not first


def test_the_equipped_toolset_is_asked_for_again_only_after_somebody_has_written_or_may_just_have(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcpctl.config.config import Config
    from mcpctl.store.state import State

    toolset(paths, "triage", "a:b")
    asked: list[str | None] = []
    ask = State.equipped

    def counted(state: State) -> str | None:
        asked.append(ask(state))
        return asked[-1]

    monkeypatch.setattr(State, "equipped", counted)

    def equip(name: str | None, written_s: float) -> None:
        """Have another process write it so long ago."""
        with State.connect(paths) as other:
            other.equip(name)
        assert log
        written = time.time() - written_s
        os.utime(log, (written, written))

    def is_another() -> bool:
        return any(files.stamp(path) != stamp for path, stamp in followed.stamps) and followed.look()

    with State.opened(paths, create=True) as state:
        followed, config, log = ToolsetsInForce(paths, None, state), Config(paths.config), state.log
        equip(None, 100)
        assert followed.of(config).toolset is None
        assert not is_another()
        assert asked == [None]
        equip("triage", 50)
        assert is_another()
        assert followed.of(config).toolset
        assert not is_another()
        assert asked == [None, "triage"]
        equip(None, 0)
        assert is_another()
        assert not is_another()
        assert asked == [None, "triage", None, None]


def test_an_equipped_toolset_of_a_database_without_a_file_is_asked_for_at_every_look(paths: Paths) -> None:
    from mcpctl.config.config import Config
    from mcpctl.store.state import State

    toolset(paths, "triage", "a:b")
    with State.opened(paths) as state:
        followed, config = ToolsetsInForce(paths, None, state), Config(paths.config)
        assert state.log is None
        assert followed.of(config).toolset is None
        state.equip("triage")
        assert any(files.stamp(path) != stamp for path, stamp in followed.stamps)
        assert followed.look()
        assert followed.of(config).toolset


def test_a_call_that_is_refused_is_on_record_with_the_toolset_of_its_own_project(home: Path, paths: Paths) -> None:
    async def played(world: World) -> None:
        toolset(paths, "ta", "files:read")
        toolset(paths, "tb", "files:read")
        world.configure(projects={name: {"toolset": f"t{name}"} for name in "ab"})
        world.begin()
        client = await world.client()
        await client.call("files:read", _meta={"projectId": "a"})
        odd = await client.start_call("files:read", _meta={"projectId": "b"}, inputResponses=[1])
        assert "must be an object" in odd["error"]["message"]
        await client.start_call("files:read", _meta={"projectId": "a"}, inputResponses=[1])

    play(home, paths, played, files=lambda: MemoryServer(tool("read")))
    started = [line for line in journal_lines(home) if line["type"] == "calls.started"]
    assert [(line["project"], line["toolset"]) for line in started] == [("a", "ta"), ("b", "tb"), ("a", "ta")]
