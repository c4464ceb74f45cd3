"""Where logins are kept: `oauth/HASH.json` in the data directory, one file for each server's URL and issuer.

Several configurations, and any number of processes, may share them.
"""

from contextlib import AbstractContextManager

from mcpctl.oauth.tokens import Tokens
from mcpctl.paths import Paths


class TokenStore:
    """The logins of a data directory. All of it may wait for a file or its lock: call it in a thread."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def find(self, server_url: str, issuer: str = "") -> Tokens | None:
        """The login to a server, the latest of several where no issuer is named; None where there is none."""
        raise NotImplementedError

    def keep(self, tokens: Tokens) -> None:
        """Have it kept, whole or not at all; raises `McpctlError`."""
        raise NotImplementedError

    def forget(self, server_url: str, issuer: str = "") -> int:
        """Delete the logins to a server; how many there were."""
        raise NotImplementedError

    def locked(self, tokens: Tokens) -> AbstractContextManager[None]:
        """Hold the lock (flock) of this login: who refreshes it does so alone."""
        raise NotImplementedError
