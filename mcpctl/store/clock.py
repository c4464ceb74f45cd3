"""Times as records and commands write them: ISO 8601, UTC, milliseconds; and as people read them."""

import time

_last = (-1, "")


def iso(seconds: float) -> str:
    """Seconds since the epoch as `2026-07-28T12:00:00.000Z`."""
    global _last
    whole = int(seconds)
    known, text = _last
    if known != whole:
        # Formatting costs more than the rest of a journal line; calls of one second share it.
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        _last = whole, text
    return f"{text}.{int((seconds - whole) * 1000):03d}Z"


def now() -> str:
    return iso(time.time())


def local(seconds: float) -> str:
    """The same as people here read it: the hour, with the day where that is another."""
    here = time.localtime(seconds)
    return time.strftime("%H:%M" if here[:3] == time.localtime()[:3] else "%Y-%m-%d %H:%M", here)
