"""A login taken back at its issuer, where that can be done: https://www.rfc-editor.org/rfc/rfc7009"""

import asyncio
import contextlib

from mcpctl.base.errors import McpctlError
from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth import client_authentication, discovery
from mcpctl.oauth.requests import Requests
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import Tokens

_SECONDS = 10.0


async def revoke(where: Endpoint, store: TokenStore) -> bool:
    """Whether the issuer has taken the tokens of the login to a server back; it is asked for 10 s at most.

    https://www.rfc-editor.org/rfc/rfc7009
    """
    with contextlib.suppress(McpctlError, TimeoutError):
        async with asyncio.timeout(_SECONDS):
            tokens = await asyncio.to_thread(store.find, where.url)
            return tokens is not None and await _revoked(where, tokens)
    return False


async def _revoked(where: Endpoint, tokens: Tokens) -> bool:
    requests = Requests(where.url)
    metadata = await discovery.of_issuer(requests, tokens.issuer, where.url)
    if metadata.revocation_endpoint is None:
        return False
    # With the refresh token its access tokens go too, where the issuer can do that (2.1).
    has_refresh = tokens.refresh_token is not None
    form = {
        "token": tokens.refresh_token or tokens.access_token,
        "token_type_hint": "refresh_token" if has_refresh else "access_token",
        "client_secret": "",  # none; but the SDK's issuers refuse a form without one, also beside Basic
    }
    headers, content = client_authentication.request(
        tokens.token_endpoint_auth_method, tokens.client_id, tokens.secret(where.oauth), form
    )
    response = await requests.send("POST", str(metadata.revocation_endpoint), headers, content)
    return response.is_success
