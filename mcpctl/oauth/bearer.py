"""The `Authorization` header of a server that one has logged in to: given, refreshed in time, adopted from others."""

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.base.failure import failed
from mcpctl.base.paths import Paths
from mcpctl.config.server_environment import Endpoint
from mcpctl.oauth.refreshing import not_refreshed, refreshed
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import Tokens, may_be_sent_to

_Done = TypeVar("_Done")
_SETTLES_S = 10.0
"""A server that refuses a token as new as this would refuse the next one too."""
_PAUSE_S = 5.0
"""After a refresh that failed, a token that has not expired is not refreshed for so long."""


class Bearer:
    """The tokens of one server's URL, for all requests of a connection; used on one event loop. No request waits for
    another: only for a refresh, where the token has expired."""

    def __init__(self, paths: Paths, where: Endpoint) -> None:
        self._paths = paths
        self._store = TokenStore(paths)
        self._url = where.url
        self._oauth = where.oauth
        self._tokens: Tokens | None = None
        self._seen: object = None
        self._refreshing: asyncio.Future[Tokens] | None = None
        self._not_before = 0.0

    @staticmethod
    def of(paths: Paths, where: Endpoint) -> "Bearer | None":
        """None for a server that must get no token: one with its own header, or one whose requests others can read."""
        has_own = any(name.lower() == "authorization" for name in where.headers)
        return None if has_own or not may_be_sent_to(where.url) else Bearer(paths, where)

    @property
    def has_login(self) -> bool:
        return self._tokens is not None

    async def look(self) -> None:
        """Look for a login; raises `Failed` where there is one that cannot be read."""
        if files.stamp(self._paths.oauth) is None:
            self._tokens = None
            return
        try:
            self._tokens = await _beside(self._found)
        except McpctlError as error:
            raise failed("login_not_refreshed", error.message, was_sent=False) from error

    async def header(self) -> str | None:
        """`Bearer TOKEN`, refreshed where it expires within a minute; None without a login, so that the request is sent
        without. Raises `Failed` with `needs_login` where the login has ended."""
        if self._tokens and files.stamp(self._path(self._tokens)) != self._seen:
            await self.look()
        tokens, now = self._tokens, time.time()
        if tokens is None:
            return None
        if not tokens.is_due(now):
            return _header(tokens)
        if tokens.holds(now):
            if time.monotonic() >= self._not_before:
                self._refresh(tokens)
            return _header(tokens)
        return _header(await self._refreshed(tokens))

    async def renewed(self, refused: str | None) -> str | None:
        """The header to try once more with after a 401 to one with `refused`; None where there is no other."""
        await self.look()
        tokens, now = self._tokens, time.time()
        if tokens is None:
            return None
        if _header(tokens) != refused and tokens.holds(now):
            return _header(tokens)
        if now - tokens.issued_at < _SETTLES_S:
            if not tokens.holds(now):  # on its way it took longer than it lives
                raise not_refreshed("the token that came has expired")
            return None
        return _header(await self._refreshed(tokens))

    async def settle(self, most_s: float) -> None:
        """Wait for a refresh that is under way, for so long at most: its tokens may be lost with this process."""
        if self._refreshing:
            await asyncio.wait([self._refreshing], timeout=most_s)

    # ---- one refresh for all who ask meanwhile

    async def _refreshed(self, tokens: Tokens) -> Tokens:
        return await asyncio.shield(self._refresh(tokens))

    def _refresh(self, tokens: Tokens) -> "asyncio.Future[Tokens]":
        if self._refreshing is None:
            self._refreshing = _beside(lambda: refreshed(self._store, tokens, tokens.secret(self._oauth)))
            self._refreshing.add_done_callback(self._has_refreshed)
        return self._refreshing

    def _has_refreshed(self, done: "asyncio.Future[Tokens]") -> None:
        self._refreshing = None
        if done.cancelled() or done.exception():
            self._not_before = time.monotonic() + _PAUSE_S
        else:
            self._tokens = done.result()

    # ---- the file

    def _found(self) -> Tokens | None:
        found = self._store.find(self._url, self._oauth.issuer if self._oauth else "", secrets=False)
        if found is None:
            return None
        # Before it is read: what is written meanwhile is read again.
        self._seen = files.stamp(self._path(found))
        return self._store.find(self._url, found.issuer)

    def _path(self, tokens: Tokens) -> Path:
        return self._store.path(tokens.server_url, tokens.issuer)


def _header(tokens: Tokens) -> str:
    return f"Bearer {tokens.access_token}"


def _beside(work: Callable[[], _Done]) -> "asyncio.Future[_Done]":
    """Run it in a thread of its own, to its end whatever becomes of those who wait: the process waits for it."""
    done: concurrent.futures.Future[_Done] = concurrent.futures.Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="login").start()
    return asyncio.wrap_future(done)
