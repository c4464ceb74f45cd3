"""The one dashboard that runs over a data directory: `dashboard.json` says where.

Its process holds a lock on the file, which the system takes back however it ends: a file that nobody has locked belongs
to a dashboard that has ended. The key in it signs login links, so everybody who can read it can print them, and no
address of the dashboard does.
"""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from mcpctl.base import posix
from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths, private_dir
from mcpctl.dashboard.logins import bearer_token, login_code

_MOST_BYTES = 4096
_STARTING_S = 5.0
_PAUSE_S = 0.02


class Running(msgspec.Struct, frozen=True):
    port: int
    pid: int
    read_only: bool
    """Whether nobody may answer approvals in it."""
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
        """A new login link, which may answer approvals or only read."""
        return f"{self.url}login/{login_code(self.secret, may_answer=may_answer)}"


class _Last(msgspec.Struct, frozen=True):
    port: int = 0


class Claim:
    """The right to be the one dashboard over a data directory."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        try:
            last = msgspec.json.decode(os.pread(fd, _MOST_BYTES, 0), type=_Last)
        except msgspec.DecodeError:
            last = _Last()
        self.last_port = last.port if 0 < last.port < 1 << 16 else 0
        """The port of the last dashboard, for bookmarks; 0 where there was none."""
        os.ftruncate(fd, 0)  # links that are printed now wait for the new key
        os.fchmod(fd, 0o600)

    def publish(self, port: int, *, read_only: bool) -> Running:
        """Write where the dashboard is, with a new key."""
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
    private_dir(paths.data)
    fd = os.open(paths.dashboard, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield Claim(fd) if posix.lock(fd) else None
    finally:
        os.close(fd)


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
