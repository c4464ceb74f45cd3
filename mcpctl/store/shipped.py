"""The part of the journals that is in PostgreSQL, as this machine knows it, for retention and for people.

The database alone says it for certain: here it may be less, never more.
"""

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, Unusable
from mcpctl.base.paths import Paths
from mcpctl.store import clock

_MOST_BYTES = 16 << 20


class Shipped(msgspec.Struct):
    machine: str = ""
    at: str | None = None  # when it was looked at last
    positions: dict[str, int] = {}  # by journal, how far it is there
    lost_sessions: int = 0  # those that were removed for room before they were there
    lost_bytes: int = 0


_decoder = msgspec.json.Decoder(Shipped)


def read(paths: Paths) -> Shipped:
    """Where nothing can be read, nothing counts as shipped."""
    try:
        return _decoder.decode(files.read(paths.shipped, _MOST_BYTES))
    except (McpctlError, msgspec.DecodeError):
        return Shipped()


def note(paths: Paths, machine: str, positions: Mapping[str, int]) -> None:
    """Keep how far each journal is there; those that are not named any more are forgotten."""

    def change(shipped: Shipped) -> None:
        shipped.machine, shipped.at, shipped.positions = machine, clock.now(), dict(positions)

    _edit(paths, change)


def note_lost(paths: Paths, sessions: int, size: int) -> None:
    def change(shipped: Shipped) -> None:
        shipped.lost_sessions += sessions
        shipped.lost_bytes += size

    _edit(paths, change)


def _edit(paths: Paths, change: Any) -> None:
    def changed(before: bytes | None) -> bytes:
        try:
            shipped = _decoder.decode(before or b"{}")
        except msgspec.DecodeError:
            shipped = Shipped()
        change(shipped)
        return msgspec.json.encode(shipped) + b"\n"

    files.edit(paths.shipped, changed, "what is shipped is not noted there, and removals wait for it")


def machine(paths: Paths) -> str:
    """The id of this data directory among all that ship: the one that it had, else one made of its secret key."""
    from mcpctl.store.recordable import redaction_key

    if known := read(paths).machine:
        return known
    key = hashlib.sha256(b"mcpctl:machine" + redaction_key(paths)).hexdigest()
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"mcpctl:machine:{key}"))


@contextmanager
def alone(paths: Paths) -> Iterator[None]:
    """Be the one shipper of a data directory; raises `Unusable` where there is another."""
    with files.claimed(paths.shipper) as fd:
        if fd is None:
            hint = "let it go on, or end it first; what it has shipped: mcpctl records ship --status"
            raise Unusable(f"another mcpctl ships the records of {paths.data}", hint, "shipping")
        yield


def status(paths: Paths) -> dict[str, Any]:
    """How much of the journals is there, and how much waits, in bytes."""
    from mcpctl.store import index

    shipped, sizes = read(paths), index.sizes(paths.sessions)
    waiting = {name: size - shipped.positions.get(name, 0) for name, size in sizes.items()}
    return {
        "machine": shipped.machine or None, "at": shipped.at, "journals": len(sizes),
        "waiting_journals": sum(left > 0 for left in waiting.values()),
        "waiting_bytes": sum(left for left in waiting.values() if left > 0),
        "shipped_bytes": sum(min(size, shipped.positions.get(name, 0)) for name, size in sizes.items()),
        "lost_sessions": shipped.lost_sessions, "lost_bytes": shipped.lost_bytes,
    }  # fmt: skip
