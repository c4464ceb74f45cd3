"""What a request is made of beside itself: how its kind goes, its record, and where it is decided on."""

from typing import Protocol, TypeVar

from msgspec import Struct

from mcpctl.base.failure import Failure
from mcpctl.policy.decide import Verdict
from mcpctl.policy.view import View
from mcpctl.proxy.client_side import ClientSide
from mcpctl.proxy.parking import Parking
from mcpctl.proxy.question_log import QuestionLog
from mcpctl.proxy.questions import Parents, Questions
from mcpctl.store.recordable import Json
from mcpctl.store.recorder import Recorder
from mcpctl.upstreams.connection import Connection, Exchange

R = TypeVar("R", contravariant=True)


AT_ONCE = 1 << 13
"""Bytes that are looked at on the event loop: nothing but secrets takes some milliseconds to redact. More is looked at
beside it."""


class Looked(Struct):
    """A result that was looked at: what of it decides, and how client and record have it."""

    result: Json
    is_error: bool
    wants_input: bool
    """It is no answer: the tool asks for something first."""
    answer: Json
    """As the client's era has it."""
    recorded: bytes
    """Without secrets and cut, as the record has it."""


class Record(Protocol):
    """The lines that one round of a request has on record."""

    id: str
    """The id on record; of a call empty as long as it is not there."""

    def start(self) -> None:
        """Have the request on record from now on, if it is not."""

    def end(
        self, status: str, *, response: Json = b"null", error: bytes = b"null", recorded: bytes | None = None,
        delivered: int | None = None,
    ) -> None:  # fmt: skip
        """Put the outcome on record, once; `recorded` and `delivered` are as in `Recorder`."""

    def note_exception(self) -> None:
        """Put on record why the request goes on although a rule would have stopped it."""

    def refuse(self, failure: Failure) -> None:
        """Put on record that the request was not carried out, or did not end, and the decision where that is one."""


class Spec(Protocol[R]):
    """One kind of request: its method, what names it, how it is decided on, recorded and answered."""

    keeps_params: bool
    """Whether a further round has all params of the first, and not only those that are not ours."""
    may_ask: bool
    """Whether the client may be asked something before the answer."""

    def record(self, request: R) -> Record:
        """A record of the next round."""

    def decide(self, request: R, view: View) -> Verdict:
        """The verdict on the request as seen from this view, which is its own from now on, with what is known of what
        it names."""

    async def learn(self, request: R) -> None:
        """Get to know what decides, after the verdict `list`."""

    def exchange(self, request: R) -> Exchange:
        """The request as its server gets it."""

    def look(self, request: R, connection: Connection | None, result: memoryview) -> Looked:
        """Look at a result; in any thread."""

    def deliver(self, request: R, result: Looked) -> None:
        """Put a result on record and answer with it."""

    def error(self, request: R, error: bytes) -> None:
        """Put a server's error on record and answer with it."""

    def refuse(self, request: R, failure: Failure) -> None:
        """Answer that the request was not carried out, or did not end."""

    def reject(self, request: R, message: str, code: int) -> None:
        """Answer a request that breaks the protocol, or breaks us."""


class Dispatcher(Protocol[R]):
    """The requests of one session: what one of them needs of the `Dispatch` that decides on them and sends them."""

    client: ClientSide
    recorder: Recorder
    questions: Questions
    parking: Parking
    parents: Parents
    question_log: QuestionLog

    def again(self, request: R) -> None:
        """Decide on a request once more, as things are then, and send or refuse it."""

    def allows(self, request: R) -> bool:
        """Whether a request may be sent as things are now."""

    def send(self, request: R, exchange: Exchange) -> None:
        """Forward a request that was decided on."""

    def watch(self, server: str, exchange: Exchange) -> None:
        """Bound the time that an exchange may take from now."""

    def cancel_upstream(self, server: str, exchange: Exchange, params: dict[str, bytes]) -> None:
        """Take back what was forwarded."""

    def ended(self, request: R) -> None:
        """Forget a request that has its answer, or needs none."""
