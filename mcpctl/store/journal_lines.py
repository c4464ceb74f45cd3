"""The lines of a journal: what each says, written and read by one set of types.

Field names are those of SQL and `--json`. Members typed `Raw` hold JSON text as it came.
"""

import typing
from collections.abc import Callable, Iterator

import msgspec
from msgspec import UNSET, Raw, UnsetType

NULL = Raw(b"null")
VERSION = 1
REPLAY = "replay"
"""The `via` of a call that repeats its parent."""


class Line(msgspec.Struct, tag_field="type", kw_only=True, gc=False):
    """What every line says."""

    timestamp: str
    v: int = VERSION


class SessionCreated(Line, tag="sessions.created"):
    """The first line: who is connected. `via` is `client`, or `cli` for the day's command-line session."""

    id: str
    via: str = "client"
    client_name: str | None = None
    client_version: str | None = None
    protocol_version: str | None = None
    capabilities: Raw = NULL
    project: str | None = None
    toolset: str | None = None


class DiscoveryFinished(Line, tag="discoveries.finished"):
    """One search and what it answered."""

    id: str
    session_id: str
    query: Raw
    context: str | None
    provider: str
    fallback: str | None
    results: Raw
    started_at: str
    duration_ms: int
    tokens: int
    project: str | None = None


class CallStarted(Line, tag="calls.started"):
    """One call, on record before anything is sent to its server."""

    id: str
    session_id: str
    request_id: Raw
    via: str
    server: str
    tool: str
    arguments: Raw
    annotations: Raw
    input_tokens: int
    encoding: str
    parent_id: str | None = None
    client_name: str | None = None
    client_version: str | None = None
    project: str | None = None
    toolset: str | None = None


class CallFinished(Line, tag="calls.finished"):
    """How a call ended; on record before its answer leaves."""

    id: str
    session_id: str
    status: str
    response: Raw
    error: Raw
    duration_ms: int
    output_tokens: int
    response_bytes: int
    response_truncated: bool
    delivered_bytes: int | UnsetType = UNSET
    shortened: bool | UnsetType = UNSET
    response_file: bool | UnsetType = UNSET


class ReadFinished(Line, tag="reads.finished"):
    """One prompt that was got, or one resource that was read, and how that ended; on record before its answer leaves.
    What was read is not kept."""

    id: str
    session_id: str
    via: str
    kind: str
    server: str | None
    name: str
    status: str
    error: Raw
    started_at: str
    duration_ms: int
    response_bytes: int
    client_name: str | None
    client_version: str | None
    project: str | None
    toolset: str | None


class DecisionMade(Line, tag="decisions.made"):
    """Why a call was let through, asked about or kept back; what every rule allows by default leaves no such line."""

    id: str
    session_id: str
    call_id: str | None
    key: str
    decision: str
    rule: str
    rule_place: str | None
    channel: str
    scope: str | None
    arguments_hash: str | None
    pin: str | None
    token_id: str | None
    project: str | None
    waited_ms: int | None
    enforced: bool


class QuestionAsked(Line, tag="questions.asked"):
    """What a server asked the client in the middle of a call, once it is known what became of it."""

    id: str
    session_id: str
    call_id: str | None
    server: str
    method: str
    message: str | None
    outcome: str
    waited_ms: int


class SessionClosed(Line, tag="sessions.closed"):
    """The last line. A session whose `serve` was killed gets it later, with the time of its last activity."""

    id: str
    end_time: str


AnyLine = (
    SessionCreated | DiscoveryFinished | CallStarted | CallFinished | ReadFinished | DecisionMade | QuestionAsked
    | SessionClosed
)  # fmt: skip

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)
_KNOWN = frozenset(kind.__struct_config__.tag for kind in typing.get_args(AnyLine))


class _Kind(msgspec.Struct):
    """Of any line, what kind it is."""

    type: str


_kinds: msgspec.json.Decoder[_Kind] = msgspec.json.Decoder(_Kind)


def encode(line: AnyLine) -> bytes:
    """The line as a journal holds it, newline included."""
    return _encoder.encode(line) + b"\n"


def decode(text: bytes) -> AnyLine | None:
    """The line that `text` is, None where its type is of a later version; raises `msgspec.DecodeError` otherwise."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError:
        if _kinds.decode(text).type in _KNOWN:
            raise
        return None


def decode_all(text: bytes, position: int, skipped: Callable[[int], None]) -> Iterator[tuple[int, AnyLine]]:
    """The whole lines of `text`, each with the byte at which it begins, the first at `position`.

    `skipped` gets where a line begins that cannot be read. Those of a later version's types are left out in silence.
    """
    for line in text.split(b"\n")[:-1]:
        try:
            decoded = decode(line)
            if not line.isascii():
                line.decode()  # what the line holds as JSON text is UTF-8, too
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            decoded = None
            if line.strip():
                skipped(position)
        if decoded is not None:
            yield position, decoded
        position += len(line) + 1
