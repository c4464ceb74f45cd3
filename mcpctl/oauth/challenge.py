"""A server asked without a login, and its refusal, which says which login it wants.

https://www.rfc-editor.org/rfc/rfc6750#section-3
"""

import asyncio
import re
from collections.abc import Mapping
from http import HTTPStatus

import httpx2

from mcpctl import __version__
from mcpctl.base.callers import LEGACY_REVISIONS
from mcpctl.base.errors import McpctlError
from mcpctl.base.failure import Failed, failed
from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth.requests import Requests

_MOST = 4096
_BEARER = re.compile(r"(?:^|[,\s])bearer(?:[,\s]|$)", re.IGNORECASE)
_LACKS_SCOPE = re.compile(r'error\s*=\s*"?insufficient_scope', re.IGNORECASE)
_SCOPES = re.compile(r'scope\s*=\s*"([^"]{1,1024})"', re.IGNORECASE)
# A part of what scopes may have: no sentence, and nothing that a shell takes for more than a word.
_SCOPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}")
_MOST_SCOPES = 8


def refusal(status: int, challenge: str, said: str, *, has_login: bool, has_headers: bool) -> Failed | None:
    """The failure of a 401 or 403 where a login helps; None where it does not, or nobody knows. `challenge` is its
    WWW-Authenticate, `said` the server's own words; `has_headers` is whether the configuration has headers for it, of
    which one may be meant."""
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
    """A server's answer to a first request with the headers of its entry alone; raises `LoginFailed`. The body is read
    only of a refusal."""
    if where.transport == "sse":
        return await requests.send("GET", where.url, {**where.headers, "accept": _EVENTS}, reads=False)
    line = _INITIALIZE % (LEGACY_REVISIONS[-1].encode(), __version__.encode())
    headers = {**where.headers, "accept": f"application/json, {_EVENTS}", "content-type": "application/json"}
    return await requests.send("POST", where.url, headers, line, reads=False)


def needing_login(servers: Mapping[str, Endpoint], timeout_s: float) -> list[str]:
    """The names of the servers that refuse a first request for want of a login, all asked at once; a late one is
    none."""

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
