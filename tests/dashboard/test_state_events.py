"""What no journal has: approvals, tools, servers and sessions whose process has died, told by streams of events."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.config.settings import RecordSettings
from mcpctl.dashboard import event_feed, state_events
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import retention
from mcpctl.store.state import State
from tests.commands.approvals import waiting
from tests.configured import DEMO, READ, WRITE, configure, demo_tools, listed, pinned, stub
from tests.conftest import Mcpctl
from tests.dashboard.streams import Source, Streams, streams
from tests.recorded import CLAUDE, CURSOR, call, created, opened, session

HOLD = {"policy": {"on_change": "hold"}}


@pytest.fixture
def dashboard(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[Streams]:
    monkeypatch.setattr(state_events, "_EVERY_S", 0)
    with streams(paths) as begun:
        yield begun


def told(source: Source, *types: str) -> list[dict[str, Any]]:
    """The data of the next messages, which have these types and, since they are of no journal, no position."""
    messages = source.take(len(types))
    assert [each.data["type"] for each in messages] == list(types)
    assert [each.id for each in messages] == [None] * len(types)
    return [each.data["data"] for each in messages]


def put(path: Path, content: bytes) -> None:
    """Have the file hold this, at once: what is half written is looked at, too."""
    other = path.with_name(f"new-{path.name}")
    other.write_bytes(content)
    other.replace(path)


def reconfigure(paths: Paths, servers: Mapping[str, Any], **sections: Any) -> None:
    """Put another config.toml in the place of the one that is looked at."""
    put(paths.config, tomli_w.dumps({"servers": servers, **sections}).encode())


def test_an_approval_is_told_of_when_it_is_asked_for_and_when_it_is_answered(
    dashboard: Streams, paths: Paths, mcpctl: Mcpctl
) -> None:
    before = waiting.opened(paths, 1)
    source = dashboard.open("payloads=false")
    asked = waiting.opened(paths, 2)
    (requested,) = told(source, "approvals.requested")
    row = mcpctl("approvals", "show", asked.id, "--json").json
    assert requested == {name: value for name, value in row.items() if name != "arguments"}
    assert mcpctl("approvals", "deny", before.id).code == 0
    decided = source.next_of("approvals.decided")
    assert (decided.data["data"]["id"], decided.data["data"]["state"]) == (before.id, "denied")
    with PolicyFile.connect(paths) as file:
        assert approvals.answer(file, asked.id, scope="once", channel="client", used=True)
        assert approvals.open_for(file, waiting.wanted(3)).state == "pending"
    assert source.next_of("approvals.decided").data["data"]["state"] == "used"
    assert source.next_of("approvals.requested").data["data"]["state"] == "pending"


def test_a_yes_that_is_used_is_not_decided_again_and_what_nobody_answers_is(
    dashboard: Streams, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting.opened(paths, 1)
    source = dashboard.open()
    with PolicyFile.connect(paths) as file:
        (first,) = approvals.listed(file)
        assert approvals.answer(file, first.id, scope="once", channel="client")
        assert told(source, "approvals.decided")[0]["state"] == "allowed"
        assert approvals.open_for(file, waiting.wanted(1)).id == first.id, "which uses it"
        second = approvals.open_for(file, waiting.wanted(2))
    assert told(source, "approvals.requested")[0]["id"] == second.id
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + approvals.OPEN_S + 1)
    (expired,) = told(source, "approvals.decided")
    assert (expired["id"], expired["state"]) == (second.id, "expired")


def test_a_tool_that_changes_is_held_and_then_approved(
    dashboard: Streams, paths: Paths, mcpctl: Mcpctl, person: None
) -> None:
    configure(paths, {"files": stub()}, **HOLD)
    listed(paths, "files", [READ, WRITE])
    pinned(paths, "files")
    source = dashboard.open()
    listed(paths, "files", [{**READ, "description": "Reads a file, and mails it."}, WRITE])
    changed = [source.next_of(f"tools.{what}").data["data"] for what in ("changed", "held")]
    row = mcpctl("tools", "show", "files:read", "--json").json
    assert all(each.items() <= row.items() for each in changed)
    assert [each["held"] for each in changed] == ["changed"] * 2
    assert mcpctl("tools", "approve", "files:read", "--yes").code == 0
    (approved,) = told(source, "tools.approved")
    assert (approved["key"], approved["held"]) == ("files:read", None)


def test_tools_that_are_new_gone_or_held_no_more_are_changed(dashboard: Streams, paths: Paths) -> None:
    configure(paths, {"files": stub()}, **HOLD)
    listed(paths, "files", [READ, WRITE])
    pinned(paths, "files")
    source = dashboard.open()
    listed(paths, "files", [READ, {**WRITE, "name": "append"}])
    told(source, "servers.changed")
    new, _, gone = told(source, "tools.changed", "tools.held", "tools.changed")
    assert (new["key"], new["held"]) == ("files:append", "new")
    assert gone == {"key": "files:write", "server": "files", "tool": "write", "gone": True}
    reconfigure(paths, {"files": stub()}, policy={"on_change": "warn"})
    (released,) = told(source, "tools.changed")
    assert (released["key"], released["held"]) == ("files:append", None)


def test_servers_that_are_added_listed_fail_and_are_removed(dashboard: Streams, paths: Paths, mcpctl: Mcpctl) -> None:
    demo_tools(paths)
    source = dashboard.open()
    assert mcpctl("servers", "add", "files", "--", "true").code == 0
    assert told(source, "servers.changed") == [mcpctl("servers", "show", "files", "--json").json]
    listed(paths, "files", [READ])
    assert [row["tools"] for row in told(source, "servers.changed")] == [1]
    entry = config.load(paths.config).servers["files"]
    with State.connect(paths) as state:
        state.remember_failure("files", entry.fingerprint, "server 'files' did not start: it ended (exit 3)")
    assert [row["problem"] for row in told(source, "servers.changed")] == ["did not start: it ended (exit 3)"]
    assert mcpctl("servers", "disable", "notes").code == 0
    assert [(row["name"], row["enabled"]) for row in told(source, "servers.changed")] == [("notes", False)]
    assert mcpctl("servers", "rm", "files").code == 0
    assert told(source, "servers.changed") == [{"name": "files", "gone": True}]


def test_approvals_come_beside_what_is_asked_of_calls_where_that_is_asked(
    dashboard: Streams, paths: Paths, mcpctl: Mcpctl
) -> None:
    demo_tools(paths)
    source = dashboard.open("status=denied&approvals=true")
    assert mcpctl("servers", "disable", "notes").code == 0
    waiting.opened(paths, 1)
    assert len(told(source, "approvals.requested")) == 1


def test_a_session_whose_process_has_died_is_closed_once(dashboard: Streams, paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    source = dashboard.open(f"session_id={CLAUDE}")
    source.block()
    position = source.last_id
    journal.close()  # gives up the lock, as a death does
    (closed,) = told(source, "sessions.closed")
    assert (closed["session_id"], closed["status"]) == (CLAUDE, "closed")
    retention.tidy(paths, RecordSettings())  # as the next `serve` does: it is on record now
    (line,) = source.block()
    assert line == f"id: {source.last_id}"
    assert dashboard.open(f"session_id={CLAUDE}", last_id=position).next().data["type"] == "sessions.closed"


def test_a_session_that_ends_by_itself_is_closed_once(dashboard: Streams, paths: Paths) -> None:
    source = dashboard.open()
    session(paths, CLAUDE)
    session(paths, CURSOR, 10)
    messages = source.take(4)
    assert [each.data["type"] for each in messages] == ["sessions.created", "sessions.closed"] * 2
    assert all(each.id for each in messages)


def test_what_is_asked_of_calls_leaves_only_calls(dashboard: Streams, paths: Paths) -> None:
    filtered, whole = dashboard.open("server=weather"), dashboard.open()
    waiting.opened(paths)
    told(whole, "approvals.requested")
    journal = opened(paths, created(), call(1, 1))
    assert filtered.next().data["type"] == "calls.started"
    journal.close()


@pytest.mark.parametrize("name", ["policy.db", "state.db", "config.toml"])
def test_a_file_that_cannot_be_read_stops_nothing(dashboard: Streams, paths: Paths, name: str) -> None:
    demo_tools(paths, {**DEMO, "files": stub()})
    waiting.opened(paths)
    source = dashboard.open()
    path = paths.config if name == "config.toml" else paths.data / name
    kept = path.read_bytes()
    put(path, b"\x00broken" * 1000)
    session(paths)
    assert [each.data["type"] for each in source.take(2)] == ["sessions.created", "sessions.closed"]
    put(path, kept)
    reconfigure(paths, DEMO)
    assert told(source, "servers.changed") == [{"name": "files", "gone": True}]


def test_whoever_does_not_take_what_cannot_be_read_later_is_ended(
    dashboard: Streams, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "_MOST_OWED", 2000)
    slow, quick = dashboard.open(), dashboard.open()
    slow.block()
    slow.stall()
    for number in range(8):
        waiting.opened(paths, number)
        told(quick, "approvals.requested")
    assert dashboard.dashboard.feed._listeners[0].outlet.is_ended
    slow.go_on()
    slow.wait_for_end()
