"""Whether somebody is logged in to a server, from what is kept alone: nothing is connected and no keyring is asked."""

import time
from pathlib import Path

from mcpctl.config.command_values import CannotLaunch
from mcpctl.config.server_environment import endpoint
from mcpctl.config.server_settings import STDIO, VARIABLE, Server
from mcpctl.oauth.token_store import TokenStore

NEEDED, LOGGED_IN, EXPIRED = "needed", "logged in", "expired"


def of(
    store: TokenStore, server: Server, config_path: Path, refused_at: float | None
) -> tuple[str | None, float | None]:
    """One of these and, of a login that nothing refreshes, when it ends; None for a server without any login.

    Nothing is connected and no keyring is asked. `refused_at` is when the server last refused a request for want of a
    login, if it has not worked since.
    """
    if server.kind == STDIO or server.has_token:
        return None, None
    issuer = server.oauth.issuer if server.oauth else ""
    try:
        # Only where it must: the environment may be in a file, whose reader takes 60 ms.
        url = endpoint(server, config_path).url if VARIABLE.search(server.url) else server.url
    except CannotLaunch:
        return None, None
    tokens = store.find(url, "" if VARIABLE.search(issuer) else issuer, secrets=False)
    if tokens is None:
        return (NEEDED if refused_at or server.oauth else None), None
    if refused_at and refused_at > tokens.issued_at:
        return EXPIRED, None
    if tokens.is_refreshed:
        return LOGGED_IN, None
    return (LOGGED_IN if tokens.holds(time.time()) else EXPIRED), tokens.expires_at
