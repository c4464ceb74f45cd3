"""`subscriptions/listen` as we send it to servers of 2026-07-28: to be told of lists and resources that change."""

from collections.abc import Callable, Mapping

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failed, Failure, failed
from mcpctl.upstreams.connection import LISTEN, Connection, Exchange, Reply
from mcpctl.wire import jsonrpc

FIRST_WAIT_S, LAST_WAIT_S = 1.0, 60.0
"""How long one that has ended waits before it is sent again, the first time and at most."""


class Listening(Reply):
    """One that is open until its server or its connection ends it, or it is taken back."""

    def __init__(
        self,
        connection: Connection,
        caller: Caller,
        wanted: Mapping[str, bytes],
        on_end: Callable[[Failed], object],
        on_agreed: Callable[[Mapping[str, bytes]], None] = lambda honoured: None,
    ) -> None:
        """`wanted` is its filter, as is what `on_agreed` gets: what of it the server honours."""
        self._on_end = on_end
        self._on_agreed = on_agreed
        self._connection = connection
        self._exchange = Exchange(LISTEN, {"notifications": jsonrpc.object_of(wanted)}, {}, caller, self)
        connection.send(self._exchange)

    def take_back(self) -> None:
        """Be told no more."""
        self._connection.cancel(self._exchange, {"reason": b'"nobody wants to know"'})

    def acknowledged(self, params: Mapping[str, bytes]) -> None:
        """The server says what it agrees to."""
        self._on_agreed(jsonrpc.members_or_empty(params.get("notifications", b"")))

    def result(self, result: memoryview) -> None:
        """The server ends it, and says so."""
        self._on_end(failed("refused", "it ended the subscription"))

    def error(self, error: bytes) -> None:
        """The server refuses it."""
        self._on_end(Failed(failed("refused", f"its answer to {LISTEN} is an error").failure, error))

    def failed(self, failure: Failure) -> None:
        """It has ended with its connection."""
        self._on_end(Failed(failure))


def acknowledged(connection: Connection, params: Mapping[str, bytes]) -> None:
    """Take a server's acknowledgement of one of these to it."""
    meta = jsonrpc.members_or_empty(params.get("_meta", b""))
    exchange = connection.awaited(meta.get(jsonrpc.SUBSCRIPTION_KEY, b""))
    if exchange and isinstance(exchange.reply, Listening):
        exchange.reply.acknowledged(params)
