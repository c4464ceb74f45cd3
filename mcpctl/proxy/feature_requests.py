"""The requests about prompts and resources: listed from the catalog, got and read from the server that has them.

A list of these waits for no server. Definitions pass as servers sent them, but for names that a client has to use
otherwise.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import msgspec

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failure
from mcpctl.base.feature_names import EXPLICIT, NAMED_BY, PROMPTS, RESOURCES, TEMPLATES
from mcpctl.catalog.features import Feature, Features
from mcpctl.proxy import translate
from mcpctl.proxy.dispatch import Dispatch
from mcpctl.proxy.feature_reads import KIND_OF, Completion, Owners, Reads
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.request import Request
from mcpctl.proxy.spec import Barring, Incoming
from mcpctl.upstreams.connection import COMPLETION, PROMPTS_GET, RESOURCES_READ
from mcpctl.wire import jsonrpc
from mcpctl.wire.threads import beside

LISTS = {"prompts/list": PROMPTS, "resources/list": RESOURCES, "resources/templates/list": TEMPLATES}
_MEMBERS = {PROMPTS: b"prompts", RESOURCES: b"resources", TEMPLATES: b"resourceTemplates"}
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_TTL_MS = 10_000  # short, so that a client that is not told of changes finds them all the same
_CACHED = b'"ttlMs":%d,"cacheScope":"private"' % _TTL_MS
METHODS = frozenset((*LISTS, PROMPTS_GET, RESOURCES_READ, COMPLETION))
T = TypeVar("T")
MakePage = Callable[[Incoming], Awaitable[bytes | None]]  # None where a cursor is of another list
OWN_ID = b"own-"  # beginning of the ids of requests that are not a client's: a client's are JSON
_COMPLETED_S = 2.0


def offset_of(cursor: bytes, generation: str) -> int | None:
    """The place where a cursor's page begins; None for one that is of another generation of the list."""
    if cursor in (b"", b"null"):
        return 0
    try:
        before, _, offset = jsonrpc.value(cursor, str).rpartition(".")
    except jsonrpc.Malformed:
        return None
    return int(offset) if before == generation and _NUMBER.fullmatch(offset) else None


def page(
    member: bytes, items: Collection[T], definition: Callable[[T], bytes], generation: str, offset: int,
    before: Iterable[bytes] = (),
) -> bytes | None:  # fmt: skip
    """The members of a result, as JSON without braces; None if there is no such page. The first has `before`, too."""
    if offset and offset >= len(items):
        return None
    shown, size, end = [], 0, offset
    for item in islice(items, offset, offset + bounds.PAGE):
        shown.append(definition(item))
        size, end = size + len(shown[-1]), end + 1
        if size > bounds.PAGE_BYTES:
            break
    listed = b'"%b":[%b]' % (member, b",".join([*(() if offset else before), *shown]))
    return listed if end >= len(items) else b'%b,"nextCursor":"%b.%d"' % (listed, generation.encode(), end)


def _page(features: Features, kind: str, offset: int) -> bytes | None:
    named = features.of_kind(kind).items()
    return page(_MEMBERS[kind], named, lambda each: _definition(kind, *each), features.generation, offset)


def _definition(kind: str, name: str, feature: Feature) -> bytes:
    text = feature.tool.text.encode("utf-8", "replace")
    if name == feature.name:
        return text
    return jsonrpc.object_of({**jsonrpc.members(text), NAMED_BY[kind]: msgspec.json.encode(name)})


class FeatureRequests:
    def __init__(
        self, gateway: Gateway, owners: Owners, dispatch: Dispatch, begin: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._owners = owners
        self._gateway = gateway
        self._dispatch = dispatch
        self._begin = begin
        self._reads = {method: Reads(method, self._owners, dispatch.recorder, dispatch.client) for method in KIND_OF}
        self._listing = asyncio.Lock()  # held while a page is made and sent: many that nobody takes would fill memory
        self._number = 0

    def start(
        self, method: str, id_: bytes, caller: Caller, params: dict[str, bytes], meta: Mapping[str, bytes]
    ) -> None:
        extra = {name: value for name, value in params.items() if name != "_meta"}
        request = Incoming(id_, caller, meta, extra)
        dispatch = self._dispatch
        if id_ in dispatch.in_flight or (dispatch.is_in_use and dispatch.is_in_use(id_)):
            self._error(request, jsonrpc.INVALID_REQUEST, "this id is in use by another request")
        elif method in LISTS:
            self._begin(self.list(request, partial(self._page, LISTS[method])))
        elif method in KIND_OF:
            self._start_reading(method, request)
        else:
            self._complete(request)

    def _start_reading(self, method: str, request: Incoming) -> None:
        named_by = NAMED_BY[KIND_OF[method]]
        try:
            name = jsonrpc.value(request.extra.get(named_by, b"null"), str)
        except jsonrpc.Malformed:
            self._error(request, jsonrpc.INVALID_PARAMS, f"{method} needs {named_by}, a string")
        else:
            self._dispatch.begin(self._read(method, name, request))

    def _read(self, method: str, name: str, incoming: Incoming) -> Request:
        arguments = incoming.extra.get("arguments", b"")
        view = self._gateway.view(incoming.caller)
        return Request(self._dispatch, self._reads[method], incoming, view, f"{method} {name}", "", name, arguments)

    def _complete(self, request: Incoming) -> None:
        try:
            spec = Completion(request.extra.get("ref", b"null"), self._gateway, self._owners)
        except jsonrpc.Malformed:
            self._error(request, jsonrpc.INVALID_PARAMS, "ref is of the type ref/prompt or ref/resource")
            return
        view = self._gateway.view(request.caller)
        completion = Request(self._dispatch, spec, request, view, f"{COMPLETION} {spec.name}", "", spec.name, b"")
        too_late = Failure("timed_out")
        completion.timer = asyncio.get_running_loop().call_later(_COMPLETED_S, completion.give_up, too_late)
        self._dispatch.begin(completion)

    def _error(self, request: Incoming, code: int, message: str) -> None:
        self._dispatch.client.error(request, jsonrpc.error_object(code, message))

    async def list(self, request: Incoming, make_page: MakePage) -> None:
        """Answer with a page of a list, once it is known what is in force."""
        try:
            await self._gateway.current()
            await self._gateway.incoming.loaded()
            async with self._listing:
                await self._dispatch.client.released()
                page = await make_page(request)
                if page is None:
                    message = "mcpctl: this cursor is of another list; list from the start"
                    self._error(request, jsonrpc.INVALID_PARAMS, message)
                else:
                    result = b"{%b,%b}" % (page, _CACHED) if request.caller.modern else b"{%b}" % page
                    self._dispatch.client.answer(request, translate.own_result(result, request.caller))
        except Exception as error:
            warn(f"internal error: {error!r}")
            self._error(request, jsonrpc.INTERNAL_ERROR, f"mcpctl: internal error: {type(error).__name__}")

    async def _page(self, kind: str, request: Incoming) -> bytes | None:
        """The members of a list's result, as JSON without braces, made once and aside; None for a wrong cursor."""
        features = self._owners.listable(request.caller)
        offset = offset_of(request.extra.get("cursor", b""), features.generation)
        if offset is None:
            return None
        page = features.pages.get((kind, offset)) or await beside(_page, features, kind, offset)
        if page is not None:
            features.pages[kind, offset] = page
        return page

    async def read(self, uri: str, caller: Caller, server: str | None = None, barring: Barring | None = None) -> bytes:
        """The result of `resources/read`, on record; raises `Failed`, also with the server's error."""
        name = f"{EXPLICIT}{server}:{uri}" if server else uri
        return await self._result(RESOURCES_READ, name, caller, {"uri": msgspec.json.encode(name)}, barring)

    async def prompt(self, name: str, arguments: bytes, caller: Caller) -> bytes:
        """The result of `prompts/get`, on record; raises `Failed` as `read` does."""
        params = {"name": msgspec.json.encode(name), **({"arguments": arguments} if arguments else {})}
        return await self._result(PROMPTS_GET, name, caller, params)

    async def _result(
        self, method: str, name: str, caller: Caller, params: Mapping[str, bytes], barring: Barring | None = None
    ) -> bytes:
        self._number += 1
        read = self._read(method, name, Incoming(OWN_ID + b"%d" % self._number, caller, {}, params))
        read.awaited = asyncio.get_running_loop().create_future()
        read.barring = barring
        self._dispatch.begin(read)
        try:
            return await read.awaited
        except asyncio.CancelledError:
            self._dispatch.cancel(read.incoming.id, {"reason": b'"nobody waits for it"'})
            raise
