"""What was removed from the record to keep its limits: `evicted.jsonl`, a line for each time and limit."""

import contextlib
from collections.abc import Iterator, Sequence

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths

_KEPT = 100
"""Lines; the oldest are left out."""
_MOST_BYTES = 1 << 20


class Eviction(msgspec.Struct, frozen=True, kw_only=True):
    timestamp: str
    limit: str
    """`keep_sessions`, `keep_days` or `max_mb`."""
    value: int
    sessions: int
    calls: int
    oldest: str
    """When the oldest of the sessions began."""
    newest: str
    """The last activity of the newest."""


_decoder = msgspec.json.Decoder(Eviction)


def note(paths: Paths, evictions: Sequence[Eviction]) -> None:
    """Raises `Unusable` where it cannot be written."""

    def added(before: bytes | None) -> bytes:
        kept = [*_lines(before or b""), *evictions][-_KEPT:]
        return b"".join(msgspec.json.encode(each) + b"\n" for each in kept)

    files.edit(paths.evictions, added, "what is removed from the record is not noted there")


def rows(paths: Paths) -> Sequence[Row]:
    """The newest first, with the members of `Eviction`."""
    return [msgspec.structs.asdict(each) for each in reversed(_read(paths))]


def remarks(evictions: Sequence[Row]) -> Iterator[str]:
    """A sentence for each limit that has cost sessions, of the evictions, newest first."""
    for limit in dict.fromkeys(each["limit"] for each in evictions):
        of_limit = [each for each in evictions if each["limit"] == limit]
        sessions = sum(each["sessions"] for each in of_limit)
        removed = "1 older session was" if sessions == 1 else f"{sessions:,} older sessions were"
        when = " on" if len(of_limit) == 1 else ", the last on"
        why = f"{limit} = {of_limit[0]['value']} in [records]"
        yield f"{removed} removed{when} {of_limit[0]['timestamp'][:10]}: {why}"


def _read(paths: Paths) -> list[Eviction]:
    try:
        return _lines(files.read(paths.evictions, _MOST_BYTES))
    except McpctlError:
        return []


def _lines(text: bytes) -> list[Eviction]:
    found: list[Eviction] = []
    for line in text.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            found.append(_decoder.decode(line))
    return found
