"""Every list that is read in PostgreSQL is the list that is read on disk."""

from collections.abc import Iterator
from typing import Any

import pytest

from mcpctl.base.fields import CALL_FIELDS
from mcpctl.base.models import Found
from mcpctl.base.paths import Paths
from mcpctl.store import statistics
from mcpctl.store.filters import CallFilter
from mcpctl.store.followed_searches import Taught
from mcpctl.store.postgres import events
from mcpctl.store.records import LocalRecords, Records
from tests.postgres import Cluster, shipped
from tests.recorded import (
    CLAUDE,
    at,
    call,
    call_id,
    created,
    decided,
    hints,
    opened,
    raw,
    searched,
    session,
    started,
    two_sessions,
    was_read,
)
from tests.store.test_text_search import FOUND, NOT_FOUND

pytestmark = [pytest.mark.process, pytest.mark.slow]
OTHER, KILLED = "3e551015-0000-4000-8000-000000000000", "4e551015-0000-4000-8000-000000000000"
MADE = (*CALL_FIELDS, "key", "consent", "arguments_line")
WINDOW = 3, 1
FILTERS = (
    CallFilter(),
    CallFilter(sessions=(CLAUDE, OTHER)),
    CallFilter(servers=("notes", "weather")),
    CallFilter(tools=("get_*",)),
    CallFilter(tools=("weather:*", "notes.add_note", "list_notes", "notes:l?st_notes", "[a]_%")),
    CallFilter(statuses=("ok",)),
    CallFilter(statuses=("failed", "tool_error", "denied")),
    CallFilter(statuses=("running",)),
    CallFilter(statuses=("interrupted",)),
    CallFilter(projects=("acme", "other")),
    CallFilter(clients=("cursor",)),
    CallFilter(hints=("read-only",)),
    CallFilter(hints=("no-destructive", "undeclared")),
    CallFilter(since=at(3), until=at(33)),
    CallFilter(errors=("line # of #",)),
    CallFilter(codes=("not_permitted", "-32602")),
    CallFilter(codes=("no-not_permitted",)),
    CallFilter(http_statuses=("4xx", "503")),
    CallFilter(redacted=True),
    CallFilter(grep="OSLO"),
    CallFilter(grep="straße"),
    CallFilter(grep='"'),
    CallFilter(grep="ÄR"),
    CallFilter(arguments=(("city", "Oslo"),)),
    CallFilter(arguments=(("a.b", "7"),)),
    CallFilter(arguments=(("a.c", '["x"]'),)),
    CallFilter(arguments=(("a.none", "null"),)),
    CallFilter(min_duration_ms=5),
    CallFilter(parents=(call_id(8),)),
    CallFilter(before=call_id(4)),
)


@pytest.fixture
def everything(paths: Paths, store: str) -> Iterator[tuple[Records, Records]]:
    """Records with all kinds of lines, as they are on disk and in PostgreSQL."""
    two_sessions(paths)
    of_other: dict[str, Any] = {"session": OTHER, "project": "acme"}
    odd = {
        "a": {"b": 7, "c": ["x"], "none": None},
        "text": 'Ärger in der Straße, "so" \\ [redacted:1a2b3c4d]',
        "z": "\0",
    }
    error = {"code": -32602, "message": "line 7 of 12"}
    session(paths, OTHER, 30, [
        *call(7, 31, **of_other, arguments=raw(odd), status="failed", error=raw(error)),
        *call(8, 32, **of_other, status="input_required", annotations=hints(True, None, False, None)),
        *call(9, 33, **of_other, parent_id=call_id(8), token_id="t0ken", transport="http", duration_ms=1 << 40),
        *call(1000, 34, **of_other, tool="[a]_%b", http=raw({"method": "GET", "path": "/a"}), http_status=404),
        searched(3, 34.5, OTHER, project="acme"),
        *call(1001, 34.6, **of_other, arguments=raw("cut: {\"city\": \"Os"), status="cancelled"),
        was_read(1, 35, OTHER), was_read(2, 36, OTHER, status="failed", error=raw({"code": "unknown_resource"})),
        decided(call_id(7), "asked", session_id=OTHER, id="d1"),
        decided(call_id(7), "approved", session_id=OTHER, id="d2", channel="terminal", person="anna"),
        decided(call_id(9), "allowed", session_id=OTHER, id="d3", channel="grant", scope="session"),
        decided(None, "denied", session_id=OTHER, id="d4"),
        *call(9, 33, **of_other),  # written again
        started(1002, 37, OTHER),
    ])  # fmt: skip
    opened(paths, created(KILLED, 40), [started(1003, 41, KILLED)]).close()
    opened(paths, created("5e551015-0000-4000-8000-000000000000", 42, via="cli"), call(1004, 43)).close()
    with shipped(paths, store) as there, LocalRecords(paths) as here:
        yield here, there


def plain(value: Any) -> Any:
    """All that is in it, without the machine, which only PostgreSQL has."""
    if isinstance(value, Found):
        return [plain(row) for row in value.rows(None, 0)]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if name != "machine"}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def test_every_list_is_the_same_for_every_filter(everything: tuple[Records, Records]) -> None:
    here, there = everything
    for wanted in FILTERS:
        for name in ("sessions", "calls", "discoveries", "reads", "decisions_made", "errors", "overheads"):
            ours, theirs = getattr(here, name)(wanted), getattr(there, name)(wanted)
            assert plain(theirs) == plain(ours), (name, wanted)
            assert theirs.count() == ours.count(), (name, wanted)
            assert plain(list(theirs.rows(*WINDOW))) == plain(list(ours.rows(*WINDOW))), (name, wanted)


def test_every_total_is_the_same_for_every_filter(everything: tuple[Records, Records]) -> None:
    here, there = everything
    groups = [(), *((group,) for group in statistics.GROUPS), ("server", "tool")]
    for wanted in FILTERS:
        for by in groups:
            for of_reads in (False, True):
                ours = here.totals(*by, criteria=wanted, of_reads=of_reads)
                assert there.totals(*by, criteria=wanted, of_reads=of_reads) == ours, (by, wanted)
        assert there.counted(("server", "status"), wanted) == here.counted(("server", "status"), wanted)


def test_single_things_names_and_use_are_the_same(everything: tuple[Records, Records]) -> None:
    here, there = everything
    for sort in ("duration_ms", "total_tokens", "response_bytes"):
        assert plain(there.calls(fields=MADE, sort=sort)) == plain(here.calls(fields=MADE, sort=sort))
    for row in here.sessions().rows(None, 0):
        assert plain(there.session(row["id"])) == plain(here.session(row["id"]))
        assert plain(there.timeline(row["id"], MADE)) == plain(here.timeline(row["id"], MADE))
        assert there.client_of(row["id"]) == here.client_of(row["id"])
    for row in here.calls().rows(None, 0):
        assert plain(there.call(row["id"])) == plain(here.call(row["id"]))
    for noun in ("server", "tool", "client", "project"):
        assert set(there.names(noun)) == set(here.names(noun))
    for records in everything:
        assert (records.session_id("last"), records.call_id("last"), records.last_shortened()) == (
            here.session_id("last"), here.call_id("last"), here.last_shortened(),
        )  # fmt: skip
    assert plain(list(there.newest_calls("6"))) == plain(list(here.newest_calls("6")))
    assert plain(list(there.newest_sessions())) == plain(list(here.newest_sessions()))
    assert there.usage() == here.usage()
    assert there.health(at(0)) == here.health(at(0))
    assert there.followed_searches() == here.followed_searches()
    taught = Taught(None, "", 2_000, 20_000)
    assert there.followed_searches(taught=taught) == here.followed_searches(taught=taught)


def test_rows_there_have_the_machine_and_the_token(everything: tuple[Records, Records]) -> None:
    _, there = everything
    for found in (there.sessions(), there.calls(), there.discoveries(), there.reads(), there.decisions()):
        for row in found.rows(None, 0):
            assert row["machine"] == "here"
            assert "token_id" in row


def test_a_text_is_found_however_it_is_escaped(cluster: Cluster, store: str) -> None:
    from mcpctl.store import text_search
    from mcpctl.store.postgres.connection import PostgresUrl
    from mcpctl.store.postgres.records import PostgresDatabase

    db = PostgresDatabase(PostgresUrl(store))
    for is_found, table in ((True, FOUND), (False, NOT_FOUND)):
        for text, every in table.items():
            condition, *values = text_search.having_text("told.json", text, db.dialect)
            for json in every:
                told = '(SELECT CAST(? AS text) COLLATE "C" AS json) AS told'
                rows = db.execute(f"SELECT 1 FROM {told} WHERE {condition}", (json, *values)).fetchall()
                assert bool(rows) == is_found, (text, json)
    db.close()


def told(records: Records, wanted: CallFilter, **where: Any) -> list[Any]:
    """The events from the start, or so many of the newest: each with all that it has."""
    return [(event.type, plain(event.data), event.timestamp) for event in records.events(wanted, **where).read()]


def test_events_are_the_same_from_the_start(
    everything: tuple[Records, Records], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = everything
    for at_once in (1000, 3):
        monkeypatch.setattr("mcpctl.store.postgres.events._AT_ONCE", at_once)
        monkeypatch.setattr("mcpctl.store.postgres.events._LINES", events._LINES.replace("1000", str(at_once)))
        for wanted in FILTERS[:-1]:
            assert sorted(map(repr, told(there, wanted, since="start"))) == sorted(
                map(repr, told(here, wanted, since="start"))
            ), wanted


def test_events_go_on_after_a_restart_and_each_comes_once(paths: Paths, store: str) -> None:
    two_sessions(paths)
    with shipped(paths, store) as there:
        stream = there.events(since="start")
        first = [event.type for event in stream.read()]
        position = stream.position()
        for number in (1, 4, 9, 100):
            assert [event.type for event in there.events(newest=number).read()] == first[-number:]
    session(paths, OTHER, 30, call(7, 31, OTHER))
    with shipped(paths, store) as there:
        later = [event.type for event in there.events(since=position).read()]
        assert [event.type for event in there.events(since="start").read()] == first + later
    assert later == ["sessions.created", "calls.started", "calls.finished", "sessions.updated", "sessions.closed"]
