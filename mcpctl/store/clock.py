"""Times as records and commands write them: ISO 8601, UTC, milliseconds."""

import time


def iso(seconds: float) -> str:
    """Seconds since the epoch as `2026-07-28T12:00:00.000Z`."""
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1000):03d}Z"


def now() -> str:
    """The present moment as `iso` writes it."""
    return iso(time.time())


_last = (-1, "")


def _second(whole: int) -> str:
    global _last
    if _last[0] != whole:
        # Formatting costs more than the rest of a journal line; calls of one second share it.
        _last = (whole, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)))
    return _last[1]
