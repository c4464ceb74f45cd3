"""Prompts, resources and completions: whose they are, and how they are decided on, put on record, sent and answered."""

import asyncio
import time
from collections.abc import Collection

import msgspec

from mcpctl.base import feature_names
from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.base.feature_names import EXPLICIT, NAMED_BY, PROMPTS, RESOURCES
from mcpctl.base.models import PAGES
from mcpctl.base.tool_keys import join
from mcpctl.catalog.features import FeatureOwner, Features
from mcpctl.policy import words
from mcpctl.policy.decide import ALLOW, CURRENT, FETCH, LIST, READ, REFUSE, Subject, Verdict, admitted, decide
from mcpctl.policy.view import View
from mcpctl.proxy import translate
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.request import Request
from mcpctl.proxy.spec import ClientSide, Looked, Record, Spec
from mcpctl.secrets.redact import mask
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import Recorder, new_id
from mcpctl.upstreams.connection import COMPLETION, PROMPTS_GET, RESOURCES_READ, Connection, Exchange
from mcpctl.wire import jsonrpc

_NOTHING = Features((), "")
UNKNOWN = frozenset(("unknown_prompt", "unknown_resource"))
_LOOK_S = 10.0  # how long an unknown name waits for servers that have not listed; a person's waits as long as they take
KIND_OF = {PROMPTS_GET: PROMPTS, RESOURCES_READ: RESOURCES}
_ON_RECORD = {PROMPTS: "prompt", RESOURCES: "resource"}
_LONGEST_COMPLETION = 1 << 18
_NONE = b'{"completion":{"values":[]}}'
_KIND_OF_REFERENCE = {"ref/prompt": PROMPTS, "ref/resource": RESOURCES}


class Owners:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def features(self, view: View) -> Features:
        return self._gateway.features(admitted(view))

    def listable(self, caller: Caller) -> Features:
        view = self._gateway.view(caller)
        return _NOTHING if view.access.is_barred else self._gateway.features(view)

    async def owner(self, uri: str, caller: Caller) -> FeatureOwner:
        try:
            return self.owner_of(uri, self._gateway.view(caller))
        except Failed as error:
            if error.failure.code not in UNKNOWN:
                raise
        await self.look([uri], caller)
        await self._gateway.current()
        view = self._gateway.view(caller)
        try:
            return self.owner_of(uri, view, has_looked=True)
        except Failed as error:
            raise Failed(self.why_unknown(uri, view) or error.failure) from None

    def owner_of(self, uri: str, view: View, *, has_looked: bool = False) -> FeatureOwner:
        """The owner of a URI as far as is known now; raises as `Features.owner`, and before `look` once more."""
        features = self.features(view)
        is_page = uri.startswith(PAGES) and bool(view.config.serve.direct)
        return (self._page_owner(uri, view, features, has_looked) if is_page else None) or features.owner(uri)

    def _page_owner(self, uri: str, view: View, features: Features, has_looked: bool) -> FeatureOwner | None:
        """The owner of the page of a tool that is chosen to be shown directly: its server, which need not list such a
        resource, and no other, whatever that lists. None for a URI that is no such page."""
        catalog, direct = self._gateway.catalog(view), self._gateway.direct
        tools = direct.latest(catalog) if has_looked else direct.known(catalog)
        servers = tools.pages.get(uri) if tools else {}  # else they have to be made first
        if servers is None:
            return None
        if len(servers) > 1:
            raise Failed(Failure("ambiguous_resource", {"uri": uri, "servers": sorted(servers)}))
        for server, is_shown in servers.items():
            listed = catalog.listed(server)
            named = feature_names.join(RESOURCES, "")
            subject = Subject(READ, server, named, None, view, tools=listed.tools if listed else ())
            if is_shown and decide(subject).outcome == ALLOW and not features.is_held(server, uri):
                return FeatureOwner(server, uri)
        raise Failed(Failure("unknown_resource", {"uri": uri}))

    async def look(self, names: Collection[str], caller: Caller) -> None:
        """Load the kept lists, then have servers that have not listed do so, if they may have these names."""
        await self._gateway.incoming.loaded()
        try:
            view = admitted(self._gateway.view(caller))
        except Failed:
            return
        unknown = self._unlisted(view)
        if all(name.startswith(EXPLICIT) for name in names):
            unknown &= {name.removeprefix(EXPLICIT).partition(":")[0] for name in names}
        if unknown:
            refreshing = self._gateway.background(self._gateway.refresh(unknown, caller))
            await asyncio.wait([refreshing], timeout=None if caller.claims.of_person else _LOOK_S)
        if view.config.serve.direct and any(name.startswith(PAGES) for name in names):
            await self._gateway.current()
            await self._gateway.direct.made(self._gateway.catalog(self._gateway.view(caller)))

    def fetching(self, owner: FeatureOwner, view: View) -> Subject:
        catalog, toolset = self._gateway.catalog(view), view.toolset
        listed = catalog.listed(owner.server)
        tools = listed.tools if listed else ()
        shown = [toolset.shown(tool) for tool in tools] if toolset else tools
        tool = self._gateway.features(view).as_tool(owner)
        return Subject(FETCH, owner.server, tool.name, tool, view, listing=CURRENT, tools=shown)

    def why_unknown(self, name: str, view: View) -> Failure | None:
        named, _, _ = name.removeprefix(EXPLICIT).partition(":")
        upstream = self._gateway.upstream(named, view.caller) if name.startswith(EXPLICIT) else None
        return upstream.last_failure if upstream and upstream.down_since and named in self._unlisted(view) else None

    def _unlisted(self, view: View) -> set[str]:
        return {server for server, _ in self._gateway.known_features.unknown(view.config)}


class ReadRecord(Record):
    """A prompt or resource that is read has one line, before it is answered."""

    def __init__(self, read: Request, kind: str, recorder: Recorder) -> None:
        self.id = new_id()
        self._read = read
        self._kind = kind
        self._recorder = recorder
        self._is_open = True
        self._started = time.time()

    def end(
        self, status: str, *, response: Json = b"", error: bytes = b"null", recorded: bytes | None = None,
        delivered: int | None = None,
    ) -> None:  # fmt: skip
        if self._is_open:
            self._is_open = False
            read = self._read
            self._recorder.read_finished(
                self.id, _ON_RECORD[self._kind], read.server or None, _name(read), status, started=self._started,
                response_bytes=len(response), error=error, origin=read.view.origin,
            )  # fmt: skip

    def refuse(self, failure: Failure) -> None:
        if failure.code in words.DENIED:
            read, name = self._read, feature_names.join(self._kind, _name(self._read))
            self._recorder.decision_made(
                join(read.server, name) if read.server else name, "denied", failure.code, call_id=self.id,
                token_id=read.view.token_id, origin=read.view.origin,
            )  # fmt: skip
        status, error = translate.outcome(failure)
        self.end(status, error=error)


def _name(read: Request) -> str:
    """The name that its server has for it; the client's own as long as no server is known."""
    return read.owner.uri if isinstance(read.owner, FeatureOwner) else read.name


def _prompt_owner(features: Features, name: str) -> FeatureOwner:
    if prompt := features.prompts.get(name):
        return FeatureOwner(prompt.server, prompt.name)
    raise Failed(Failure("unknown_prompt", {"name": name}))


class Reads(Spec[Request]):
    """The requests of one method, `prompts/get` or `resources/read`, of one session."""

    def __init__(self, method: str, owners: Owners, recorder: Recorder, client: ClientSide) -> None:
        self._method = method
        self._kind = KIND_OF[method]
        self._owners = owners
        self._recorder = recorder
        self._client = client

    def record(self, read: Request) -> ReadRecord:
        return ReadRecord(read, self._kind, self._recorder)

    def decide(self, read: Request, view: View) -> Verdict:
        """`list` once, where nobody is known to have it."""
        read.view = view
        try:
            read.owner = owner = self._owner(read, view)
        except Failed as error:
            if error.failure.code in UNKNOWN and not read.has_looked:
                return Verdict(LIST)
            return Verdict(REFUSE, self._owners.why_unknown(read.name, read.view) or error.failure)
        read.server = owner.server
        return Verdict(ALLOW)

    def _owner(self, read: Request, view: View) -> FeatureOwner:
        if self._method == RESOURCES_READ:
            owner = self._owners.owner_of(read.name, view, has_looked=read.has_looked)
            if read.barring and (failure := read.barring()):
                raise Failed(failure)
            return owner
        return _prompt_owner(self._owners.features(view), read.name)

    async def learn(self, read: Request) -> None:
        read.has_looked = True
        await self._owners.look([read.name], read.caller)

    def exchange(self, read: Request) -> Exchange:
        """The params pass as they came, but for a name that the server has otherwise."""
        params, owner = read.extra, read.owner
        if isinstance(owner, FeatureOwner) and owner.uri != read.name:
            params = {**params, NAMED_BY[self._kind]: msgspec.json.encode(owner.uri)}
        return Exchange(self._method, params, read.incoming.meta, read.caller, read)

    def look(self, read: Request, connection: Connection | None, result: memoryview) -> Looked:
        head, caller = translate.head(result), read.caller
        if translate.is_waiting(head):
            return Looked(result, False, True, result, b"")
        text = result
        if read.view.config.policy.masks:
            text = memoryview(self._recorder.values.masked(bytes(result)))
            head = translate.head(text)
        answer = translate.for_client(text, head, caller, connection)
        if self._method == RESOURCES_READ and caller.modern and connection and not connection.modern:
            answer = translate.cacheable(bytes(answer))
        return Looked(result, False, False, answer, b"")

    def deliver(self, read: Request, result: Looked) -> None:
        read.record.end("ok", response=result.result)
        read.answer(result.answer)

    def error(self, read: Request, error: bytes) -> None:
        connection = read.exchange.connection if read.exchange else None
        if read.view.config.policy.masks:
            error = self._recorder.values.masked(error)
        read.record.end("failed", error=error)
        if self._method == RESOURCES_READ and connection and connection.modern is not read.caller.modern:
            error = translate.read_error(error, modern=read.caller.modern)
        text = mask(error[:300].decode("utf-8", "replace"))
        failure = failed("refused", f"its answer to {self._method} is an error", said=f": {text}").failure
        self._fail(read, failure.about(server=read.server), error)

    def refuse(self, read: Request, failure: Failure) -> None:
        self._fail(read, failure, b"")

    def reject(self, read: Request, message: str, code: int) -> None:
        is_ours = code == jsonrpc.INTERNAL_ERROR
        read.refuse(Failure("internal_error" if is_ours else "not_open", {"reason": message}))

    def _fail(self, read: Request, failure: Failure, error: bytes) -> None:
        if read.awaited is None:
            self._client.error(read.incoming, error or translate.rejection(failure, read.caller))
        elif not read.awaited.done():
            read.awaited.set_exception(Failed(failure, error))
        read.end()


class Completion(Spec[Request]):
    """One `completion/complete`, asked for at each key stroke: answered with nothing where there is no other answer."""

    may_ask = False

    def __init__(self, ref: bytes, gateway: Gateway, owners: Owners) -> None:
        """`ref` is the reference to a prompt or resource, in JSON; raises `Malformed`."""
        self._members = jsonrpc.members(ref)
        kind = _KIND_OF_REFERENCE.get(jsonrpc.value(self._members.get("type", b"null"), str))
        if kind is None:
            raise jsonrpc.Malformed(f"ref.type is one of {', '.join(_KIND_OF_REFERENCE)}")
        self._kind = kind
        self.name = jsonrpc.value(self._members.get(NAMED_BY[kind], b"null"), str)
        self._gateway = gateway
        self._owners = owners

    def decide(self, completion: Request, view: View) -> Verdict:
        """A server that does not run since it failed is not started for a completion."""
        completion.view = view
        try:
            completion.owner = owner = self._owner(self._owners.features(view))
        except Failed as error:
            return Verdict(REFUSE, error.failure)
        completion.server = owner.server
        upstream = self._gateway.upstream(owner.server, completion.caller)
        if upstream is None or (upstream.connection is None and upstream.down_since):
            return Verdict(REFUSE, Failure("server_down"))
        return Verdict(ALLOW)

    def _owner(self, features: Features) -> FeatureOwner:
        if self._kind == PROMPTS:
            return _prompt_owner(features, self.name)
        template = features.templates.get(self.name)
        return FeatureOwner(template.server, template.name) if template else features.owner(self.name)

    def exchange(self, completion: Request) -> Exchange:
        params, owner = completion.extra, completion.owner
        if isinstance(owner, FeatureOwner):
            named = {} if owner.uri == self.name else {NAMED_BY[self._kind]: msgspec.json.encode(owner.uri)}
            params = {**params, "ref": jsonrpc.object_of({**self._members, **named})}
        return Exchange(COMPLETION, params, completion.incoming.meta, completion.caller, completion)

    def look(self, completion: Request, connection: Connection | None, result: memoryview) -> Looked:
        head = translate.head(result) if len(result) <= _LONGEST_COMPLETION else None
        if head is None or translate.is_waiting(head):
            return Looked(result, False, False, translate.own_result(_NONE, completion.caller), b"")
        answer = translate.for_client(result, head, completion.caller, connection)
        return Looked(result, False, False, answer, b"")

    def deliver(self, completion: Request, result: Looked) -> None:
        completion.answer(result.answer)

    def refuse(self, completion: Request, *_: object) -> None:
        completion.answer(translate.own_result(_NONE, completion.caller))

    error = reject = refuse
