"""APIs that answer without end, or more than was asked: their own call fails in words, and no other one."""

import gzip
import socket
from collections.abc import Iterator

import pytest

from mcpctl.base.failure import Failure
from mcpctl.base.paths import Paths
from mcpctl.upstreams.http_api.connection import HttpApi
from tests.table import for_each
from tests.upstreams.http_api.own_api import OK, OwnApi, called, document, operation, own_api, refusal, sent, with_api

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


@pytest.fixture
def own() -> Iterator[OwnApi]:
    """An API."""
    with own_api() as served:
        yield served


def failure(paths: Paths, own: OwnApi, given: bytes) -> Failure:
    """Why a call fails to which this is sent again and again."""

    def respond(_: bytes, connected: socket.socket) -> None:
        while True:
            connected.sendall(given)

    own.respond = respond
    return refusal(paths, document(own.url, operation()))


def test_interim_responses_come_before_an_answer(paths: Paths, own: OwnApi) -> None:
    own.respond = lambda *_: HINT.replace(b"\r\n", b"\n") + CONTINUE * 99 + OK
    assert called(paths, document(own.url, operation()))["content"][0]["text"] == "{}"


@for_each("given, reason", [
    (CONTINUE, "more than 100 interim responses came before its answer"),
    (HINT, "more than 100 interim responses came before its answer"),
    (HINT.replace(b"</a>", b"x" * 2000), "the head of its answer has more than 64 KB"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000, "the head of its answer has more than 64 KB"),
    (b"X: y\r\n", "the head of its answer has more than 64 KB"),
])  # fmt: skip
def test_what_comes_before_an_answer_is_bounded(paths: Paths, own: OwnApi, given: bytes, reason: str) -> None:
    of = failure(paths, own, given)
    assert (of.code, of.facts["reason"], of.was_sent) == ("answer_unreadable", reason, True)


EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"  # of deflate: it stores nothing


@for_each("first, given, reason", [
    (b"", gzip.compress(b"") * 4000, "its answer has more than 1,000 gzip members"),
    (gzip.compress(b"")[:10], EMPTY_BLOCK * 13_000, "its answer has more than 32 MB, compressed"),
])  # fmt: skip
def test_a_compressed_answer_that_stays_empty_is_bounded(
    paths: Paths, own: OwnApi, first: bytes, given: bytes, reason: str
) -> None:
    def respond(_: bytes, connected: socket.socket) -> None:
        connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + first)
        while True:
            connected.sendall(given)

    own.respond = respond
    of = refusal(paths, document(own.url, operation()))
    assert (of.code, of.facts["reason"]) == ("answer_unreadable", reason)


POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"


@for_each("method, first", [
    ("GET", b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"),
    ("GET", b"HTTP/1.1 204 No Content\r\n\r\n" + POISON),
    ("GET", b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
    ("GET", b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"), ("GET", OK + POISON),
    ("HEAD", OK), ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + POISON),
])  # fmt: skip
def test_a_connection_that_had_more_than_an_answer_is_not_used_again(
    paths: Paths, own: OwnApi, method: str, first: bytes
) -> None:
    async def calls(connection: HttpApi) -> list[str]:
        own.respond, before = lambda request, _: OK if b" /next" in request else first, own.connections
        await sent(connection, b"{}", "first")[1].answered
        texts = [(await sent(connection, b"{}", "next")[1].answered)["content"][0]["text"] for _ in range(2)]
        assert own.connections == before + 2
        return texts

    compiled = document(own.url, operation(method, "/first", tool="first"), operation("GET", "/next", tool="next"))
    assert with_api(paths, compiled, calls) == ["{}", "{}"]
