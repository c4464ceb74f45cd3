"""Pieces of a long text in UTF-8: a beginning, a window, the places of a word. No piece has half a character."""

from typing import NamedTuple

_WIDE = 200
"""Bytes of a line that are shown on each side of a match."""
_USED = 3
"""A beginning ends with a whole line or element only where that takes at least this part of its room, a third."""


class Piece(NamedTuple):
    """A part of a text, and where it is."""

    text: bytes
    start: int
    end: int
    """Where the next one begins; as long as the text is for the last."""


def head(text: bytes, most: int, *, is_json: bool) -> bytes:
    """The beginning, in at most so many bytes: cut behind a line, or in JSON behind an element, if one ends late enough
    there."""
    if len(text) <= most:
        return text
    end = text.rfind(b"\n", 0, most) + 1
    if is_json:
        end = max(end, _last_comma(text[:most]))
    return text[: end if end > most // _USED else _character(text, most)]


def piece(text: bytes, offset: int, limit: int) -> Piece:
    """The piece from `offset` on, or from where its character begins, in at most `limit` bytes."""
    start = _character(text, min(offset, len(text)))
    end = _character(text, min(start + limit, len(text)))
    return Piece(text[start:end], start, end)


def matches(text: bytes, words: str, offset: int, limit: int, context: int) -> tuple[Piece, int]:
    """The lines from `offset` on that have these words as they stand, small letters as capitals (of ASCII), with so
    many lines around each and where they begin; long lines are cut around the words. And how many matches those are.

    Plain search: it takes time in proportion to the text, whatever is sought in whatever.
    """
    lowered, sought = text.lower(), words.encode("utf-8", "replace").lower()
    shown: list[bytes] = []
    size = number = 0
    position = shown_to = min(offset, len(text))
    while (found := lowered.find(sought, position)) >= 0:
        start, end = _around(text, found, found + len(sought), context, shown_to)
        excerpt = b"%d: %b" % (start, text[start:end])
        if shown and size + len(excerpt) > limit:
            return Piece(b"\n".join(shown), offset, start), number
        shown.append(excerpt[: _character(excerpt, limit)])
        size += len(excerpt) + 1
        # What stands in the same excerpt is shown by it.
        number += lowered.count(sought, found, max(end, found + len(sought)))
        position = shown_to = max(end, found + len(sought))
    return Piece(b"\n".join(shown), offset, len(text)), number


def _around(text: bytes, start: int, end: int, context: int, least: int) -> tuple[int, int]:
    """From where to where the lines around a match go, in bounds, and not before `least`."""
    low, high = max(least, start - _WIDE * (context + 1)), min(len(text), end + _WIDE * (context + 1))
    first, last = start, end
    for _ in range(context + 1):
        if (first := text.rfind(b"\n", low, first)) < 0:
            first = low
            break
    else:
        first += 1
    for _ in range(context + 1):
        if (newline := text.find(b"\n", last, high)) < 0:
            last = high
            break
        last = newline + 1
    else:
        last -= 1
    return _character(text, first), _character(text, last)


def _last_comma(text: bytes) -> int:
    """Behind the last comma that is in no string, of the beginning of a JSON text."""
    outside = 0
    place = 0
    while True:
        quote = text.find(b'"', place)
        comma = text.rfind(b",", place, quote if quote >= 0 else len(text)) + 1
        outside = max(outside, comma)
        if quote < 0 or (place := _string_end(text, quote + 1)) < 0:
            return outside


def _string_end(text: bytes, place: int) -> int:
    """Behind the quote that ends the string of which `place` is the first byte; -1 where it does not end."""
    while (quote := text.find(b'"', place)) >= 0:
        before = quote
        while before > place and text[before - 1 : before] == b"\\":
            before -= 1
        if (quote - before) % 2 == 0:
            return quote + 1
        place = quote + 1
    return -1


def _character(text: bytes, at: int) -> int:
    """Where the character begins that the byte at `at` is part of."""
    while 0 < at < len(text) and text[at] & 0xC0 == 0x80:
        at -= 1
    return at
