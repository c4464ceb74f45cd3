"""Secrets out of what is recorded: values under telling names, and texts that look like tokens.

Works on JSON text, not on decoded values, so that everything that is no secret stays as it was, byte for byte. A
secret becomes `[redacted:HASH]`; equal secrets get equal hashes, under a key that never leaves the data directory.
"""

import hashlib
import re
from collections.abc import Iterable

_KEY_NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "api[_-]?key", "access[_-]?key", "private[_-]?key",
    "secret[_-]?key", "authorization", "credentials?", "cookie",
)  # fmt: skip

SHAPES = re.compile(
    rb"gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,255}"
    rb"|xox[abeprs]-[A-Za-z0-9-]{10,255}|npm_[A-Za-z0-9]{30,60}|hf_[A-Za-z0-9]{30,60}"
    rb"|(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))sk-[A-Za-z0-9_-]{20,255}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}"
    rb"|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}"
    rb"|eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,16384}\.[A-Za-z0-9_-]{8,4096}"
    # Cut off before its end, it goes as far as the string that it is in.
    rb"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:(?:[^\"\\]|\\[^\"]){0,20000}?-----END [A-Z ]{0,20}PRIVATE KEY-----"
    rb"|(?:[^\"\\]|\\[^\"]){0,20000})"
    rb"|(?:(?<=earer )|(?<=asic ))[A-Za-z0-9._~+/=-]{12,4096}"
    rb"|(?<=://)[^\s/:@\"\\]{0,255}:[^\s/:@\"\\]{1,255}(?=@)",
    re.DOTALL,
)
MARK = re.compile(r"\[redacted:[0-9a-f]{8}\]")
"""What stands for a secret."""
_NAME_MARKS = (b"pass", b"pwd", b"secret", b"token", b"key", b"authorization", b"credential", b"cookie")
"""What every telling name contains; texts without any, which most are, cost no more than finding that out."""
_SHAPE_MARKS = (
    (b"_", (b"gh", b"github_pat_", b"npm_", b"hf_", b"k_live_", b"k_test_")),
    (b"-", (b"glpat-", b"xox", b"sk-", b"-----begin")),
    (b"", (b"akia", b"asia", b"aiza", b"eyj", b"earer ", b"asic ", b"://")),
)
"""What every shape contains, under the character that its group contains."""
MASK = "***"
_TELLING_TEXT = re.compile(
    r"((?<![A-Za-z0-9])[A-Za-z0-9_.\-]{0,64}(?:" + "|".join(_KEY_NAMES) + r")[\"']?\s*(?:=|:)\s*)(?!\$\{)[^\s,;]+",
    re.IGNORECASE,
)
_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/=-"
_LONGEST_TOKEN = 32_768
_DELIMITER = re.compile(rb'\\*"|\\+|[{}\[\]]')


class Redactor:
    """Redacts JSON text and plain text with one set of names and one hash key."""

    def __init__(self, key: bytes, names: Iterable[str] = ()) -> None:
        self._key = key
        names = list(names)
        alternatives = "|".join([*_KEY_NAMES, *(re.escape(name) for name in names)]).encode()
        telling = rb"[A-Za-z0-9_.\-]{0,64}(?:" + alternatives + rb")"
        # "token": …   \"token\": … (JSON inside a string, at any depth of escaping)   token=…
        in_json = rb'(?P<quote>(?<!\\)\\*")' + telling + rb"(?P=quote)\s*:\s*"
        in_text = rb"(?<![A-Za-z0-9])" + telling + rb"=(?P<text>(?!\[redacted:)[^\s\"'&;,\\]+)"
        self._named = re.compile(in_json + b"|" + in_text, re.IGNORECASE)
        self._marks = (*_NAME_MARKS, *(name.lower().encode() for name in names))

    def json(self, text: bytes) -> bytes:
        """`text`, which is JSON or the beginning of some, without its secrets; still JSON if it was."""
        # bytes.find, since bytes.__contains__ takes four times as long.
        find = text.lower().find
        if max(map(find, self._marks)) >= 0:
            text = self._without_named(text)
        if any(find(group) >= 0 and max(map(find, marks)) >= 0 for group, marks in _SHAPE_MARKS):
            text = SHAPES.sub(lambda found: self._marker(found.group()), text)
        return text

    def text(self, text: str) -> str:
        """Plain text without its secrets."""
        return self.json(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def _marker(self, secret: bytes) -> bytes:
        return b"[redacted:" + hashlib.blake2b(secret, key=self._key, digest_size=4).hexdigest().encode() + b"]"

    def _without_named(self, text: bytes) -> bytes:
        out: list[bytes] = []
        done = 0
        while found := self._named.search(text, done):
            out.append(text[done : found.end()])
            done = found.end()
            if found["text"] is not None:
                out[-1] = out[-1][: -len(found["text"])]
                out.append(self._marker(found["text"]))
                continue
            end = _value_end(text, done, found["quote"])
            value = text[done:end]
            done = end
            out.append(self._hidden(value, found["quote"]))
        out.append(text[done:])
        return b"".join(out)

    def _hidden(self, value: bytes, quote: bytes) -> bytes:
        bare = value.removeprefix(quote).removesuffix(quote)
        if bare in (b"", b"null", b"true", b"false") or bare.startswith(b"[redacted:"):
            return value
        return quote + self._marker(bare) + quote


def mask(text: str) -> str:
    """Text for people without what looks like a secret or follows a telling name: `token=***`, `X-Api-Key: ***`."""
    masked = SHAPES.sub(MASK.encode(), text.encode("utf-8", "replace")).decode("utf-8", "replace")
    return _TELLING_TEXT.sub(lambda found: found[1] + MASK, masked)


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
    is_string = text.startswith(quote, start)
    if not is_string and text[start : start + 1] not in (b"{", b"["):
        scalar = re.compile(rb"[^,}\]\s\\\"]*").match(text, start)
        return scalar.end() if scalar else start
    level, depth, in_string = _level(len(quote)), 0, False
    for found in _DELIMITER.finditer(text, start):
        mark = found.group()
        if mark.endswith(b'"'):
            of_mark = _level(len(mark))
            if of_mark < level:
                return found.end() - of_mark  # the text around it ends before the value does
            if of_mark > level:
                continue
            in_string = not in_string
        elif in_string or mark.startswith(b"\\"):
            continue
        else:
            depth += 1 if mark in b"{[" else -1
        if depth == 0 and not in_string:
            return found.end()
    return len(text)


def _level(length: int) -> int:
    """How deep in strings of JSON a quotation mark stands, from the length of it and the backslashes before it.

    1 for a bare one, 2 within a string, 4 in a string's string; what precedes are whole escaped backslashes.
    """
    return length & -length
