"""HTTP requests with the SDK's client, and their failures and refusals in words for a person. The import takes 0.1 s;
callers in an event loop do it in a thread."""

import asyncio
import json
import re
import socket
import ssl
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus

import httpx2

from mcpctl import __version__
from mcpctl.base.failure import Failed, failed
from mcpctl.config.server_environment import is_here
from mcpctl.secrets.redact import mask
from mcpctl.wire.http_network import HttpTransport

_CONNECT_S = 30.0
_BODY_S = 10.0
_BODY_BYTES = 65_536
_MAX_REDIRECTS = 5
_MAX_DETAIL = 200
_STATUSES = frozenset(HTTPStatus)


def client(url: str, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """A client for requests to `url`, through the proxy that the environment names for it; raises `Failed`. Which proxy
    that is, `_proxy` alone says. Call it in a thread, since reading the system's certificates takes time. It sets no
    time limit for answers: the caller does."""
    try:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        # Without TLS no certificate is looked at; one that came all the same would be trusted by nobody.
        is_plain = httpx2.URL(url).scheme == "http"
        # The environment is trusted for the files of certificates alone.
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else httpx2.create_ssl_context(trust_env=True)
        return httpx2.AsyncClient(
            headers={"user-agent": f"mcpctl/{__version__}", **headers},
            timeout=httpx2.Timeout(_CONNECT_S, read=None, pool=None),
            transport=HttpTransport(verify, limits=limits, proxy=_proxy(url)),
            trust_env=False,  # without a proxy it would look for one there, for this machine too
        )
    except Exception as error:
        raise failed("unreachable", in_words(error), was_sent=False) from error


@asynccontextmanager
async def request(
    client: httpx2.AsyncClient, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
) -> AsyncGenerator[httpx2.Response]:
    """The response to a request, with its body still to be read; raises `Failed`. Redirects on the same origin are
    followed. A refusal is a response too: `refusal` puts it in words."""
    sent = client.build_request(method, url, headers=dict(headers), content=content)
    async with responded(client, sent, content=content) as response:
        if response.has_redirect_location:
            detail = f": {_place(response)}; write that as its url if it is right"
            raise failed("http_error", "it redirects to another place", said=detail)
        yield response


@asynccontextmanager
async def responded(
    client: httpx2.AsyncClient, sent: httpx2.Request, *, content: bytes | None = None, follows: bool = True
) -> AsyncGenerator[httpx2.Response]:
    """The same, a redirect to another place included; `content` is sent again where it `follows` one."""
    try:
        response = await client.send(sent, stream=True)
        for _ in range(_MAX_REDIRECTS if follows else 0):
            if (following := _same_origin(response, content)) is None:
                break
            await response.aclose()
            response = await client.send(following, stream=True)
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        raise failed("unreachable", in_words(error), was_sent=False) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise failed("server_died", in_words(error)) from error
    try:
        yield response
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise failed("server_died", in_words(error)) from error
    finally:
        await response.aclose()


async def pieces(response: httpx2.Response) -> AsyncGenerator[bytes]:
    """A body in short decompressed pieces as they come; other tasks run between them."""
    async with aclosing(response.aiter_bytes()) as parts:
        async for piece in parts:
            yield piece
            await asyncio.sleep(0)


async def whole(response: httpx2.Response, most: int) -> bytearray:
    content = bytearray()
    async with aclosing(pieces(response)) as parts:
        async for piece in parts:
            content += piece
            if len(content) > most:
                raise failed("answer_unreadable", f"its answer has more than {most >> 20} MB")
    return content


async def body(response: httpx2.Response) -> bytes:
    content = bytearray()
    try:
        async with asyncio.timeout(_BODY_S):
            async for part in response.aiter_bytes(_BODY_BYTES):
                content += part
                if len(content) >= _BODY_BYTES:
                    break
            return bytes(content)
    except (TimeoutError, httpx2.HTTPError, httpx2.StreamError):
        return b""


def refusal(response: httpx2.Response, body: bytes) -> str:
    return f"{status_line(response.status_code)}{detail(response, body)}"


def status_line(status: int) -> str:
    phrase = HTTPStatus(status).phrase if status in _STATUSES else ""
    return f"HTTP {status} {phrase}".rstrip()


def media_type(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


def origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def in_words(error: BaseException) -> str:
    """The reason why a request failed, for a person. It has no address, which may hold a secret."""
    if isinstance(error, Failed):
        return str(error)
    cause: BaseException | None = error
    while cause:
        if words := _cause_in_words(cause):
            return words
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.TimeoutException):
        return "it does not answer (connecting timed out)"
    if isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError):
        return "the connection broke off"
    if isinstance(error, httpx2.LocalProtocolError):
        return "HTTP does not allow the request that would be sent"
    if isinstance(error, httpx2.DecodingError):
        return "its answer cannot be decompressed: it does not match its Content-Encoding"
    return f"the HTTP request failed ({type(error).__name__})"


def _cause_in_words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"TLS: its certificate is not trusted ({error.verify_message.rstrip('.')}); "
            "if it is the right server, name the file of its certificate authority in SSL_CERT_FILE"
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS: the encrypted connection failed ({error.reason or 'refused'}); is it an http:// address?"
    if isinstance(error, socket.gaierror):
        return "no such host (its name cannot be resolved)"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    if isinstance(error, ImportError):
        return (
            "the environment names a SOCKS proxy, which is not supported; unset ALL_PROXY or list the host in NO_PROXY"
        )
    return ""


def _proxy(url: str) -> str | None:
    """The HTTP proxy that the environment names for this address. Without a scheme it is an http proxy, as for curl."""
    address = httpx2.URL(url)
    if is_here(address.host) or urllib.request.proxy_bypass(address.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _same_origin(response: httpx2.Response, content: bytes | None) -> httpx2.Request | None:
    """The request that follows a redirect, if it stays on the origin and sends the same content."""
    following = response.next_request
    if following is None:
        return None
    sent = response.request
    has_ports = sent.url.port is not None or following.url.port is not None
    upgraded = (sent.url.scheme, following.url.scheme) == ("http", "https") and not has_ports
    stays = origin(sent.url) == origin(following.url) or (upgraded and sent.url.host == following.url.host)
    if not stays or following.method != sent.method or following.url.userinfo not in (b"", sent.url.userinfo):
        return None
    headers = [(name, value) for name, value in sent.headers.raw if name.lower() not in (b"host", b"content-length")]
    return httpx2.Request(sent.method, following.url, headers=headers, content=content, extensions=sent.extensions)


def _place(response: httpx2.Response) -> str:
    """The target of a redirect, without the parts that may be secret."""
    url = response.next_request.url if response.next_request else httpx2.URL("")
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def detail(response: httpx2.Response, body: bytes) -> str:
    """The server's own text about a refusal, on one line, to be shown after the status."""
    match = re.search(r'error_description="([^"]*)"', response.headers.get("www-authenticate", ""))
    text = match[1] if match else body[: 4 * _MAX_DETAIL].decode("utf-8", "replace")
    try:
        document = json.loads(body) if not match else {}
        error = document.get("error", document)
        message = error.get("message") if isinstance(error, dict) else None
        text = message or document.get("error_description") or (error if isinstance(error, str) else text)
    except (ValueError, AttributeError, RecursionError):
        pass  # the body is not a JSON object: its text is used
    text = "" if str(text).lstrip().startswith("<") else " ".join(str(text).split())
    return f": {mask(text)[:_MAX_DETAIL]}" if text and text != response.reason_phrase else ""
