"""What a client asks of prompts and resources: listed from the catalog, got and read from the server that has them.

A list waits for no server and a read goes to one server alone: a URI may be a secret.
"""

from typing import TYPE_CHECKING

from mcpctl.callers import Caller
from mcpctl.wire import jsonrpc

if TYPE_CHECKING:
    from mcpctl.proxy.session import Session

METHODS = frozenset((
    "prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read",
    "completion/complete",
))  # fmt: skip
"""The requests that are answered here, in both eras."""


class FeatureRequests:
    """Those of one session."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def start(self, method: str, id_: bytes, caller: Caller, params: dict[str, bytes], meta: dict[str, bytes]) -> None:
        """Begin one request, which is answered once."""
        self._session.send(jsonrpc.error(id_, jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, "Method not found")))

    async def read(self, uri: str, caller: Caller, server: str | None = None) -> bytes:
        """The result of `resources/read`, on record; of this server, or else of the one whose URI it is.

        Raises `Failed`, with the server's error where it answered with one.
        """
        raise NotImplementedError

    async def prompt(self, name: str, arguments: bytes, caller: Caller) -> bytes:
        """The result of `prompts/get`, on record; raises `Failed` as `read` does."""
        raise NotImplementedError

    def cancel(self, request_id: bytes, params: dict[str, bytes]) -> bool:
        """The client takes a request back; whether it was one of these."""
        return False
