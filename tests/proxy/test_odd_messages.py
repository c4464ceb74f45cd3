"""Messages of a server at a URL before its answer cost no call that answer, whatever they are."""

import json
from typing import Any

import pytest

from tests.proxy.conftest import BOTH, Serve
from tests.servers.scripted import Exchange, scripted

pytestmark = [pytest.mark.process, BOTH]

DONE = b'{"content":[{"type":"text","text":"done"}]}'
DIGITS = b"7" * 5000
DEEP = b"[" * 3000 + b"]" * 3000
LONG = {"many digits": DIGITS, "a fraction": b"1.5", "negative": b"-1", "huge": b"1e999", "a string": b'"x"',
        "a string of digits": b'"%b"' % DIGITS, "null": b"null", "an object": b"{}", "deep": DEEP, "true": b"true",
        "other digits": '"²"'.encode(), "escaped": rb'"\u0031"'}  # fmt: skip
ODD = {f"an answer with an id that is {name}": b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id_
       for name, id_ in LONG.items()}  # fmt: skip
ODD |= {f"progress of {name}":
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%b,"progress":1}}' % id_
        for name, id_ in LONG.items()}  # fmt: skip
ODD |= {f"a question whose id is {name}": b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id_
        for name, id_ in LONG.items()}  # fmt: skip
ODD |= {
    "a method of digits": b'{"jsonrpc":"2.0","method":%b}' % DIGITS,
    "a name of half a character": rb'{"jsonrpc":"2.0","\ud800":1,"id":1.5,"result":{}}',
    "no JSON": b"{", "nothing": b"{}", "a number": DIGITS, "deep": DEEP, "a batch": b"[1,{},[]]",
    "a log of digits": b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%b,"data":%b}}'
    % (DIGITS, DIGITS),
    "taken back": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%b}}' % DIGITS,
    "an error that is none": b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (DIGITS, DIGITS),
}  # fmt: skip


@pytest.mark.slow
def test_what_comes_before_an_answer_in_its_stream_does_not_cost_it(serve: Serve) -> None:
    odd: list[bytes] = []

    def says(exchange: Exchange, id_: Any) -> None:
        exchange.begin("text/event-stream")
        for message in (*odd, b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (id_, DONE)):
            exchange.wfile.write(b"data: %b\n\n" % message)

    with scripted(says=says) as server:
        client = serve({"web": {"url": server.url}})
        for name, message in ODD.items():
            odd[:] = [message]
            assert client.call("web:says").text == "done", name
        odd[:] = ODD.values()
        assert client.call("web:says").text == "done"


def test_an_answer_under_another_id_is_one_where_no_other_comes(serve: Serve) -> None:
    def streams(exchange: Exchange, _: Any) -> None:
        exchange.begin("text/event-stream")
        exchange.wfile.write(b'data: {"jsonrpc":"2.0","id":%b,"result":%b}\n\n' % (DIGITS, DONE))

    def batch(exchange: Exchange, id_: Any) -> None:
        exchange.begin()
        exchange.wfile.write(b'[{"jsonrpc":"2.0","id":%b,"result":{}},' % DIGITS)
        exchange.wfile.write(b'{"jsonrpc":"2.0","id":%d,"result":%b}]' % (id_, DONE))

    def refuses(exchange: Exchange, _: Any) -> None:
        exchange.begin(status=400)
        exchange.wfile.write(b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32050,"message":"no"}}' % DIGITS)

    with scripted(streams=streams, batch=batch, refuses=refuses) as server:
        client = serve({"web": {"url": server.url}})
        assert client.call("web:streams").text == client.call("web:batch").text == "done"
        assert client.call("web:refuses").json["error"]["code"] == -32050


def test_the_older_transport_is_not_harmed_either(serve: Serve) -> None:
    answers: list[bytes] = []
    streams: list[Exchange] = []

    def opens(exchange: Exchange, _: Any) -> None:
        exchange.begin("text/event-stream")
        exchange.wfile.write(b"event: endpoint\ndata: /mcp\n\n")
        streams.append(exchange)
        exchange.rfile.read()  # until the other side goes

    def told(result: Any) -> Any:
        def tells(exchange: Exchange, id_: Any) -> None:
            exchange.begin(status=202)
            for message in (*answers, b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (id_, result)):
                streams[-1].wfile.write(b"data: %b\n\n" % message)

        return tells

    hello = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
    tools = b'{"tools":[{"name":"says"}]}'
    does = {"initialize": told(json.dumps(hello).encode()), "tools__list": told(tools), "says": told(DONE)}
    with scripted(GET=opens, **does) as server:
        client = serve({"web": {"url": server.url, "transport": "sse"}})
        assert client.call("web:says").text == "done"
        answers[:] = ODD.values()
        assert client.call("web:says").text == "done"
