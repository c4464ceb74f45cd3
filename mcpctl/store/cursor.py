"""How far all journals were followed, as a short text that can be given back after a restart."""

import hashlib
import re
import struct
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, Self

_VERSION = 1
_KEY = 6
_SUM = 4
_ENTRY = re.compile(rb"(.{6})([\x80-\xff]{0,8}[\x00-\x7f])", re.DOTALL)
_LISTED_NS = 2 * 86_400 * 10**9
"""A journal that was closed and read is listed so long after it began. Later it is known by its age: a name may be
older than its journal by a day (that of a day's commands), and clocks are set."""


class Lost(ValueError):
    """Raised for a position when it is not known what has come since."""


class JournalPlace(NamedTuple):
    offset: int = 0  # the begin of the next line
    given: int = 0  # events of that line that were given already
    is_closed: bool = False  # whether the line before it ends the session


class Cursor:
    def __init__(self) -> None:
        self.places: dict[str, JournalPlace] = {}  # by the name of the journal; those that are not here were not read
        self._texts: dict[str, bytes] = {}
        self._done_before = 0

    @classmethod
    def read(cls, text: str, ends: Mapping[str, int]) -> tuple[Self, bool]:
        """The cursor of a text, by the ends of journals, and whether some are gone unread; raises `Lost`."""
        cursor = cls()
        cursor._done_before, places = _decoded(text)
        if cursor._done_before > time.time_ns():
            raise Lost("it was made while the clock was ahead")
        for name, end in ends.items():
            if place := places.pop(_key(name), None):
                cursor.move(name, place)
            elif _begun(name) < cursor._done_before:
                cursor.places[name] = JournalPlace(end, 0, True)
        return cursor, not all(place.is_closed for place in places.values())

    def move(self, name: str, place: JournalPlace) -> None:
        self.places[name] = place
        if place.is_closed and _begun(name) < self._done_before:
            self._texts.pop(name, None)
        else:
            self._texts[name] = _key(name) + _number(place.offset << 3 | place.given << 1 | place.is_closed)

    def forget(self, name: str) -> JournalPlace:
        """Leave out a journal that is gone; how far it was followed."""
        self._texts.pop(name, None)
        return self.places.pop(name)

    def settle(self) -> None:
        """Leave closed journals that were read to their end, and begun long before the newest, out of the text."""
        newest = max(map(_begun, self.places), default=0)
        self._done_before = max(self._done_before, min(newest, time.time_ns()) - _LISTED_NS)
        for name in list(self._texts):
            if self.places[name].is_closed and _begun(name) < self._done_before:
                del self._texts[name]

    def text(self) -> str:
        data = struct.pack(">Bq", _VERSION, self._done_before) + b"".join(self._texts.values())
        return urlsafe_b64encode(data + _sum(data)).decode().rstrip("=")


def _decoded(text: str) -> tuple[int, dict[bytes, JournalPlace]]:
    try:
        data = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
    except (Error, ValueError):
        raise Lost("it is not a position of calls tail") from None
    head = struct.calcsize(">Bq")
    if len(data) < head + _SUM or _sum(data[:-_SUM]) != data[-_SUM:] or data[0] != _VERSION:
        raise Lost("it is not a whole position of calls tail")
    return struct.unpack_from(">Bq", data)[1], dict(_entries(data[head:-_SUM]))


def _entries(data: bytes) -> Iterator[tuple[bytes, JournalPlace]]:
    at = 0
    while at < len(data):
        entry = _ENTRY.match(data, at)
        if not entry:
            raise Lost("it is not a position of calls tail")
        number = sum((digit & 0x7F) << 7 * place for place, digit in enumerate(entry[2]))
        yield entry[1], JournalPlace(number >> 3, number >> 1 & 3, bool(number & 1))
        at = entry.end()


def _number(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _sum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_SUM).digest()


@lru_cache(maxsize=4096)
def _key(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=_KEY).digest()


@lru_cache(maxsize=4096)
def _begun(name: str) -> int:
    """When a journal was begun, in nanoseconds; never, where its name does not say it."""
    begun = name.partition("_")[0]
    return int(begun) if begun.isascii() and begun.isdigit() and len(begun) < 20 else 1 << 63
