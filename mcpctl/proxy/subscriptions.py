"""Subscriptions of a client: to lists of prompts, resources and direct tools that change, and to resources that do.

They are `resources/subscribe` and `resources/unsubscribe` of older clients, `subscriptions/listen` of those of
2026-07-28. A client is told of things that it may see at that moment, and of nothing that it may not see any more.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from mcpctl.base import bounds
from mcpctl.base.callers import Caller
from mcpctl.base.errors import warn
from mcpctl.base.failure import Failed
from mcpctl.base.feature_names import EXPLICIT, PROMPTS, RESOURCES, TEMPLATES
from mcpctl.catalog.features import FeatureOwner, FeaturePart, Features
from mcpctl.metatools import offers
from mcpctl.proxy import translate
from mcpctl.proxy.feature_reads import Owners
from mcpctl.proxy.gateway import TOOLS, Gateway
from mcpctl.proxy.watched_resources import ACKNOWLEDGED, UPDATED
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.metatools.direct_tools import DirectTools

METHODS = frozenset(("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"))
TOOL_LIST = "toolsListChanged"
LISTS = {  # by kind of change; that of tools where any are shown directly
    TOOL_LIST: (TOOLS,), "promptsListChanged": (PROMPTS,), "resourcesListChanged": (RESOURCES, TEMPLATES),
}  # fmt: skip
_SOON_S = 0.25  # how long a change of lists waits for others, so that a client is told once
_LOOK_S = 1.0  # how often it is looked whether people have changed what is shown directly, while nobody asks
_AGREED_S = 2.0  # how long servers have to agree before a client is told what they have agreed to


class DirectLists(Protocol):
    async def tools(self, caller: Caller) -> "DirectTools": ...


class Subscriber(Protocol):
    gateway: Gateway
    owners: Owners

    @property
    def direct(self) -> DirectLists: ...
    @property
    def is_reading(self) -> bool: ...
    def send(self, line: bytes) -> None: ...


class ClientSubscription:
    """One way of telling a client: an older one of its own accord, a newer one on one `subscriptions/listen`."""

    def __init__(self, session: Subscriber, caller: Caller, lists: Collection[str], id_: bytes = b"") -> None:
        """`lists` are names of `LISTS`; `id_` is that of its request, empty for an older client."""
        self.caller = caller
        self.lists = lists
        self.id = id_
        self.owners: dict[str, FeatureOwner] = {}  # of its resources, by the URIs that the client has for them
        self.is_open = not id_  # whether the client may be told: not before its request is acknowledged
        self._session = session
        self._known: dict[str, Features] = {}  # by kind of change, as of the last notification
        self._shown = ""  # the generation of the direct tools that it was last told of

    def tell(self, method: str, params: Mapping[str, bytes]) -> None:
        meta = jsonrpc.members_or_empty(params.get("_meta", b""))
        meta.pop(jsonrpc.SUBSCRIPTION_KEY, None)
        if self.id:
            meta[jsonrpc.SUBSCRIPTION_KEY] = self.id
        members = {name: value for name, value in params.items() if name != "_meta"}
        members |= {"_meta": jsonrpc.object_of(meta)} if meta else {}
        self._session.send(jsonrpc.notification(method, jsonrpc.object_of(members) if members else b""))

    @property
    def can_be_told(self) -> bool:
        return self.is_open and self._session.is_reading

    def features(self) -> Features:
        return self._session.owners.listable(self.caller)

    def updated(self, owner: FeatureOwner, uri: str, params: Mapping[str, bytes]) -> None:
        self._session.gateway.when_current(lambda: self._pass_on(owner, uri, params))

    def _pass_on(self, owner: FeatureOwner, uri: str, params: Mapping[str, bytes]) -> None:
        explicit = f"{EXPLICIT}{owner.server}:"
        for prefix in (explicit, ""):  # as one of them, or both, the client knows it
            known = prefix + owner.uri
            if self.owners.get(known) == owner and self.can_be_told and _owner(self.features(), known) == owner:
                self.tell(UPDATED, {**params, "uri": msgspec.json.encode(prefix + uri)})

    def compare(self) -> None:
        """Tell the client of lists that differ from those it was last told of; at first there is nothing to tell."""
        features = self.features()
        for name in self.lists:
            if name == TOOL_LIST:
                continue
            before = self._known.setdefault(name, features)
            is_same = before is features or _are_same(_shown(before, LISTS[name]), _shown(features, LISTS[name]))
            if is_same or self.can_be_told:
                self._known[name] = features
                if not is_same:
                    self.tell(f"notifications/{LISTS[name][0]}/list_changed", {})

    async def compare_tools(self) -> None:
        """Tell the client where it is shown other tools than it was last told of; at first there is nothing to tell."""
        if TOOL_LIST not in self.lists:
            return
        tools = await self._session.direct.tools(self.caller)
        is_same = self._shown in ("", tools.generation)
        if is_same or self.can_be_told:
            self._shown = tools.generation
            if not is_same:
                self.tell(f"notifications/{TOOLS}/list_changed", {})


class Subscriptions:
    def __init__(self, session: Subscriber) -> None:
        self._session = session
        self._gateway = session.gateway
        self._watched = session.gateway.watched
        self._older: ClientSubscription | None = None
        self._listens: dict[bytes, ClientSubscription] = {}
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._comparing: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def were_used(self) -> bool:
        return bool(self._older or self._listens or self._tasks)

    def begin(self, caller: Caller, announced: Collection[str]) -> None:
        """Notify an older client of changes of what the handshake has announced to it."""
        if self._older:
            self._end(self._older)
        lists = [name for name, (kind, *_) in LISTS.items() if kind in announced]
        self._older = ClientSubscription(self._session, caller, lists)
        self._gateway.background(self._note(self._older))

    async def _note(self, subscription: ClientSubscription) -> None:
        await self._gateway.current()
        await self._gateway.incoming.loaded()
        subscription.compare()
        if TOOL_LIST in subscription.lists:
            await subscription.compare_tools()
            self._looking = self._looking or self._gateway.background(self._look_at_tools())

    async def _look_at_tools(self) -> None:
        """Nobody else looks at what people change while a client only listens."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self._gateway.current()
                for each in self._all():
                    await each.compare_tools()
            except Exception as error:  # it may pass
                warn(f"internal error: {error!r}")

    def start(self, method: str, id_: bytes, caller: Caller, params: dict[str, bytes]) -> None:
        if caller.modern != (method == "subscriptions/listen"):
            self._refuse(id_, jsonrpc.METHOD_NOT_FOUND, "Method not found", method)
        elif id_ in self._listens or id_ in self._tasks:
            self._refuse(id_, jsonrpc.INVALID_REQUEST, "Invalid Request: a request of this id is open")
        elif method == "subscriptions/listen":
            self._begin(id_, caller, partial(self._listen, id_, caller, params))
        else:
            self._begin(id_, caller, partial(self._change, method, id_, caller, params))

    def cancel(self, request_id: bytes) -> bool:
        task, listen = self._tasks.pop(request_id, None), self._listens.pop(request_id, None)
        if task:
            task.cancel()
        if listen:
            self._end(listen)
        return bool(task or listen)

    def lists_changed(self) -> None:
        """Lists may have changed: tell the client, soon and once, where they really have."""
        if self._comparing is None and (self._older or self._listens):
            self._comparing = asyncio.get_running_loop().call_later(_SOON_S, self._compare)

    def _compare(self) -> None:
        self._comparing = None
        for each in self._all():
            self._gateway.when_current(each.compare)

    def close(self) -> None:
        """The session ends: so does each `subscriptions/listen`, with a result."""
        if self._comparing:
            self._comparing.cancel()
        if self._looking:
            self._looking.cancel()
        for task in self._tasks.values():
            task.cancel()
        for each in self._all():
            self._end(each)
        for id_ in self._listens:
            meta = {jsonrpc.SUBSCRIPTION_KEY: id_, jsonrpc.SERVER_INFO_KEY: offers.SERVER_INFO}
            ended = {"resultType": b'"complete"', "_meta": jsonrpc.object_of(meta)}
            self._session.send(jsonrpc.result(id_, jsonrpc.object_of(ended)))
        self._listens.clear()

    def _all(self) -> list[ClientSubscription]:
        return [*([self._older] if self._older else []), *self._listens.values()]

    def _end(self, subscription: ClientSubscription) -> None:
        for owner in set(subscription.owners.values()):
            self._watched.unwatch(owner, subscription)
        subscription.owners.clear()

    # ---- requests

    def _begin(self, id_: bytes, caller: Caller, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = self._tasks[id_] = self._gateway.background(self._answered(id_, caller, work))
        task.add_done_callback(lambda done: self._tasks.pop(id_) if self._tasks.get(id_) is done else None)

    async def _answered(self, id_: bytes, caller: Caller, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Failed as error:
            self._session.send(jsonrpc.error(id_, error.error or translate.rejection(error.failure, caller)))
        except jsonrpc.Malformed as error:
            self._refuse(id_, jsonrpc.INVALID_PARAMS, str(error))
        except Exception as error:
            warn(f"internal error: {error!r}")
            self._refuse(id_, jsonrpc.INTERNAL_ERROR, f"internal error: {type(error).__name__}")

    def _refuse(self, id_: bytes, code: int, message: str, data: Any = None) -> None:
        self._session.send(jsonrpc.error(id_, jsonrpc.error_object(code, message, data)))

    async def _change(self, method: str, id_: bytes, caller: Caller, params: Mapping[str, bytes]) -> None:
        uri = jsonrpc.value(params.get("uri", b"null"), str)
        await self._gateway.current()
        if self._older is None:
            self.begin(caller, ())
        assert self._older
        if method == "resources/subscribe":
            self._admit(1)
            await self._watch(self._older, uri, await self._session.owners.owner(uri, caller))
        else:
            self._forget(self._older, uri)
        self._session.send(jsonrpc.result(id_, b"{}"))

    async def _listen(self, id_: bytes, caller: Caller, params: Mapping[str, bytes]) -> None:
        """Acknowledge a `subscriptions/listen`, which is open from then on."""
        filters = jsonrpc.members(params.get("notifications", b"null"))
        announced = self._gateway.announced(self._gateway.view(caller))
        lists = [name for name in LISTS if filters.get(name) == b"true" and (name != TOOL_LIST or TOOLS in announced)]
        named = filters.get("resourceSubscriptions", b"null")
        uris = [] if named == b"null" else jsonrpc.value(named, list[str])
        if len(self._listens.keys() | self._tasks.keys()) > bounds.LISTENS:
            raise jsonrpc.Malformed(f"a client has at most {bounds.LISTENS} subscriptions open")
        listen = ClientSubscription(self._session, caller, lists, id_)
        await self._note(listen)
        self._admit(len(uris))
        self._listens[id_] = listen
        await self._look(listen, uris)
        features = listen.features()
        listen.owners = {uri: owner for uri in uris if (owner := _owner(features, uri))}
        if listen.owners:
            background, owners = self._gateway.background, listen.owners.items()
            watching = [background(self._watch_if_agreed(listen, uri, owner)) for uri, owner in owners]
            await asyncio.wait(watching, timeout=_AGREED_S)
        honoured = dict.fromkeys(lists, b"true")
        if listen.owners:
            honoured["resourceSubscriptions"] = msgspec.json.encode(list(listen.owners))
        listen.is_open = True
        listen.tell(ACKNOWLEDGED, {"notifications": jsonrpc.object_of(honoured)})
        listen.compare()
        await listen.compare_tools()

    # ---- resources

    async def _look(self, listen: ClientSubscription, uris: Collection[str]) -> None:
        """Have the other servers list what they have if no server is known to have one of these URIs."""
        features = listen.features()
        if unknown := [uri for uri in uris if _owner(features, uri) is None]:
            looking = self._gateway.background(self._session.owners.look(unknown, listen.caller))
            await asyncio.wait([looking], timeout=_AGREED_S)
            await self._gateway.current()

    def _admit(self, more: int) -> None:
        if sum(len(each.owners) for each in self._all()) + more > bounds.WATCHED:
            raise jsonrpc.Malformed(f"a client can watch at most {bounds.WATCHED} resources")

    async def _watch(self, subscription: ClientSubscription, uri: str, owner: FeatureOwner) -> None:
        if subscription.owners.get(uri) != owner:
            self._forget(subscription, uri)
        subscription.owners[uri] = owner
        try:
            await self._watched.watch(owner, subscription, subscription.caller)
        except BaseException:
            self._forget(subscription, uri)
            raise

    async def _watch_if_agreed(self, subscription: ClientSubscription, uri: str, owner: FeatureOwner) -> None:
        with contextlib.suppress(Failed):
            await self._watch(subscription, uri, owner)

    def _forget(self, subscription: ClientSubscription, uri: str) -> None:
        owner = subscription.owners.pop(uri, None)
        if owner and owner not in subscription.owners.values():
            self._watched.unwatch(owner, subscription)


def _owner(features: Features, uri: str) -> FeatureOwner | None:
    try:
        return features.owner(uri)
    except Failed:
        return None


def _shown(features: Features, kinds: Collection[str]) -> list[FeaturePart]:
    return [part for part in features.parts if part.kind in kinds and part.features]


def _are_same(before: Sequence[FeaturePart], now: Sequence[FeaturePart]) -> bool:
    """Parts that are the same object are not looked through: there may be many thousands."""
    pairs = zip(before, now, strict=False)
    return len(before) == len(now) and all(one is other or _content(one) == _content(other) for one, other in pairs)


def _content(part: FeaturePart) -> tuple[str, str, list[tuple[str, str]]]:
    return part.kind, part.server, [(name, feature.tool.text) for name, feature in part.features.items()]
