"""The HTTP requests of a login: each bounded, and none sent to another place than it is for."""

import asyncio
import base64
from collections.abc import Mapping
from urllib.parse import quote, quote_plus, urlencode

import httpx2

from mcpctl.base.errors import UpstreamFailed
from mcpctl.base.failure import Failed
from mcpctl.base.texts import one_line
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
        """The response, with its body where it `reads` it or is refused; raises `LoginFailed`. A redirect is followed
        on the same origin alone, and is else a refusal of HTTP 404."""
        self.check(url)
        try:
            async with asyncio.timeout(_SECONDS):
                return await self._sent(method, url, dict(headers or {}), content, reads)
        except TimeoutError:
            raise LoginFailed(f"{origin(url)} does not answer within {_SECONDS:g} s", _AGAIN) from None
        except (Failed, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise LoginFailed(f"{origin(url)}: {http_client.in_words(error)}", _AGAIN) from None

    def check(self, url: str) -> None:
        is_plain = not url.lower().startswith("https://")
        if (is_plain and not self._may_be_plain) or not may_be_sent_to(url):
            where = brief(origin(url))
            raise LoginFailed(f"the login would go to {where}, which is not encrypted", "tell whoever runs the server")

    async def _sent(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, reads: bool
    ) -> httpx2.Response:
        client = await asyncio.to_thread(http_client.client, url, {})
        try:
            async with http_client.request(client, method, url, headers, content) as response:
                body = await http_client.whole(response, _BYTES) if reads or response.is_error else b""
                # Its body is decompressed by now.
                kept = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_BODY]
                return httpx2.Response(response.status_code, headers=kept, content=bytes(body))
        except Failed as error:
            if error.failure.code == "http_error":  # a redirect to another place
                return httpx2.Response(404)
            raise
        finally:
            await client.aclose()


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


METHODS = NONE, BASIC, POST = "none", "client_secret_basic", "client_secret_post"
"""The supported ways, the first for a client without a secret."""


def authenticated(
    method: str, client_id: str, secret: str | None, form: Mapping[str, str]
) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a request with this form, by which a client tells its issuer who it is.

    https://www.rfc-editor.org/rfc/rfc6749#section-2.3
    """
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    fields = {**form, "client_id": client_id}  # also beside Basic: the SDK's issuers look for it there
    if method == BASIC and secret:
        # Not `+` for a space: the SDK's issuers do not read it as one.
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif method == POST and secret:
        fields["client_secret"] = secret
    return headers, urlencode(fields).encode()
