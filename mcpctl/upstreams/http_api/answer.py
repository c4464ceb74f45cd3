"""The answer of an API as the result of a tool: its body as it came, and beside it only what helps.

Large texts are made aside and in pieces, since the interpreter runs nothing else while one text is decoded or encoded.
"""

import asyncio
import binascii
import codecs
import re
import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from msgspec import Struct

from mcpctl.base import bounds
from mcpctl.base.failure import failed
from mcpctl.base.models import HTTP
from mcpctl.base.texts import printable
from mcpctl.openapi import media_types
from mcpctl.openapi.snapshot import HttpOperation
from mcpctl.upstreams.http_api.masking import Masking
from mcpctl.upstreams.http_api.request import HttpRequest
from mcpctl.wire.http_client import status_line

if TYPE_CHECKING:
    import httpx2

_PIECE = 3 << 16  # bytes that are decompressed, decoded or encoded in one step; base64 takes three at once
_UTF_8 = "utf-8"
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_OCTETS = "application/octet-stream"
_NEXT = re.compile(r"<([^<>]{0,4096})>((?:\s*;[^<>,;]{0,200}){0,10})")
_IS_NEXT = re.compile(r";\s*rel\s*=\s*\"?(?:[^\";]*\s)?next(?:\s[^\";]*)?\"?\s*(?:;|\Z)", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,9}\Z")
_DATE = re.compile(r"[A-Za-z0-9:, +-]{1,40}\Z")
_SHOWN = 200


class Received(Struct, frozen=True):
    """The outcome of a request."""

    status: int
    headers: "httpx2.Headers"
    body: bytes | bytearray  # as it was read: a long one is not copied
    is_cut: bool = False
    elsewhere: str = ""  # the origin of a redirect that is not followed


def _blocks(received: Received, operation: HttpOperation, masking: Masking) -> Iterator[list[bytes]]:
    """The block of the body, in pieces of JSON."""
    line = status_line(received.status)
    whole_type = received.headers.get("content-type", "")
    kind, charset = media_types.essence(whole_type), media_types.codec(whole_type) or _UTF_8
    shown_kind = masking.text(kind)[:_SHOWN]
    is_text = _is_text(kind, received.body)
    if received.elsewhere:
        yield _text_block(f"{line}\nIt redirects to {received.elsewhere}, which is not followed.", masking)
    elif received.status >= HTTPStatus.BAD_REQUEST:
        body = received.body if is_text else b""
        yield _text_block(f"{line}\n" if body else line, masking, body, charset, is_cut=received.is_cut and bool(body))
    elif not received.body:
        yield _text_block(line, masking)
    elif kind.startswith(("image/", "audio/")):
        name = kind.partition("/")[0].encode()
        yield [
            b'{"type":"%b","data":"' % name,
            *_base64(masking.raw(received.body)),
            b'","mimeType":%b}' % _json(shown_kind),
        ]
    elif is_text:
        yield _text_block("", masking, received.body, charset)
    else:
        place = b'"uri":%b,"mimeType":%b' % (_json(f"openapi:{quote(operation.tool)}"), _json(shown_kind or _OCTETS))
        yield [b'{"type":"resource","resource":{%b,"blob":"' % place, *_base64(masking.raw(received.body)), b'"}}']


def result(
    received: Received, operation: HttpOperation, request: HttpRequest, *, modern: bool, needs: str,
    masking: Masking,
) -> bytearray:  # fmt: skip
    """The result of the call, in JSON. `needs` are the credentials that are missing; those of `masking` are masked."""
    blocks = list(_blocks(received, operation, masking))
    helpful = [needs] if needs and received.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) else []
    helpful += [*_next_page(received, operation, request, masking), *_retry_after(received)]
    if helpful:
        blocks.append(_text_block("\n".join(helpful), masking))
    pieces = [b'{"content":[']
    for index, block in enumerate(blocks):
        pieces += [b"," if index else b"", *block]
    is_error = received.status >= HTTPStatus.BAD_REQUEST or received.elsewhere
    meta = msgspec.json.encode({HTTP: _meta(received, masking)})
    rest = (b',"isError":true' if is_error else b"", b',"resultType":"complete"' if modern else b"")
    made = bytearray()
    for piece in (*pieces, b'],"_meta":', meta, *rest, b"}"):
        made += piece  # `join` would hold everybody up while it copies them all
    return made


def _meta(received: Received, masking: Masking) -> dict[str, Any]:
    names = {"contentType": "content-type", "link": "link", "etag": "etag", "location": "location"}
    given = {name: received.headers.get(header) for name, header in names.items()}
    taken = {name: printable(masking.text(text)[: bounds.API_REST]) for name, text in given.items() if text}
    return {"status": received.status, **taken}


# ---- what the body is


def _is_text(kind: str, body: bytes | bytearray) -> bool:
    if kind.startswith(("image/", "audio/", "video/", "font/")) or kind == _OCTETS:
        return False
    if media_types.is_text(kind):
        return True
    # Nothing is known of it: it is text where it can be read as such.
    if _NO_TEXT.search(body[:_PIECE]):
        return False
    decoder = codecs.getincrementaldecoder(_UTF_8)()
    try:
        for start in range(0, len(body), _PIECE):
            decoder.decode(body[start : start + _PIECE])
        return decoder.decode(b"", final=True) == ""
    except UnicodeDecodeError:
        return False


def _text_block(
    before: str, masking: Masking, body: bytes | bytearray = b"", charset: str = _UTF_8, *, is_cut: bool = False
) -> list[bytes]:
    texts = [masking.text(before), *masking.pieces(_decoded(body, charset, is_cut=is_cut), is_cut=is_cut)]
    if is_cut:
        texts.append("\n[cut]")
    # In a JSON string each character stands for itself, or is escaped by itself: pieces may be put together.
    return [b'{"type":"text","text":"', *(_json(text)[1:-1] for text in texts if text), b'"}']


def _decoded(body: bytes | bytearray, charset: str, *, is_cut: bool) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(charset)("replace")
    for start in range(0, len(body), _PIECE):
        yield decoder.decode(body[start : start + _PIECE])
    yield decoder.decode(b"", final=not is_cut)  # half a character is left out of one that is cut


def _base64(body: bytes | bytearray) -> Iterator[bytes]:
    for start in range(0, len(body), _PIECE):
        yield binascii.b2a_base64(body[start : start + _PIECE], newline=False)


def _json(text: str) -> bytes:
    return msgspec.json.encode(text)


# ---- what helps


def _next_page(received: Received, operation: HttpOperation, request: HttpRequest, masking: Masking) -> Iterator[str]:
    """The arguments to change for the next page: https://www.rfc-editor.org/rfc/rfc8288"""
    links = _NEXT.finditer(received.headers.get("link", "")[: bounds.API_REST])
    if not (found := next((match[1] for match in links if _IS_NEXT.search(match[2])), None)):
        return
    try:
        given = parse_qsl(urlsplit(found).query, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        return
    arguments = {p.name: p.argument for p in operation.parameters if p.place == "query" and p.argument}
    changed: list[str] = []
    for name, value in given:
        argument = arguments.get(name)
        sent = parse_qsl("&".join(request.query.get(argument, [])), keep_blank_values=True) if argument else []
        if argument and (name, value) not in sent:
            changed.append(f"{argument}={printable(masking.text(value)[:_SHOWN])}")
    if changed:
        yield f"Next page: {', '.join(changed)}"


def _retry_after(received: Received) -> Iterator[str]:
    given = received.headers.get("retry-after", "").strip()
    if _SECONDS.match(given):
        yield f"Retry-After: {given} s"
    elif _DATE.match(given):
        yield f"Retry-After: {given}"


# ---- the body as it comes


async def body_of(response: "httpx2.Response", most: int, *, cuts: bool) -> AsyncGenerator[bytes]:
    """The body decompressed, in short pieces with others in between, up to `most` bytes and one; one that is longer
    fails where it is not cut."""
    length = response.headers.get("content-length", "")
    if not cuts and length.isdecimal() and len(length) < 20 and int(length) > most:
        raise failed("answer_unreadable", f"its answer has {int(length) >> 20:,} MB; at most {most >> 20} MB are taken")
    size = 0
    async with aclosing(_decompressed(response)) as pieces:
        async for piece in pieces:
            yield piece[: most + 1 - size]
            size += len(piece)
            if size > most:
                if not cuts:
                    raise failed("answer_unreadable", f"its answer has more than {most >> 20} MB")
                return
            await asyncio.sleep(0)


async def _decompressed(response: "httpx2.Response") -> AsyncGenerator[bytes]:
    names = response.headers.get("content-encoding", "").lower().split(",")
    encodings = [name for each in names if (name := each.strip()) not in ("", "identity")]
    if encodings and (len(encodings) > 1 or encodings[0] not in ("gzip", "x-gzip", "deflate")):
        raise failed("answer_unreadable", "its answer is compressed in a way that it was not asked for")
    inflated, came = None, 0
    async with aclosing(response.aiter_raw()) as parts:
        async for part in parts:
            if not encodings:
                yield part
                continue
            came += len(part)
            if came > bounds.API_ANSWER:
                raise failed("answer_unreadable", f"its answer has more than {bounds.API_ANSWER >> 20} MB, compressed")
            if inflated is None and part:
                inflated = _Inflated(part)
            for piece in inflated.pieces(part) if inflated else ():
                yield piece
    if inflated and not inflated.is_whole:
        raise failed("server_died", "the connection broke off in the middle of its answer")


class _Inflated:
    """A compressed body, made larger by no more than a piece at once."""

    def __init__(self, first: bytes) -> None:
        # A stream that is called deflate may lack the two bytes of zlib; 47 takes those, and gzip.
        self._bits = 47 if first[0] & 0x0F == zlib.DEFLATED or first[:1] == b"\x1f" else -15
        self._inflate = zlib.decompressobj(self._bits)
        self._members = 1

    @property
    def is_whole(self) -> bool:
        return self._inflate.eof

    def pieces(self, part: bytes) -> Iterator[bytes]:
        """A part, decompressed; a step that brings nothing is an empty piece: others have their turn after it."""
        while True:
            if self._inflate.eof:
                if not part:
                    return
                self._inflate = zlib.decompressobj(self._bits)  # gzip may come in several members
                self._members += 1
                if self._members > bounds.GZIP_MEMBERS:
                    raise failed("answer_unreadable", f"its answer has more than {bounds.GZIP_MEMBERS:,} gzip members")
            try:
                piece = self._inflate.decompress(part, _PIECE)
            except zlib.error:
                why = "its answer cannot be decompressed: it does not match its Content-Encoding"
                raise failed("answer_unreadable", why) from None
            part = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            yield piece
            if not piece and not part:
                return
