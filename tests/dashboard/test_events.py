"""Events as streams: the lines of `calls tail`, each once, whoever ends or begins anew in between."""

import os
from collections.abc import Iterator

import pytest

from mcpctl.base.fields import CALL_PAYLOADS
from mcpctl.base.paths import Paths
from mcpctl.dashboard import event_feed, streaming
from mcpctl.dashboard.running import Login
from mcpctl.store import journal_lines
from tests.conftest import Mcpctl
from tests.dashboard.streams import PATIENCE_S, Streams, Told, streams
from tests.recorded import CURSOR, call, call_id, closed, created, opened, session, two_sessions

OTHER = Login(may_answer=False, form_token="other")


@pytest.fixture
def dashboard(paths: Paths) -> Iterator[Streams]:
    with streams(paths) as begun:
        yield begun


def of_tail(mcpctl: Mcpctl, since: str) -> list[Told]:
    """What `calls tail` prints, as messages."""
    lines = mcpctl("calls", "tail", "--json", "--since-position", since).jsonl
    return [Told(line.pop("position"), line) for line in lines]


def types(told: list[Told]) -> list[str]:
    return [each.data["type"] for each in told]


def test_a_stream_has_the_lines_of_calls_tail(dashboard: Streams, paths: Paths, mcpctl: Mcpctl) -> None:
    two_sessions(paths)
    whole = of_tail(mcpctl, "start")
    assert len(whole) == 24
    source = dashboard.open("since=start")
    assert (source.status, source.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert source.block()[0] == "retry: 3000"
    assert source.take(len(whole)) == whole


@pytest.mark.slow
def test_whoever_goes_on_after_any_event_gets_the_rest_once(paths: Paths, mcpctl: Mcpctl) -> None:
    two_sessions(paths)
    with streams(paths) as dashboard:
        whole = dashboard.open("since=start").take(24)
    with streams(paths) as dashboard:
        for number, told in enumerate(whole, 1):
            assert told.id
            source = dashboard.open("since=start", last_id=told.id)  # as a browser does: the address stays
            assert source.take(24 - number) == whole[number:]
            assert of_tail(mcpctl, told.id) == whole[number:]
            source.leave()
        journal = opened(paths, created("marked"))
        source = dashboard.open(last_id=whole[-1].id or "")
        assert source.next().data["data"]["session_id"] == "marked"
        journal.close()


def test_what_came_while_there_was_no_dashboard_is_told_though_nothing_was_before(paths: Paths) -> None:
    two_sessions(paths)
    with streams(paths) as dashboard:
        source = dashboard.open()
        source.block()
    journal = opened(paths, created("later"), call("later", 1, "later"))
    with streams(paths) as dashboard:
        resumed = dashboard.open(last_id=source.last_id)
        assert types(resumed.take(4)) == ["sessions.created", "calls.started", "calls.finished", "sessions.updated"]
    journal.close()


def test_events_come_as_they_happen_and_once(dashboard: Streams, paths: Paths) -> None:
    first, second = dashboard.open(), dashboard.open("payloads=false")
    journal = opened(paths, created())
    assert types([first.next(), second.next()]) == ["sessions.created"] * 2
    for line in call(1, 1):
        journal.append(journal_lines.encode(line))
        assert first.next().data["timestamp"] == line.timestamp
    journal.close(journal_lines.encode(closed()))
    assert types(first.take(2)) == ["sessions.updated", "sessions.closed"]
    started, finished, *_ = (told.data["data"] for told in second.take(4))
    assert (finished["id"], finished["status"]) == (call_id(1), "ok")
    assert not {*CALL_PAYLOADS} & {*started, *finished}


def test_a_journal_that_is_gone_unread_is_a_reset(dashboard: Streams, paths: Paths) -> None:
    journal = opened(paths, created(), call(1, 1))
    source = dashboard.open("since=start")
    position = source.next().id
    source.leave()
    journal.close()
    journal.path.unlink()
    assert dashboard.open(last_id=position or "").next().data["type"] == "reset"
    for nonsense in ("x", "AAAA", "%E2%82%AC"):
        assert dashboard.open(f"since={nonsense}", login=OTHER).next().data["type"] == "reset"


def test_filters_are_those_of_calls_tail(dashboard: Streams, paths: Paths, mcpctl: Mcpctl) -> None:
    two_sessions(paths)
    options = {
        f"session_id={CURSOR}": ["--session", CURSOR],
        "session_id=last&client=cursor": ["--session", "last", "--client", "cursor"],
        "server=notes": ["--server", "notes"],
        "tool=get_*": ["--tool", "get_*"],
        "failed=true": ["--failed"],
        "status=denied&status=tool_error": ["--status", "denied,tool_error"],
    }
    for query, given in options.items():
        lines = mcpctl("calls", "tail", "--json", "--since-position", "start", *given).jsonl
        source = dashboard.open(f"since=start&{query}")
        assert [told.data["data"] for told in source.take(len(lines))] == [line["data"] for line in lines], query
        source.leave()


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("session_id=nobody", 404, "session_not_found"),
        ("status=odd", 400, "usage"),
        ("server=", 400, "usage"),
        ("grep=", 400, "usage"),
    ],
)
def test_what_cannot_be_meant_is_refused(dashboard: Streams, paths: Paths, query: str, status: int, code: str) -> None:
    session(paths)
    refused = dashboard.open(query)
    assert (refused.status, refused.body()["error"]["code"]) == (status, code)


@pytest.mark.slow
def test_whoever_reads_slowly_is_read_for_slowly_and_loses_nothing(
    dashboard: Streams, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "_AT_ONCE", 5000)
    slow, quick = dashboard.open(), dashboard.open()
    slow.block()
    slow.stall()
    before = slow.sent
    journal = opened(paths, created())
    for number in range(200):
        journal.append(b"".join(map(journal_lines.encode, call(f"call {number}", 1))))
    whole = quick.take(601)
    waiting = dashboard.dashboard.feed._listeners[0]
    assert slow.sent == before, "it has taken nothing"
    assert waiting.is_behind
    assert len(b"".join(vars(waiting.outlet._blocks)["_queue"])) < 8000
    slow.go_on()
    assert slow.take(601) == whole
    journal.close()


def test_a_fifth_stream_of_a_login_is_refused_until_one_of_them_leaves(
    dashboard: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_ = [dashboard.open() for _ in range(event_feed.MOST_OF_LOGIN)]
    fifth = dashboard.open()
    assert (fifth.status, fifth.headers["retry-after"]) == (503, "30")
    assert fifth.body()["error"]["code"] == "too_many_streams"
    assert dashboard.open(login=OTHER).status == 200
    first.leave()
    assert dashboard.open().status == 200
    monkeypatch.setattr(event_feed, "MOST", 5)
    assert dashboard.open(login=OTHER).status == 503


def test_while_nobody_listens_nothing_is_read(dashboard: Streams) -> None:
    first, second = dashboard.open(), dashboard.open()
    reader = dashboard.dashboard.feed._thread
    assert reader
    first.leave()
    assert reader.is_alive()
    second.leave()
    reader.join(PATIENCE_S)
    assert not reader.is_alive()
    assert dashboard.open().status == 200


def test_streams_end_with_the_dashboard_and_none_begins_then(dashboard: Streams) -> None:
    sources = [dashboard.open(), dashboard.open(login=OTHER)]
    dashboard.dashboard.feed.close()
    for source in sources:
        source.wait_for_end()
    assert dashboard.open().status == 503


def test_where_reading_fails_streams_end_and_the_next_go_on(
    dashboard: Streams, paths: Paths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = dashboard.open()
    source.block()
    with monkeypatch.context() as patch:
        patch.setattr(event_feed.Listener, "read", lambda *_, **__: 1 / 0)
        source.wait_for_end()
        assert dashboard.open().status == 503
    assert "the event streams were restarted: division by zero" in capsys.readouterr().err
    session(paths)
    assert types(dashboard.open(last_id=source.last_id).take(2)) == ["sessions.created", "sessions.closed"]


def test_an_index_that_is_removed_or_damaged_loses_nothing(dashboard: Streams, paths: Paths, mcpctl: Mcpctl) -> None:
    session(paths)
    source = dashboard.open()
    assert mcpctl("db", "rebuild").code == 0
    session(paths, CURSOR, 10)
    assert types(source.take(2)) == ["sessions.created", "sessions.closed"]
    source.leave()
    os.truncate(paths.index, 100)
    assert types(dashboard.open("since=start").take(4))[-1] == "sessions.closed"


def test_a_stream_says_that_it_is_there(dashboard: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_PING_S", 0.01)
    source = dashboard.open()
    source.block()
    assert [source.block(), source.block()] == [[": ping"], [": ping"]]
