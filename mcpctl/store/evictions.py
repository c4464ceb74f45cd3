"""What was removed from the record to keep its limits: `evicted.jsonl`, a line for each time and limit."""

import contextlib
from collections.abc import Sequence

import msgspec

from mcpctl.models import Row
from mcpctl.paths import Paths
from mcpctl.store import sqlite

_KEPT = 100
"""Lines; the oldest are left out."""
_MOST_BYTES = 1 << 20


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    """What one limit cost, one time."""

    timestamp: str
    limit: str
    """`keep_sessions`, `keep_days` or `max_mb`."""
    value: int
    """What it was set to."""
    sessions: int
    calls: int
    oldest: str
    """When the oldest of the sessions began."""
    newest: str
    """The last activity of the newest."""


_decoder = msgspec.json.Decoder(Eviction)


def note(paths: Paths, evictions: Sequence[Eviction]) -> None:
    """Keep what was removed; raises OSError where that cannot be written."""
    with sqlite.alone(paths.data):
        kept = [*reversed(_read(paths)), *evictions][-_KEPT:]
        beside = paths.evictions.with_suffix(".new")
        beside.touch(0o600)
        beside.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in kept))
        beside.replace(paths.evictions)


def rows(paths: Paths) -> Sequence[Row]:
    """What was removed, the newest first: the members of `Eviction`."""
    return [msgspec.structs.asdict(each) for each in _read(paths)]


def _read(paths: Paths) -> list[Eviction]:
    try:
        with paths.evictions.open("rb") as file:
            lines = file.read(_MOST_BYTES).splitlines()
    except OSError:
        return []
    found: list[Eviction] = []
    for line in reversed(lines):
        with contextlib.suppress(msgspec.DecodeError):
            found.append(_decoder.decode(line))
    return found
