"""Whether a value under a telling name is a secret, or stands for one, or is something else."""

import base64
import binascii
import re
from enum import IntEnum

from mcpctl.secrets.secret_names import Kind


class Context(IntEnum):
    QUOTED = 0  # in quotation marks: a member of an object, or text in source code
    BARE = 1  # right behind `=`: an address, a command, a file of settings
    LOOSE = 2  # after a colon or blanks: YAML, a header, source code, or a sentence


_LONGEST_LOOKED_AT = 4096
_MARK = re.compile(rb"\[redacted:[0-9a-f]{8}\]")
_STANDS_FOR_ONE = re.compile(
    rb"(?:[A-Za-z]{3,10} )?(?:\[redacted:[0-9a-f]{8}\]|\*{3,}|[xX]{3,}|\.{3,}|\$?\{[A-Za-z_][^{}]{0,128}\}"
    rb"|\$\(?[A-Z_][A-Z0-9_]*\)?|%[A-Z_]+%|\$?\{\{[^{}]{0,128}\}\}|<[A-Za-z][^<>]{0,128}>|null|None|nil|NaN|-?Infinity|undefined|[tT]rue|[fF]alse)"
)
_TYPES = re.compile(
    rb"string|str|text|bytes|boolean|bool|integer|int|number|float|object|any|required|optional|yes|no|none|empty|password"
    rb"|passwd|secret|token|invalid|incorrect|wrong|missing|expired",
    re.IGNORECASE,
)
_WORDS = re.compile(rb"(?:[A-Z]?[a-z]{1,20}|[A-Z]{1,20})(?:[ _./:-]{1,2}(?:[A-Z]?[a-z]{1,20}|[A-Z]{1,20})){0,12}[.!?]?")
_CAMEL = re.compile(rb"[a-z]{1,20}(?:[A-Z][a-z]{2,20}){1,6}|(?:[A-Z][a-z]{2,20}){1,6}")
# Longer than the words that "Basic" and "Bearer" stand before in a sentence, such as "authentication".
_WITH_SCHEME = re.compile(rb"(?:[Bb]earer|[Bb]asic|[Tt]oken) {1,4}[A-Za-z0-9._~+/=-]{16,4096}")
_NUMBER = re.compile(rb"-?[0-9][0-9.,_]*(?:[eE][+-]?[0-9]+)?%?")
_PATH = re.compile(rb"(?:~|\.{1,2})?(?:/[A-Za-z0-9_.@~ {}$-]{0,64}+)+|[A-Za-z]:(?:[/\\]++[A-Za-z0-9_.@~ {}$-]{0,64}+)+")
_ADDRESS = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]{1,30}://")
_WITH_PASSWORD = re.compile(rb"://[^\s/@:]*+:[^\s@]{1,256}+@|[?&;](?:password|pwd|token|key|sig)=", re.IGNORECASE)
_CODE = re.compile(  # a call, a part of something, a name with dots, a type: source code, not a value
    rb"[A-Za-z_][A-Za-z0-9_.]*(?:\(|\[[^\]]*\]|<[A-Za-z])|[A-Za-z_]+(?:(?:\??\.|->|::)[A-Za-z_]+)+[);]*|[({\[<&*@!|>]|\$[a-z_>-]+[;)]*"
)
_HEX = re.compile(rb"[0-9a-fA-F]+(?:-[0-9a-fA-F]+)*")
_HASH = re.compile(rb"[0-9a-fA-F]{7,}")
_CHUNK = re.compile(rb"[A-Za-z0-9]+")
_DIGIT = re.compile(rb"[0-9]")
_TURN = re.compile(rb"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{4}){2,256}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def is_secret(value: bytes, kind: Kind, form: Context) -> bool:
    """`value` are the bytes between the quotation marks or as far as the text goes."""
    if kind is Kind.ANY:
        return value not in (b"", b"null", b"true", b"false") and not _MARK.fullmatch(value)
    head = value[:_LONGEST_LOOKED_AT].strip()
    if not head or _STANDS_FOR_ONE.fullmatch(head):
        return False
    if form is not Context.QUOTED and (len(head) < 3 or _CODE.match(head) or _TYPES.fullmatch(head.rstrip(b".;)]}>`"))):
        return False
    return _JUDGES[kind](head, form)


def _is_password(value: bytes, form: Context) -> bool:
    if form is not Context.QUOTED and b"_" in value and _WORDS.fullmatch(value):
        return False  # the name of a variable
    return not _TYPES.fullmatch(value) and not _is_place(value)


def _is_token(value: bytes, form: Context) -> bool:
    return not _NUMBER.fullmatch(value) and _is_credential(value, form)


def _is_credential(value: bytes, form: Context) -> bool:
    if _WITH_SCHEME.fullmatch(value):
        return True
    if any(plain.fullmatch(value) for plain in (_WORDS, _CAMEL)) or _is_place(value):
        return False
    if form is Context.QUOTED:
        return True
    return len(value) >= 6 if form is Context.BARE else looks_secret(value, 6, of_hex=True)


def _is_code(value: bytes, form: Context) -> bool:
    return (value.isdigit() and 4 <= len(value) <= 10) or _is_hint(value, form)


def _is_address(value: bytes, form: Context) -> bool:
    if not _ADDRESS.match(value):
        return _is_hint(value, form)
    return _WITH_PASSWORD.search(value) is not None or any(map(_is_mixed, re.split(rb"[/?&=]", value)[3:]))


def _is_hint(value: bytes, form: Context) -> bool:
    return looks_secret(value, 6 if form is Context.QUOTED else 8)


def _is_place(value: bytes) -> bool:
    if _ADDRESS.match(value):
        return not _is_address(value, Context.QUOTED)
    return _PATH.fullmatch(value) is not None and not any(
        len(part) >= 20 and _is_mixed(part) for part in value.split(b"/")
    )


_JUDGES = {
    Kind.PASSWORD: _is_password, Kind.CREDENTIAL: _is_credential, Kind.TOKEN: _is_token, Kind.CODE: _is_code,
    Kind.ADDRESS: _is_address, Kind.HINT: _is_hint,
}  # fmt: skip


def looks_secret(value: bytes, least: int, *, of_hex: bool = False) -> bool:
    """Whether this looks made up to be guessed by nobody: not words, ids, hashes, dates, paths or versions."""
    if len(value) < least or len(value.split(None, 1)) > 1:
        return False
    if _is_login(value):
        return True
    if not _DIGIT.search(value):
        return len(value) >= 20 and bool(_CHUNK.fullmatch(value)) and not _is_worded(value)
    if _HEX.fullmatch(value):
        return of_hex and len(value) >= 20 and b"-" not in value
    if b"/" in value and not (value.endswith(b"=") or b"+" in value):
        return False
    return _is_mixed(value, least) or (
        _CHUNK.fullmatch(value) is not None and len(value) >= 20 and not _is_worded(value)
    )


def _is_worded(value: bytes) -> bool:
    return any(pattern.fullmatch(value) for pattern in (_WORDS, _CAMEL, _NUMBER, _HASH))


def _is_mixed(value: bytes, least: int = 8) -> bool:
    """Whether letters and digits take turns in it as in no name or version."""
    chunks = [chunk for chunk in _CHUNK.findall(value) if not _HASH.fullmatch(chunk)]
    turns = sum(len(_TURN.findall(chunk)) for chunk in chunks)
    has_sign = turns > 0 and re.search(rb"[!@#$%^&*?]", value) is not None
    return (turns >= 2 or has_sign) and sum(len(chunk) for chunk in chunks if _TURN.search(chunk)) >= min(
        least, 8
    ) - has_sign * 4


def _is_login(value: bytes) -> bool:
    if not _BASE64.fullmatch(value):
        return False
    try:
        user, colon, password = base64.b64decode(value).partition(b":")
    except binascii.Error:
        return False
    return (
        bool(user and colon and password) and (user + password).isascii() and (user + password).decode().isprintable()
    )
