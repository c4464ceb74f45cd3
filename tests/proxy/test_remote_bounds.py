"""Answers of a server at a URL that are too long, or never end, harm their own call alone, and hold no connection."""

import gzip
import threading
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.upstreams.event_stream import EventStream, ServerSentEvent, TooLong
from mcpctl.upstreams.http_transports import _wait
from tests.proxy.client import TIMEOUT_S, Client, until
from tests.proxy.conftest import Serve
from tests.proxy.test_bounds import memory_mb
from tests.servers import command
from tests.servers.scripted import Exchange, scripted
from tests.table import for_each

process = pytest.mark.process
TOO_LONG = "more than 64 MB. The call was sent and may have taken effect; it was not sent again"


def without_end(exchange: Exchange, _: Any) -> None:
    """A body that does not end."""
    exchange.begin()
    while True:
        exchange.wfile.write(b" " * 100_000)


def bomb(exchange: Exchange, _: Any) -> None:
    """A small body that is a large one."""
    exchange.begin(content_encoding="gzip")
    exchange.wfile.write(gzip.compress(b" " * (300 << 20), 1))


def long_event(exchange: Exchange, _: Any) -> None:
    """An event that does not end."""
    exchange.begin("text/event-stream")
    exchange.wfile.write(b"data: ")
    while True:
        exchange.wfile.write(b" " * 100_000)


@pytest.mark.slow
@process
@pytest.mark.parametrize("does", [without_end, bomb, long_event])
def test_an_answer_without_end_fails_alone_and_is_read_no_further(does: Any, serve: Serve) -> None:
    with scripted(much=does) as server:
        client = serve({"web": {"url": server.url}, "counter": command("counter")}, process=True)
        slow = client.start_call("web:much")
        assert not client.call("counter:count").is_error
        answer = client.answer(slow, 60)
        assert answer.is_error
        assert TOO_LONG in answer.text
        until("the connection to be let go", lambda: "much" not in server.open)
        assert client.call("web:other").text == "other"
        assert memory_mb(client) < 300


@process
def test_a_call_that_is_taken_back_is_read_no_further(serve: Serve) -> None:
    begun = threading.Event()

    def endless(exchange: Exchange, _: Any) -> None:
        exchange.begin()
        while True:
            exchange.wfile.write(b" ")
            begun.set()

    with scripted(much=endless) as server:
        client = serve({"web": {"url": server.url}})
        id_ = client.start_call("web:much")
        assert begun.wait(60)
        client.notify("notifications/cancelled", {"requestId": id_})
        until("the connection to be let go", lambda: "much" not in server.open)


@process
def test_lists_that_never_come_hold_no_connection_open(serve: Serve) -> None:
    def never(exchange: Exchange, _: Any) -> None:
        exchange.rfile.read()  # until the other side goes

    with scripted(tools__list=never) as server:
        entry = {"url": server.url, "start_timeout_s": 1.5}
        client = serve({"web": entry, "counter": command("counter")})
        client.discover("anything")
        until("a list to be asked for", lambda: "tools/list" in server.asked)
        until("it to be given up", lambda: "tools/list" not in server.open)


@process
def test_the_session_is_deleted_at_the_end_whatever_has_failed_in_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The time that the end takes on a busy machine is not what is tested.
    monkeypatch.setattr("mcpctl.upstreams.remote._CLOSE_S", TIMEOUT_S)
    monkeypatch.setattr("mcpctl.proxy.process.LAST_ANSWER_S", TIMEOUT_S)
    with scripted(busy=lambda exchange, _: exchange.begin(status=503)) as server:
        client = serve({"web": {"url": server.url}})
        assert client.call("web:busy").is_error
        client.close()
        assert server.asked.count("DELETE") == 1


@process
def test_a_stream_that_breaks_off_is_resumed_where_it_was(serve: Serve) -> None:
    places: list[str | None] = []
    ids: list[Any] = []

    def breaks_off(exchange: Exchange, id_: Any) -> None:
        ids.append(id_)
        exchange.begin("text/event-stream")
        exchange.wfile.write(b"id: 7\nretry: 1\ndata:\n\n")

    def resumed(exchange: Exchange, _: Any) -> None:
        places.append(exchange.headers["last-event-id"])
        exchange.begin("text/event-stream" if places[-1] else "text/plain", 200 if places[-1] else 405)
        if places[-1]:
            result = b'{"content":[{"type":"text","text":"resumed"}]}'
            exchange.wfile.write(b'data: {"jsonrpc":"2.0","id":%d,"result":%b}\n\n' % (ids[0], result))

    with scripted(late=breaks_off, GET=resumed) as server:
        assert serve({"web": {"url": server.url}}).call("web:late").text == "resumed"
    assert "7" in places


@process
def test_a_failed_reconnection_ends_no_call_that_is_at_work(serve: Serve) -> None:
    release = threading.Event()
    refuse = threading.Event()

    def slow(exchange: Exchange, id_: Any) -> None:
        assert release.wait(30)
        exchange.answer(id_, {"content": [{"type": "text", "text": "done"}]})

    def forgotten(exchange: Exchange, _: Any) -> None:
        refuse.set()
        exchange.begin("text/plain", 404)

    def begin(exchange: Exchange, id_: Any) -> None:
        from tests.servers.scripted import HANDSHAKE

        if refuse.is_set():
            exchange.begin("text/plain", 503)
        else:
            exchange.answer(id_, HANDSHAKE)

    with scripted(slow=slow, forgotten=forgotten, initialize=begin) as server:
        client: Client = serve({"web": {"url": server.url}})
        client.call("web:other")
        at_work = client.start_call("web:slow")
        until("it to be at work", lambda: "slow" in server.open)
        assert client.call("web:forgotten").is_error
        release.set()
        assert client.answer(at_work).text == "done"


@for_each(("retry_ms", "seconds"), [(0, 1.0), (1, 1.0), (5000, 5.0), (999_999_999, 30.0), (None, 3.0)])
def test_a_stream_is_opened_again_neither_at_once_nor_never(retry_ms: int | None, seconds: float) -> None:
    assert _wait(ServerSentEvent("message", b"", "", retry_ms), 3.0) == seconds


@for_each("size", [1, 2, 3, 1000])
def test_events_come_whole_however_they_are_cut(size: int) -> None:
    text = (
        b"\xef\xbb\xbf: a comment\r\ndata: one\r\ndata:two\r\nid: 5\r\n\r\n"
        b"event: odd\rdata:  \xc3\xa9\r\rretry: 20\n\nretry: no\ndata\n\ndata: cut off"
    )
    stream = EventStream(100)
    events = [event for start in range(0, len(text), size) for event in stream.feed(text[start : start + size])]
    assert events == [
        ServerSentEvent("message", b"one\ntwo", "5", None),
        ServerSentEvent("odd", b" \xc3\xa9", "5", None),
        ServerSentEvent("message", b"", "5", 20),
        ServerSentEvent("message", b"", "5", None),
    ]


def test_an_event_that_is_too_long_is_not_kept() -> None:
    for text in (b"data: " + b"x" * 101, b"data: " + b"x" * 60 + b"\ndata: " + b"x" * 60 + b"\n"):
        with pytest.raises(TooLong):
            list(EventStream(100).feed(text))
    assert bounds.MESSAGE == 64 << 20
