"""A server asked without a login, to see whether it wants one."""

import asyncio
from collections.abc import Mapping

import httpx2

from mcpctl import __version__
from mcpctl.base.callers import LEGACY_REVISIONS
from mcpctl.base.errors import McpctlError
from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth.challenge import refusal
from mcpctl.oauth.requests import Requests

_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},'
    b'"clientInfo":{"name":"mcpctl","version":"%s"}}}'
)
_EVENTS = "text/event-stream"


async def challenge(requests: Requests, where: Endpoint) -> httpx2.Response:
    """A server's answer to a first request with the headers of its entry alone; raises `LoginFailed`.

    The body is read only of a refusal.
    """
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
                said = response.headers.get("www-authenticate", "")
                return refusal(response.status_code, said, "", has_login=False, has_headers=False) is not None
        except (McpctlError, TimeoutError):
            return False

    async def asked() -> list[bool]:
        return await asyncio.gather(*map(needs, servers.values()))

    return [name for name, is_so in zip(servers, asyncio.run(asked()), strict=True) if is_so]
