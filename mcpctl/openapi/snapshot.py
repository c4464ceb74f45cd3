"""A compiled document: all that is needed of it to list an API's tools and to send its requests. `serve` reads this
and never a document."""

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcpctl.base.errors import Unusable
    from mcpctl.base.paths import Paths
    from mcpctl.config.server_settings import Server

OVERRIDES = frozenset(("_method", "x-http-method", "x-http-method-override", "x-method-override"))
"""Names, in small letters, by which some servers take another method than that of the request: nowhere an argument."""
NO_ARGUMENTS = OVERRIDES | frozenset((  # headers that the standard leaves to others, and those of the connection
    "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "cookie", "expect",
    "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
))  # fmt: skip
_KEPT = 4  # documents of one name: another configuration may have it, and a changed entry be changed back
BEARER = "bearer"  # the name in `auth` of the token for a document that has no schemes
LEFT_OUT = "left out by include or exclude"  # the reason of an operation that its entry does not choose
FORMAT = 1  # an older one is made anew by `tools refresh`
_END = b"]}"
_KEY = re.compile(r"[0-9a-f]{64}\.json")


class Parameter(Struct, frozen=True, omit_defaults=True):
    """How one argument is written into the request: https://spec.openapis.org/oas/v3.1.1#parameter-object."""

    argument: str  # the property of the tool's input schema; empty where the entry's `parameters` has its value
    name: str  # as the API knows it
    place: str  # path, query, header or cookie
    style: str = ""  # the one in force, its default filled in; empty for one with a media type
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""  # of a `content` parameter: its text is a value of this type


class Encoding(Struct, frozen=True, omit_defaults=True):
    """How one property of a form or of a multipart body is written."""

    media_type: str = ""  # its contentType, as written; empty for that of the kind of value
    style: str = ""  # empty where neither style, explode nor allowReserved are given: then the media type counts
    explode: bool = False
    allow_reserved: bool = False
    headers: dict[str, str] = {}  # the headers of a part that have one value that is known
    is_binary: bool = False  # whether its value, or each item of it, is a file
    is_json: bool = False  # whether its values are objects, or arrays of them: in a part they are JSON


class Content(Struct, frozen=True, omit_defaults=True):
    """One way to send a body."""

    media_type: str  # as written, which is what is sent; `*/*` is application/json
    kind: str  # json, form, multipart, text or binary
    encodings: dict[str, Encoding] = {}  # of the properties of a form or multipart body that need one


class Body(Struct, frozen=True, omit_defaults=True):
    """The body of an operation, which is one argument."""

    contents: list[Content]  # the default first
    argument: str = "body"
    chosen_by: str = ""  # the argument that names another media type than the default; empty where there is one only
    is_required: bool = False


class Scheme(Struct, frozen=True, omit_defaults=True):
    """A security scheme that can be met: https://spec.openapis.org/oas/v3.1.1#security-scheme-object."""

    kind: str  # basic, bearer, apiKey, oauth2 or openIdConnect
    place: str = ""  # of an apiKey: header, query or cookie
    name: str = ""  # of an apiKey: its name there
    token_url: str = ""  # of oauth2: where client credentials are changed for a token; empty without that flow


class HttpOperation(Struct, frozen=True, omit_defaults=True):
    """One tool, and how its request is made."""

    tool: str
    method: str  # in capitals
    path: str  # the key of the document, with its holes, its query and its fragment
    base: str
    """The address in front of the path, without a slash at its end. With a `url` in the entry it is that, as written
    there: its variables may be secrets, so whoever sends expands it. One of the document never has such variables."""
    definition: Raw  # the tool as it is listed, in JSON
    parameters: list[Parameter] = []  # those of the path, in its order, first
    body: Body | None = None
    request_hash: str = ""  # of all here by which its request is made; it is in the definition, too
    security: list[dict[str, list[str]]] = []
    """The alternatives, each with its schemes and their scopes; one that is empty, which needs none, comes last. Those
    with a scheme that cannot be met are left out."""


class _Format(Struct):
    format: int


class CompiledDocument(Struct, frozen=True, kw_only=True):
    """The result of `tools refresh`, which makes it of a document for one entry of the configuration."""

    format: int = FORMAT
    made_at: float  # seconds since the epoch
    source: str  # the file or the address of the document, as the entry has it, without secrets
    sha256: str  # of the document's bytes, and of those of the files that it refers to, in hex
    openapi: str  # the version of the specification that it is written in
    title: str = ""
    version: str = ""  # its own
    description: str = ""  # its own, cut: the instructions of this server
    base: str = ""  # where most operations are sent, as theirs
    schemes: dict[str, Scheme] = {}
    skipped: dict[str, list[str]] = {}  # METHOD and path of the operations that are no tools, by the reason
    unmatched: list[str] = []  # the patterns of include and exclude that no operation matches, each after its key
    operations: list[HttpOperation] = []


_operation = msgspec.json.Decoder(HttpOperation)


def path_of(paths: "Paths", name: str, server: "Server") -> Path:
    """The file of an entry's document. The same relative path in another configuration is another document."""
    folder = "" if "://" in server.openapi else paths.config.parent.absolute()
    key = hashlib.sha256(f"{folder} {server.snapshot_key}".encode()).hexdigest()
    return paths.openapi / f"{name}-{key}.json"


def encoded(document: CompiledDocument) -> bytes:
    """Its JSON, with one operation a line: it is decoded line by line, so that nobody waits for all of it."""
    head = msgspec.json.encode(msgspec.structs.replace(document, operations=[])).removesuffix(_END)
    return b"%b\n%b\n%b\n" % (head, b",\n".join(map(msgspec.json.encode, document.operations)), _END)


def save(paths: "Paths", name: str, server: "Server", content: bytes) -> None:
    """Keep the document of an entry, and of older ones of that name the last few; raises `Unusable`."""
    from mcpctl.base import files
    from mcpctl.base.paths import private_dir

    path = path_of(paths, name, server)
    private_dir(path.parent)
    files.edit(path, lambda _: content, "make room there, or name another place with --data-dir")
    for old in _named(paths, name)[_KEPT:]:
        old.unlink(missing_ok=True)


def _named(paths: "Paths", name: str) -> list[Path]:
    """The documents that are kept of a name, the newest first. The names of entries may begin alike."""
    from mcpctl.base import files

    kept = (each for each in paths.openapi.glob(f"{name}-*.json") if _KEY.fullmatch(each.name.removeprefix(f"{name}-")))
    return sorted(kept, key=lambda each: (files.stamp(each) or (0, 0))[1], reverse=True)


def last(paths: "Paths", name: str, server: "Server") -> CompiledDocument | None:
    """The document of an entry, else the newest of its name that can be read; None where there is none."""
    from mcpctl.base.errors import Unusable

    for path in (path_of(paths, name, server), *_named(paths, name)):
        try:
            return _loaded(path, name)
        except Unusable:
            pass
    return None


def remove(paths: "Paths", name: str, server: "Server") -> None:
    path_of(paths, name, server).unlink(missing_ok=True)


def head(paths: "Paths", name: str, server: "Server") -> CompiledDocument:
    """The document of an entry without its operations, of which there may be thousands; raises as `load` does."""
    return load(paths, name, server, with_operations=False)


def load(paths: "Paths", name: str, server: "Server", *, with_operations: bool = True) -> CompiledDocument:
    """The document of an entry as it is; for a thread. Raises `Unusable` with the command that makes it."""
    return _loaded(path_of(paths, name, server), name, with_operations=with_operations)


def _loaded(path: Path, name: str, *, with_operations: bool = True) -> CompiledDocument:
    try:
        with path.open("rb") as lines:
            head = lines.readline().rstrip() + _END
            version = msgspec.json.decode(head, type=_Format).format
            if version != FORMAT:
                raise _unusable(name, "was made by another version of mcpctl", "snapshot_outdated")
            document = msgspec.json.decode(head, type=CompiledDocument)
            document.operations.extend(_operations(lines) if with_operations else ())
            return document
    except FileNotFoundError:
        raise _unusable(name, "was not made yet, or not for its entry as it is now", "snapshot_missing") from None
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise _unusable(name, f"cannot be read: {path}", "snapshot_damaged") from error


def operation(paths: "Paths", name: str, server: "Server", tool: str) -> tuple[CompiledDocument, HttpOperation]:
    """One operation and the document that has it; raises as `load` does, and `NotFound`."""
    from mcpctl.base.errors import NotFound

    document = load(paths, name, server)
    for each in document.operations:
        if each.tool == tool:
            return document, each
    hint = f"list its tools again with: mcpctl tools refresh {name}"
    raise NotFound(f"no tool '{name}:{tool}' any more", hint, "tool_not_found")


def _operations(lines: "Iterable[bytes]") -> "Iterator[HttpOperation]":
    for line in lines:
        if line.rstrip() == _END:
            return
        yield _operation.decode(line.rstrip(b",\n"))
    raise ValueError("it ends too early")


def _unusable(name: str, problem: str, code: str) -> "Unusable":
    from mcpctl.base.errors import Unusable

    return Unusable(f"the OpenAPI document of server '{name}' {problem}", f"run: mcpctl tools refresh {name}", code)
