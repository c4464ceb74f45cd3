"""The way back from the browser: to one address of this machine, or by a person's pasting; one answer is taken.

https://www.rfc-editor.org/rfc/rfc8252#section-7.3
"""

import asyncio
import contextlib
import errno
import hmac
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from mcpctl.base.errors import McpctlError
from mcpctl.oauth.requests import LoginFailed, brief

_PATH = "/callback"
_HERE, _HERE_TOO = "127.0.0.1", "::1"
_REQUEST_BYTES = 16 << 10
_REQUEST_S = 10.0
_CODE = re.compile(r"(?!https?:)[!-<>-~]{12,}")  # a code alone: longer than a typing mistake, and no part of an address
_AROUND = "\"'<>"
_PASTED_BYTES = 16 << 10
_REFUSALS = {
    "access_denied": "the login was refused",
    "invalid_scope": "the issuer does not grant the scopes that were asked for",
    "unauthorized_client": "the issuer does not let this client log in",
    "temporarily_unavailable": "the issuer cannot log anybody in at this moment",
    "server_error": "the issuer has failed",
}
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>mcpctl</title><body style='font:1.2em sans-serif;margin:3em'>"
    "<p>%s</p></body>\n"
)
_DONE = "mcpctl has the answer. You can close this page; the terminal says how it went."
_NOT_OURS = "This is not the login that is under way. Begin again from the terminal."
_NOTHING = "There is nothing here."


class Redirect(NamedTuple):
    code: str
    iss: str | None = None


class Callback:
    """The address that the browser comes back to, open until the `with` block ends."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._state = ""
        self._answer: asyncio.Future[Redirect] = asyncio.get_running_loop().create_future()
        self._servers: list[asyncio.Server] = []

    async def __aenter__(self) -> Self:
        self._servers.append(await self._listen(_HERE))
        self.port = self._servers[0].sockets[0].getsockname()[1]
        try:
            self._servers.append(await self._listen(_HERE_TOO))
        except McpctlError:
            self._servers[0].close()  # its owner would get the answer of a browser that reads localhost so
            raise
        except OSError:
            pass  # some machines have no IPv6, and browsers then use the other
        return self

    async def _listen(self, host: str) -> asyncio.Server:
        try:
            return await asyncio.start_server(self._serve, host, self.port, limit=_REQUEST_BYTES)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise McpctlError(
                f"port {self.port} of this machine is taken, by another login or another program",
                "end that, or change redirect_port of the server's oauth", "login_under_way",
            ) from None  # fmt: skip

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        if self._answer.done() and not self._answer.cancelled():
            self._answer.exception()  # nobody may have waited for it

    def address(self, host: str = _HERE) -> str:
        return f"http://{host}:{self.port}{_PATH}"

    def expect(self, state: str) -> None:
        self._state = state

    async def answer(self) -> Redirect:
        """The issuer's answer; raises `LoginFailed` where that is a refusal."""
        return await asyncio.shield(self._answer)

    def paste(self, text: str) -> bool:
        """Take the address, or the code alone, that a person has pasted; whether it was one."""
        text = text.strip().strip(_AROUND)
        if _CODE.fullmatch(text):
            # The code alone: whoever pastes it has seen this login's page, and the verifier of PKCE is ours.
            return self._take(Redirect(text))
        try:
            query = urlsplit(text).query
        except ValueError:
            return False
        return self._take(_answer_in(query or text, self._state))

    def _take(self, answer: Redirect | LoginFailed | None) -> bool:
        if answer is None:
            return False
        if not self._answer.done():
            if isinstance(answer, LoginFailed):
                self._answer.set_exception(answer)
            else:
                self._answer.set_result(answer)
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
                status, text = self._answered(head)
                # Out before the login ends: the browser shows what it has got by then.
                writer.write(_response(status, text))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever it was, the browser comes back by itself
        except asyncio.CancelledError:
            pass  # the login ends; Python 3.11 would print a traceback for each connection that is open by then
        finally:
            writer.close()

    def _answered(self, head: bytes) -> tuple[str, str]:
        method, _, rest = head.partition(b" ")
        path, _, query = rest.partition(b" ")[0].decode("ascii", "replace").partition("?")
        if method != b"GET" or path != _PATH or self._answer.done():
            return "404 Not Found", _NOTHING
        is_ours = self._take(_answer_in(query, self._state))
        return ("200 OK", _DONE) if is_ours else ("400 Bad Request", _NOT_OURS)


def _answer_in(query: str, state: str) -> Redirect | LoginFailed | None:
    """The issuer's answer, or its refusal; None for an answer to another login, or to none."""
    try:
        given = {name: values[0] for name, values in parse_qs(query, max_num_fields=50).items() if len(values) == 1}
        if not state or not hmac.compare_digest(given.get("state", "").encode(), state.encode()):
            return None
    except ValueError:
        return None
    if error := given.get("error"):
        why = _REFUSALS.get(error, f"the issuer has refused: {brief(error)}")
        more = brief(given.get("error_description", ""))
        return LoginFailed(f"{why}{': ' if more else ''}{more}", "begin again, or ask whoever runs the issuer")
    return Redirect(given["code"], given.get("iss")) if given.get("code") else None


def _response(status: str, text: str) -> bytes:
    page = (_PAGE % text).encode()
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(page)}\r\n"
        "cache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\nconnection: close\r\n\r\n"
    ).encode() + page


def read_pasted(callback: Callback, on_other: Callable[[], None]) -> None:
    """Have a thread take each line of stdin as pasted, until the process ends; `on_other` gets any other line."""
    if sys.stdin is None:
        return
    loop = asyncio.get_running_loop()

    def take(line: str) -> None:
        if line.strip() and not callback.paste(line):
            on_other()

    def read() -> None:
        rest = b""
        with contextlib.suppress(OSError, RuntimeError):  # closed, or the login has ended
            while (piece := os.read(0, 4096)) and len(rest) < _PASTED_BYTES:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(take, line.decode("utf-8", "replace"))
            loop.call_soon_threadsafe(take, rest.decode("utf-8", "replace"))

    threading.Thread(target=read, name="pasted", daemon=True).start()
