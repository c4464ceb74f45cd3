"""Until when a token or a yes holds, as it is given to `--expires` and `--for`."""

import datetime
import re

from mcpctl.base.errors import WrongUsage

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST_S = 100 * 365 * 86400


def moment(text: str | None, now: float, option: str = "--expires") -> float | None:
    """The moment that the text names, in seconds since the epoch; None where there is none."""
    if text is None:
        return None
    after = re.fullmatch(r"(\d{1,9})([mhdw])", text)
    try:
        until = now + int(after[1]) * _UNITS[after[2]] if after else datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise WrongUsage(f"'{text}' is not a time", f"give {option} as 12h, 30d, 8w, or 2026-12-31") from None
    if not now < until < now + _LONGEST_S:
        raise WrongUsage(f"'{text}' is not a time to come", f"give {option} a time within a hundred years")
    return until
