"""The body of a request: https://spec.openapis.org/oas/v3.1.1#media-type-object and #encoding-object.

JSON is sent as the bytes that came. All else may be large or read a file: it is made aside.
"""

import binascii
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

import msgspec

from mcpctl.base import bounds, posix
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.texts import escaped, visible
from mcpctl.config.server_environment import HEADER_VALUE
from mcpctl.config.server_settings import HEADER_NAME
from mcpctl.openapi.media_types import charset, codec, is_json
from mcpctl.openapi.snapshot import Body, Content, Encoding
from mcpctl.upstreams.http_api.styles import percent, refused, reserved, shape, text, unfit, written
from mcpctl.wire import jsonrpc

OCTETS = "application/octet-stream"
_JSON = "application/json"
_PIECE = 1 << 20  # characters of base64 that are decoded in one step
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}(?:[ \t]*;[\t\x20-\x7e]{0,256})?\Z")
_ESCAPED = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}  # in names of parts, as browsers do it
_ONE_OF = '{"base64": …}, {"text": …} or {"file": "relative/path"}, with "filename" and "contentType" beside it'
Made = tuple[str, list[bytes]]
"""The media type of a body, and its bytes in pieces."""


class _Binary(msgspec.Struct, forbid_unknown_fields=True):
    base64: str | None = None
    text: str | None = None
    file: str | None = None
    filename: str | None = None
    contentType: str | None = None


def content_of(body: Body, arguments: Mapping[str, bytes]) -> Content:
    """The way to send a body that the arguments choose; raises `Failed`."""
    given = arguments.get(body.chosen_by, b"null") if body.chosen_by else b"null"
    if given == b"null":
        return body.contents[0]
    kind = text(given) or ""
    names = [each.media_type for each in body.contents]
    if kind not in names:
        near = did_you_mean(kind[:200], names, f"it is one of {', '.join(names)}")
        raise refused(f"{body.chosen_by} cannot be '{escaped(kind[:200])}': {near}")
    return body.contents[names.index(kind)]


def made(body: Body, content: Content, value: bytes, root: Path | None) -> Made:
    """A body with its media type; raises `Failed`."""
    if content.kind == "json":
        return content.media_type, [value]
    if content.kind == "text":
        return content.media_type, [_text(body.argument, content.media_type, value)]
    if content.kind == "binary":
        binary = _binary(body.argument, value, root)
        fixed = "" if "*" in content.media_type else content.media_type
        return binary.media_type or fixed or OCTETS, [binary.data]
    members = shape(value)
    if not isinstance(members, dict):
        raise refused(f"{body.argument} must be an object: its members are the fields of the form")
    given = {name: each for name, each in members.items() if each.strip() != b"null"}
    if content.kind == "form":
        fields = (_field(name, each, content.encodings.get(name, Encoding())) for name, each in given.items())
        return content.media_type, ["&".join(filter(None, fields)).encode()]
    boundary = secrets.token_hex(16)
    separator = "" if content.media_type.endswith(";") else ";"
    return f"{content.media_type}{separator} boundary={boundary}", list(_multipart(given, content, boundary, root))


def _text(argument: str, media_type: str, value: bytes) -> bytes:
    if not value.strip().startswith(b'"'):
        raise refused(f"{argument} must be one text, which is sent as {media_type}")
    try:
        if encoding := codec(media_type):
            return (text(value) or "").encode(encoding)
    except UnicodeEncodeError:
        pass
    raise refused(f"{argument} cannot be written in {charset(media_type)}, which its API wants")


# ---- forms: https://spec.openapis.org/oas/v3.1.1#support-for-x-www-form-urlencoded-request-bodies


def _field(name: str, value: bytes, encoding: Encoding) -> str:
    encode = reserved if encoding.allow_reserved else percent
    if encoding.style:
        return written(encoding.style, encoding.explode, name, value, encode)
    taken = shape(value)
    if (
        isinstance(taken, list)
        and not is_json(encoding.media_type)
        and not any(each[:1] in (b"[", b"{") for each in taken)
    ):
        return written("form", True, name, value, encode) if taken else ""
    if isinstance(taken, str | None):
        return f"{percent(name)}={encode(taken or '')}"
    _check_json(name, encoding.media_type)
    return f"{percent(name)}={encode(value.decode('utf-8', 'replace'))}"


# ---- parts: https://www.rfc-editor.org/rfc/rfc7578


def _multipart(members: Mapping[str, bytes], content: Content, boundary: str, root: Path | None) -> Iterator[bytes]:
    size = 0
    for name, value in members.items():
        encoding = content.encodings.get(name, Encoding())
        for head, data in _parts(name, value, encoding, root):
            size += len(data)
            if size > bounds.UPLOADS:
                raise refused(f"its files have more than {bounds.UPLOADS >> 20} MB together", "too_large")
            lines = [f"--{boundary}", *(f"{key}: {each}" for key, each in head.items())]
            yield "\r\n".join([*lines, "", ""]).encode()
            yield data
            yield b"\r\n"
    yield f"--{boundary}--\r\n".encode()


def _parts(name: str, value: bytes, encoding: Encoding, root: Path | None) -> Iterator[tuple[dict[str, str], bytes]]:
    """The parts of one member, several where it is an array."""
    if encoding.style and not encoding.is_binary:
        for pair in filter(None, written(encoding.style, encoding.explode, name, value, percent).split("&")):
            key, _, plain = pair.partition("=")
            yield _head(unquote(key), encoding), unquote(plain).encode()
        return
    taken = shape(value)
    kind = encoding.media_type.partition(",")[0].strip()
    several = isinstance(taken, list) and (encoding.is_json or not is_json(kind))
    for each in taken if isinstance(taken, list) and several else [value.strip()]:
        if encoding.is_binary:
            binary = _binary(name, each, root)
            fixed = "" if "*" in kind else kind
            yield _head(name, encoding, binary.filename or name, binary.media_type or fixed or OCTETS), binary.data
        elif each[:1] in (b"[", b"{") or is_json(kind):
            _check_json(name, kind)
            yield _head(name, encoding, kind=kind or _JSON), each
        else:
            yield _head(name, encoding, kind=kind), (text(each) or "").encode()


def _head(name: str, encoding: Encoding, filename: str = "", kind: str = "") -> dict[str, str]:
    file = f'; filename="{visible(filename.translate(_ESCAPED))}"' if filename else ""
    head = {"Content-Disposition": f'form-data; name="{name.translate(_ESCAPED)}"{file}'}
    return {**head, **({"Content-Type": kind} if kind else {}), **_headers(encoding)}


def _headers(encoding: Encoding) -> dict[str, str]:
    given = {name: value for name, value in encoding.headers.items() if not name.lower().startswith("content-")}
    for name, value in given.items():
        if not HEADER_NAME.match(name) or not HEADER_VALUE.match(value):
            raise refused("a header of a part has characters that no header can have")
    return given


def _check_json(name: str, kind: str) -> None:
    """Raise `Failed` where an object or array is to be sent as another kind than JSON."""
    if kind and not is_json(kind):
        raise refused(f"{escaped(name)} must be one text, which is sent as {kind}")


# ---- files


class _File(msgspec.Struct, frozen=True):
    data: bytes
    filename: str
    media_type: str


def _binary(argument: str, value: bytes, root: Path | None) -> _File:
    """The bytes that a value stands for; raises `Failed`."""
    try:
        given = jsonrpc.value(value, _Binary)
    except jsonrpc.Malformed:
        raise refused(f"{escaped(argument)} must be {_ONE_OF}") from None
    if sum(each is not None for each in (given.base64, given.text, given.file)) != 1:
        raise refused(f"{escaped(argument)} must be one of {_ONE_OF}")
    media_type = given.contentType or ""
    if media_type and not _MEDIA_TYPE.match(media_type):
        raise refused(f"contentType in {escaped(argument)} is not a media type")
    if given.file is not None:
        data, name = _read(given.file, root), Path(given.file).name
    elif given.base64 is not None:
        data, name = _decoded(argument, given.base64), ""
    else:
        data, name = (given.text or "").encode(), ""
    return _File(data, given.filename or name, media_type)


def _decoded(argument: str, text: str) -> bytes:
    last = max(len(text) - 1, 0) // _PIECE * _PIECE
    try:
        # In pieces, since others wait while one is decoded; what ends a text ends the last.
        if "=" in text[:last]:
            raise ValueError
        pieces = (text[start : start + _PIECE].encode("ascii") for start in range(0, len(text), _PIECE))
        return b"".join(binascii.a2b_base64(piece, strict_mode=True) for piece in pieces)
    except ValueError:
        raise refused(f"base64 in {escaped(argument)} is not base64") from None


def _read(name: str, root: Path | None) -> bytes:
    """A file below `upload_root`, opened once and looked at as it is open; raises `Failed`."""
    if root is None:
        raise unfit("no file of this machine is sent: its entry has no upload_root", "upload_refused")
    shown = escaped(name[:200])
    try:
        folder = root.resolve(strict=True)
        path = (folder / name).resolve(strict=True)
        if Path(name).is_absolute() or not path.is_relative_to(folder):
            raise refused(f"the file '{shown}' is not below upload_root", "upload_refused")
        # Step by step from the folder, so that nothing that is put there meanwhile leads out of it.
        return _content(folder, path.relative_to(folder).parts, shown)
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name cannot be one"
        raise refused(f"the file '{shown}' cannot be read: {why}", "upload_refused") from None


def _content(folder: Path, parts: tuple[str, ...], shown: str) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with posix.opened(folder, os.O_RDONLY | os.O_DIRECTORY) as base:
        fd = os.dup(base)
        for part in parts:
            within, fd = fd, -1
            try:
                fd = os.open(part, flags, dir_fd=within)
            finally:
                os.close(within)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise refused(f"'{shown}' is not a regular file", "upload_refused")
        data = file.read(bounds.UPLOAD + 1)
    if len(data) > bounds.UPLOAD:
        raise refused(f"the file '{shown}' has more than {bounds.UPLOAD >> 20} MB", "too_large")
    return data
