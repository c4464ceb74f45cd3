"""What a pipe holds."""

import contextlib
import fcntl

_WIDE = 1 << 20
"""What anyone may ask for (Linux); a pipe has 64 kB at first."""


def widen(fd: int) -> None:
    """Have a pipe hold 1 MB, where the system lets us, so that a large message passes in a few steps."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # no pipe, or its user has too many wide ones
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _WIDE)
