"""The address of the dashboard that runs, for those who are told where to answer."""

import os
from contextlib import suppress

import msgspec

from mcpctl.base import posix
from mcpctl.base.paths import Paths

_MOST_BYTES = 4096


class _RunningDashboard(msgspec.Struct):
    """The part of `dashboard.json` that is read here; `mcpctl.dashboard.running` writes it."""

    port: int


def dashboard_url(paths: Paths) -> str:
    """The address of the dashboard that runs; empty where none does."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
    with suppress(OSError, msgspec.MsgspecError), posix.opened(paths.dashboard, flags) as fd:
        if not posix.lock(fd, shared=True):  # its process has locked it as long as it runs
            return f"http://127.0.0.1:{msgspec.json.decode(os.read(fd, _MOST_BYTES), type=_RunningDashboard).port}/"
    return ""
