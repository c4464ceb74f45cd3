"""E406: payloads that are encoded, and say something when they are decoded."""

import base64
import binascii
import re

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,20000}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{2}){12,10000}(?![0-9A-Za-z])")
_ESCAPED = re.compile(r"(?:\\x[0-9a-fA-F]{2}){8,5000}|(?:%[0-9a-fA-F]{2}){8,5000}")
_MOST = 50
"""Payloads of one text that are decoded."""
_LEAST_READABLE = 0.9
COMMAND = re.compile(
    r"\b(?:curl|wget|nc|ncat|powershell|iwr|iex)\b.{0,200}(?:https?://|\||\d{1,3}\.\d{1,3}\.)|\|\s*(?:ba|z|da)?sh\b"
    r"|/bin/(?:ba)?sh\b"
    r"|/dev/tcp/|\brm\s+-\w*[rf]|\bchmod\s+(?:\+x|777|-R)|\b(?:os\.system|subprocess|eval|exec)\s*\(|\bcrontab\b"
    r"|authorized_keys"
    r"|\bid_rsa\b|/etc/passwd|\.ssh/|\.aws/|\bsudo\s+\w|\bbase64\s+-d",
    re.IGNORECASE,
)


def decoded(text: str) -> list[str]:
    """The readable texts that a text has in an encoded form."""
    found: list[str] = []
    for pattern, decode in ((_BASE64, _of_base64), (_HEX, _of_hex), (_ESCAPED, _of_escapes)):
        for number, match in enumerate(pattern.finditer(text)):
            if number >= _MOST:
                break
            if said := _readable(decode(match[0])):
                found.append(said)
    return found


def _of_base64(text: str) -> bytes:
    bare = text.rstrip("=").translate(_URL_SAFE)
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return b""


_URL_SAFE = str.maketrans("-_", "+/")


def _of_hex(text: str) -> bytes:
    return bytes.fromhex(text)


def _of_escapes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "").replace("%", ""))


def _readable(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    printable = sum(c.isprintable() or c in "\n\t\r" for c in text)
    return text if text and printable >= _LEAST_READABLE * len(text) else ""
