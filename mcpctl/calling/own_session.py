"""The session of a command: the gateway's, where only the outcome of each call is awaited."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from mcpctl import __version__
from mcpctl.base import posix
from mcpctl.base.callers import LEGACY_REVISIONS, Caller, Claims, Client
from mcpctl.base.errors import UpstreamFailed
from mcpctl.base.failure import Failure
from mcpctl.base.models import RawJson
from mcpctl.base.paths import Paths
from mcpctl.config.config import Config
from mcpctl.policy import words
from mcpctl.policy.tokens import own_token
from mcpctl.proxy import translate
from mcpctl.proxy.consent_forms import AskHere
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.session import ClientSession
from mcpctl.proxy.spec import Incoming
from mcpctl.store.recordable import Json
from mcpctl.wire import jsonrpc

_TOLD_MOST = 200
_REVISION = LEGACY_REVISIONS[-1]
_INFO = msgspec.json.encode({"name": "mcpctl", "version": __version__})
CALLER = Caller(_REVISION, _INFO, b"{}", Client("mcpctl", __version__, _REVISION, b"{}"), Claims(of_person=True))

Tell = Callable[[str], None] | None  # gets the progress of a call, if anybody wants to know


@dataclass(frozen=True)
class Result:
    """A tool's result as it came, or `{"error": …}` with the error of JSON-RPC as it came."""

    raw: RawJson
    content: Sequence[Any]
    failure: UpstreamFailed | None = None  # to be raised once the error is printed


class OwnSession(ClientSession):
    """The session of a command: it makes one call at a time, and awaits its outcome."""

    def __init__(self, gateway: Gateway, speaker: Caller, tell: Tell, via: str) -> None:
        super().__init__(gateway, _Nowhere(), speaker, via=via, parents=posix.parents)
        self.record_id: str | None = None  # the id on record of the last call
        self._tell = tell
        self._key = ""
        self._number = 0
        self._outcome: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    async def call(
        self, key: str, arguments: bytes, *, as_sent: bool, execute_class: str | None = None, replays: str | None = None
    ) -> Result:
        """Call a tool; raises an `McpctlError` if the tool gave no answer. The rest is as in `Incoming`."""
        self._key, self._number, self.record_id = key, self._number + 1, None
        self._outcome = asyncio.get_running_loop().create_future()
        id_ = b"%d" % self._number
        envelope = jsonrpc.object_of({"toolKey": msgspec.json.encode(key), "arguments": arguments})
        meta = {"progressToken": id_} if self._tell else {}
        request = Incoming(id_, self.caller, meta, execute_class=execute_class, as_sent=as_sent, replays=replays)
        self.dispatch.call(request, envelope)
        return await self._outcome

    def answer(self, request: Incoming, result: Json) -> None:
        raw = bytes(result)
        is_error = bytes(translate.head(raw).is_error) == b"true"
        message = (translate.text_of(raw) or raw.decode("utf-8", "replace")) if is_error else None
        self._take(request, raw, _content(raw), message)

    def error(self, request: Incoming, error: bytes) -> None:
        self._take(request, b'{"error":%b}' % error, [], translate.message_of(error))

    def refused(self, request: Incoming, failure: Failure, call_id: str) -> None:
        if not self._outcome.done():  # else it was interrupted: nobody waits for it any more
            self.record_id = call_id
            self._outcome.set_exception(words.for_person(failure))

    def progress(self, params: dict[str, bytes]) -> None:
        if self._tell and (message := _progress(params)):
            self._tell(message)

    def _take(self, request: Incoming, raw: bytes, content: Sequence[Any], error: str | None) -> None:
        if not self._outcome.done():
            if call := self.dispatch.in_flight.get(request.id):
                self.record_id = call.record.id
            failure = None
            if error is not None:
                hint = f"see: mcpctl tools show {self._key}"
                failure = UpstreamFailed(f"{self._key} answered with an error: {error}", hint, "tool_error")
            self._outcome.set_result(Result(RawJson(raw.decode("utf-8", "replace")), content, failure))


class _Nowhere:
    """A transport that drops every message."""

    pending = 0

    async def released(self) -> None:
        """Nobody is waited for."""

    def write(self, *pieces: bytes | memoryview) -> None:
        """Let it go."""


@contextlib.asynccontextmanager
async def own_session(
    loaded: Config, paths: Paths, toolset: str | None, tell: Tell = None, via: str = "cli", ask: AskHere | None = None
) -> AsyncIterator[OwnSession]:
    """A session on a gateway of its own; at the end no server is left running. `ask` asks about calls that need it."""
    gateway = Gateway(loaded, paths, toolset=toolset)
    speaker = replace(CALLER, claims=Claims(own_token(), of_person=True))
    session = OwnSession(gateway, speaker, tell, via)
    session.dispatch.consent.ask_here = ask
    try:
        yield session
    finally:
        await session.settle(0)
        await gateway.stop(session.close(0))
        await gateway.memory.written()  # how its servers ended, too


def _progress(params: Mapping[str, bytes]) -> str:
    try:
        done = jsonrpc.value(params.get("progress", b"null"), float)
        total = jsonrpc.value(params.get("total", b"0"), float)
        message = jsonrpc.value(params.get("message", b'""'), str)
    except jsonrpc.Malformed:
        return ""
    amount = f"{min(100.0, 100 * done / total):.0f}%" if total > 0 else f"{done:g}"
    return f"{amount} {message[:_TOLD_MOST]}".rstrip()


def _content(raw: bytes) -> Sequence[Any]:
    try:
        result = json.loads(raw)
    except (ValueError, RecursionError):
        return []
    content = result.get("content") if isinstance(result, dict) else None
    return content if isinstance(content, list) else [result]
