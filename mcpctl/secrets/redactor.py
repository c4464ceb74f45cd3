"""Texts on record without their secrets. One in which nothing can be a secret is told at a glance, as nearly every
argument and every answer of a call is.

Imported where something is recorded first: its expressions take a tenth of what `serve` needs to start.
"""

import hashlib
import re
from collections.abc import Iterable

from mcpctl.secrets import json_text, named_values, redact, shapes

SIGNS: tuple[re.Pattern[bytes], ...] = (*json_text.SIGNS, *named_values.SIGNS, *shapes.SIGNS)
LONGEST = 4096  # a longer text is searched at once, whatever is in it


class Redactor:
    def __init__(self, key: bytes, names: Iterable[str] = ()) -> None:
        self._hash = hashlib.blake2b(key=key, digest_size=4)
        self._named = named_values.NamedValues(names)

    def json(self, text: bytes) -> bytes:
        """`text`, which is JSON or the beginning of some, without its secrets; still JSON if it was."""
        if is_plain(text, self._named.quiet) and not (redact.learnt and redact.own(text)):
            return text
        return redact.without(text, self._named.find, self._marker)

    def text(self, text: str) -> str:
        return self.json(text.encode("utf-8", "replace")).decode("utf-8", "replace")

    def _marker(self, secret: bytes) -> bytes:
        digest = self._hash.copy()
        digest.update(secret)
        return b"[redacted:" + digest.hexdigest().encode() + b"]"


def is_plain(text: bytes, quiet: set[bytes]) -> bool:
    """Whether nothing in `text` can be a secret; `quiet` has names that tell nothing, spelled backwards."""
    if len(text) > LONGEST:
        return False
    for sign in SIGNS:
        if sign.search(text):
            return False
    backwards = text[::-1]
    for names in named_values.NAMES:
        if not quiet.issuperset(names.findall(backwards)):
            return False
    if text.translate(shapes.RUNS).find(shapes.LEAST_TOKEN) >= 0:
        for last, heads in shapes.HEADS:
            if backwards.find(last) >= 0 and heads.search(backwards):
                return False
    return True
