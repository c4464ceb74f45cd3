"""E401 and E406: hidden characters that no script or emoji needs, and encoded payloads."""

import base64
import binascii
import re
import unicodedata
from itertools import islice

_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_ODD = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]+"
)
_JOINERS = "\u200c\u200d"
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_MARKS = "\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069"  # marks that texts of two directions need
_TO_BYTES = {**{0xFE00 + n: n for n in range(16)}, **{0xE0100 + n: n + 16 for n in range(240)}}
"""The bytes for which variation selectors are misused."""
_SHOWN = 120
_LONGEST_NEEDED = 2
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,20000}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){12,10000}(?![0-9A-Za-z])")
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}){8,5000}|(?:%[0-9a-fA-F]{2}){8,5000}")
_MOST = 50
_LEAST_READABLE = 0.9
COMMAND = re.compile(
    r"\b(?:curl|wget|nc|ncat|powershell|iwr|iex)\b.{0,200}(?:https?://|\||\d{1,3}\.\d{1,3}\.)|\|\s*(?:ba|z|da)?sh\b"
    r"|/bin/(?:ba)?sh\b|/dev/tcp/|\brm\s+-\w*[rf]|\bchmod\s+(?:\+x|777|-R)|\b(?:os\.system|subprocess|eval|exec)\s*\("
    r"|\bcrontab\b|authorized_keys|\bid_rsa\b|/etc/passwd|\.ssh/|\.aws/|\bsudo\s+\w|\bbase64\s+-d",
    re.IGNORECASE,
)
_URL_SAFE = str.maketrans("-_", "+/")


def odd_characters(text: str) -> str:
    if text.isascii():
        odd = _CONTROL.search(text)
        return f"the control character U+{ord(odd[0]):04X}" if odd else ""
    without_flags = _FLAG.sub("", text) if "\U0001f3f4" in text else text
    right_to_left = None
    for run in _ODD.finditer(without_flags):
        if right_to_left is None:
            right_to_left = any(unicodedata.bidirectional(c) in ("R", "AL") for c in without_flags)
        if not _needed(without_flags, run, right_to_left=right_to_left):
            return _described(without_flags, run[0])
    return ""


def _needed(text: str, run: re.Match[str], *, right_to_left: bool) -> bool:
    """Whether emoji, a script or the direction of writing explains these characters."""
    hidden = run[0]
    before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    if hidden in ("\ufeff", "\u200b") and run.end() in (1, len(text)):
        return True  # the mark at the beginning of a file, or what was copied with the text; it hides nothing
    if set(hidden) <= {"\u2028", "\u2029"}:
        return True  # line breaks of other systems
    if set(hidden) <= set(_MARKS):
        return right_to_left
    if len(hidden) > _LONGEST_NEEDED or not before or before.isascii():
        # A keycap is a digit or sign with U+FE0F after it.
        return hidden == "\ufe0f" and (before in "0123456789#*" or after == "\u20e3")
    if hidden.startswith("\ufe0f") or "\ufe00" <= hidden[0] <= "\ufe0e" or "\U000e0100" <= hidden[0] <= "\U000e01ef":
        return len(hidden) == 1 or hidden[1:] in _JOINERS
    return hidden in _JOINERS and (not after.isascii() or not after)


def _described(text: str, hidden: str) -> str:
    # A message may be spread over the text: all of its characters together are what it says.
    tags = "".join(chr(ord(c) - 0xE0000) for run in _TAGS.findall(text) for c in run)
    if tags:
        return f"the message {_inert(tags)!r} in tag characters"
    values = bytes(_TO_BYTES[ord(c)] for c in text if ord(c) in _TO_BYTES and c != "\ufe0f")
    said = values.decode("utf-8", "replace")
    if len(values) > _LONGEST_NEEDED and said.isprintable():
        return f"the message {_inert(said)!r} in variation selectors"
    several = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
    return f"the hidden character U+{ord(hidden[0]):04X}{several}"


def _inert(text: str) -> str:
    printable = "".join(c if " " <= c <= "~" else "?" for c in text)
    return printable[:_SHOWN] + ("…" if len(printable) > _SHOWN else "")


def decoded(text: str) -> list[str]:
    """The readable texts that a text has in an encoded form."""
    kinds = ((_BASE64, _of_base64), (_HEX, _of_hex), (_ESCAPED, _of_hex))
    encoded = ((match, decode) for pattern, decode in kinds for match in islice(pattern.finditer(text), _MOST))
    return [said for match, decode in encoded if (said := _readable(decode(match[0])))]


def _of_base64(text: str) -> bytes:
    bare = text.rstrip("=").translate(_URL_SAFE)
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return b""


def _of_hex(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "").replace("%", ""))


def _readable(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    printable = sum(c.isprintable() or c in "\n\t\r" for c in text)
    return text if text and printable >= _LEAST_READABLE * len(text) else ""
