"""One prompt that is got, or one resource that is read: from its request to its one answer."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mcpctl import feature_names, tool_keys
from mcpctl.catalog.features import Owner
from mcpctl.failure import Failure, failed
from mcpctl.feature_names import NAMED_BY, PROMPTS, RESOURCES
from mcpctl.policy import words
from mcpctl.policy.view import View
from mcpctl.proxy import refusals, translate
from mcpctl.proxy.client_side import Barring, CallRequest, free
from mcpctl.proxy.forwarded import Forwarded
from mcpctl.proxy.parking import HANDLE
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import new_id
from mcpctl.store.redact import mask
from mcpctl.upstreams.connection import GET, READ, Connection, Exchange
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.proxy.feature_requests import FeatureRequests

KIND_OF = {GET: PROMPTS, READ: RESOURCES}
"""What each of the two asks for; the params name it as a list of these does."""
_ON_RECORD = {PROMPTS: "prompt", RESOURCES: "resource"}
OWN_ID = b"own-"
"""How the ids begin of those that are no request of the client's: its own are JSON."""
_NOT_OPEN = "this requestState is not open (a question waits for ten minutes, once); ask for it again"


class Reading(Forwarded):
    """One of them between its start and its one answer, which goes to `answer` or to `fail`."""

    def __init__(
        self,
        requests: "FeatureRequests",
        request: CallRequest,
        method: str,
        name: str,
        answer: Callable[[Json], None],
        fail: "Callable[[Reading, Failure, bytes], None]",
    ) -> None:
        """`name` is what the client calls it. `fail` gets the server's error, too, where it answered with one."""
        session = requests.session
        super().__init__(session.execute, request, request.extra.get("arguments", b""))
        self.method = method
        self.kind = KIND_OF[method]
        self.name = name
        self.owner = Owner("", name)
        """Whose it is, and what it is there, once that is known."""
        self.view: View = session.gateway.first_view(request.caller)
        self.barring: Barring = free
        self.has_looked = False
        """Whether servers of which nothing was known were asked on its account."""
        self.is_own = request.id.startswith(OWN_ID)
        self._requests = requests
        self._on_answer = answer
        self._on_failure = fail
        self._begin()

    def _begin(self) -> None:
        self._record_id, self._is_recorded = new_id(), False
        self._started = time.time()

    @property
    def server(self) -> str:
        """The name of the server that it goes to."""
        return self.owner.server

    @property
    def record_id(self) -> str:
        """Its id on record."""
        return self._record_id

    @property
    def key(self) -> str:
        """What decisions on record call it."""
        name = feature_names.join(self.kind, self.owner.uri)
        return tool_keys.join(self.server, name) if self.server else name

    # ---- to its server

    def forward(self) -> None:
        """Forward it: only what names it is changed, and only where its server calls it otherwise. Or go on with the
        one that was parked."""
        state = self.request.extra.get("requestState", b"")
        responses = jsonrpc.members_or_empty(self.request.extra.get("inputResponses", b""))
        if state.startswith(HANDLE) and self._exchange is None:
            self._go_on(state, responses)
            return
        # What an earlier one was asked has its answer: for the record.
        self._execute.parents.of(self.key, state, responses)
        extra, named_by = self.extra, NAMED_BY[self.kind]
        if self.owner.uri != self.name:
            extra = {**extra, named_by: msgspec.json.encode(self.owner.uri)}
        self._exchange = Exchange(self.method, extra, self.request.meta, self.request.caller, self)
        self._requests.send(self.server, self._exchange)

    def _go_on(self, state: bytes, responses: Mapping[str, bytes]) -> None:
        """Be the one that was parked under this handle, with the answers that this request brings."""
        parked = self._execute.parking.resume(state, self.key, self.arguments)
        if parked is None or parked.exchange is None:
            self.refuse(Failure("not_open", {"reason": _NOT_OPEN}))
        else:
            self._adopt(parked, parked.exchange, responses)

    def repeat(self, extra: Mapping[str, bytes]) -> None:
        """Ask again, with these members more in its params."""
        self._begin()
        self.extra = {**self.request.extra, **extra}
        self._again()

    def _again(self) -> None:
        self._requests.again(self)

    def _is_allowed(self) -> bool:
        return self._requests.allows(self)

    def cancel(self, params: Mapping[str, bytes]) -> None:
        """Take it back upstream, and answer nothing."""
        if self._exchange:
            self._execute.cancel_upstream(self.server, self._exchange, dict(params))
        self._record("cancelled")
        self._end()

    # ---- back to who asks

    def result(self, result: memoryview) -> None:
        """Pass on the server's result; a long one is looked at beside the event loop."""
        if self.done:
            return
        self._look(len(result), partial(self._looked, result, self._connection), partial(self._pass_on, result))

    def _looked(self, result: Json, connection: Connection | None) -> tuple[bool, Json]:
        """Whether it wants input first, and the result as the client's era has it; in any thread."""
        head, caller, policy = translate.head(result), self.request.caller, self.view.config.policy
        if translate.is_waiting(head):
            return True, result
        if policy.masks:
            result = self._requests.recorder.values.masked(bytes(result))
            head = translate.head(result)
        answer = translate.for_client(result, head, caller, connection)
        if self.method == READ and caller.modern and connection and not connection.modern:
            answer = translate.cacheable(bytes(answer))
        return False, answer

    def _pass_on(self, result: memoryview, looked: tuple[bool, Json]) -> None:
        wants_input, answer = looked
        if wants_input:
            self._ask_first(bytes(result))
            return
        self._record("ok", size=len(result))
        self._answer(answer)

    def _record_wanted_input(self, result: Json, recorded: bytes | None = None) -> None:
        self._record("input_required", size=len(result))

    def _answer(self, result: Json) -> None:
        self._end()
        self._on_answer(result)

    def error(self, error: bytes) -> None:
        """Pass on the server's error."""
        if self.done:
            return
        connection = self._connection
        if self.view.config.policy.masks:
            error = self._requests.recorder.values.masked(error)
        self._record("failed", error=error)
        said = mask(error[:300].decode("utf-8", "replace"))
        failure = failed("refused", f"its answer to {self.method} is an error", said=f": {said}").failure
        self._end()
        if self.method == READ and connection and connection.modern is not self.request.caller.modern:
            error = refusals.read_error(error, modern=self.request.caller.modern)
        self._on_failure(self, failure.about(server=self.server), error)

    def interrupt(self) -> None:
        """Answer that the session ends before its server has answered."""
        self.refuse(Failure("interrupted"))

    def refuse(self, failure: Failure) -> None:
        """Answer that it did not happen, or did not end."""
        if self.done:
            return
        status = "denied" if failure.code in words.DENIED else "failed"
        if failure.code in words.OF_FEATURE | words.DENIED:
            self._requests.recorder.decision_made(
                self.key, "denied", failure.code, call_id=self.record_id, token_id=self.view.token_id,
                origin=self.view.origin,
            )  # fmt: skip
        message = words.for_person(failure).message
        error = msgspec.json.encode({"code": failure.code, "message": message})
        self._record("interrupted" if failure.code == "interrupted" else status, error=error)
        self._end()
        self._on_failure(self, failure, b"")

    def _record(self, status: str, *, size: int = 0, error: bytes = b"null") -> None:
        """Put its outcome on record, which each round has once."""
        if self._is_recorded:
            return
        self._is_recorded = True
        self._requests.recorder.read_finished(
            self.record_id, _ON_RECORD[self.kind], self.server or None, self.owner.uri, status, started=self._started,
            response_bytes=size, error=error, origin=self.view.origin,
        )  # fmt: skip

    def _end(self) -> None:
        super()._end()
        self._stop_timer()
        self._execute.in_flight.remove(self)
