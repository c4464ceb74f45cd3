"""An authorization server and a protected MCP server, both of the SDK, at two origins; and browsers that obey.

The issuer has a path of its own (`/tenant`), so that whoever asks at the server's origin, or at `/`, asks in vain.
"""

import contextlib
import secrets
import stat
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import mcp_types as types
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.lowlevel import Server
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.oauth.serving import served
from tests.servers.web import without_delay

SCOPES = ["read", "write"]


@dataclass
class Issuer(OAuthAuthorizationServerProvider[Any, Any, Any]):
    """Logs in whoever comes, unless it `refuses`."""

    name: str = ""
    registers: bool = True
    refuses: bool = False
    iss: str | None = None
    """What it says with the answer that it is (RFC 9207)."""
    takes_localhost_alone: bool = False
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    refresh: dict[str, RefreshToken] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Path and form of each POST."""
    answer: bytes = b""
    """What every POST is answered instead, if any, with this status."""
    status: int = 200
    documents: bool = False
    """Whether it reads metadata documents of clients."""
    claims: str = "/mcp"
    """The path that the server says that it is."""
    methods: Sequence[str] = ("none", "client_secret_basic", "client_secret_post")
    """How clients may say who they are."""

    def know(self, client_id: str, secret: str | None = None, **rest: Any) -> None:
        """Have a client registered beforehand; of any redirect address on this machine."""
        self.clients[client_id] = _AnyPort(
            client_id=client_id, client_secret=secret, redirect_uris=None, scope="read write",
            token_endpoint_auth_method="client_secret_basic" if secret else "none", **rest,
        )  # fmt: skip

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if self.refuses:
            raise AuthorizeError("access_denied", "not \x1b[31mtoday\n::error::")
        code = secrets.token_hex(8)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True, resource=params.resource,
        )  # fmt: skip
        said = {"iss": self.iss} if self.iss else {}
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state, **said)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    def issue(
        self, client_id: str, scopes: list[str], resource: str | None = None, *, again: bool = True
    ) -> OAuthToken:
        """A pair of tokens, or one that cannot be had `again`."""
        access, refresh = secrets.token_hex(16), secrets.token_hex(16)
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes, resource=resource)
        if again:
            self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(
            access_token=access, expires_in=3600, refresh_token=refresh if again else None, scope=" ".join(scopes)
        )

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self.issue(client.client_id, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def verify_token(self, token: str) -> AccessToken | None:
        """As the protected server asks."""
        return self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.access.clear()
        self.refresh.clear()


class _AnyPort(OAuthClientInformationFull):
    """A client whose address on this machine may have any port (RFC 8252, 7.3)."""

    def validate_redirect_uri(self, redirect_uri: Any) -> Any:
        return redirect_uri


class Door:
    """What stands before the issuer's endpoints: it notes what is asked, and adds what the SDK does not have."""

    def __init__(self, app: ASGIApp, issuer: Issuer) -> None:
        self._app, self._issuer = app, issuer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        request = Request(scope, receive)
        body = await request.body()
        form = dict(parse_qsl(body.decode()))
        if header := request.headers.get("authorization"):
            form["authorization"] = header
        path = request.url.path.rpartition("/")[2]
        self._issuer.asked.append((path, form))
        if path == "register" and self._issuer.takes_localhost_alone and b"localhost" not in body:
            return await JSONResponse({"error": "invalid_redirect_uri"}, 400)(scope, receive, send)
        if self._issuer.answer:
            return await Response(self._issuer.answer, self._issuer.status)(scope, receive, send)
        if form.get("grant_type") == "client_credentials":
            token = self._issuer.issue(form["client_id"], form.get("scope", "").split(), again=False)
            return await JSONResponse(token.model_dump())(scope, receive, send)

        async def again() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        return await self._app(scope, again, send)


@dataclass
class Sites:
    """Both of them, running."""

    issuer: Issuer
    url: str
    """The MCP server's."""
    open_url: str
    """That of a server beside it that needs no login."""


@contextlib.contextmanager
def running(**given: Any) -> Iterator[Sites]:
    """An issuer with these fields, and the server that it is for, as long as the block lasts."""
    with contextlib.ExitStack() as stack:
        issuing, serving = (without_delay() for _ in range(2))
        at, there = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in (issuing, serving))
        issuer = Issuer(name=f"{at}/tenant", **given)
        stack.enter_context(served(_issuing(issuer), issuing))
        stack.enter_context(served(_serving(issuer, there), serving))
        yield Sites(issuer, f"{there}/mcp", f"{there}/open/mcp")


def _issuing(issuer: Issuer) -> Starlette:
    name = AnyHttpUrl(issuer.name)
    registration = ClientRegistrationOptions(enabled=issuer.registers, valid_scopes=SCOPES)
    routes = create_auth_routes(
        issuer, name, client_registration_options=registration, revocation_options=RevocationOptions(enabled=True)
    )
    # The SDK's own place of the metadata is that of an issuer without a path.
    app = Starlette(routes=[route for route in routes if not route.path.startswith("/.well-known")])
    documents = {"client_id_metadata_document_supported": True} if issuer.documents else {}

    async def of_issuer(_: Request) -> Response:
        said = {
            "issuer": issuer.name, "authorization_endpoint": f"{issuer.name}/authorize",
            "token_endpoint": f"{issuer.name}/token", "revocation_endpoint": f"{issuer.name}/revoke",
            "scopes_supported": [*SCOPES, "admin"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": issuer.methods,
            **({"registration_endpoint": f"{issuer.name}/register"} if issuer.registers else {}), **documents,
        }  # fmt: skip
        return JSONResponse(said)

    return Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server/tenant", of_issuer),
            Mount("/tenant", Door(app, issuer)),
        ]
    )


def _serving(issuer: Issuer, there: str) -> Starlette:
    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="whoami", input_schema={"type": "object"})])

    auth = AuthSettings(
        issuer_url=AnyHttpUrl(issuer.name), resource_server_url=AnyHttpUrl(there + issuer.claims),
        required_scopes=["read"],
        validate_token_resource=False,
    )  # fmt: skip
    guarded = Server[Any]("guarded", version="1", on_list_tools=list_tools)
    app = guarded.streamable_http_app(auth=auth, token_verifier=issuer)
    free = Server[Any]("free", version="1", on_list_tools=list_tools).streamable_http_app()

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> Any:
        async with app.router.lifespan_context(app), free.router.lifespan_context(free):
            yield

    return Starlette(routes=[Mount("/open", free), Mount("/", app)], lifespan=life)


class _Stop(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Nobody follows a redirect here."""

    def http_error_302(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any) -> Any:
        return fp


def opener() -> urllib.request.OpenerDirector:
    """Asks for an address, and gives a redirect as the answer that it is."""
    return urllib.request.build_opener(_Stop)


_BROWSER = """\
#!{python}
import sys, urllib.error, urllib.parse, urllib.request

class Stop(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None

def go(url):
    try:
        return urllib.request.build_opener(Stop).open(url, timeout=20)
    except urllib.error.HTTPError as error:
        return error

url = sys.argv[1]
{lines}
"""
LOGS_IN = 'page = go(go(url).headers["location"]); open(__file__ + ".page", "w").write(page.read().decode())'
"""What a browser does whose user says yes."""


def browser(folder: Path, lines: str = LOGS_IN) -> Path:
    """A browser for the variable BROWSER: a script that does this with the `url` that it is to open."""
    path = folder / "browser"
    path.write_text(_BROWSER.format(python=sys.executable, lines=lines), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
