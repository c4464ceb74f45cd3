"""The one dashboard that runs over a data directory, where `dashboard.json` says, and the logins to it.

Its process holds a lock on the file, which the system takes back however it ends. All logins are made with the key in
it, so they end with that run: one-time links, the cookies that they are exchanged for, and a bearer token for scripts.
Everybody who can read the key may print a link; the dashboard itself gives none away."""

import base64
import hashlib
import hmac
import os
import secrets
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from mcpctl.base import files, posix
from mcpctl.base.errors import Unusable
from mcpctl.base.models import Newest
from mcpctl.base.paths import Paths

LINK_S = 60  # seconds in which a link can be used, once
MOST = 50  # logins that are kept; a further one ends the one that was used longest ago
_BODY = struct.Struct(">?d12s")
_SIGNED = 24
_MOST_BYTES = 4096
_STARTING_S = 5.0
_PAUSE_S = 0.02


@dataclass(frozen=True)
class Login:
    may_answer: bool  # whether it may answer approvals; never with a bearer token
    form_token: str  # the token that each form has to send back
    id: str = field(default_factory=lambda: secrets.token_hex(8))  # one for all requests of a login, and not secret
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


class Running(msgspec.Struct, frozen=True):
    port: int
    pid: int
    read_only: bool  # whether nobody may answer approvals in it
    key: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def token(self) -> str:
        return bearer_token(self.secret)

    @property
    def secret(self) -> bytes:
        return bytes.fromhex(self.key)

    def link(self, *, may_answer: bool) -> str:
        return f"{self.url}login/{login_code(self.secret, may_answer=may_answer)}"


class _Last(msgspec.Struct, frozen=True):
    port: int = 0


class Claim:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        try:
            last = msgspec.json.decode(os.pread(fd, _MOST_BYTES, 0), type=_Last)
        except msgspec.DecodeError:
            last = _Last()
        self.last_port = last.port if 0 < last.port < 1 << 16 else 0  # of the last dashboard, for bookmarks; else 0
        os.ftruncate(fd, 0)  # links that are printed now wait for the new key
        os.fchmod(fd, 0o600)

    def publish(self, port: int, *, read_only: bool) -> Running:
        here = Running(port, os.getpid(), read_only, secrets.token_hex(32))
        self._write(here)
        return here

    def end(self, port: int) -> None:
        self._write(_Last(port))

    def _write(self, content: msgspec.Struct) -> None:
        data = msgspec.json.encode(content)
        os.pwrite(self._fd, data, 0)
        os.ftruncate(self._fd, len(data))


@contextmanager
def claimed(paths: Paths) -> Iterator[Claim | None]:
    """The claim for as long as the block runs; None where another process has it."""
    with files.claimed(paths.dashboard) as fd:
        yield None if fd is None else Claim(fd)


def running(paths: Paths) -> Running | None:
    """The dashboard that runs; raises `Unusable` for one that is starting and does not come up in time."""
    deadline = time.monotonic() + _STARTING_S
    while True:
        try:
            fd = os.open(paths.dashboard, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            if posix.lock(fd, shared=True):
                return None
            return msgspec.json.decode(os.pread(fd, _MOST_BYTES, 0), type=Running)
        except msgspec.DecodeError:
            if time.monotonic() > deadline:
                message = f"a dashboard has locked {paths.dashboard} and does not say where it is"
                raise Unusable(message, "end it, and start another", "dashboard_hangs") from None
        finally:
            os.close(fd)
        time.sleep(_PAUSE_S)
