"""Secrets out of what is recorded: values under telling names, and texts that look like tokens.

Works on JSON text, not on decoded values, so that everything that is no secret stays as it was, byte for byte. A
secret becomes `[redacted:HASH]`; equal secrets get equal hashes, under a key that never leaves the data directory.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Iterable
from typing import AnyStr

from mcpctl.store import shapes

_KEY_NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "api[_-]?key", "access[_-]?key", "private[_-]?key",
    "secret[_-]?key", "authorization", "credentials?", "cookie",
)  # fmt: skip

MARK = re.compile(r"\[redacted:[0-9a-f]{8}\]")
"""What stands for a secret."""
_NAME_MARKS = (b"pass", b"pwd", b"secret", b"token", b"key", b"authorization", b"credential", b"cookie")
"""What every telling name contains; texts without any, which most are, cost no more than finding that out."""
MASK = "***"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_LONGEST_BEFORE = 64
"""How much of a name may stand before the telling part of it."""
_NAME_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_ASSIGNED = re.compile(rb"[^\s\"'&;,\\]+")
_SAID = re.compile("(?:" + "|".join(_KEY_NAMES) + r")[\"']?\s*+[=:]\s*+(?!\$\{)(?=[^\s,;])")
_SAID_VALUE = re.compile(r"[^\s,;]+")
# Small letters, and what regular expressions take for one of them in another case: each a single character.
_LOWERED = {**{ord(letter.upper()): letter for letter in _LETTERS if letter.isalpha()},
            0x130: "i", 0x131: "i", 0x17F: "s", 0x212A: "k"}  # fmt: skip
_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/=-"
_LONGEST_TOKEN = 32_768
_SCALAR = re.compile(rb"[^,}\]\s\\\"]*")
_DELIMITER = re.compile(rb'\\++"?|"|[{\[]+|[}\]]+')


class Redactor:
    """Redacts JSON text and plain text with one set of names and one hash key."""

    def __init__(self, key: bytes, names: Iterable[str] = ()) -> None:
        self._hash = hashlib.blake2b(key=key, digest_size=4)
        own = [name.encode().lower() for name in names]
        alternatives = b"|".join([*(name.encode() for name in _KEY_NAMES), *map(re.escape, own)])
        # "token": …   \"token\": … (JSON inside a string, at any depth of escaping)   token=…
        in_json, in_text = rb'(?P<quote>\\*+")\s*+:\s*+', rb"=(?!\[redacted:)(?=[^\s\"'&;,\\])"
        self._named = re.compile(b"(?:" + alternatives + b")(?:" + in_json + b"|" + in_text + b")")
        self._marks = (*_NAME_MARKS, *own)

    def json(self, text: bytes) -> bytes:
        """`text`, which is JSON or the beginning of some, without its secrets; still JSON if it was."""
        lowered = text.lower()
        # bytes.find, since bytes.__contains__ takes four times as long.
        if max(map(lowered.find, self._marks)) >= 0:
            text = self._without_named(text, lowered)
        return _without(text, shapes.spans(text), self._marker)

    def text(self, text: str) -> str:
        """Plain text without its secrets."""
        return self.json(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def _marker(self, secret: bytes) -> bytes:
        digest = self._hash.copy()
        digest.update(secret)
        return b"[redacted:" + digest.hexdigest().encode() + b"]"

    def _without_named(self, text: bytes, lowered: bytes) -> bytes:
        out: list[bytes] = []
        done = place = 0
        while found := self._named.search(lowered, place):
            quote, begin = found["quote"], found.end()
            if not (_is_quoted(text, found.start(), quote, done) if quote else _is_name(lowered, found.start(), done)):
                place = found.start() + 1
                continue
            end = _value_end(text, begin, quote) if quote else _ASSIGNED.match(text, begin).end()  # type: ignore[union-attr]
            value = text[begin:end]
            out += (text[done:begin], self._hidden(value, quote) if quote else self._marker(value))
            done = place = end
        out.append(text[done:])
        return b"".join(out)

    def _hidden(self, value: bytes, quote: bytes) -> bytes:
        bare = value.removeprefix(quote).removesuffix(quote)
        if bare in (b"", b"null", b"true", b"false") or bare.startswith(b"[redacted:"):
            return value
        return quote + self._marker(bare) + quote


def mask(text: str) -> str:
    """Text for people without what looks like a secret or follows a telling name: `token=***`, `X-Api-Key: ***`."""
    masked = mask_shapes(text)
    lowered = masked.translate(_LOWERED)
    out: list[str] = []
    done = place = 0
    while found := _SAID.search(lowered, place):
        if not _is_name(lowered, found.start(), done):
            place = found.start() + 1
            continue
        out += (masked[done : found.end()], MASK)
        done = place = _SAID_VALUE.match(masked, found.end()).end()  # type: ignore[union-attr]  # one character is there
    return "".join([*out, masked[done:]])


def mask_shapes(text: str) -> str:
    """Text for people without what looks like a secret, whatever it is called."""
    data = text.encode("utf-8", "replace")
    return _without(data, shapes.spans(data), lambda _: MASK.encode()).decode("utf-8", "replace")


def _without(text: bytes, spans: Iterable[shapes.Span], instead: Callable[[bytes], bytes]) -> bytes:
    out: list[bytes] = []
    done = 0
    for begin, end in spans:
        out += (text[done:begin], instead(text[begin:end]))
        done = end
    return b"".join([*out, text[done:]]) if out else text


def _is_name(lowered: AnyStr, begin: int, after: int) -> bool:
    """Whether what is found at `begin` ends a name: one that begins a word, at most so long before, after `after`."""
    before = lowered[max(begin - _LONGEST_BEFORE - 1, 0) : begin]
    letters = len(before) - len(before.rstrip(_LETTERS if isinstance(before, str) else _LETTERS.encode()))
    return letters <= _LONGEST_BEFORE and begin - letters >= after


def _is_quoted(text: bytes, begin: int, quote: bytes, after: int) -> bool:
    """Whether what is found at `begin` ends a name that begins with this very quotation mark, after `after`."""
    before = text[max(begin - _LONGEST_BEFORE, 0) : begin]
    mark = begin - len(before) + len(before.rstrip(_NAME_CHARACTERS))
    opening = mark - len(quote)
    return opening >= after and text.startswith(quote, opening) and text[opening - 1 : opening] != b"\\"


def is_secret_name(name: str) -> bool:
    """Whether a value under this name is a secret: `token`, `API_KEY`, `client-secret`."""
    if name.lower() in ("auth", "key", "pat"):
        return True
    return re.search(f"(?:{'|'.join(_KEY_NAMES)})\\Z", name, re.IGNORECASE) is not None


def cut(text: bytes, limit: int) -> bytes:
    """The first `limit` bytes of `text`, less a token that the cut would leave half of and so unrecognised."""
    if len(text) <= limit:
        return text
    kept = text[:limit]
    if text[limit] in _TOKEN_CHARACTERS:
        before = kept.rstrip(_TOKEN_CHARACTERS)
        # A longer run is no token but data, such as an image.
        kept = before if limit - len(before) < _LONGEST_TOKEN else kept
    return kept.decode("utf-8", "ignore").encode()


def _value_end(text: bytes, start: int, quote: bytes) -> int:
    """Where the JSON value that starts at `start` ends; `quote` is how strings are quoted at this depth."""
    level = _level(len(quote))
    if text.startswith(quote, start):
        return _string_end(text, start + len(quote), level)[0]
    if text[start : start + 1] not in (b"{", b"["):
        return _SCALAR.match(text, start).end()  # type: ignore[union-attr]  # it matches anything
    return _container_end(text, start, level)


def _container_end(text: bytes, start: int, level: int) -> int:
    """Where the object or list ends that starts at `start`."""
    depth, place = 0, start
    while found := _DELIMITER.search(text, place):
        mark, place = found.group(), found.end()
        if mark.endswith(b'"'):
            of_mark = _level(len(mark))
            if of_mark < level:
                return place - of_mark  # the text around it ends before the value does
            if of_mark == level:
                place, is_closed = _string_end(text, place, level)
                if not is_closed:
                    return place
        elif mark[0] in b"{[":
            depth += len(mark)
        elif mark[0] in b"}]":
            if depth <= len(mark):
                return found.start() + depth
            depth -= len(mark)
    return len(text)


def _string_end(text: bytes, start: int, level: int) -> tuple[int, bool]:
    """Where the string ends whose characters begin at `start`, and whether it is closed there.

    If not, the text around it ends there, or all of it.
    """
    found = _quotation(level).match(text, start)
    if found is None:
        return len(text), False
    of_mark = _level(len(found["mark"]))
    return (found.end(), True) if of_mark == level else (found.end() - of_mark, False)


@functools.cache
def _quotation(level: int) -> re.Pattern[bytes]:
    """Matches as far as the next quotation mark that stands in no deeper string than one of this level."""
    deeper = rb'(?:\\{%d})*+\\{%d}"' % (2 * level, 2 * level - 1)
    return re.compile(rb'(?:[^"\\]++|\\++(?!")|' + deeper + rb')*+(?P<mark>\\*+")')


def _level(length: int) -> int:
    """How deep in strings of JSON a quotation mark stands, from the length of it and the backslashes before it.

    1 for a bare one, 2 within a string, 4 in a string's string; what precedes are whole escaped backslashes.
    """
    return length & -length
