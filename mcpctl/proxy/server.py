"""What the client of `mcpctl serve` sees: the protocol in both its eras, and the two meta-tools."""

import asyncio
import re
import select
import signal
import time
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from mcpctl import bounds
from mcpctl.config import Config
from mcpctl.errors import McpctlError, warn
from mcpctl.paths import Paths
from mcpctl.proxy import jsonrpc, metatools, refusals
from mcpctl.proxy.call import Asked
from mcpctl.proxy.connection import ASKABLE, Caller, Connection
from mcpctl.proxy.discovery import Wanted, wanted
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.messages import MessageReader, beside, id_of
from mcpctl.proxy.metatools import Offer
from mcpctl.proxy.questions import Question, can_be_asked
from mcpctl.proxy.writer import Writer
from mcpctl.store.recorder import Client, Json

_GRACE_S = 0.5
_LOOK_S = 0.01
_HANG_UP_S = 0.5
_ID = re.compile(rb'"[^\x00-\x1f]*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?')
"""What can be an id, and be in an answer as it came."""
_LAST_S = 1.4
"""After this it ends, though the client has not read all of its answers."""

_ENVELOPE = (jsonrpc.VERSION_KEY, jsonrpc.CLIENT_INFO_KEY, jsonrpc.CAPABILITIES_KEY)
"""What marks a request of 2026-07-28, whole or in part."""
_SEVERITIES = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of a log message, as RFC 5424 has them, the least severe first."""


_PLAIN = Offer()


async def serve(
    config: Config,
    paths: Paths,
    *,
    stdin: int,
    stdout: int,
    toolset: str | None = None,
    offer: Offer = _PLAIN,
    verbose: bool = False,
    on_ending: Callable[[], None] = lambda: None,
) -> None:
    """Serve one client on two descriptors until it goes or a signal says so; then nothing that was started is left.

    `on_ending` is called when the end begins.
    """
    server = Server(Gateway(config, paths, toolset=toolset, split=offer.split, verbose=verbose), offer, stdin, stdout)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, server.ending.set)
    watching = asyncio.create_task(server.watch_for_hang_up(stdin))
    await server.ending.wait()
    on_ending()
    last = loop.time() + _LAST_S
    watching.cancel()
    server.hear_no_more()
    await server.gateway.stop(_GRACE_S)
    await server.all_taken(last)


class Server:
    """One client's connection: its requests come in as lines, each is answered exactly once."""

    def __init__(self, gateway: Gateway, offer: Offer, stdin: int, stdout: int) -> None:
        self.gateway = gateway
        self._offer = offer
        self._executes = {msgspec.json.encode(name): only for name, only in offer.executes.items()}
        self.ending = asyncio.Event()
        self._servers = list(gateway.config.enabled)
        self._constant = metatools.answers(self._servers, offer)
        self._caller = Caller(jsonrpc.LEGACY_REVISIONS[-1])
        self._modern_callers: dict[bytes, Caller] = {}
        self._warm = False
        self._initialized = False
        gateway.from_upstream = self._from_upstream
        self._out = Writer(stdout, gateway.turn, self.ending.set, inherited=True, holds=True)
        gateway.to_client = self._out.write
        self._in = MessageReader(
            stdin, gateway.turn, of_client=True, on_message=self._said, on_other=self._not_a_message,
            on_end=self.ending.set, on_too_long=self._too_long,
        )  # fmt: skip

    def hear_no_more(self) -> None:
        """Take no more requests: what they would start, nobody would end."""
        self._in.close()

    async def watch_for_hang_up(self, stdin: int) -> None:
        """End when the client has gone without reading its answers: what is not read does not tell its own end."""
        poll = select.poll()
        poll.register(stdin, 0)
        while True:
            await self.gateway.turn.held()
            pending = self._out.pending
            await asyncio.sleep(_HANG_UP_S)
            if self._out.pending == pending and pending > bounds.UNREAD and poll.poll(0):
                self.ending.set()
                return

    async def all_taken(self, last: float) -> None:
        """Wait until the client has read all that it was sent, at most until `last` on the loop's clock."""
        while self._out.pending and asyncio.get_running_loop().time() < last:
            await asyncio.sleep(_LOOK_S)

    # ---- what the client says

    def _said(self, message: jsonrpc.Message | jsonrpc.Malformed) -> None:
        if isinstance(message, jsonrpc.Malformed):
            self._error(b"null", jsonrpc.INVALID_REQUEST, f"Invalid Request: {message}")
        elif message.method is None:
            self._answered(message)
        elif jsonrpc.is_id(message.id):
            self._requested_safely(bytes(message.id), message.method, message.params)
        else:
            self._notified(message.method, message.params)

    def _not_a_message(self, line: bytes) -> None:
        if line.strip() in (b"[]", b"[ ]"):
            self._error(b"null", jsonrpc.INVALID_REQUEST, "Invalid Request: an empty batch")
        elif line.strip():
            self._error(b"null", jsonrpc.PARSE_ERROR, "Parse error")

    def _too_long(self, beginning: bytes, end: bytes) -> None:
        message = f"Invalid Request: a message has at most {bounds.MESSAGE >> 20} MB"
        self._error(id_of(beginning, end) or b"null", jsonrpc.INVALID_REQUEST, message)

    def _requested_safely(self, id_: bytes, method: str, raw: Raw) -> None:
        try:
            self._requested(id_, method, raw)
        except Exception as error:
            self._error(id_, jsonrpc.INTERNAL_ERROR, f"internal error: {error!r}")
            warn(f"internal error: {error!r}")

    def _requested(self, id_: bytes, method: str, raw: Raw) -> None:
        if not _ID.fullmatch(id_):
            self._error(b"null", jsonrpc.INVALID_REQUEST, "the id of a request is a string or a number")
            return
        try:
            params = jsonrpc.members(raw) if bytes(raw) not in (b"", b"null") else {}
            meta = jsonrpc.members(params["_meta"]) if params.get("_meta", b"null") != b"null" else {}
        except jsonrpc.Malformed:
            self._error(id_, jsonrpc.INVALID_PARAMS, "params and its _meta must be objects")
            return
        caller = self._caller
        if not meta.keys().isdisjoint(_ENVELOPE) or method == "server/discover":
            modern = self._modern(id_, meta)
            if modern is None:
                return
            caller = modern
        if method == "tools/call":
            self._tool_called(id_, caller, params, meta)
        elif method == "initialize" and not caller.modern:
            self._initialize(id_, params)
        elif method == "logging/setLevel" and not caller.modern:
            self._set_log_level(id_, params.get("level", b""))
        elif answer := self._constant.get((method, caller.modern)):
            self._out.write(jsonrpc.result(id_, answer))
        else:
            self._error(id_, jsonrpc.METHOD_NOT_FOUND, "Method not found", method[:200])
        if method in ("tools/list", "tools/call") and not self._warm:
            self._warm = True
            # After the answer has left: nothing here is needed for it.
            asyncio.get_running_loop().call_soon(self.gateway.warm_up, caller)

    def _modern(self, id_: bytes, meta: dict[str, bytes]) -> Caller | None:
        """Who sends this 2026-07-28 request; None when its envelope is wrong, which has then been answered."""
        version = meta.get(jsonrpc.VERSION_KEY, b"")
        if not version:
            self._error(id_, jsonrpc.INVALID_PARAMS, f"_meta needs {jsonrpc.VERSION_KEY}")
            return None
        capabilities = meta.get(jsonrpc.CAPABILITIES_KEY, b"")
        info = meta.get(jsonrpc.CLIENT_INFO_KEY, b"")
        if version != b'"%b"' % jsonrpc.MODERN_REVISION.encode():
            data = {"supported": [jsonrpc.MODERN_REVISION], "requested": _text(version)}
            self._error(id_, jsonrpc.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
            return None
        if not capabilities.startswith(b"{"):
            self._error(id_, jsonrpc.INVALID_PARAMS, f"_meta needs {jsonrpc.CAPABILITIES_KEY}, an object")
            return None
        identity = capabilities + b"\n" + info
        caller = self._modern_callers.get(identity)
        if caller is None:
            if len(self._modern_callers) > 100:
                self._modern_callers.clear()
            caller = _caller(jsonrpc.MODERN_REVISION, info, capabilities)
            self._modern_callers[identity] = caller
        self.gateway.recorder.client = caller.client
        return caller

    def _initialize(self, id_: bytes, params: dict[str, bytes]) -> None:
        asked = _text(params.get("protocolVersion", b""))
        revision = asked if asked in jsonrpc.LEGACY_REVISIONS else jsonrpc.LEGACY_REVISIONS[-1]
        capabilities = params.get("capabilities", b"{}")
        info = params.get("clientInfo", b"")
        self._caller = _caller(revision, info, capabilities if capabilities.startswith(b"{") else b"{}")
        self._initialized = True
        self.gateway.recorder.client = self._caller.client
        self._out.write(jsonrpc.result(id_, metatools.initialized(revision, self._servers, self._offer)))

    def _set_log_level(self, id_: bytes, level: bytes) -> None:
        if _text(level) not in _SEVERITIES:
            self._error(id_, jsonrpc.INVALID_PARAMS, f"level is one of {', '.join(_SEVERITIES)}")
            return
        self.gateway.set_log_level(level, self._caller)
        self._out.write(jsonrpc.result(id_, b"{}"))

    def _tool_called(self, id_: bytes, caller: Caller, params: dict[str, bytes], meta: dict[str, bytes]) -> None:
        name = params.get("name", b"")
        arguments = params.get("arguments", b"{}")
        if name in self._executes:
            extra = {n: value for n, value in params.items() if n not in ("name", "arguments", "_meta")}
            asked = Asked(
                id_, caller, self._answer, self._answer_error, self._progressed,
                meta=meta, extra=extra, only=self._executes[name],
            )  # fmt: skip
            self.gateway.execute.start(asked, arguments)
        elif name == b'"tool_discovery"':
            self.gateway.answering(self._discover(id_, caller, arguments))
        elif name == b'"add-tool-annotation"' and self._offer.annotate:
            self.gateway.answering(self._annotate(id_, caller, arguments))
        else:
            *first, last = self._offer.names
            known = f"this server has {', '.join(first)} and {last}; call others with {self._offer.phrase}"
            self._error(id_, jsonrpc.INVALID_PARAMS, f"Unknown tool: {_text(name)[:200]}", known)

    def _notified(self, method: str, raw: Raw) -> None:
        params = jsonrpc.members_or_empty(raw)
        if method == "notifications/cancelled":
            self.gateway.execute.cancel(params.get("requestId", b""), params)
        elif method == "notifications/roots/list_changed":
            self.gateway.tell_all(method, params)

    def _answered(self, message: jsonrpc.Message) -> None:
        """The client's answer to a question of a server's."""
        if not bytes(message.result) and not bytes(message.error):
            if jsonrpc.is_id(message.id):
                told = "Invalid Request: it has neither method, result nor error"
                self._error(bytes(message.id), jsonrpc.INVALID_REQUEST, told)
            return
        self.gateway.questions.answered(message)

    async def _discover(self, id_: bytes, caller: Caller, arguments: bytes) -> None:
        started = time.time()
        try:
            asked = await beside(_wanted, arguments) if len(arguments) > bounds.LITTLE else _wanted(arguments)
        except jsonrpc.Malformed as error:
            self._out.write(jsonrpc.result(id_, refusals.no_results(str(error), caller)))
            return
        try:
            answer = await self.gateway.discover(asked, caller)
        except asyncio.CancelledError:
            self._out.write(jsonrpc.result(id_, refusals.no_results("the session is ending", caller)))
            raise
        except Exception as error:
            warn(f"a search failed: {error!r}")
            told = "the search failed; tools can still be called by their keys"
            self._out.write(jsonrpc.result(id_, refusals.no_results(told, caller)))
            return
        self.gateway.recorder.discovery_finished(
            asked.queries, asked.context, provider=answer.provider, fallback=answer.fallback, started=started,
            results=[{"key": hit.key, "relevance": hit.relevance} for hit in answer.hits],
            answer_bytes=len(answer.content),
        )  # fmt: skip
        self._out.write(jsonrpc.result(id_, refusals.own(answer.result, caller)))

    async def _annotate(self, id_: bytes, caller: Caller, arguments: bytes) -> None:
        try:
            answer = refusals.own(await self.gateway.annotate(arguments), caller)
        except McpctlError as error:
            answer = refusals.result(f"{error.message}; {error.hint}", caller)
        except Exception as error:
            warn(f"notes could not be added: {error!r}")
            answer = refusals.result(f"the notes could not be added: {error}", caller)
        self._out.write(jsonrpc.result(id_, answer))

    # ---- what the client is told

    def _answer(self, asked: Asked, result: Json) -> None:
        self._out.write(*jsonrpc.result_pieces(asked.id, result))

    def _answer_error(self, asked: Asked, error: bytes) -> None:
        self._out.write(jsonrpc.error(asked.id, error))

    def _progressed(self, asked: Asked, params: dict[str, bytes]) -> None:
        self._tell("notifications/progress", jsonrpc.object_of(params))

    def _tell(self, method: str, params: bytes) -> None:
        """Send a notification; a client that does not read goes without, so that no server can fill our memory."""
        if self._out.pending <= bounds.UNREAD_NOTICES:
            self._out.write(jsonrpc.notification(method, params))

    def _error(self, id_: bytes, code: int, message: str, data: Any = None) -> None:
        self._out.write(jsonrpc.error(id_, jsonrpc.error_object(code, message, data)))

    def _from_upstream(self, connection: Connection, message: jsonrpc.Message) -> None:
        """Pass on what a server asks of the client in the middle of a call, or says of such a question."""
        if message.method == "notifications/cancelled":
            self.gateway.questions.withdrawn(connection, jsonrpc.members_or_empty(message.params))
        elif message.method == "notifications/message":
            self._logged(connection, message.params)
        elif jsonrpc.is_id(message.id):
            self._asked(connection, message)

    def _logged(self, connection: Connection, raw: Raw) -> None:
        """Pass on what a server logs, to a client that wants to hear it."""
        call = self.gateway.execute.asked_by(connection)
        if call and call.asked.caller.modern:
            # Without a level in its request, a client of 2026-07-28 wants to hear nothing.
            wanted = _severity(call.asked.meta.get(jsonrpc.LOG_LEVEL_KEY, b""))
        else:
            wanted = _severity(self.gateway.log_level) or 0 if self._initialized else None
        level = _severity(jsonrpc.members_or_empty(raw).get("level", b""))
        if wanted is not None and level is not None and level >= wanted:
            self._tell("notifications/message", bytes(raw))

    def _asked(self, connection: Connection, message: jsonrpc.Message) -> None:
        method, id_ = str(message.method), bytes(message.id)
        execute = self.gateway.execute
        call, parked = execute.asked_by(connection), execute.parking.of(connection)
        caller = call.asked.caller if call else self._caller
        question = Question(connection, id_, method, bytes(message.params) or b"{}")
        if method not in ASKABLE or connection.modern:
            self._cannot_be_asked(question)
        elif call and caller.modern and can_be_asked(caller, method):
            call.ask(question)
        elif call is None and parked:
            parked.add(question)
        elif not caller.modern and can_be_asked(caller, method) and self._out.pending <= bounds.UNREAD_NOTICES:
            self.gateway.questions.forward(connection, message)
        else:
            self._cannot_be_asked(question)

    def _cannot_be_asked(self, question: Question) -> None:
        error = jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, "the client cannot be asked this")
        question.connection.write(jsonrpc.error(question.id, error))


def _wanted(arguments: bytes) -> Wanted:
    return wanted(jsonrpc.members(arguments))


class _Info(msgspec.Struct):
    name: str | None = None
    version: str | None = None


def _caller(revision: str, info: bytes, capabilities: bytes) -> Caller:
    try:
        named = jsonrpc.value(info, _Info) if info else _Info()
    except jsonrpc.Malformed:
        named = _Info()
    return Caller(revision, info, capabilities, Client(named.name, named.version, revision, capabilities))


def _severity(level: bytes) -> int | None:
    """How severe a level is, None where it is none."""
    name = _text(level)
    return _SEVERITIES.index(name) if name in _SEVERITIES else None


def _text(raw: bytes) -> str:
    """A JSON string's text, or what stands there."""
    try:
        return jsonrpc.value(raw, str)
    except jsonrpc.Malformed:
        return raw.decode("utf-8", "replace")
