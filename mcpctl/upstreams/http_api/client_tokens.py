"""Tokens that an API's entry gets as a client, at the address that the document names, with the machinery of logins.
https://www.rfc-editor.org/rfc/rfc6749#section-4.4"""

import asyncio
import hashlib
import time
from typing import Any

import msgspec

from mcpctl.base.errors import McpctlError
from mcpctl.base.failure import OF_LOGIN, Failed, failed
from mcpctl.base.paths import Paths
from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import CLIENT_CREDENTIALS, OAuth
from mcpctl.oauth.bearer import Bearer
from mcpctl.oauth.requests import BASIC, POST
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import Tokens
from mcpctl.upstreams.http_api.credentials import SchemesInUse
from mcpctl.wire.threads import apart

_SETTLES_S = 1.0


class ClientTokens:
    """The logins of an API's clients, one for each set of scopes. The token store has them, and one process at a time
    renews one."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._methods: dict[str, str] = {}  # the way in which each of them tells who it is, once that is known
        self._bearers: dict[tuple[str, str], asyncio.Task[Bearer]] = {}
        self._renewing: set[asyncio.Task[str | None]] = set()

    async def of(self, chosen: SchemesInUse) -> str:
        """The token for a request; raises `Failed`."""
        client = _Client.of(chosen)
        ways = [self._methods[client.key]] if client.key in self._methods else [BASIC, POST]
        for way in ways:
            try:
                header = await (await self._bearer(client, way)).header()
            except Failed as error:
                # Not every issuer takes the way that all of them should: RFC 6749, 2.3.1.
                if error.failure.code in OF_LOGIN and way != ways[-1]:
                    continue
                if error.failure.code != "needs_login":
                    raise
            else:
                if header:
                    self._methods[client.key] = way
                    return header.removeprefix("Bearer ")
        why = f"the client of auth.{chosen.client} gets no token at its token address; look at its id and secret"
        raise failed("unauthorized", why, was_sent=False)

    def was_refused(self, chosen: SchemesInUse, token: str) -> None:
        """Have another token for the requests after this one."""
        client = _Client.of(chosen)
        bearer = self._bearers[client.key, self._methods[client.key]].result()
        task = asyncio.get_running_loop().create_task(bearer.renewed(f"Bearer {token}"))
        self._renewing.add(task)
        task.add_done_callback(self._renewing.discard)
        task.add_done_callback(heard)

    async def settle(self) -> None:
        for opening in self._bearers.values():
            opening.cancel()
            if opening.done() and not opening.cancelled() and not opening.exception():
                await opening.result().settle(_SETTLES_S)

    async def _bearer(self, client: "_Client", way: str) -> Bearer:
        """The one for all calls of this client."""
        opening = self._bearers.get((client.key, way))
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = asyncio.get_running_loop().create_task(self._opened(client, way))
            opening.add_done_callback(heard)
            self._bearers[client.key, way] = opening
        return await asyncio.shield(opening)

    async def _opened(self, client: "_Client", way: str) -> Bearer:
        issuer = client.issuer(way)
        oauth = OAuth(client_id=client.id, client_secret=client.secret, grant=CLIENT_CREDENTIALS, issuer=issuer)
        try:
            await apart(client.begin, TokenStore(self._paths), way)
        except McpctlError as error:
            raise failed("login_not_refreshed", error.message, was_sent=False) from error
        bearer = Bearer(self._paths, Endpoint(client.url, "", {}, oauth=oauth))
        await bearer.look()
        return bearer


def heard(done: "asyncio.Future[Any]") -> None:
    """A failure is nobody's where the request that waited for it was taken back; whoever needs it next is told."""
    if not done.cancelled():
        done.exception()


class _Client(msgspec.Struct, frozen=True):
    """Who asks for a token, where, and for which scopes. It holds a secret: never shown, never stored."""

    url: str
    id: str
    secret: str
    scopes: str

    @staticmethod
    def of(chosen: SchemesInUse) -> "_Client":
        scheme, value = chosen.schemes[chosen.client], chosen.values[chosen.client]
        assert not isinstance(value, str)
        scopes = sorted({*value.scopes, *chosen.scopes.get(chosen.client, ())})
        return _Client(scheme.token_url, value.client_id, value.client_secret, " ".join(scopes))

    @property
    def key(self) -> str:
        # With the secret: another one is not judged by what became of the last.
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    def issuer(self, way: str) -> str:
        return f"{self.url}#{way}-{self.key}"

    def begin(self, store: TokenStore, way: str) -> None:
        """Keep a login whose token has expired, where there is none: the first request renews it."""
        tokens = Tokens(
            server_url=self.url, issuer=self.issuer(way), token_endpoint=self.url, token_endpoint_auth_method=way,
            grant=CLIENT_CREDENTIALS, client_id=self.id, access_token="", expires_at=0.0, scopes=self.scopes,
            logged_in_at=time.time(),
        )  # fmt: skip
        with store.locked(tokens) as path:
            if store.read(path) is None:
                store.rewrite(path, tokens)
