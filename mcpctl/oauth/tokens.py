"""A login as it is kept: the tokens, when they expire, and all that is needed to refresh them without asking anybody.

https://www.rfc-editor.org/rfc/rfc6749#section-6; the issuer's own endpoint, which is not that of the server.
"""

from urllib.parse import urlsplit

import msgspec

from mcpctl.config.server_environment import is_here
from mcpctl.config.server_settings import CLIENT_CREDENTIALS, OAuth

_PORTS = {"http": 80, "https": 443}
_MARGIN_S = 60.0  # the time before a token expires in which it is refreshed, at most


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """One login to one server. It holds secrets: never shown, logged or put on record."""

    server_url: str
    issuer: str
    token_endpoint: str
    token_endpoint_auth_method: str = "none"
    grant: str = "code"  # `code`, or `client_credentials`, which needs no refresh token: it is asked for again
    client_id: str
    client_secret: str | None = None  # only of a dynamic registration; a configured one is read there each time
    secret_expires_at: float | None = None
    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None  # seconds of the epoch; None where the issuer did not say
    scopes: str = ""
    resource: str | None = None  # the `resource` of RFC 8707 that was asked for
    logged_in_at: float
    refreshed_at: float | None = None
    over_at: float | None = None  # when the issuer called the login over: it is not asked for it again and again

    def __repr__(self) -> str:
        """Without its secrets, so that no traceback and no message has them."""
        return f"Tokens(server_url={self.server_url!r}, issuer={self.issuer!r})"

    @property
    def issued_at(self) -> float:
        return self.refreshed_at or self.logged_in_at

    @property
    def is_refreshed(self) -> bool:
        """Whether it goes on by itself after the access token has expired."""
        return self.grant == CLIENT_CREDENTIALS or self.refresh_token is not None

    def secret(self, oauth: OAuth | None) -> str | None:
        """The client's secret: the configuration's, if it is this client's."""
        if oauth and oauth.client_secret and oauth.client_id == self.client_id:
            return oauth.client_secret
        return self.client_secret

    def holds(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at

    def is_due(self, now: float) -> bool:
        """Whether the access token expires within a minute; one that never lives that long, within half its life."""
        if self.expires_at is None:
            return False
        return now >= self.expires_at - min(_MARGIN_S, max(self.expires_at - self.issued_at, 0.0) / 2)


def canonical(url: str) -> str:
    """A URL as logins are kept for it: lower case, no default port, no fragment (RFC 8707, 2); else as it is."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return url
    if not host:
        return url
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != _PORTS.get(parts.scheme):
        place = f"{place}:{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{place}{'' if parts.path == '/' and not query else parts.path}{query}"


def may_be_sent_to(url: str) -> bool:
    """Whether a token may go to an address: where nobody can read it on the way, and no other credentials are in it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    is_private = parts.scheme == "https" or (parts.scheme == "http" and is_here(host))
    return bool(host) and is_private and "@" not in parts.netloc
