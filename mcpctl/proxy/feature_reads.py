"""Prompts, resources and completions: how they are decided on, put on record, sent and answered."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from mcpctl.base import feature_names
from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.base.feature_names import NAMED_BY, PROMPTS, RESOURCES
from mcpctl.base.tool_keys import join
from mcpctl.catalog.features import FeatureOwner, Features
from mcpctl.policy import words
from mcpctl.policy.decide import ALLOW, LIST, REFUSE, Verdict
from mcpctl.policy.view import View
from mcpctl.proxy import refusals, translate
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.owners import UNKNOWN, Owners
from mcpctl.proxy.request import Request
from mcpctl.proxy.spec import ClientSide, Looked
from mcpctl.secrets.redact import mask
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import Recorder, new_id
from mcpctl.upstreams.connection import COMPLETION, PROMPTS_GET, RESOURCES_READ, Connection, Exchange
from mcpctl.wire import jsonrpc

KIND_OF = {PROMPTS_GET: PROMPTS, RESOURCES_READ: RESOURCES}
"""The kind of feature that each method asks for; the params name it as a list of these does."""
_ON_RECORD = {PROMPTS: "prompt", RESOURCES: "resource"}
_LONGEST_COMPLETION = 1 << 18
_NONE = b'{"completion":{"values":[]}}'
_KIND_OF_REFERENCE = {"ref/prompt": PROMPTS, "ref/resource": RESOURCES}


class ReadRecord:
    """A prompt or resource that is read has one line, before it is answered."""

    def __init__(self, read: Request, kind: str, recorder: Recorder) -> None:
        self.id = new_id()
        self._read = read
        self._kind = kind
        self._recorder = recorder
        self._is_open = True
        self._started = time.time()

    def start(self) -> None:
        """Nothing is on record before its end."""

    def end(
        self, status: str, *, response: Json = b"", error: bytes = b"null", recorded: bytes | None = None,
        delivered: int | None = None,
    ) -> None:  # fmt: skip
        """Put the outcome on record, once."""
        if self._is_open:
            self._is_open = False
            read = self._read
            self._recorder.read_finished(
                self.id, _ON_RECORD[self._kind], read.server or None, _name(read), status, started=self._started,
                response_bytes=len(response), error=error, origin=read.view.origin,
            )  # fmt: skip

    def note_exception(self) -> None:
        """No rule has an exception here."""

    def refuse(self, failure: Failure) -> None:
        """Put on record that nothing was read, and the decision where that is one."""
        if failure.code in words.OF_FEATURE | words.DENIED:
            read, name = self._read, feature_names.join(self._kind, _name(self._read))
            self._recorder.decision_made(
                join(read.server, name) if read.server else name, "denied", failure.code, call_id=self.id,
                token_id=read.view.token_id, origin=read.view.origin,
            )  # fmt: skip
        status, error = refusals.outcome(failure)
        self.end(status, error=error)


class NoRecord:
    """Completions are asked for at every key stroke, and are not on record."""

    id = ""

    def start(self) -> None:
        """Keep nothing."""

    def end(
        self, status: str, *, response: Json = b"", error: bytes = b"null", recorded: bytes | None = None,
        delivered: int | None = None,
    ) -> None:  # fmt: skip
        """Keep nothing."""

    def note_exception(self) -> None:
        """Keep nothing."""

    def refuse(self, failure: Failure) -> None:
        """Keep nothing."""


def _name(read: Request) -> str:
    """The name that its server has for it; the client's own as long as no server is known."""
    return read.owner.uri if isinstance(read.owner, FeatureOwner) else read.name


class Reads:
    """The requests of one method, `prompts/get` or `resources/read`, of one session."""

    keeps_params = True
    may_ask = True

    def __init__(self, method: str, owners: Owners, recorder: Recorder, client: ClientSide) -> None:
        self._method = method
        self._kind = KIND_OF[method]
        self._owners = owners
        self._recorder = recorder
        self._client = client

    def record(self, read: Request) -> ReadRecord:
        """A record of the next round."""
        return ReadRecord(read, self._kind, self._recorder)

    def decide(self, read: Request, view: View) -> Verdict:
        """The verdict on the read as seen from this view: `list` once, where nobody is known to have it."""
        read.view = view
        try:
            read.owner = owner = self._owner(read, self._owners.features(view))
        except Failed as error:
            if error.failure.code in UNKNOWN and not read.has_looked:
                return Verdict(LIST)
            return Verdict(REFUSE, self._owners.why_unknown(read.name, read.view) or error.failure)
        read.server = owner.server
        return Verdict(ALLOW)

    def _owner(self, read: Request, features: Features) -> FeatureOwner:
        if self._method == RESOURCES_READ:
            owner = features.owner(read.name)
            if failure := read.barring():
                raise Failed(failure)
            return owner
        if prompt := features.prompts.get(read.name):
            return FeatureOwner(prompt.server, prompt.name)
        raise Failed(Failure("unknown_prompt", {"name": read.name}))

    async def learn(self, read: Request) -> None:
        """Ask the servers of which nothing is known."""
        read.has_looked = True
        await self._owners.look([read.name], read.caller)

    def exchange(self, read: Request) -> Exchange:
        """The read as its server gets it: its params as they came, but for a name that the server has otherwise."""
        params, owner = read.extra, read.owner
        if isinstance(owner, FeatureOwner) and owner.uri != read.name:
            params = {**params, NAMED_BY[self._kind]: msgspec.json.encode(owner.uri)}
        return Exchange(self._method, params, read.incoming.meta, read.caller, read)

    def look(self, read: Request, connection: Connection | None, result: memoryview) -> Looked:
        """Look at a result; in any thread."""
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
        """Put a result on record and answer with it."""
        read.record.end("ok", response=result.result)
        read.answer(result.answer)

    def error(self, read: Request, error: bytes) -> None:
        """Put a server's error on record and answer with it."""
        connection = read.exchange.connection if read.exchange else None
        if read.view.config.policy.masks:
            error = self._recorder.values.masked(error)
        read.record.end("failed", error=error)
        if self._method == RESOURCES_READ and connection and connection.modern is not read.caller.modern:
            error = refusals.read_error(error, modern=read.caller.modern)
        said = mask(error[:300].decode("utf-8", "replace"))
        failure = failed("refused", f"its answer to {self._method} is an error", said=f": {said}").failure
        self._fail(read, failure.about(server=read.server), error)

    def refuse(self, read: Request, failure: Failure) -> None:
        """Answer with why nothing was read."""
        self._fail(read, failure, b"")

    def reject(self, read: Request, message: str, code: int) -> None:
        """Answer with why nothing was read."""
        is_ours = code == jsonrpc.INTERNAL_ERROR
        read.refuse(Failure("internal_error" if is_ours else "not_open", {"reason": message}))

    def _fail(self, read: Request, failure: Failure, error: bytes) -> None:
        if read.awaited is None:
            self._client.error(read.incoming, error or refusals.rejection(failure, read.caller))
        elif not read.awaited.done():
            read.awaited.set_exception(Failed(failure, error))
        read.end()


class Reference(NamedTuple):
    """The prompt or resource that a completion is about."""

    type: str
    name: str
    members: Mapping[str, bytes]

    def owner(self, features: Features) -> FeatureOwner:
        """The server that has it, and its name there; raises `Failed`."""
        named = features.prompts if self.type == "ref/prompt" else features.templates
        if feature := named.get(self.name):
            return FeatureOwner(feature.server, feature.name)
        if self.type == "ref/prompt":
            raise Failed(Failure("unknown_prompt", {"name": self.name}))
        return features.owner(self.name)

    def to(self, owner: FeatureOwner) -> bytes:
        """The reference as its server has it, in JSON."""
        if owner.uri == self.name:
            return jsonrpc.object_of(self.members)
        name = {NAMED_BY[_KIND_OF_REFERENCE[self.type]]: msgspec.json.encode(owner.uri)}
        return jsonrpc.object_of({**self.members, **name})


def reference(text: bytes) -> Reference:
    """The reference that this JSON is; raises `Malformed`."""
    members = jsonrpc.members(text)
    type_ = jsonrpc.value(members.get("type", b"null"), str)
    if type_ not in _KIND_OF_REFERENCE:
        raise jsonrpc.Malformed(f"ref.type is one of {', '.join(_KIND_OF_REFERENCE)}")
    return Reference(type_, jsonrpc.value(members.get(NAMED_BY[_KIND_OF_REFERENCE[type_]], b"null"), str), members)


class Completion:
    """One `completion/complete`, asked for at each key stroke: answered with nothing where there is no other answer."""

    keeps_params = True
    may_ask = False

    def __init__(self, ref: Reference, gateway: Gateway, owners: Owners, client: ClientSide) -> None:
        self._ref = ref
        self._gateway = gateway
        self._owners = owners
        self._client = client

    def record(self, completion: Request) -> NoRecord:
        """No record."""
        return NoRecord()

    def decide(self, completion: Request, view: View) -> Verdict:
        """Whether a server has what is completed. One that does not run since it failed is not started for this."""
        completion.view = view
        try:
            completion.owner = owner = self._ref.owner(self._owners.features(view))
        except Failed as error:
            return Verdict(REFUSE, error.failure)
        completion.server = owner.server
        upstream = self._gateway.upstreams.get(owner.server)
        if upstream is None or (upstream.connection is None and upstream.down_since):
            return Verdict(REFUSE, Failure("server_down"))
        return Verdict(ALLOW)

    async def learn(self, completion: Request) -> None:
        """Nothing is waited for."""

    def exchange(self, completion: Request) -> Exchange:
        """The completion as its server gets it."""
        params = completion.extra
        if isinstance(completion.owner, FeatureOwner):
            params = {**params, "ref": self._ref.to(completion.owner)}
        return Exchange(COMPLETION, params, completion.incoming.meta, completion.caller, completion)

    def look(self, completion: Request, connection: Connection | None, result: memoryview) -> Looked:
        """Look at a result; in any thread."""
        head = translate.head(result) if len(result) <= _LONGEST_COMPLETION else None
        if head is None or translate.is_waiting(head):
            return Looked(result, False, False, refusals.own(_NONE, completion.caller), b"")
        answer = translate.for_client(result, head, completion.caller, connection)
        return Looked(result, False, False, answer, b"")

    def deliver(self, completion: Request, result: Looked) -> None:
        """Answer with the server's completions."""
        completion.answer(result.answer)

    def error(self, completion: Request, error: bytes) -> None:
        """A server that completes nothing says so."""
        completion.answer(refusals.own(_NONE, completion.caller))

    def refuse(self, completion: Request, failure: Failure) -> None:
        """There is nothing to complete it with."""
        completion.answer(refusals.own(_NONE, completion.caller))

    def reject(self, completion: Request, message: str, code: int) -> None:
        """There is nothing to complete it with."""
        completion.answer(refusals.own(_NONE, completion.caller))
