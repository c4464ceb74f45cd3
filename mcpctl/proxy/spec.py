"""Parts of a request: as it came, its client's side, how its kind goes, its record, and where it is decided on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct, field

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failure
from mcpctl.config.policy_settings import PolicyRule
from mcpctl.policy.decide import Verdict
from mcpctl.policy.view import View
from mcpctl.proxy.input_rounds import Parking
from mcpctl.proxy.questions import Parents, QuestionLog, Questions
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.connection import Connection, Exchange

Barring = Callable[[], Failure | None]
R = TypeVar("R", contravariant=True)
DIRECT = "direct"  # the `via` of a call of a tool by a name of its own, and not through `tool_execute`
PAGE = "page"  # the same, by the page of an MCP App, which has its server's name for the tool
AT_ONCE = 1 << 13  # bytes that are looked at on the event loop; more could take milliseconds to redact, and goes aside


class Incoming(msgspec.Struct, eq=False):
    """A request as the client sent it: a tool that is called, or one about prompts and resources."""

    id: bytes
    caller: Caller
    meta: Mapping[str, bytes] = field(default_factory=dict)
    extra: Mapping[str, bytes] = field(default_factory=dict)  # params that are not ours, such as `inputResponses`
    execute_class: str | None = None  # the only permission class, of `hints.PERMISSIONS`, to be called; None for any
    as_sent: bool = False  # whether an error is wanted as its server sent it, without help on the arguments
    replays: str | None = None
    via: str = ""  # `DIRECT` or `PAGE`; empty for what comes through a meta-tool


class Resources(Protocol):
    async def read(self, uri: str, caller: Caller, server: str | None = None, barring: Barring | None = None) -> bytes:
        """The result of `resources/read`; raises `Failed`. Nothing is read where something is `barring` it."""


class ClientSide(Protocol):
    @property
    def features(self) -> Resources: ...

    @property
    def is_reading(self) -> bool:
        """Whether it takes what it is sent; a client that does not goes without questions and notifications."""

    async def released(self) -> None:
        """Return when it takes what it is sent."""

    def answer(self, request: Incoming, result: Json) -> None: ...
    def error(self, request: Incoming, error: bytes) -> None: ...

    def refused(self, request: Incoming, failure: Failure, call_id: str) -> None:
        """A call did not happen, or did not end; `call_id` is its id on record."""

    def progress(self, params: dict[str, bytes]) -> None: ...

    def log(self, raw: Raw, least: bytes | None) -> None:
        """Log messages from the level `least` on; from the client's own level where that is None."""


class Looked(Struct):
    result: Json
    is_error: bool
    wants_input: bool  # it is not an answer: the tool asks for something first
    answer: Json
    recorded: bytes  # without secrets and cut, as the record has it


class Record:
    """The lines that one round of a request has on record: none, unless its kind has some."""

    id = ""  # the id on record; empty as long as a call is not there
    http: tuple[str, str] | None = None  # the method and path of a call of an HTTP API
    http_status: int | None = None  # that of its answer

    def start(self) -> None: ...

    def end(
        self, status: str, *, response: Json = b"null", error: bytes = b"null", recorded: bytes | None = None,
        delivered: int | None = None,
    ) -> None:  # fmt: skip
        """Put the outcome on record, once; `recorded` and `delivered` are as in `Recorder`."""

    def note(
        self, decision: str, failure: Failure, *, channel: str = "rule", scope: str = "", waited_ms: int | None = None,
        enforced: bool = True,
    ) -> None:  # fmt: skip
        """Put a decision on record."""

    def note_exception(self) -> None: ...

    def refuse(self, failure: Failure) -> None:
        """Put on record that the request was not carried out, or did not end, and the decision where that is one."""


class Spec(Protocol[R]):
    """One kind of request: its method, what names it, how it is decided on, recorded and answered."""

    keeps_params: bool = True  # whether a further round has all params of the first, also those that are ours
    may_ask: bool = True  # whether the client may be asked something before the answer

    def record(self, request: R) -> Record:
        return Record()

    def decide(self, request: R, view: View) -> Verdict:
        """The verdict as seen from this view, which is the request's from now on, with its tool or owner."""

    async def learn(self, request: R) -> None:
        """Find out more after the verdict `list`."""
        return

    def exchange(self, request: R) -> Exchange: ...
    def look(self, request: R, connection: Connection | None, result: memoryview) -> Looked: ...
    def deliver(self, request: R, result: Looked) -> None: ...
    def error(self, request: R, error: bytes, /) -> None: ...
    def refuse(self, request: R, failure: Failure, /) -> None: ...
    def reject(self, request: R, message: str, code: int, /) -> None: ...


class Dispatcher(Protocol[R]):
    """The `Dispatch` of a session, as far as its requests need it."""

    client: ClientSide
    recorder: Recorder
    questions: Questions
    parking: Parking
    parents: Parents
    question_log: QuestionLog

    def again(self, request: R) -> None: ...
    def allows(self, request: R) -> bool: ...
    def send(self, request: R, exchange: Exchange) -> None: ...
    def watch(self, server: str, exchange: Exchange) -> None: ...
    def cancel_upstream(self, server: str, exchange: Exchange, params: dict[str, bytes]) -> None: ...
    def count_no_more(self, request: R, limits: Sequence[PolicyRule]) -> None: ...
    def ended(self, request: R) -> None: ...
