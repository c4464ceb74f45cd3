"""What upstreams tell, and ask, of those who have them."""

from collections.abc import Collection, Coroutine
from typing import Any, Protocol, TypeVar

from mcpctl.store.server_logs import ServerLogs
from mcpctl.upstreams.connection import Connection
from mcpctl.wire import jsonrpc

U = TypeVar("U", contravariant=True)


class Events(Protocol[U]):
    """What an upstream tells, and asks."""

    def listed(self, upstream: U, connection: Connection, definitions: list[bytes]) -> Coroutine[Any, Any, None]:
        """It has listed its tools on this connection, each definition as JSON; returns when they are known."""

    def features_listed(
        self, upstream: U, connection: Connection, kind: str, definitions: list[bytes]
    ) -> Coroutine[Any, Any, None]:
        """It has listed all that it has of this kind, as `listed` has it."""

    def exposed(self, name: str) -> Collection[str]:
        """Which kinds of features clients see of it."""

    def tools_known(self, name: str) -> None:
        """What it has listed is known, and of the connection of now."""

    def message(self, connection: Connection, message: jsonrpc.Message) -> None:
        """It has sent a request or notification that is not about listing or progress."""

    @property
    def log_level(self) -> bytes:
        """What servers are to log, in JSON; empty while no client has said."""

    def connected(self, connection: Connection) -> None:
        """A connection is the one that answers from now on."""

    def gone(self, connection: Connection) -> None:
        """A connection has ended."""

    @property
    def logs(self) -> ServerLogs:
        """Keeps what its processes write to stderr."""

    def failed(self, upstream: U, failure: str | None, code: str = "") -> None:
        """Why it has failed just now, and the code of that; None when it works."""

    async def known_era(self, upstream: U) -> bool | None:
        """Whether it is known to speak 2026-07-28; None when it was never asked."""

    def era_found(self, upstream: U, modern: bool) -> None:
        """`server/discover` has shown what it speaks."""
