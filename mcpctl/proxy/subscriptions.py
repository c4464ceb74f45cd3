"""What a client wants to be told of: lists of prompts and resources that change, and resources that do.

`resources/subscribe` and `resources/unsubscribe` of older clients, `subscriptions/listen` of those of 2026-07-28. Each
URI is asked for once of its server, in the server's era, for as long as anybody wants to be told.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcpctl.callers import Caller
from mcpctl.upstreams.connection import Connection
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.proxy.session import Session

METHODS = frozenset(("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"))


class Subscriptions:
    """Those of one session."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def start(self, method: str, id_: bytes, caller: Caller, params: dict[str, bytes], meta: dict[str, bytes]) -> None:
        """Begin one request."""
        self._session.send(jsonrpc.error(id_, jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, "Method not found")))

    def cancel(self, request_id: bytes) -> bool:
        """The client ends a `subscriptions/listen`; whether it was one of these."""
        return False

    def updated(self, connection: Connection, params: Mapping[str, bytes]) -> None:
        """A server says that a resource has changed (`notifications/resources/updated`)."""

    def lists_changed(self) -> None:
        """What the session may list may have changed: tell the client, soon and once, where it really has."""

    def gone(self, connection: Connection) -> None:
        """A connection has ended, and with it what was asked of it."""

    def close(self) -> None:
        """The session ends."""
