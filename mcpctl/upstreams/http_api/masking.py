"""Our credentials out of what an API answers: some repeat them, as they came or as another format writes them."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import AnyStr
from urllib.parse import quote

import msgspec

from mcpctl.secrets.redact import MASK

_PIECE = 1 << 18  # bytes that are searched in one step
_IN_HTML = re.compile("[+&<>='`]")  # escaped by those who write JSON into pages
_LEAST_BEGUN = 4  # characters of a credential at the end of a text that was cut


class Masking:
    def __init__(self, secrets: Sequence[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        self._forms = sorted(forms, key=len, reverse=True)
        self._raw = [form.encode() for form in self._forms]

    def text(self, text: str) -> str:
        """A short text, whatever its case: names of hosts and media types are made small on their way."""
        data = text.encode("utf-8", "replace")
        for secret in self._raw:
            small, parts, done = data.lower(), list[bytes](), 0
            while (at := small.find(secret.lower(), done)) >= 0:
                parts += (data[done:at], MASK.encode())
                done = at + len(secret)
            data = b"".join([*parts, data[done:]])
        return data.decode("utf-8", "replace")

    def pieces(self, texts: Iterable[str], *, is_cut: bool = False) -> Iterator[str]:
        """A long text. One that `is_cut` does not end in what a credential begins with."""
        last = ""
        for piece in _masked(texts, self._forms, MASK):
            yield last
            last = piece
        yield self._without_begun(last) if is_cut else last

    def raw(self, body: bytes | bytearray) -> bytes | bytearray:
        """Bytes that are no text; not copied where they have none."""
        if not any(secret in body for secret in self._raw):
            return body
        parts = (bytes(body[start : start + _PIECE]) for start in range(0, len(body), _PIECE))
        return b"".join(_masked(parts, self._raw, MASK.encode()))

    def _without_begun(self, end: str) -> str:
        for secret in self._forms:
            for size in range(len(secret) - 1, _LEAST_BEGUN - 1, -1):
                if end.endswith(secret[:size]):
                    return end[: len(end) - size] + MASK
        return end


def _masked(parts: Iterable[AnyStr], secrets: Sequence[AnyStr], mask: AnyStr) -> Iterator[AnyStr]:
    """In pieces, since the interpreter runs nothing else while one is searched. The last is shorter than a secret."""
    rest, longest = mask[:0], max(map(len, secrets), default=1)
    for part in parts:
        rest += part
        for secret in secrets:
            rest = rest.replace(secret, mask)
        end = max(len(rest) - longest + 1, 0)
        yield rest[:end]
        rest = rest[end:]
    yield rest


def _forms(secret: str) -> tuple[str, ...]:
    """A credential as it is, in small letters, in JSON, in JSON with more escapes, and in addresses."""
    in_json = msgspec.json.encode(secret).decode()[1:-1]
    return (
        secret,
        secret.lower(),
        in_json,
        in_json.replace("/", "\\/"),
        json.dumps(secret)[1:-1],
        _IN_HTML.sub(lambda match: f"\\u{ord(match[0]):04x}", in_json),
        _IN_HTML.sub(lambda match: f"\\u{ord(match[0]):04X}", in_json),
        quote(secret, safe=""),
        quote(secret),
    )
