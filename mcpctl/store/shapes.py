"""Texts that look like secrets, whatever they are called: known tokens, private keys, credentials in headers and URLs.

Found in time linear in the text, whatever stands in it: no expression here gives back what it has taken.
"""

import re
from collections.abc import Callable, Iterator

Span = tuple[int, int]
"""Where a text begins and ends, in bytes."""
Finder = Callable[[bytes, int], Span | None]
"""The first such text that begins at a place or after it."""

# Each alternative begins with a letter that is fixed, so that the places where none begins cost next to nothing.
_TOKEN = re.compile(
    rb"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,255}"
    rb"|xox[abeprs]-[A-Za-z0-9-]{10,255}|npm_[A-Za-z0-9]{30,60}|hf_[A-Za-z0-9]{30,60}"
    rb"|sk-(?:(?<![A-Za-z0-9]sk-)|(?<=\\[nrt]sk-))[A-Za-z0-9_-]{20,255}"
    rb"|rk_(?:live|test)_[A-Za-z0-9]{16,255}|sk_(?:live|test)_[A-Za-z0-9]{16,255}"
    rb"|AKIA[A-Z0-9]{16}|ASIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}"
)
_HEADER = re.compile(rb"(?:earer|asic) ([A-Za-z0-9._~+/=-]{12,4096})")
_USER = re.compile(rb"://([^\s/:@\"\\]{0,255}+:[^\s/:@\"\\]{1,255}+)(?=@)")

_JWT = b"eyJ"
_JWT_PART = re.compile(rb"[A-Za-z0-9_-]*+")
_JWT_REST = re.compile(rb"\.[A-Za-z0-9_-]{8,16384}+\.[A-Za-z0-9_-]{8,4096}")
_LEAST_OF_PART, _MOST_OF_HEAD = 8, 4096

_KEY_HEAD = re.compile(rb"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----")
_KEY_END = re.compile(rb"-----END [A-Z ]{0,20}PRIVATE KEY-----")
_MOST_OF_KEY, _LONGEST_END = 20_000, 64
# A key may stand in a string of JSON: a character of it is an escape, and it goes no further than the string.
_KEY_CHARACTERS = re.compile(rb"(?:[^\"\\]|\\[^\"]){0,20000}+", re.DOTALL)
_KEY_TO_END = re.compile(rb"(?:[^\"\\-]++|\\[^\"]|-(?!----END [A-Z ]{0,20}PRIVATE KEY-----))*+", re.DOTALL)


def spans(text: bytes) -> Iterator[Span]:
    """Where such texts are, from left to right; of two that overlap the one that begins first."""
    # bytes.find, since bytes.__contains__ takes four times as long.
    finders = [finder for marks, finder in _FINDERS if max(map(text.find, marks)) >= 0]
    if not finders:
        return  # as nearly every text
    found = [finder(text, 0) for finder in finders]
    while nearest := min(filter(None, found), key=lambda span: span[0], default=None):
        yield nearest
        end = nearest[1]
        found = [
            finder(text, end) if span and span[0] < end else span for finder, span in zip(finders, found, strict=True)
        ]


def _token(text: bytes, start: int) -> Span | None:
    found = _TOKEN.search(text, start)
    return found.span() if found else None


def _after(pattern: re.Pattern[bytes], longest_before: int) -> Finder:
    """Finds the first group of `pattern`: what is before it may stand before the place."""

    def finder(text: bytes, start: int) -> Span | None:
        found = pattern.search(text, max(start - longest_before, 0))
        while found and found.start(1) < start:
            found = pattern.search(text, found.start() + 1)
        return found.span(1) if found else None

    return finder


def _web_token(text: bytes, start: int) -> Span | None:
    at = text.find(_JWT, start)
    while at >= 0:
        # All that may begin a token before the next dot is looked at once.
        end = _JWT_PART.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
        if rest := _JWT_REST.match(text, end):
            earliest = max(at, end - _MOST_OF_HEAD - len(_JWT))
            begin = text.find(_JWT, earliest, end - _LEAST_OF_PART)
            if begin >= 0:
                return begin, rest.end()
        at = text.find(_JWT, end)
    return None


def _private_key(text: bytes, start: int) -> Span | None:
    head = _KEY_HEAD.search(text, start)
    if head is None:
        return None
    body = head.end()
    # Where no end is, it is taken for one that was cut off.
    most = _KEY_CHARACTERS.match(text, body).end()  # type: ignore[union-attr]  # it matches anything
    before = _KEY_TO_END.match(text, body, body + 2 * _MOST_OF_KEY + _LONGEST_END).end()  # type: ignore[union-attr]
    end = _KEY_END.match(text, before) if before <= most else None
    return head.start(), end.end() if end else most


_FINDERS: tuple[tuple[tuple[bytes, ...], Finder], ...] = (
    (
        (
            b"ghp_",
            b"gho_",
            b"ghu_",
            b"ghs_",
            b"ghr_",
            b"github_pat_",
            b"glpat-",
            b"xox",
            b"npm_",
            b"hf_",
            b"sk-",
            b"k_live_",
            b"k_test_",
            b"AKIA",
            b"ASIA",
            b"AIza",
        ),
        _token,
    ),
    ((_JWT,), _web_token),
    ((b"-----BEGIN ",), _private_key),
    ((b"earer ", b"asic "), _after(_HEADER, len(b"earer "))),
    ((b"://",), _after(_USER, len(b"://"))),
)
"""What a text contains in which a finder finds anything, and the finder.

Of two texts that begin at one place, the one of the first finder counts.
"""
