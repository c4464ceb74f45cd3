"""An authorization server made of the SDK's, which knows a refresh token that comes twice, and an MCP server for it.

Both run in a thread of this process. The server has a token endpoint of its own too, which nobody is meant to ask.
"""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from mcp.server.auth.provider import RefreshToken, TokenError
from mcp.server.auth.routes import create_auth_routes
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcpctl.oauth.tokens import Tokens
from tests.oauth.serving import served
from tests.servers.web import without_delay

CLIENT = "me"
CHALLENGE = {"www-authenticate": 'Bearer resource_metadata="https://s.test/.well-known/oauth-protected-resource"'}


@dataclass
class Issuer:
    """Gives out new tokens for old; a refresh token that comes twice ends the family that it is of."""

    life_s: int | None = 3600
    rotates: bool = True
    secret: str | None = None
    method: str = "none"
    live: dict[str, int] = field(default_factory=dict)
    """The refresh tokens that can be used, with their families."""
    used: dict[str, int] = field(default_factory=dict)
    revoked: set[int] = field(default_factory=set)
    access: dict[str, int] = field(default_factory=dict)
    refreshes: int = 0
    asked: list[dict[str, str]] = field(default_factory=list)
    """The form of each request for tokens, and its `authorization` if it has some."""
    status: int = 0
    """What every request is answered instead, if any."""
    is_asked: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def issue(self, family: int | None = None) -> OAuthToken:
        """A pair of tokens, of a new family if of none."""
        number = next(self._numbers)
        family = number if family is None else family
        access, refresh = f"access-{number}-of-{family}", f"refresh-{number}-of-{family}"
        self.access[access] = family
        self.live[refresh] = family
        return OAuthToken(
            access_token=access, expires_in=self.life_s, refresh_token=refresh if self.rotates else None, scope="a b"
        )

    def revoke(self, family: int) -> None:
        """End a family."""
        self.revoked.add(family)
        self.access = {token: of for token, of in self.access.items() if of != family}
        self.live = {token: of for token, of in self.live.items() if of != family}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        if client_id != CLIENT:
            return None
        return OAuthClientInformationFull(
            client_id=CLIENT, redirect_uris=None, grant_types=["refresh_token", "authorization_code"],
            client_secret=self.secret, token_endpoint_auth_method=self.method,
        )  # fmt: skip

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        if (family := self.used.get(refresh_token)) is not None:
            self.revoke(family)
        if refresh_token not in self.live:
            return None
        return RefreshToken(token=refresh_token, client_id=CLIENT, scopes=["a", "b"])

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if refresh_token.token not in self.live:
            raise TokenError("invalid_grant")
        self.refreshes += 1
        if not self.rotates:
            return self.issue(self.live[refresh_token.token])
        family = self.live.pop(refresh_token.token)
        self.used[refresh_token.token] = family
        return self.issue(family)


class Held:
    """What stands before the issuer: it notes what is asked, and waits until it may be answered."""

    def __init__(self, app: ASGIApp, issuer: Issuer) -> None:
        self._app, self._issuer = app, issuer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = Request(scope, receive)
        body = await request.body()
        form = dict(parse_qsl(body.decode()))
        if header := request.headers.get("authorization"):
            form["authorization"] = header
        self._issuer.asked.append(form)
        self._issuer.is_asked.set()
        while not self._issuer.may_answer.is_set():
            await asyncio.sleep(0.001)  # what it waits for is set by another thread
        if self._issuer.status:
            answer = {"error": "slow_down", "error_description": f"not with {form.get('refresh_token')}"}
            return await JSONResponse(answer, self._issuer.status)(scope, receive, send)
        if form.get("grant_type") == "client_credentials":
            tokens = self._issuer.issue().model_dump(exclude={"refresh_token"})
            return await JSONResponse(tokens)(scope, receive, send)

        async def again() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        return await self._app(scope, again, send)


@dataclass
class Guarded:
    """An MCP server that wants a token of the issuer's."""

    issuer: Issuer
    together: int = 1
    """How many calls of `wait` have to be in it at once before any is answered."""
    got: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Of each request its HTTP method, its JSON-RPC method and its `authorization`."""
    lacks: str = ""
    """The scopes that a call is told to need."""
    says: str = ""
    """What a call is answered."""
    asked_for_tokens: int = 0
    calls: int = 0
    _all_in: asyncio.Barrier | None = None

    async def mcp(self, request: Request) -> Response:
        """Answer a request, if its token is good."""
        header = request.headers.get("authorization")
        message = await request.json() if request.method == "POST" else {}
        method = str(message.get("method", ""))
        self.got.append((request.method, method, header))
        if (header or "").removeprefix("Bearer ") not in self.issuer.access:
            return JSONResponse({"error": "invalid_token", "error_description": f"not {header}"}, 401, CHALLENGE)
        if request.method != "POST":
            return await self._not_a_message(request)
        if "id" not in message:
            return Response(status_code=202)
        if method == "server/discover":
            return Response("what?", 400)
        if method == "tools/call" and self.lacks:
            challenge = f'Bearer error="insufficient_scope", scope="{self.lacks}"'
            return JSONResponse({}, 403, {"www-authenticate": challenge})
        result = await self._result(method, message)
        headers = {"mcp-session-id": "s1"} if method == "initialize" else {}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers)

    async def _not_a_message(self, request: Request) -> Response:
        if request.method == "DELETE":
            return Response(status_code=200)

        async def nothing() -> Any:
            yield b": hello\n\n"
            await asyncio.sleep(60)

        return StreamingResponse(nothing(), media_type="text/event-stream")

    async def _result(self, method: str, message: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            info = {"name": "guarded", "version": "1"}
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("wait", "echo")]}
        if method == "tools/call":
            self.calls += 1
            if message["params"]["name"] == "wait":
                self._all_in = self._all_in or asyncio.Barrier(self.together)
                await self._all_in.wait()
            return {"content": [{"type": "text", "text": self.says or "done"}]}
        return {}

    async def not_the_issuer(self, request: Request) -> Response:
        """The token endpoint that is not the issuer's."""
        self.asked_for_tokens += 1
        return Response("no", 404)


@dataclass
class Running:
    """Both of them, at an address."""

    issuer: Issuer
    server: Guarded
    address: str
    elsewhere: str = "http://elsewhere.invalid/mcp"
    """Where `/away` leads."""

    @property
    def url(self) -> str:
        """The MCP server's."""
        return f"{self.address}/mcp"

    @property
    def token_endpoint(self) -> str:
        """The issuer's."""
        return f"{self.address}/tenant/oauth/token"

    async def moved(self, request: Request) -> Response:
        """A redirect to the issuer's, on the same origin."""
        return RedirectResponse(self.token_endpoint, 307)

    async def away(self, request: Request) -> Response:
        """A redirect to another origin."""
        return RedirectResponse(self.elsewhere, 307)

    def login(self, **given: Any) -> Tokens:
        """A login as it is once somebody has logged in."""
        pair = self.issuer.issue()
        usual = {
            "server_url": self.url, "issuer": f"{self.address}/tenant", "token_endpoint": self.token_endpoint,
            "client_id": CLIENT, "access_token": pair.access_token, "refresh_token": pair.refresh_token,
            "expires_at": time.time() + 3600, "logged_in_at": time.time() - 7200, "scopes": "a b", "resource": self.url,
        }  # fmt: skip
        return Tokens(**{**usual, **given})


@contextlib.contextmanager
def running(**given: Any) -> Iterator[Running]:
    """An issuer with these fields and a server, for as long as the block lasts."""
    issuer = Issuer(**given)
    server = Guarded(issuer)
    listening = without_delay()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    provider: Any = issuer  # as far as refreshing goes
    issuing = Starlette(routes=create_auth_routes(provider, AnyHttpUrl(f"{address}/tenant")))
    found = Running(issuer, server, address)
    routes = [
        Route("/mcp", server.mcp, methods=["GET", "POST", "DELETE"]),
        Route("/token", server.not_the_issuer, methods=["POST"]),
        Route("/moved", found.moved, methods=["POST"]),
        Route("/away", found.away, methods=["POST", "GET"]),
        Mount("/tenant/oauth", Held(issuing, issuer)),
    ]
    with served(Starlette(routes=routes), listening):
        try:
            yield found
        finally:
            issuer.may_answer.set()
