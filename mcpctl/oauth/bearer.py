"""The `Authorization` header of a server that one has logged in to: given, refreshed in time, adopted from others.

New tokens are asked for at the issuer's own endpoint, by one process at a time:
https://www.rfc-editor.org/rfc/rfc6749#section-6. An issuer that gives out a new refresh token each time takes one that
comes twice for stolen, and ends the whole login: so the login is locked, read again, and another's new pair is taken.
"""

import asyncio
import contextlib
import math
import re
import time
from http import HTTPStatus
from pathlib import Path

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, warn
from mcpctl.base.failure import Failed, failed
from mcpctl.base.paths import Paths
from mcpctl.config.server_environment import Endpoint
from mcpctl.config.server_settings import CLIENT_CREDENTIALS
from mcpctl.oauth.token_store import TokenStore
from mcpctl.oauth.tokens import Tokens, may_be_sent_to
from mcpctl.wire.threads import apart

LONGEST_LIFE_S = 10 * 366 * 86400.0
_OVER = frozenset(("invalid_grant", "bad_refresh_token", "expired_token", "invalid_client", "unauthorized_client"))
"""An issuer's codes for a login that is over; the second is GitHub's word for the first."""
_ASKED_AGAIN_S = 300.0  # an issuer is not asked for so long after it has called a login over: some say so by mistake
_WORD = re.compile(r"[a-z_]{1,40}")
HEADER = re.compile(r"[\x21-\x7e]{1,16384}")  # such a token can stand in a header, and be read again
_SETTLES_S = 10.0  # a server that refuses a token as new as this would refuse the next one too
_PAUSE_S = 5.0  # after a refresh that failed, a token that has not expired is not refreshed for so long


class Bearer:
    """The tokens of one server's URL, on one event loop; requests wait for a refresh only of an expired token."""

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
        """The tokens for a server; None if it has its own header, or if others can read requests to it."""
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
            self._tokens = await apart(self._found, is_daemon=False)
        except McpctlError as error:
            raise failed("login_not_refreshed", error.message, was_sent=False) from error

    async def header(self) -> str | None:
        """`Bearer TOKEN`, refreshed in time; None without a login. Raises `Failed` with `needs_login` at its end."""
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
        """The header for a second try after a 401 to the header `refused`; None where there is no other."""
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
            # Not a daemon: the process waits for the new tokens, since the old ones may be worth nothing by then.
            self._refreshing = apart(refreshed, self._store, tokens, tokens.secret(self._oauth), is_daemon=False)
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
        tokens = self._store.find(self._url, self._oauth.issuer if self._oauth else "", secrets=False)
        if tokens is None:
            return None
        self._seen = files.stamp(self._path(tokens))  # before it is read: what is written meanwhile is read again
        return self._store.find(self._url, tokens.issuer)

    def _path(self, tokens: Tokens) -> Path:
        return self._store.path(tokens.server_url, tokens.issuer)


def _header(tokens: Tokens) -> str:
    return f"Bearer {tokens.access_token}"


class _TokenResponse(msgspec.Struct):
    """Unused members may have any type: rejecting the response would lose the new tokens and end the login."""

    access_token: str | None = None
    token_type: str | None = None
    expires_in: object = None
    refresh_token: str | None = None
    scope: object = None
    error: str | None = None

    @property
    def life_s(self) -> float | None:
        expires_in = self.expires_in
        if isinstance(expires_in, bool) or not isinstance(expires_in, int | float | str):
            return None
        with contextlib.suppress(ValueError, OverflowError):
            if not math.isnan(life := float(expires_in)):
                return min(max(life, 0.0), LONGEST_LIFE_S)
        return None


def refreshed(store: TokenStore, tokens: Tokens, secret: str | None) -> Tokens:
    """The login with new tokens, ours or those that another process has got meanwhile; `secret` is the client's. It
    takes 30 s and as long as others do: call it in a thread, which nothing ends before the answer is kept. Raises
    `Failed`, with `needs_login` where the login is over."""
    try:
        with store.locked(tokens) as path:
            current = store.read(path)
            if current is None:
                raise over()
            if current.issued_at < tokens.issued_at:
                current = tokens  # which could not be kept
            if current.access_token != tokens.access_token and current.holds(time.time()):
                return current
            if current.over_at and 0 <= time.time() - current.over_at < _ASKED_AGAIN_S:
                raise over()
            try:
                fresh = _asked(current, secret)
            except Failed as error:
                if error.failure.code == "needs_login" and (other := store.read(path)):
                    if other.access_token != current.access_token:
                        return other
                    with contextlib.suppress(McpctlError):  # for all processes that have it
                        store.rewrite(path, msgspec.structs.replace(other, over_at=time.time()))
                raise
            try:
                store.rewrite(path, fresh)
            except McpctlError as error:
                # The old one may be worth nothing any more: this process at least goes on with the new one.
                warn(f"a refreshed login is not kept: {error.message}")
            return fresh
    except McpctlError as error:
        raise not_refreshed(error.message) from error


def over() -> Failed:
    return failed("needs_login", "it needs a login", was_sent=False)


def not_refreshed(why: str) -> Failed:
    return failed("login_not_refreshed", f"its login cannot be refreshed now, try again: {why}", was_sent=False)


def _asked(tokens: Tokens, secret: str | None) -> Tokens:
    """The login as its issuer renews it; raises `Failed`, or `LoginFailed` where the issuer cannot be asked."""
    is_again = tokens.grant == CLIENT_CREDENTIALS
    if not is_again and not tokens.refresh_token:
        raise over()
    if secret == tokens.client_secret and tokens.secret_expires_at and time.time() >= tokens.secret_expires_at:
        raise over()  # what was registered is forgotten by now
    form = {"grant_type": CLIENT_CREDENTIALS} if is_again else {"grant_type": "refresh_token"}
    if is_again and tokens.scopes:
        form["scope"] = tokens.scopes
    elif not is_again:
        form["refresh_token"] = tokens.refresh_token or ""
    if tokens.resource:
        form["resource"] = tokens.resource
    from mcpctl.oauth.requests import METHODS, Requests, authenticated  # an HTTP client takes 0.1 s

    if tokens.token_endpoint_auth_method not in METHODS:
        raise over()
    headers, content = authenticated(tokens.token_endpoint_auth_method, tokens.client_id, secret, form)
    begun = time.time()
    response = asyncio.run(Requests(tokens.server_url).send("POST", tokens.token_endpoint, headers, content))
    return _renewed(tokens, _response_in(response.status_code, response.content), begun)


def _response_in(status: int, body: bytes) -> _TokenResponse:
    """The tokens of an issuer's answer; raises `Failed`."""
    try:
        answer = msgspec.json.decode(body, type=_TokenResponse)
    except (ValueError, RecursionError):
        answer = _TokenResponse()
    # Some say what is wrong with a status of 200.
    if answer.error in _OVER and status < HTTPStatus.INTERNAL_SERVER_ERROR:
        raise over()
    # None of its words but a code: it may repeat what it was sent.
    code = f" ({answer.error})" if answer.error and _WORD.fullmatch(answer.error) else ""
    if status != HTTPStatus.OK or code:
        raise not_refreshed(f"the issuer answers HTTP {status}{code}")
    if not answer.access_token or not HEADER.fullmatch(answer.access_token):
        raise not_refreshed("the issuer answers with something else than a token")
    if (answer.token_type or "bearer").lower() != "bearer":
        raise not_refreshed("the issuer answers with a token of another kind")
    return answer


def _renewed(tokens: Tokens, response: _TokenResponse, now: float) -> Tokens:
    life = response.life_s
    scopes = response.scope if isinstance(response.scope, str) else ""
    return msgspec.structs.replace(
        tokens,
        access_token=response.access_token or "",
        refresh_token=response.refresh_token or tokens.refresh_token,
        expires_at=None if life is None else now + life,
        scopes=scopes or tokens.scopes,
        refreshed_at=now,
        over_at=None,
    )
