"""`@mcpctl:read`, the tool of our own: reads on in an answer that was shortened, and what answers link to.

It is called as every other tool is, and decided on and put on record as such, but for what it answers.
"""

import asyncio
import re
from typing import NamedTuple

import msgspec

from mcpctl.answers import excerpts, readable
from mcpctl.answers.readable import Readable
from mcpctl.base import bounds
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed, Failure
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import OWN, READ_TOOL
from mcpctl.catalog.features import FeatureOwner
from mcpctl.metatools import own_tool
from mcpctl.metatools.own_tool import CALLS, MOST, ReadRequest, WrongArguments
from mcpctl.policy import words
from mcpctl.policy.decide import may_read_on
from mcpctl.proxy import translate
from mcpctl.proxy.request import Request
from mcpctl.proxy.shortening import Shortening, aside
from mcpctl.proxy.spec import Barring, ClientSide, Looked
from mcpctl.store import responses
from mcpctl.wire import jsonrpc

_MIME_TYPE = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")
_AND = "\N{EN DASH}"


class _Refused(Exception):
    """Raised with why nothing is read, for a model; `blocks` are its server's words."""

    blocks: tuple[bytes, ...] = ()


class _Blocks(NamedTuple):
    """The answer: a remark, if there is one, and blocks of content in JSON."""

    remark: str
    blocks: tuple[bytes, ...]


class ReadTool:
    def __init__(self, paths: Paths, shortening: Shortening, client: ClientSide) -> None:
        self._paths = paths
        self._shortening = shortening
        self._client = client
        self._reading: set[asyncio.Task[None]] = set()

    def begin(self, call: Request, barring: Barring) -> None:
        """Answer a call, unless something is barring it; nobody else waits for it."""
        task = asyncio.create_task(self._answer(call, barring))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _answer(self, call: Request, barring: Barring) -> None:
        try:
            answer, is_error = await self._read(call, barring), False
        except _Refused as refusal:
            answer, is_error = _Blocks(f"mcpctl: {refusal}", refusal.blocks), True
        except Exception as error:
            warn(f"an answer could not be read: {error!r}")
            answer, is_error = _Blocks("mcpctl: it could not be read", ()), True
        blocks = [_text(answer.remark)] * bool(answer.remark) + [*answer.blocks]
        result = b'{"content":[%b]%b}' % (b",".join(blocks), b',"isError":true' * is_error)
        own = translate.own_result(result, call.caller)
        self._shortening.finish(call, Looked(result, is_error, False, own, b"null"), None)

    async def _read(self, call: Request, barring: Barring) -> _Blocks:
        try:
            request = own_tool.taken(call.arguments)
        except WrongArguments as error:
            raise _Refused(str(error)) from None
        if request.resource is None:
            return await aside.do(self._of_call, request, call)
        if not isinstance(call.owner, FeatureOwner):
            raise _not_read(call.owner or Failed(Failure("unknown_resource", {"uri": request.uri})))
        try:
            result = await self._client.features.read(call.owner.uri, call.caller, call.owner.server, barring)
        except Failed as error:
            raise _not_read(error) from None
        return await aside.do(_of_resource, request, result)

    def _of_call(self, request: ReadRequest, call: Request) -> _Blocks:
        """Part of a kept answer; one that only others may read is refused as one that is not there."""
        id_ = request.uri.removeprefix(CALLS)
        me = self._shortening.owner(call.view, OWN, READ_TOOL)
        kept = responses.find(self._paths, id_, me.session_id)
        if kept is None and id_ in self._shortening.calls:
            raise _Refused("the answer is not kept any more, newer ones have its place (keep_mb); call the tool again")
        if kept is None or not kept.owner.lets(me) or not may_read_on(kept.owner.server, kept.owner.tool, call.view):
            raise _Refused("there is no such call, or its answer is not kept, or not for this session")
        result = kept.result
        if call.view.config.policy.masks:  # it may have been kept before
            result = self._shortening.recorder.values.masked(result)
        try:
            return _part(request, readable.of_result(result))
        except jsonrpc.Malformed:
            raise _Refused("what is kept of that call cannot be read") from None


def _not_read(error: Failed) -> _Refused:
    if not error.error:
        return _Refused(words.for_model(error.failure))
    refused = _Refused(f"server '{error.failure.facts['server']}' answered with an error, in its own words:")
    refused.blocks = (_text(translate.message_of(error.error)),)
    return refused


def _of_resource(request: ReadRequest, result: bytes) -> _Blocks:
    """Part of a resource: its text in pieces, its bytes whole or not at all."""
    texts: list[bytes] = []
    others: list[bytes] = []
    remarks: list[str] = []
    try:
        for item in jsonrpc.items(jsonrpc.members(result).get("contents", b"[]"), bounds.MEMBERS):
            content = jsonrpc.value(item, _Contents)
            if content.text is not None:
                texts.append(content.text.encode())
            elif len(content.blob) <= request.limit:
                others.append(b'{"type":"resource","resource":%b}' % item)
            else:
                kind = content.mime_type if _MIME_TYPE.fullmatch(content.mime_type) else "bytes"
                remarks.append(f"{kind}: {len(content.blob) * 3 // 4:,} bytes, more than limit; not shown")
    except (jsonrpc.Malformed, UnicodeEncodeError):
        raise _Refused("what the server has answered is not a resource") from None
    if not texts:
        return _Blocks("; ".join(remarks) or "it is empty" * (not others), tuple(others))
    part = _part(request, Readable(texts, b"", others, 0))
    return _Blocks("; ".join([part.remark, *remarks]) if remarks else part.remark, (*part.blocks, *others))


class _Contents(msgspec.Struct):
    text: str | None = None
    blob: str = ""
    mime_type: str = msgspec.field(name="mimeType", default="")


def _part(request: ReadRequest, parts: Readable) -> _Blocks:
    text = parts.text if request.path is None else _selected(request.path, parts)
    if request.grep is not None:
        return _matches(request, request.grep, text)
    if request.path is None or request.offset is not None:
        return _window(request, text)
    if len(text) > request.limit:
        document = Readable([text], b"", (), 0).document  # of a string it is the string itself
        raise _Refused(
            f"path: what it selects has {len(text):,} bytes, more than limit ({request.limit:,})."
            f" Shape: {excerpts.shape(document) if document else 'string'}."
            f" Select less, raise limit (at most {MOST:,}), or read it by offset"
        )
    remark = f"path: nothing is there. Shape of all: {excerpts.shape(parts.value)}" if text == b"null" else ""
    return _Blocks(remark, (_text(text.decode("utf-8", "replace")),))


def _selected(expression: str, parts: Readable) -> bytes:
    try:
        return readable.apply(expression, parts.value)
    except readable.PathFailed as error:
        raise _Refused(f"path: {error}") from None


def _window(request: ReadRequest, text: bytes) -> _Blocks:
    piece = excerpts.piece(text, request.offset or 0, request.limit)
    remark = f"bytes {piece.start:,}{_AND}{piece.end:,} of {len(text):,}{_next(piece, text)}"
    return _Blocks(remark, (_text(piece.text.decode("utf-8", "replace")),))


def _matches(request: ReadRequest, sought: str, text: bytes) -> _Blocks:
    piece, number = excerpts.matches(text, sought, request.offset or 0, request.limit, request.context)
    if not number:
        return _Blocks(f"no match in bytes {piece.start:,}{_AND}{len(text):,}", ())
    remark = f"{number:,} matches, each after the byte where it begins, of {len(text):,}{_next(piece, text)}"
    return _Blocks(remark, (_text(piece.text.decode("utf-8", "replace")),))


def _next(piece: excerpts.Piece, text: bytes) -> str:
    return f"; next offset {piece.end}" if piece.end < len(text) else ""


def _text(text: str) -> bytes:
    return msgspec.json.encode({"type": "text", "text": text})
