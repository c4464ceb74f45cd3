"""Logins that tests keep."""

from typing import Any

from mcpctl.oauth.tokens import Tokens

URL, ISSUER = "https://s.test/mcp", "https://as.test/tenant"


def login(**given: Any) -> Tokens:
    """A login, with these members."""
    usual = {
        "server_url": URL, "issuer": ISSUER, "token_endpoint": f"{ISSUER}/oauth/token", "client_id": "me",
        "access_token": "access-1", "refresh_token": "refresh-1", "logged_in_at": 1000.0,
    }  # fmt: skip
    return Tokens(**{**usual, **given})
