"""The parts of a session on record, each for one POST at a time: its requests, and the way of their answers."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from mcpctl.metatools.offers import Offer
from mcpctl.over_http.post_answer import PostAnswer
from mcpctl.proxy.client_protocol import ClientProtocol
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.session import ClientSession
from mcpctl.wire.writer import Readers

_MOST_KEPT = 256


class SessionPart:
    def __init__(
        self, of: "SessionParts", gateway: Gateway, offer: Offer, protocol: ClientProtocol, readers: Readers, *,
        is_modern: bool, beyond: Callable[..., None] | None,
    ) -> None:  # fmt: skip
        self.of = of
        self.answer = PostAnswer(gateway.turn, readers, is_modern=is_modern, beyond=beyond)
        self.session = ClientSession(gateway, self.answer, of.session.caller, of=of.session)
        self.protocol = ClientProtocol(self.session, self.answer, offer, protocol)

    def message(self, message: Any) -> None:
        if not self.answer.is_gone:
            self.protocol.message(message)


class SessionParts:
    """Those of one session. The part that is made for a POST serves the next, too, if nothing of it is left behind."""

    kept: ClassVar[int] = 0  # of all sessions, so that many of them do not fill memory

    def __init__(
        self, gateway: Gateway, offer: Offer, session: ClientSession, protocol: ClientProtocol,
        readers: Callable[[], Readers], *, is_modern: bool, beyond: Callable[..., None] | None = None,
    ) -> None:  # fmt: skip
        """`beyond` takes what comes once a POST is answered."""
        self.session = session
        self._gateway = gateway
        self._offer = offer
        self._protocol = protocol
        self._readers = readers
        self._is_modern = is_modern
        self._beyond = beyond
        self._kept: list[SessionPart] = []

    def take(self, ids: Iterable[bytes]) -> SessionPart:
        """A part for requests of these ids."""
        if self._kept:
            SessionParts.kept -= 1
            part = self._kept.pop()
            part.session.rejoin()
            part.protocol.begin_anew()
        else:
            turn = self._gateway.turn
            part = SessionPart(
                self, self._gateway, self._offer, self._protocol, turn.of_client(self._readers()),
                is_modern=self._is_modern, beyond=self._beyond,
            )  # fmt: skip
        part.answer.begin(ids)
        return part

    def keeps(self, part: SessionPart) -> bool:
        """Its POST is answered, or given up: whether the part serves another one. If not, its session has to close."""
        part.answer.close()
        if not (part.answer.was_plain and part.session.is_quiet and SessionParts.kept < _MOST_KEPT):
            part.answer.discard()
            return False
        part.session.leave()
        self._kept.append(part)
        SessionParts.kept += 1
        return True

    def close(self) -> None:
        SessionParts.kept -= len(self._kept)
        self._kept.clear()
