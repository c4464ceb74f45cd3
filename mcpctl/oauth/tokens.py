"""What is kept of a login: the tokens, when they expire, and all that is needed to refresh them without asking anybody.

https://www.rfc-editor.org/rfc/rfc6749#section-6; the issuer's own endpoint, which is not that of the server.
"""

import msgspec


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """One login to one server. It holds secrets: never shown, logged or put on record."""

    server_url: str
    issuer: str
    token_endpoint: str
    token_endpoint_auth_method: str = "none"
    grant: str = "code"
    """`code`, or `client_credentials`, which needs no refresh token: it is asked for again."""
    client_id: str
    client_secret: str | None = None
    """Only of a dynamic registration; one that the configuration names is read from there each time."""
    secret_expires_at: float | None = None
    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None
    """Seconds of the epoch; None where the issuer did not say."""
    scopes: str = ""
    resource: str | None = None
    """The `resource` of RFC 8707 that was asked for."""
    logged_in_at: float
    refreshed_at: float | None = None
