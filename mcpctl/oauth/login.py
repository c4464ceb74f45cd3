"""A login to one server, by a person in a browser, or by a client with its own secret; and its end at the issuer.

Done here alone, with parts of the SDK: `serve` never opens a browser. The SDK's whole provider keeps no expiry and no
issuer, and its refreshes go to the wrong endpoint.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

from mcp.client.auth import utils
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.auth.oauth2 import PKCEParameters
from mcp.shared.auth import OAuthToken
from pydantic import ValidationError

from mcpctl.base.errors import McpctlError
from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import CLIENT_CREDENTIALS, CODE, OAuth
from mcpctl.config.settings import OAuthSettings
from mcpctl.oauth import browser, discovery
from mcpctl.oauth.bearer import HEADER, LONGEST_LIFE_S
from mcpctl.oauth.callback import Callback, read_pasted
from mcpctl.oauth.discovery import Issuer, OAuthClient
from mcpctl.oauth.requests import LoginFailed, Requests, authenticated, brief, origin, refusal_in_words
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import Tokens

WAIT_S = 300.0
_REVOKED_S = 10.0
_NOT_THAT = (
    "that is not this login's callback address; open the address above and paste the full address that the browser"
    " ends on"
)
_GRANTS = {CODE: ["authorization_code", "refresh_token"], CLIENT_CREDENTIALS: [CLIENT_CREDENTIALS]}


@dataclass(frozen=True)
class Wish:
    """A person's wishes for this login."""

    name: str  # the server's
    scopes: Sequence[str] = ()
    client_id: str = ""
    in_browser: bool = True  # whether a browser may be opened here; else the person pastes the address that it ends at


@dataclass(frozen=True)
class NewLogin:
    tokens: Tokens
    registration: str  # `configured`, `metadata document` or `dynamic`


async def log_in(where: Endpoint, settings: OAuthSettings, wish: Wish, tell: Callable[[str], None]) -> NewLogin | None:
    """A new login, or None if none is needed; `tell` says what to do. Raises `LoginFailed`, `McpctlError`."""
    requests = Requests(where.url)
    issuer = await discovery.find(requests, where)
    return await _Login(where, requests, issuer, wish, tell).made(settings) if issuer else None


class _Login:
    def __init__(
        self, where: Endpoint, requests: Requests, issuer: Issuer, wish: Wish, tell: Callable[[str], None]
    ) -> None:
        self._where = where
        self._requests = requests
        self._issuer = issuer
        self._wish = wish
        self._tell = tell
        self._oauth = oauth = where.oauth or OAuth()
        self._scope = " ".join(wish.scopes or oauth.scopes) or issuer.scope(_GRANTS[oauth.grant])

    async def made(self, settings: OAuthSettings) -> NewLogin:
        issuer, wish = self._issuer, self._wish
        known = self._known_client(settings)
        if wider := issuer.wider(self._where.url):
            self._tell(f"the login is for all of {brief(wider)}: others who serve there can use it, too")
        if self._oauth.grant != CLIENT_CREDENTIALS:
            async with Callback(self._oauth.redirect_port) as callback:
                self._tell(self._parties())
                client, address = known, callback.address()
                if client is None:
                    addresses = [address, callback.address("localhost")]
                    client, address = await discovery.dynamic(
                        self._requests, issuer.metadata, addresses, self._scope, wish.name
                    )
                fields = await self._authorized(client, address, callback)
        elif known and known.secret:
            client, fields = known, {"grant_type": CLIENT_CREDENTIALS}
        else:
            hint = (
                f"see that its variables have values, and client_id in [servers.{wish.name}.oauth] is the secret's own"
            )
            raise McpctlError(f"the client of '{wish.name}' has no secret here", hint, "no_client")
        return NewLogin(self._tokens(client, await self._token(client, fields)), client.kind)

    def _known_client(self, settings: OAuthSettings) -> OAuthClient | None:
        oauth, metadata = self._oauth, self._issuer.metadata
        if client_id := self._wish.client_id or oauth.client_id:
            secret = oauth.client_secret if client_id == oauth.client_id else ""
            return discovery.configured(metadata, client_id, secret)
        url = settings.client_metadata_url
        if url and utils.should_use_client_metadata_url(metadata, url):
            return OAuthClient(discovery.DOCUMENT, url)
        return None

    def _parties(self) -> str:
        """The parties that get something by this login: a server names its issuer itself, and may name anybody."""
        server, metadata = origin(self._where.url), self._issuer.metadata
        page, tokens = origin(str(metadata.authorization_endpoint)), origin(str(metadata.token_endpoint))
        way = "" if tokens in (page, server) else f", by way of {brief(tokens)}"
        return f"this gives '{self._wish.name}' at {brief(server)} access to what you have at {brief(page)}{way}"

    async def _authorized(self, client: OAuthClient, address: str, callback: Callback) -> dict[str, str]:
        issuer, scope = self._issuer, self._scope
        proof, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
        fields = {
            "response_type": "code", "client_id": client.id, "redirect_uri": address, "state": state,
            "code_challenge": proof.code_challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        if issuer.resource_url:
            fields["resource"] = issuer.resource_url
        if scope:
            fields["scope"] = scope
        if "offline_access" in (scope or "").split():
            fields["prompt"] = "consent"  # OpenID Connect Core, 11
        endpoint = str(issuer.metadata.authorization_endpoint)
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"
        try:
            async with asyncio.timeout(WAIT_S):
                callback.expect(state)
                self._send(url, callback)
                redirect = await callback.answer()
        except TimeoutError:
            why = f"nobody came back from the browser within {WAIT_S / 60:g} minutes"
            raise McpctlError(
                why, f"begin again with: mcpctl servers login {self._wish.name}", "login_timeout"
            ) from None
        try:
            utils.validate_authorization_response_iss(redirect.iss, issuer.metadata)
        except OAuthFlowError:
            name, hint = brief(issuer.name), "ask whoever runs the issuer"
            if not redirect.iss:
                raise LoginFailed(f"the answer does not say that it is from {name}", hint) from None
            why = f"the answer is from another issuer: {brief(redirect.iss)} in place of {name}"
            raise LoginFailed(why, "begin again, and log in nowhere else") from None
        return {
            "grant_type": "authorization_code", "code": redirect.code, "redirect_uri": address,
            "code_verifier": proof.code_verifier,
        }  # fmt: skip

    def _send(self, url: str, callback: Callback) -> None:
        loop, tell = asyncio.get_running_loop(), self._tell

        def ask_to_paste() -> None:
            tell(
                f"open this address in a browser:\n\n  {url}\n\n"
                f"It ends at {callback.address()}?…: if the browser is on another machine and shows an error there,"
                " paste that address here."
            )
            read_pasted(callback, lambda: tell(_NOT_THAT))

        def failed() -> None:
            with contextlib.suppress(RuntimeError):  # the login has ended meanwhile
                loop.call_soon_threadsafe(ask_to_paste)

        if self._wish.in_browser and browser.can_open():
            tell(f"log in with the browser that opens; if none does, go to:\n\n  {url}\n")
            browser.open_(url, failed)
        else:
            ask_to_paste()

    async def _token(self, client: OAuthClient, fields: dict[str, str]) -> OAuthToken:
        if self._issuer.resource_url:
            fields = {**fields, "resource": self._issuer.resource_url}
        if self._scope and fields["grant_type"] == CLIENT_CREDENTIALS:
            fields = {**fields, "scope": self._scope}
        endpoint = str(self._issuer.metadata.token_endpoint)
        response = await self._requests.send("POST", endpoint, *client.request(fields))
        hint = "see whether its client_id and client_secret are right, and try again"
        if client.kind == discovery.DYNAMIC:
            hint = "begin again: the address that the browser ends on can be used once, and not for long"
        if response.status_code not in (HTTPStatus.OK, HTTPStatus.CREATED):
            sent = (client.secret, fields.get("code"), fields.get("code_verifier"))
            raise LoginFailed(f"the issuer gave no token: {refusal_in_words(response, *sent)}", hint)
        with contextlib.suppress(ValidationError):
            token = OAuthToken.model_validate_json(response.content)
            if HEADER.fullmatch(token.access_token):
                return token
        raise LoginFailed("the issuer answered with something that is not a token", hint)

    def _tokens(self, client: OAuthClient, token: OAuthToken) -> Tokens:
        issuer, now = self._issuer, time.time()
        return Tokens(
            server_url=self._where.url,
            issuer=issuer.name,
            token_endpoint=str(issuer.metadata.token_endpoint),
            token_endpoint_auth_method=client.method,
            grant=self._oauth.grant,
            client_id=client.id,
            # The configuration has its own, expanded each time.
            client_secret=client.secret if client.kind == discovery.DYNAMIC else None,
            secret_expires_at=client.secret_expires_at,
            access_token=token.access_token,
            refresh_token=token.refresh_token,
            expires_at=None if token.expires_in is None else now + min(token.expires_in, LONGEST_LIFE_S),
            scopes=token.scope if token.scope is not None else self._scope or "",
            resource=issuer.resource_url,
            logged_in_at=now,
        )


async def revoke(where: Endpoint, store: TokenStore) -> bool:
    """Whether the issuer has taken a login's tokens back (RFC 7009); it is asked for 10 s at most."""
    with contextlib.suppress(McpctlError, TimeoutError):
        async with asyncio.timeout(_REVOKED_S):
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
    headers, content = authenticated(
        tokens.token_endpoint_auth_method, tokens.client_id, tokens.secret(where.oauth), form
    )
    response = await requests.send("POST", str(metadata.revocation_endpoint), headers, content)
    return response.is_success
