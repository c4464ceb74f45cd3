"""Logins to the dashboard: one-time links, the cookies they are exchanged for, and a bearer token for scripts.

All are made with the key of one run of the dashboard, so they end with it. Everybody who can read the key may print a
link; the dashboard itself gives none away.
"""

import base64
import hashlib
import hmac
import secrets
import struct
import time
from dataclasses import dataclass, field

from mcpctl.base.models import Newest

LINK_S = 60
"""Seconds in which a link can be used, once."""
MOST = 50
"""Logins that are kept; a further one ends the one that was used longest ago."""
_BODY = struct.Struct(">?d12s")
_SIGNED = 24


@dataclass(frozen=True)
class Login:
    """The login of a person, or of the scripts with the bearer token."""

    may_answer: bool
    """Whether it may answer approvals; never with a bearer token."""
    form_token: str
    """The token that each form has to send back."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    """The same for all requests of one login, and not secret."""
    by_token: bool = False


def login_code(key: bytes, *, may_answer: bool) -> str:
    body = _BODY.pack(may_answer, time.time() + LINK_S, secrets.token_bytes(12))
    # Letters and digits alone: terminals take the last sign of a link for the end of a sentence.
    return base64.b32encode(body + _signature(key, body)).decode().lower()


def bearer_token(key: bytes) -> str:
    """The token of scripts, as long as the dashboard runs."""
    return _signature(key, b"bearer token").hex()


def _signature(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, hashlib.sha256)[:_SIGNED]


class Logins:
    """The logins of one dashboard as long as it runs; for one thread."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._used: set[bytes] = set()
        self._logins = Newest[bytes, Login](MOST)
        self._script = Login(may_answer=False, form_token="", by_token=True)

    def exchange(self, code: str) -> str | None:
        """The cookie of a new login; None for a code that is not ours, has expired, or was used."""
        try:
            signed = base64.b32decode(code.upper())
        except ValueError:
            return None
        body, signature = signed[: _BODY.size], signed[_BODY.size :]
        if len(body) < _BODY.size or not hmac.compare_digest(signature, _signature(self._key, body)):
            return None
        may_answer, expires, nonce = _BODY.unpack(body)
        if expires < time.time() or nonce in self._used:
            return None
        self._used.add(nonce)  # for good: the clock may be set back
        cookie = secrets.token_urlsafe(32)
        self._logins[_hashed(cookie)] = Login(may_answer, secrets.token_urlsafe(32))
        return cookie

    def of_cookie(self, cookie: str) -> Login | None:
        hashed = _hashed(cookie)
        if login := self._logins.pop(hashed, None):
            self._logins[hashed] = login  # the last of them now: the first are ended first
        return login

    def of_bearer(self, token: str) -> Login | None:
        is_ours = hmac.compare_digest(token.encode(), bearer_token(self._key).encode())
        return self._script if is_ours else None


def _hashed(cookie: str) -> bytes:
    """The key of a cookie: how long it takes to look up says nothing about the cookies that exist."""
    return hashlib.sha256(cookie.encode()).digest()
