"""Secrets out of what is recorded: values under telling names, and texts that look like tokens.

Works on JSON text, not on decoded values, so that everything that is not a secret stays as it was, byte for byte. A
secret becomes `[redacted:HASH]`; equal secrets get equal hashes, under a key that never leaves the data directory.
"""

import re
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from mcpctl.base.models import Newest
from mcpctl.secrets.secret_names import is_secret_name

if TYPE_CHECKING:
    # Their expressions take a tenth of what `serve` needs to start, and nothing is redacted before it has.
    from mcpctl.secrets.named_values import NamedValues, Secret

__all__ = [
    "MARK", "MASK", "OF_ONE", "cut", "is_secret_name", "learn", "learnt", "mask", "mask_shapes", "own", "without",
]  # fmt: skip

MARK = re.compile(r"\[redacted:[0-9a-f]{8}\]")
MASK = "***"
_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~+/=-"
_LONGEST_TOKEN = 32_768
_LEAST_LEARNT = 12
OF_ONE, _MOST_LEARNT = 9, 64
learnt = Newest[str, tuple[bytes, ...]](_MOST_LEARNT)  # by owner, the latest last
_learning = threading.Lock()
_OUTSIDE_STRINGS = frozenset(b"{}[],: \t\r\n+-.0123456789Etruefalsn")  # JSON outside strings
_BEGUN = re.compile(rb"\\(u[0-9a-fA-F]{0,3})?\Z")
_BACKSLASH = 0x5C


def learn(whose: str, *secrets: str | None, least: int = _LEAST_LEARNT) -> None:
    """Have these taken out of every text from now on, whatever they look like; short ones may be words, and stay. The
    latest nine of one owner are known, and 64 owners. They come from strangers: a part that could stand outside a
    string of JSON is left out, since the text would not be JSON without it."""
    parts = (part for secret in secrets if secret for part in re.split(rb'["\\\\]', secret.encode()))
    latest = dict.fromkeys(part for part in parts if len(part) >= least and not _OUTSIDE_STRINGS.issuperset(part))
    with _learning:
        before = (secret for secret in learnt.get(whose, ()) if secret not in latest)
        if every := (*before, *latest):
            learnt[whose] = every[-OF_ONE:]


@cache
def _strict() -> "NamedValues":
    from mcpctl.secrets.named_values import NamedValues

    return NamedValues(is_strict=True)


def mask(text: str) -> str:
    """Text for people without what looks like a secret or follows a telling name: `token=***`, `X-Api-Key: ***`."""
    return without(text.encode("utf-8", "replace"), _strict().find, _masked).decode("utf-8", "replace")


def mask_shapes(text: str) -> str:
    return without(text.encode("utf-8", "replace"), lambda _: [], _masked).decode("utf-8", "replace")


def _masked(secret: bytes) -> bytes:
    return MASK.encode()


def without(text: bytes, named: "Callable[[bytes], list[Secret]]", instead: Callable[[bytes], bytes]) -> bytes:
    """`text` with replacements for the secrets that `named` finds in it, and then for those that look like one."""
    from mcpctl.secrets import json_text, shapes

    meant = json_text.unescaped(text)
    if learnt and (secrets := own(meant)):
        text = _replaced(text, meant, secrets, instead)
        meant = json_text.unescaped(text)
    if secrets := named(meant):
        text = _replaced(text, meant, secrets, instead)
        meant = json_text.unescaped(text)
    secrets = [(*span, b"") for span in shapes.spans(meant)]
    return _replaced(text, meant, secrets, instead) if secrets else text


def own(text: bytes) -> "list[Secret]":
    present: set[bytes] = set()
    for secrets in tuple(learnt.values()):
        for secret in secrets:
            if secret in text:  # seldom, and this is in the way of every call
                present.add(secret)
    if not present:
        return []
    # The longest first: one may begin as another does.
    every = b"|".join(re.escape(secret) for secret in sorted(present, key=len, reverse=True))
    return [(match.start() + _of_escape(text, match.start()), match.end(), b"") for match in re.finditer(every, text)]


def _of_escape(text: bytes, at: int) -> int:
    """The number of bytes there that belong to an escape of JSON that begins before, such as the n of `\\n`."""
    begun = _BEGUN.search(text, max(at - 5, 0), at)
    if begun is None:
        return 0
    first = begun.start()
    while first > 0 and text[first - 1] == _BACKSLASH:
        first -= 1
    if (begun.start() - first) % 2:
        return 0  # a backslash that is escaped itself
    if begun[1] is None:
        return 5 if text[at : at + 1] == b"u" else 1
    return 5 - len(begun[1])


def _replaced(text: bytes, meant: bytes, secrets: "list[Secret]", instead: Callable[[bytes], bytes]) -> bytes:
    from mcpctl.secrets import json_text

    span = json_text.WayBack(text).span if meant is not text else tuple
    out: list[bytes] = []
    done = 0
    for begin, end, quote in secrets:
        first, last = span((begin, end))
        out += (text[done:first], quote, instead(meant[begin:end]), quote)
        done = last
    return b"".join([*out, text[done:]])


def cut(text: bytes, limit: int) -> bytes:
    """At most `limit` bytes, without a token that the cut would leave half of and so unrecognised."""
    if len(text) <= limit:
        return text
    kept = text[:limit]
    if text[limit] in _TOKEN_CHARACTERS:
        end = kept[-_LONGEST_TOKEN:]
        run = len(end) - len(end.rstrip(_TOKEN_CHARACTERS))
        # A longer run is not a token but data, such as an image.
        kept = kept[: limit - run] if run < _LONGEST_TOKEN else kept
    return kept.decode("utf-8", "ignore").encode()
