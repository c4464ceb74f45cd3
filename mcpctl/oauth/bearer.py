"""The `Authorization` header of a server that one has logged in to: given, refreshed in time, adopted from others."""

from mcpctl.paths import Paths
from mcpctl.server_environment import Endpoint
from mcpctl.server_settings import Server


class Bearer:
    """The tokens of one server's URL, for all requests of a process; used on one event loop.

    Nobody waits for another's request: only for a refresh, where the token that there is does not hold any more.
    """

    def __init__(self, paths: Paths, name: str, server: Server, where: Endpoint) -> None:
        self._name = name

    async def header(self) -> str | None:
        """`Bearer TOKEN`, refreshed where it expires within a minute; None where nobody has logged in, so that the
        request is sent without. Raises `Failed` with `needs_login` where the login does not hold any more."""
        return None

    async def renewed(self, refused: str | None) -> str | None:
        """The header to try once more with after a 401 to one with `refused`; None where there is no other."""
        return None
