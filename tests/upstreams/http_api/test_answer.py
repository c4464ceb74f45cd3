"""The results that answers of an API become, and answers of APIs that behave badly."""

import base64
import gzip
import itertools
import socket
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.failure import Failure
from mcpctl.base.paths import Paths
from mcpctl.upstreams.http_api import answer as http_answer
from tests.table import for_each
from tests.upstreams.http_api.own_api import OwnApi, answer, called, document, operation, own_api, parameter, refusal


@pytest.fixture(scope="module")
def own() -> Iterator[OwnApi]:
    """One API for all tests of this module."""
    with own_api() as served:
        yield served


def result(paths: Paths, own: OwnApi, given: bytes, method: str = "GET", arguments: Any = b"{}") -> dict[str, Any]:
    """The result of a call with this answer."""
    own.respond = lambda *_: given
    return called(paths, document(own.url, operation(method, "/x", parameter("page"), parameter("per"))), arguments)


def texts(of: dict[str, Any]) -> list[str]:
    """The texts of its blocks."""
    return [block["text"] for block in of["content"]]


def failure(paths: Paths, own: OwnApi, given: bytes, method: str = "GET") -> Failure:
    """Why a call with this answer fails."""
    own.respond = lambda *_: given
    return refusal(paths, document(own.url, operation(method, "/x")))


def test_json_is_one_text_block_with_the_text_that_came(paths: Paths, own: OwnApi) -> None:
    body = b'{ "n": 12345678901234567890123, "f":1.50, "s": "\\u00e4\xc3\xa4\\/\\"",\r\n\t"e": 1e400 }'
    of = result(paths, own, answer(body, Content_Type="application/json"))
    assert of == {
        "content": [{"type": "text", "text": body.decode()}],
        "_meta": {"mcpctl/http": {"status": 200, "contentType": "application/json"}},
    }


@for_each("content_type, body, text", [
    ("text/plain; charset=iso-8859-1", b"\xe4", "ä"), ('text/html; Charset="windows-1252"', b"\x80", "€"),
    ("application/json; charset=utf-16", "ä\U0001f600".encode("utf-16"), "ä\U0001f600"),
    ("text/plain", b"a\xffb", "a\ufffdb"),
    ("text/plain; charset=zip", "ä".encode(), "ä"), ("text/plain; charset=idna", "ä".encode(), "ä"),
    ("text/plain; charset=nonsense-8", "ä".encode(), "ä"),
    ("text/plain; charset=utf-8", b"\x00\x01\x7f", "\x00\x01\x7f"),
    ("application/problem+json", b"{}", "{}"), ("application/x-ndjson", b"{}\n{}", "{}\n{}"),
    ("", b"plain", "plain"), ("application/vnd.own.diff", b"+a", "+a"), ("application/xml", b"<a/>", "<a/>"),
])  # fmt: skip
def test_a_text_is_decoded_by_its_charset(paths: Paths, own: OwnApi, content_type: str, body: Any, text: Any) -> None:
    assert texts(result(paths, own, answer(body, Content_Type=content_type))) == [text]


def test_a_long_text_is_the_same_in_one_piece(paths: Paths, own: OwnApi) -> None:
    body = ('ä€\U0001f600"\\\n' * 90_000).encode()
    assert texts(result(paths, own, answer(body, Content_Type="text/plain"))) == [body.decode()]


def test_images_and_sounds_are_their_blocks_and_other_binary_a_resource(paths: Paths, own: OwnApi) -> None:
    data = bytes(range(256)) * 2000
    encoded = base64.b64encode(data).decode()
    for kind in ("image", "audio"):
        of = result(paths, own, answer(data, Content_Type=f"{kind}/x-own"))
        assert of["content"] == [{"type": kind, "data": encoded, "mimeType": f"{kind}/x-own"}]
    for content_type in ("application/octet-stream", "application/pdf", "video/mp4"):
        of = result(paths, own, answer(data, Content_Type=content_type))
        resource = {"uri": "openapi:op", "mimeType": content_type, "blob": encoded}
        assert of["content"] == [{"type": "resource", "resource": resource}]
    assert (
        result(paths, own, answer(b"\x00\x01\xff"))["content"][0]["resource"]["mimeType"] == "application/octet-stream"
    )


def test_an_empty_body_is_its_status(paths: Paths, own: OwnApi) -> None:
    assert texts(result(paths, own, answer(status="204 No Content", Content_Length=""), "DELETE")) == [
        "HTTP 204 No Content"
    ]
    assert texts(result(paths, own, answer(status="200 OK"))) == ["HTTP 200 OK"]
    assert texts(result(paths, own, answer(status="200 OK", Content_Length="99999999999"), "HEAD")) == ["HTTP 200 OK"]


def test_what_headers_say_of_the_answer_is_in_its_meta(paths: Paths, own: OwnApi) -> None:
    given = {"ETag": '"abc"', "Location": "/x/7", "Link": "<http://a.example/>; rel=self", "X-Other": "no"}
    of = result(paths, own, answer(b"{}", "201 Created", Content_Type="application/json", **given), "POST")
    assert of["_meta"]["mcpctl/http"] == {
        "status": 201, "contentType": "application/json", "link": given["Link"], "etag": '"abc"', "location": "/x/7",
    }  # fmt: skip


def test_the_next_page_is_told_as_the_arguments_to_change(paths: Paths, own: OwnApi) -> None:
    link = (
        f'<{own.url}/y?page=1>; rel="prev", <{own.url}/y?per=5&page=3&token=x%20y>; rel="next", <{own.url}/>; rel=last'
    )
    of = result(paths, own, answer(b"[]", Link=link), arguments={"page": 2, "per": 5})
    assert texts(of) == ["[]", "Next page: page=3"]
    for other in (
        "<nothing",
        "<http://[bad?page=3>; rel=next",
        "<?token=1>; rel=next",
        "<?page=2&per=5>; rel=next",
        "",
    ):
        of = result(paths, own, answer(b"[]", Link=other), arguments={"page": 2, "per": 5})
        assert texts(of) == ["[]"], other
    assert texts(result(paths, own, answer(b"[]", Link="<?page=a%0Ab>; REL=Next")))[1] == "Next page: page=a\ufffdb"


def test_when_to_try_again_is_told(paths: Paths, own: OwnApi) -> None:
    of = result(paths, own, answer(b"slow", "429 Too Many Requests", Retry_After="30"))
    assert (texts(of), of["isError"]) == (["HTTP 429 Too Many Requests\nslow", "Retry-After: 30 s"], True)
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert texts(result(paths, own, answer(b"{}", Retry_After=date)))[1] == f"Retry-After: {date}"
    assert len(texts(result(paths, own, answer(b"{}", Retry_After="<b>now</b>")))) == 1


def test_an_error_begins_with_its_status_and_is_whole_up_to_64_kb(paths: Paths, own: OwnApi) -> None:
    of = result(paths, own, answer(b'{"message":"no"}', "404 Not Found", Content_Type="application/json"))
    assert (texts(of), of["isError"]) == (['HTTP 404 Not Found\n{"message":"no"}'], True)
    assert of["_meta"]["mcpctl/http"]["status"] == 404
    whole = b"x" * bounds.API_ERROR
    assert texts(result(paths, own, answer(whole, "500 Internal Server Error"))) == [
        f"HTTP 500 Internal Server Error\n{whole.decode()}"
    ]
    for more in (b"y", b"y" * 5_000_000):
        assert texts(result(paths, own, answer(whole + more, "500 Internal Server Error"))) == [
            f"HTTP 500 Internal Server Error\n{whole.decode()}\n[cut]"
        ]
    assert texts(result(paths, own, answer(b"\x00\xff", "500 Oops", Content_Type="image/png"))) == [
        "HTTP 500 Internal Server Error"
    ]
    assert texts(result(paths, own, answer(b"", "599 Odd"))) == ["HTTP 599"]


# ---- redirects


def test_only_get_and_head_follow_redirects_and_only_on_the_same_origin(paths: Paths, own: OwnApi) -> None:
    def respond(request: bytes, _: Any) -> bytes:
        if b" /there" in request:
            return answer(b"there", Content_Type="text/plain")
        return answer(status="307 Temporary Redirect", Location="/there?a=1")

    own.respond = respond
    for method in ("GET", "HEAD"):
        called(paths, document(own.url, operation(method, "/x")))
        assert own.target == "/there?a=1"
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        own.requests.clear()
        of = called(paths, document(own.url, operation(method, "/x")))
        assert len(own.requests) == 1
        assert texts(of) == [f"HTTP 307 Temporary Redirect\nIt redirects to {own.url}, which is not followed."]
        assert of["isError"]


def test_redirects_end(paths: Paths, own: OwnApi) -> None:
    count = itertools.count()
    own.respond = lambda *_: answer(status="302 Found", Location=f"/{next(count)}")
    own.requests.clear()
    assert called(paths, document(own.url, operation("GET", "/x")))["isError"]
    assert len(own.requests) == 6
    own.respond = lambda *_: answer(status="302 Found", Location="http://[")
    assert called(paths, document(own.url, operation("POST", "/x")))["isError"]


# ---- what is compressed, and what is too much


@for_each("encoding, compress", [
    ("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes),
    ("deflate", lambda data: zlib.compress(data)[2:-4]),
    ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
])  # fmt: skip
def test_a_compressed_answer_is_decompressed(paths: Paths, own: OwnApi, encoding: str, compress: Any) -> None:
    body = b"a long text " * 100_000
    of = result(paths, own, answer(compress(body), Content_Type="text/plain", Content_Encoding=encoding))
    assert texts(of) == [body.decode()]


@for_each("encoding, body", [
    ("gzip", b"no gzip"), ("br", b"x"), ("gzip, gzip", gzip.compress(gzip.compress(b"x"))),
    ("gzip", gzip.compress(b"x" * 1000)[:-9]),
])  # fmt: skip
def test_what_cannot_be_decompressed_fails(paths: Paths, own: OwnApi, encoding: str, body: bytes) -> None:
    of = failure(paths, own, answer(body, Content_Encoding=encoding))
    assert of.code in ("answer_unreadable", "server_died")
    assert of.was_sent


def test_more_than_32_mb_fails_and_says_how_much(paths: Paths, own: OwnApi, monkeypatch: pytest.MonkeyPatch) -> None:
    of = failure(paths, own, b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\nx")
    assert (of.code, of.facts["reason"]) == ("answer_unreadable", "its answer has 10,240 MB; at most 32 MB are taken")
    assert of.was_sent
    monkeypatch.setattr(bounds, "API_ANSWER", 1 << 20)

    def endless(_: bytes, connected: socket.socket) -> None:
        connected.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connected.sendall(b"10000\r\n%b\r\n" % bytes(65536))

    own.respond = endless
    of = refusal(paths, document(own.url, operation("GET", "/x")))
    assert (of.code, of.facts["reason"]) == ("answer_unreadable", "its answer has more than 1 MB")
    bomb = answer(gzip.compress(bytes(8 << 20)), Content_Encoding="gzip")
    assert failure(paths, own, bomb).facts["reason"] == "its answer has more than 1 MB"
    whole = b"x" * (1 << 20)
    assert texts(result(paths, own, answer(whole, Content_Type="text/plain"))) == [whole.decode()]


@for_each("given", [
    b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", b"",
    b"HTTP/1.1 200 OK\r\nBroken\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
])  # fmt: skip
def test_an_answer_that_breaks_off_or_is_none_fails_as_sent(paths: Paths, own: OwnApi, given: bytes) -> None:
    def respond(_: bytes, connected: socket.socket) -> None:
        connected.sendall(given)
        connected.close()

    own.respond = respond
    own.requests.clear()
    of = refusal(paths, document(own.url, operation("GET", "/x")))
    assert (of.code, of.was_sent) == ("server_died", True)
    assert len(own.requests) == 1


def test_a_bomb_grows_by_no_more_than_a_piece_at_once() -> None:
    bomb = gzip.compress(bytes(8 << 20))
    sizes = [len(piece) for piece in http_answer._Inflated(bomb).pieces(bomb)]
    assert (max(sizes), sum(sizes)) == (http_answer._PIECE, 8 << 20)
