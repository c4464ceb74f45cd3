"""Texts that look like secrets, whatever they are called: known tokens, private keys, credentials in headers and URLs.

Found in time linear in the text, whatever stands in it: no expression here gives back what it has taken.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from mcpctl.secrets.token_shapes import TOKENS

Span = tuple[int, int]  # begin and end, in bytes
Finder = Callable[[bytes, int], Span | None]  # the first such text that begins at a place or after it

_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/="
RUNS = bytes(65 if byte in _TOKEN_CHARACTERS else 32 for byte in range(256))
LEAST_TOKEN, _LEAST_OTHER = b"A" * 20, b"A" * 10  # most texts without tokens have no run of so many of their characters

_NO_WORDS = rb"(?![A-Z]?[a-z]*+(?:-[a-z]++)*+[.]?(?![A-Za-z0-9._~+/=-]))"
_BEARER = re.compile(rb"earer +" + _NO_WORDS + rb"([A-Za-z0-9._~+/=-]{12,4096})")
_BASIC = re.compile(rb"asic +" + _NO_WORDS + rb"([A-Za-z0-9._~+/=-]{12,4096})")
# After a colon, a number and a slash is a port. The host follows the last @ of several. A password does not go
# over the beginning of another address: what was read in vain is not read again from there.
_USER = re.compile(
    rb"://(?!\[redacted:[0-9a-f]{8}\]@)([^\s/:@\"\\<>]{0,255}+:(?![0-9]{1,5}[/?#])(?:[^\s:@\"\\<>]|:(?!//)){1,255}+"
    rb"(?:@[^\s/:@\"\\,;<>]{1,255}+(?=@)){0,2})(?=@(?!sha256:)[A-Za-z0-9\[_%$*{-])"
)

_JWT = b"eyJ"
_JWT_PART = re.compile(rb"[A-Za-z0-9_-]*+")
_JWT_REST = re.compile(rb"\.[A-Za-z0-9_-]{8,16384}+\.[A-Za-z0-9_-]{8,4096}")
_LEAST_OF_PART, _MOST_OF_HEAD = 8, 4096

_KEY_HEAD = re.compile(rb"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(rb"-----END [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----")
_MOST_OF_KEY, _LONGEST_END = 20_000, 64
# A key may stand in a string of JSON: a character of it is an escape, and it goes no further than the string.
_KEY_CHARACTERS = re.compile(rb"(?:[^\"\\]|\\[^\"]){0,20000}+", re.DOTALL)
_KEY_TO_END = re.compile(rb"(?:[^\"\\-]++|\\[^\"]|-(?!----END [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----))*+", re.DOTALL)
_PUTTY = re.compile(rb"Private-Lines: ?[0-9]{1,4}((?:(?:\s|\\++[nr])++(?!Private-)[A-Za-z0-9+/=]{1,128}+)++)")


def has(text: bytes, mark: bytes) -> bool:
    """Whether `mark` is in a text. To look for its last character alone first takes a twentieth of the time."""
    return text.find(mark[-1:]) >= 0 and text.find(mark) >= 0  # `in` takes four times as long


def spans(text: bytes) -> Iterator[Span]:
    """The places of secrets, from left to right; of two that overlap the one that begins first."""
    finders = [_user] if has(text, b"://") else []
    runs = text.translate(RUNS)
    if runs.find(_LEAST_OTHER) >= 0:
        finders += [finder for mark, finder in _FINDERS if has(text, mark)]
        if runs.find(LEAST_TOKEN) >= 0 and (tokens := _tokens(text)):
            finders.insert(0, _among(tokens))
    if not finders:
        return  # as nearly every text
    firsts = [finder(text, 0) for finder in finders]
    while nearest := min(filter(None, firsts), key=lambda span: span[0], default=None):
        yield nearest
        end = nearest[1]
        firsts = [
            finder(text, end) if span and span[0] < end else span for finder, span in zip(finders, firsts, strict=True)
        ]


def _tokens(text: bytes) -> list[Span]:
    """Heads are looked for backwards, from the last character, which is rare in texts: many times faster."""
    backwards, length = text[::-1], len(text)
    spans_ = []
    for last, heads in HEADS:
        for head in heads.finditer(backwards) if backwards.find(last) >= 0 else ():
            begin, end = length - head.end(), length - head.start()
            for rest, is_alone in _RESTS[text[begin:end]]:
                if (token := re.compile(rest).match(text, end)) and (not is_alone or _begins_word(text, begin)):
                    spans_.append((begin, token.end()))
                    break
    return sorted(spans_)


def _begins_word(text: bytes, place: int) -> bool:
    before = text[max(place - 2, 0) : place]
    return not before[-1:].isalnum() or before in (b"\\n", b"\\r", b"\\t")


def _among(spans_: list[Span]) -> Finder:

    def finder(text: bytes, start: int) -> Span | None:
        place = bisect_left(spans_, (start, 0))
        return spans_[place] if place < len(spans_) else None

    return finder


def _anchor(head: bytes) -> bytes:
    """The part of a head that is looked for first: its last character, or all of it if that is a frequent one."""
    return head if head[-1:].islower() or head[-1:].isdigit() else head[-1:]


def _backwards() -> Iterator[tuple[bytes, re.Pattern[bytes]]]:
    heads = sorted({head for shape in TOKENS for head in shape.heads})
    for anchor in sorted({_anchor(head) for head in heads}):
        ends = [re.escape(head[: -len(anchor)][::-1]) for head in heads if _anchor(head) == anchor]
        first = re.escape(anchor[::-1])
        heads_ = re.compile(first + rb"(?<=[A-Za-z0-9_./+=@-]{12}" + first + rb")(?:" + b"|".join(ends) + rb")")
        yield anchor[-1:], heads_


def _after(pattern: re.Pattern[bytes], longest_before: int) -> Finder:
    """Finds the first group of `pattern`: what is before it may stand before the place."""

    def finder(text: bytes, start: int) -> Span | None:
        match = pattern.search(text, max(start - longest_before, 0))
        while match and match.start(1) < start:
            match = pattern.search(text, match.start() + 1)
        return match.span(1) if match else None

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


def end_or_open_key(text: bytes) -> int:
    """The begin of the last private key, if its end may still come; else the end of the text."""
    first = len(text) - _MOST_OF_KEY
    heads = [head.start() for head in _KEY_HEAD.finditer(text, max(first, 0))]
    return heads[-1] if heads and not _KEY_END.search(text, heads[-1]) else len(text)


_RESTS: dict[bytes, list[tuple[bytes, bool]]] = {}  # the expressions after each head; compiled when first needed
for _shape in TOKENS:
    for _head in _shape.heads:
        _RESTS.setdefault(_head, []).append((_shape.rest, _shape.is_alone))
HEADS = tuple(_backwards())  # heads of tokens, spelled backwards, by the character that they all end with
_user = _after(_USER, len(b"://"))
SIGNS = _USER, _JWT_REST, _KEY_HEAD, _BEARER, _BASIC, _PUTTY  # each matches a secret other than a token
_FINDERS: tuple[tuple[bytes, Finder], ...] = (  # by a mark that their texts contain; at one place, the first wins
    (_JWT, _web_token),
    (b"-----BEGIN ", _private_key),
    (b"earer ", _after(_BEARER, len(b"earer "))),
    (b"asic ", _after(_BASIC, len(b"asic "))),
    (b"Private-Lines:", _after(_PUTTY, len(b"Private-Lines: 9999"))),
)
