"""Media types of bodies: how each is sent, which comes first, and what one says of an answer."""

import codecs
import re

JSON, FORM, MULTIPART, TEXT, BINARY = "json", "form", "multipart", "text", "binary"

_TYPE = re.compile(r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+\Z", re.ASCII)
_WRITTEN = re.compile(r"[\x20-\x7e]{3,200}\Z")
_PATCH = "application/json-patch+json"
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_RANKS = {
    "application/json": 0, "application/merge-patch+json": 1, "*/*": 3, "text/json": 3, "application/x-json": 3,
    _FORM: 4, _MULTIPART: 5, _PATCH: 6,
}  # fmt: skip
_OTHER_JSON, _TEXT, _BINARY = 2, 7, 8
_KINDS = {_RANKS[_FORM]: FORM, _RANKS[_MULTIPART]: MULTIPART, _TEXT: TEXT, _BINARY: BINARY}  # others are JSON
_TEXTS = re.compile(
    r"(?:text|message)/.*|.*\+(?:xml|yaml)|application/(?:x-)?(?:xml|xml-.*|yaml|ndjson|jsonl|jsonlines|json-seq|javascript"
    r"|ecmascript|graphql|sql|toml|jwt|csv|pem-.*|sparql-.*|n-triples|n-quads|trig)\Z"
)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARSETS = re.compile(  # others that Python knows are no charsets, or take quadratic time
    r"utf-?(?:8|16|32)(?:-?[lb]e)?|us-ascii|ascii|iso-?8859-[0-9]{1,2}|latin-?1|windows-?[0-9]{3,4}|cp[0-9]{3,4}"
    r"|koi8-[rut]|macintosh|shift_jis|sjis|euc-(?:jp|kr)|iso-2022-(?:jp|kr)|gb(?:2312|k|18030)|big5(?:-hkscs)?|tis-620"
)
_CONCRETE = {"*/*": "application/json", "text/*": "text/plain", "application/*+json": "application/json",
             "application/*+xml": "application/xml"}  # fmt: skip


def essence(written: str) -> str:
    """A media type without its parameters."""
    return written.partition(";")[0].strip().lower()


def charset(written: str) -> str:
    match = _CHARSET.search(written)
    return match[1].lower() if match else "utf-8"


def codec(written: str) -> str:
    """The name that Python has for its charset; empty for one that no text is written or read in."""
    name = charset(written)
    try:
        return codecs.lookup(name).name if _CHARSETS.fullmatch(name) else ""
    except LookupError:
        return ""


def is_json(written: str) -> bool:
    return essence(written).endswith(("/json", "+json"))


def rank(written: str) -> int | None:
    """Its place in the order in which one is chosen; None for one that cannot be sent."""
    plain = essence(written)
    if not _TYPE.match(plain) or not _WRITTEN.match(written):
        return None
    if plain in _RANKS:
        return _RANKS[plain]
    if is_json(plain):
        return _OTHER_JSON
    if plain.startswith("multipart/"):
        return None
    if not _TEXTS.match(plain):
        return _BINARY
    return _TEXT if codec(written) else None


def is_usual(written: str) -> bool:
    """Whether it is a media type, or several with commas between them, of which a header can have each."""
    return bool(_WRITTEN.match(written)) and all(_TYPE.match(essence(each)) for each in written.split(","))


def kind(written: str) -> str:
    """How a body of a media type that can be sent is made."""
    return _KINDS.get(rank(written) or 0, JSON)


def sent(written: str) -> str:
    """The media type that is sent: as written, but for a range of texts; with a range of files, each names its own."""
    plain = essence(written)
    return written if "*" not in plain or kind(plain) == BINARY else _CONCRETE.get(plain, "text/plain")


def is_text(written: str) -> bool:
    """Whether something of this type is text or JSON, and no file."""
    return rank(written) is not None and kind(written) in (JSON, TEXT, FORM)
