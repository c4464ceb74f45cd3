"""The HTTP requests of a login: each bounded, and none sent to another place than it is for.

The first asks a server without a login; its refusal names the login that it wants:
https://www.rfc-editor.org/rfc/rfc6750#section-3
"""

import asyncio
import base64
import re
from collections.abc import Mapping
from contextlib import aclosing
from http import HTTPStatus
from urllib.parse import quote, quote_plus, urlencode

import httpx2

from mcpctl import __version__
from mcpctl.base.callers import LEGACY_REVISIONS
from mcpctl.base.errors import McpctlError, UpstreamFailed
from mcpctl.base.failure import Failed, failed
from mcpctl.base.texts import one_line
from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth.tokens import may_be_sent_to
from mcpctl.wire import http_client

_SECONDS = 30.0
_BYTES = 1 << 20
_MOST_SAID = 200


class LoginFailed(UpstreamFailed):
    """The server, or its issuer, did not do its part."""

    code = "login_failed"


class Requests:
    """The requests for one server's login: unencrypted only where the server itself is."""

    def __init__(self, server_url: str) -> None:
        """Raises `LoginFailed` for a server that no token may be sent to."""
        self._may_be_plain = True
        self.check(server_url)
        self._may_be_plain = server_url.lower().startswith("http://")

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, content: bytes | None = None,
        *, reads: bool = True,
    ) -> httpx2.Response:  # fmt: skip
        """The response, redirected on the same origin alone, with its body if it `reads`; raises `LoginFailed`."""
        self.check(url)
        try:
            async with asyncio.timeout(_SECONDS):
                client = await asyncio.to_thread(http_client.client, url, {})
                async with (
                    aclosing(client),
                    http_client.request(client, method, url, dict(headers or {}), content) as response,
                ):
                    body = await http_client.whole(response, _BYTES) if reads or response.is_error else b""
                    # Its body is decompressed by now.
                    kept = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_BODY]
                    return httpx2.Response(response.status_code, headers=kept, content=bytes(body))
        except TimeoutError:
            raise LoginFailed(f"{origin(url)} does not answer within {_SECONDS:g} s", _AGAIN) from None
        except (Failed, httpx2.HTTPError, httpx2.InvalidURL) as error:
            if isinstance(error, Failed) and error.failure.code == "http_error":  # a redirect to another place
                return httpx2.Response(404)
            raise LoginFailed(f"{origin(url)}: {http_client.in_words(error)}", _AGAIN) from None

    def check(self, url: str) -> None:
        is_plain = not url.lower().startswith("https://")
        if (is_plain and not self._may_be_plain) or not may_be_sent_to(url):
            where = brief(origin(url))
            raise LoginFailed(f"the login would go to {where}, which is not encrypted", "tell whoever runs the server")


_AGAIN = "try again; if it stays so, tell whoever runs the server"
_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


def brief(text: str) -> str:
    """A foreign text for a message: short, on one line, of visible characters."""
    return one_line(text[: 4 * _MOST_SAID])[:_MOST_SAID]


def refusal_in_words(response: httpx2.Response, *secrets: str | None) -> str:
    """A refusal in words: its status and its reason, without the secrets that were sent."""
    text = brief(http_client.refusal(response, response.content))
    for secret in secrets:
        for form in (secret, quote_plus(secret)) if secret else ():
            text = text.replace(form, "***")
    return text


def origin(url: str) -> str:
    try:
        parts = httpx2.URL(url)
        return f"{parts.scheme}://{parts.netloc.decode()}"
    except (httpx2.InvalidURL, ValueError):
        return "an address that is none"


METHODS = NONE, BASIC, POST = "none", "client_secret_basic", "client_secret_post"  # the first: no secret


def authenticated(
    method: str, client_id: str, secret: str | None, form: Mapping[str, str]
) -> tuple[dict[str, str], bytes]:
    """The headers and body by which a client tells its issuer who it is (RFC 6749, 2.3)."""
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    fields = {**form, "client_id": client_id}  # also beside Basic: the SDK's issuers look for it there
    if method == BASIC and secret:
        # Not `+` for a space: the SDK's issuers do not read it as one.
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif method == POST and secret:
        fields["client_secret"] = secret
    return headers, urlencode(fields).encode()


_MOST = 4096
_BEARER = re.compile(r"(?:^|[,\s])bearer(?:[,\s]|$)", re.IGNORECASE)
_LACKS_SCOPE = re.compile(r'error\s*=\s*"?insufficient_scope', re.IGNORECASE)
_SCOPES = re.compile(r'scope\s*=\s*"([^"]{1,1024})"', re.IGNORECASE)
# A part of what scopes may have: no sentence, and nothing that a shell takes for more than a word.
_SCOPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}")
_MOST_SCOPES = 8


def refusal(status: int, challenge: str, said: str, *, has_login: bool, has_headers: bool) -> Failed | None:
    """The failure of a 401 or 403 where a login helps, else None; `challenge` is its WWW-Authenticate."""
    challenge = challenge[:_MOST]
    if status == HTTPStatus.FORBIDDEN:
        if not has_login or not _LACKS_SCOPE.search(challenge):
            return None
        match = _SCOPES.search(challenge)
        scopes = match[1].split()[:_MOST_SCOPES] if match else []
        lacking = tuple(filter(_SCOPE.fullmatch, scopes))
        return failed("needs_login", "its login has too few rights", was_sent=False, said=said, scopes=lacking)
    if has_login:
        return failed("needs_login", "its login is refused", was_sent=False, said=said)
    if has_headers or not _BEARER.search(challenge):
        return None
    return failed("needs_login", "it needs a login", was_sent=False)


_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},'
    b'"clientInfo":{"name":"mcpctl","version":"%s"}}}'
)
_EVENTS = "text/event-stream"


async def challenge(requests: Requests, where: Endpoint) -> httpx2.Response:
    """A server's answer to a first request with the headers of its entry alone; only the body of a refusal is read."""
    if where.transport == "sse":
        return await requests.send("GET", where.url, {**where.headers, "accept": _EVENTS}, reads=False)
    line = _INITIALIZE % (LEGACY_REVISIONS[-1].encode(), __version__.encode())
    headers = {**where.headers, "accept": f"application/json, {_EVENTS}", "content-type": "application/json"}
    return await requests.send("POST", where.url, headers, line, reads=False)


def needing_login(servers: Mapping[str, Endpoint], timeout_s: float) -> list[str]:
    """The servers that want a login for a first request, all asked at once; one that is late is not among them."""

    async def needs(where: Endpoint) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                response = await challenge(Requests(where.url), where)
                challenges = response.headers.get("www-authenticate", "")
                return refusal(response.status_code, challenges, "", has_login=False, has_headers=False) is not None
        except (McpctlError, TimeoutError):
            return False

    async def refusals() -> list[bool]:
        return await asyncio.gather(*map(needs, servers.values()))

    return [name for name, is_so in zip(servers, asyncio.run(refusals()), strict=True) if is_so]
