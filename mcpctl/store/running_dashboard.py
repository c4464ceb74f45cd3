"""Where the dashboard of a data directory is, for those who only name it; `dashboard.running` has the rest."""

import os
from contextlib import suppress

import msgspec

from mcpctl.base import posix
from mcpctl.base.paths import Paths

_MOST_BYTES = 4096


class _Here(msgspec.Struct):
    port: int
    pid: int


def url(paths: Paths) -> str:
    """The address of the dashboard that runs; empty where none does."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
    with suppress(OSError, msgspec.MsgspecError), posix.opened(paths.dashboard, flags) as fd:
        if not posix.lock(fd, shared=True):  # its process holds it as long as it runs
            return f"http://127.0.0.1:{msgspec.json.decode(os.read(fd, _MOST_BYTES), type=_Here).port}/"
    return ""
