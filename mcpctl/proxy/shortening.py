"""Answers over the limit: kept whole, then put on record, then answered as a beginning that says how the rest is read.

An answer that cannot be kept or taken apart is passed on whole. Functions import modules that most sessions never need.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mcpctl.base.errors import warn
from mcpctl.base.models import Newest
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import OWN, READ_TOOL, join
from mcpctl.config.settings import EVERY
from mcpctl.metatools import offers
from mcpctl.metatools.own_tool import CALLS
from mcpctl.policy.view import View
from mcpctl.proxy import translate
from mcpctl.proxy.request import Request
from mcpctl.proxy.spec import DIRECT, Looked
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import Recorder, tokens
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import WorkQueue

if TYPE_CHECKING:
    from mcpctl.answers.readable import Readable
    from mcpctl.store.responses import ResponseOwner

ABOUT = "mcpctl/shortened"  # the member of a result's `_meta` about the rest of it
aside = WorkQueue()  # keeps and reads whole answers: it may take a second, and nobody else waits for it
_HEAD = 2000  # bytes of the beginning that is shown, where the limit is not lower
_REMEMBERED = 10_000


class Shortening:
    def __init__(
        self, paths: Paths, recorder: Recorder, finish: Callable[[Request, Looked, bytes | None], None],
        calls: Newest[str, None] | None = None,
    ) -> None:  # fmt: skip
        # Calls whose answers were kept, the newest last; but not all older.
        self.calls: Newest[str, None] = Newest(_REMEMBERED) if calls is None else calls
        self._paths = paths
        self.recorder = recorder
        self.finish = finish

    def begin(self, call: Request, result: Looked) -> bool:
        """Shorten a result that may exceed the limit of its call, then `finish` it; False where no limit applies."""
        limit = call.view.config.answer_limit(call.server, call.caller.client.name)
        recorder = self.recorder
        if not limit or result.is_error or call.server == OWN or not (recorder.is_of_client and recorder.is_open):
            return False
        work = partial(
            self._shortened, result, limit, call.record.id, self.owner(call.view, call.server, call.name),
            _read_with(call),
            call.view.config.responses.keep_mb, call.view.config.records.fsync,
        )  # fmt: skip
        aside.do(work).add_done_callback(lambda done: self._looked_at(call, result, done))
        return True

    def owner(self, view: View, server: str, tool: str) -> "ResponseOwner":
        from mcpctl.store.responses import ResponseOwner

        return ResponseOwner(
            session_id=self.recorder.session_id, server=server, tool=tool, project=view.project or "",
            token_id=view.token_id,
        )  # fmt: skip

    def _looked_at(self, call: Request, result: Looked, done: "asyncio.Future[bytes | None]") -> None:
        short = None if done.exception() else done.result()
        if error := done.exception():
            warn(f"an answer is not shortened, since it cannot be kept: {error}")
        if call.done:  # taken back, or given up, meanwhile
            from mcpctl.store import responses

            responses.drop(self._paths, self.recorder.session_id, call.record.id)
            return
        if short:
            self.calls[call.record.id] = None
        self.finish(call, result, short)

    def _shortened(
        self, result: Looked, limit: int, call_id: str, owner: "ResponseOwner", execute: str, keep_mb: int, fsync: bool
    ) -> bytes | None:
        """The beginning of a result, which is kept whole; None where it is not too long. In any thread."""
        from mcpctl.answers import readable
        from mcpctl.store import responses

        try:
            parts = readable.of_result(result.result)
            if parts.size <= limit:
                return None
            short = _short(result.answer, parts, limit, f"{CALLS}{call_id}", execute)
        except jsonrpc.Malformed:
            return None
        if len(short) >= len(result.answer):
            return None
        responses.keep(self._paths, call_id, owner, result.result, keep_mb=keep_mb, fsync=fsync)
        return short


def _read_with(call: Request) -> str:
    """The tool that reads on: our own, by itself where no tool calls others."""
    if call.incoming.via == DIRECT and EVERY in call.view.config.serve.direct:
        return offers.READ
    return offers.execute_with("read") if call.execute_class else offers.EXECUTE


class _KnownMembers(translate.Head, forbid_unknown_fields=True):
    """A result that has no members but these."""


def _beside_content(answer: Json) -> dict[str, bytes]:
    """The members of a result without its content, which may be large and is not copied unless there are others."""
    try:
        known = msgspec.json.decode(answer, type=_KnownMembers)
    except jsonrpc.REFUSED:
        members = jsonrpc.members(bytes(answer))
        return {name: members[name] for name in members if name not in ("content", "structuredContent")}
    others = {"isError": known.is_error, "resultType": known.result_type, "_meta": known.meta}
    return {name: bytes(value) for name, value in others.items() if bytes(value)}


def _short(answer: Json, parts: "Readable", limit: int, uri: str, execute: str) -> bytes:
    members = _beside_content(answer)
    block = msgspec.json.encode({"type": "text", "text": _text(parts, limit, uri, execute)})
    members["content"] = b"[%b]" % b",".join((block, *parts.others))
    about = {"uri": uri, "bytes": len(parts.text), "tokens": tokens(len(parts.text))}
    if execute not in (offers.EXECUTE, offers.READ):
        about["executeWith"] = execute
    meta = jsonrpc.members_or_empty(members.get("_meta", b""))
    members["_meta"] = jsonrpc.object_of({**meta, ABOUT: msgspec.json.encode(about)})
    return jsonrpc.object_of(members)


def _text(parts: "Readable", limit: int, uri: str, execute: str) -> str:
    from mcpctl.answers import excerpts

    text, document = parts.text, parts.document
    head = excerpts.head(text, min(_HEAD, limit), is_json=bool(document))
    arguments: dict[str, object] = {"uri": uri}
    path = excerpts.example(document) if document else ""
    arguments |= {"path": path} if path else {"offset": len(head)}
    passed = arguments if execute == offers.READ else {"toolKey": join(OWN, READ_TOOL), "arguments": arguments}
    more = msgspec.json.encode(passed).decode()
    number = tokens(len(text))
    about = round(number, -max(len(str(number)) - 3, 0))  # its first two or three digits
    like = f" Shape: {excerpts.shape(document)}." if document else ""
    return (
        f"Shortened by mcpctl: {len(text):,} bytes (about {about:,} tokens).{like}"
        f" First {len(head):,} bytes follow. Read more (path, or offset and limit, or grep): {execute} {more}\n\n"
        f"{head.decode('utf-8', 'replace')}"
    )
