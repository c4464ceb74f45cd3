"""Puts what one session does on its journal: redacted, cut to size, and before any answer leaves."""

import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec import Raw

from mcpctl.callers import Client
from mcpctl.config import RecordSettings
from mcpctl.errors import warn
from mcpctl.paths import Paths
from mcpctl.store import clock, journal_lines, redaction_key
from mcpctl.store.journal import Journal
from mcpctl.store.redact import Redactor, cut

_UNWRITTEN_KEPT = 1000
_NAMES_KEPT = 1000
_READ_OF_NAME = 8192
_ROOM = 200
_SHOWN = 2048
_LONGEST_NUMBER = 19
"""A longer number may be a secret, and is more than some readers take."""
LONGEST_NAME = 512
"""Bytes of a name, or of another short text, that are recorded; one that is longer is recorded cut, and says so."""
_json: msgspec.json.Decoder[Raw] = msgspec.json.Decoder(Raw)
ENCODING = "estimate:bytes/4"
"""How tokens are counted: a quarter of the UTF-8 bytes of the JSON, rounded up."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something on record comes from."""

    client: Client
    project: str | None = None
    toolset: str | None = None
    """The name of the toolset in force."""


@dataclass(slots=True)
class OpenCall:
    """A call on record that has not ended."""

    id: str
    started: float


_Name = TypeVar("_Name", str, str | None)
Json = bytes | memoryview
"""JSON text."""


class Recorder:
    """One session's record. Nothing is written before it first does something; failing to write stops no call."""

    def __init__(self, paths: Paths, settings: RecordSettings, *, via: str = "client") -> None:
        self.session_id = _new_id()
        self._paths = paths
        self._via = via
        self.follow(settings)
        self._journal: Journal | None = None
        self._warned = False
        self._closed = False
        self._lines: list[bytes] = []

    def follow(self, settings: RecordSettings) -> None:
        """Record what comes as these settings say."""
        self._settings = settings
        self._limit = settings.max_response_kb * 1024
        self._redactor: Redactor | None = None
        self._names: dict[str, str] = {}

    def call_started(
        self,
        server: str,
        tool: str,
        arguments: bytes,
        *,
        request_id: bytes,
        annotations: bytes,
        origin: Origin,
        parent_id: str | None = None,
    ) -> OpenCall:
        """Put a call on record before it is sent; `arguments`, `request_id` and `annotations` are JSON.

        `parent_id` is the call that this one goes on with, after the tool had asked for input.
        """
        call = OpenCall(id=_new_id(), started=time.monotonic())
        line = journal_lines.CallStarted(
            timestamp=clock.now(),
            id=call.id,
            session_id=self._session(origin),
            request_id=Raw(self._short(request_id)),
            via=self._via,
            server=self._name(server),
            tool=self._name(tool),
            arguments=Raw(self.recorded(arguments)),
            annotations=Raw(annotations),
            input_tokens=tokens(len(arguments)),
            encoding=ENCODING,
            parent_id=parent_id,
            client_name=self._name(origin.client.name),
            client_version=self._name(origin.client.version),
            project=self._name(origin.project),
            toolset=self._name(origin.toolset),
        )
        self._lines.append(journal_lines.encode(line))
        return call

    def call_finished(
        self, call: OpenCall, status: str, *, response: Json = b"null", error: bytes = b"null",
        recorded: bytes | None = None,
    ) -> None:  # fmt: skip
        """Put a call's end on record before it is answered; `response` and `error` are JSON as the upstream sent it.

        `recorded` is what `recorded` gave for the response, where that was asked before.
        """
        size = 0 if len(response) == len(b"null") and response == b"null" else len(response)
        line = journal_lines.CallFinished(
            timestamp=clock.now(),
            id=call.id,
            session_id=self.session_id,
            status=status,
            response=Raw(self.recorded(response) if recorded is None else recorded),
            error=Raw(self.recorded(error)),
            duration_ms=round((time.monotonic() - call.started) * 1000),
            output_tokens=tokens(size or (0 if error == b"null" else len(error))),
            response_bytes=size,
            response_truncated=size > self._limit,
        )
        self._lines.append(journal_lines.encode(line))

    def question_asked(
        self, server: str, method: str, message: str | None, outcome: str, *, call_id: str | None, waited_ms: int
    ) -> None:
        """Put a server's question on record, and what became of it; one before anything else is on record is not."""
        line = journal_lines.QuestionAsked(
            timestamp=clock.now(),
            id=_new_id(),
            session_id=self.session_id,
            call_id=call_id,
            server=self._name(server),
            method=self._name(method),
            message=self._name(message),
            outcome=outcome,
            waited_ms=waited_ms,
        )
        self._lines.append(journal_lines.encode(line))

    def discovery_finished(
        self,
        queries: Sequence[str],
        context: str | None,
        *,
        provider: str,
        fallback: str | None,
        results: Sequence[dict[str, object]],
        started: float,
        answer_bytes: int,
        origin: Origin,
    ) -> None:
        """Put a search and what it answered on record; `started` is in seconds since the epoch."""
        line = journal_lines.DiscoveryFinished(
            timestamp=clock.now(),
            id=_new_id(),
            session_id=self._session(origin),
            query=Raw(self.recorded(msgspec.json.encode(list(queries)))),
            context=None if context is None else self._text(context),
            provider=self._name(provider),
            fallback=self._name(fallback),
            results=Raw(msgspec.json.encode([{**hit, "key": self._name(str(hit["key"]))} for hit in results])),
            started_at=clock.iso(started),
            duration_ms=round((time.time() - started) * 1000),
            tokens=tokens(answer_bytes),
            project=self._name(origin.project),
        )
        self._lines.append(journal_lines.encode(line))

    def decision_made(
        self,
        key: str,
        decision: str,
        rule: str,
        *,
        origin: Origin,
        place: str = "",
        call_id: str = "",
        channel: str = "rule",
        scope: str = "",
        arguments_hash: str = "",
        pin: str = "",
        token_id: str = "",
        waited_ms: int | None = None,
        enforced: bool = True,
    ) -> str:
        """Put on record what was decided of a call, or of an attempt that became none; its id."""
        line = journal_lines.DecisionMade(
            timestamp=clock.now(),
            id=_new_id(),
            session_id=self._session(origin),
            call_id=call_id or None,
            key=self._name(key),
            decision=decision,
            rule=self._name(rule),
            rule_place=self._name(place) or None,
            channel=channel,
            scope=scope or None,
            arguments_hash=arguments_hash or None,
            pin=pin or None,
            token_id=token_id or None,
            project=origin.project,
            waited_ms=waited_ms,
            enforced=enforced,
        )
        self._lines.append(journal_lines.encode(line))
        return line.id

    def shown(self, json: bytes, call_id: str = "") -> str:
        """JSON as a person is shown it who is asked about it: without secrets, cut, and saying how much is left out, and
        where that is."""
        beginning = cut(json[: _SHOWN + 1], _SHOWN)
        text = self._redact(beginning).decode("utf-8", "replace")
        if len(beginning) == len(json):
            return text
        where = f": mcpctl calls show {call_id[:8]}" if call_id else ""
        return f"{text} … {len(json) - len(beginning):,} more bytes{where}"

    def masked(self, json: bytes) -> bytes:
        """JSON without what looks like a secret, as the record has it, but whole; the rest of it is as it was."""
        return self._redact(json)

    @property
    def is_of_client(self) -> bool:
        """Whether a client does what is recorded, and not a command."""
        return self._via == "client"

    @property
    def is_open(self) -> bool:
        """Whether anything is on record yet."""
        return self._journal is not None

    def flush(self) -> None:
        """Write what was put on record. Nothing that depends on it may be sent before."""
        if self._journal is None:
            self._lines.clear()
        if self._journal is None or not self._lines:
            return
        try:
            self._journal.append(b"".join(self._lines), fsync=self._settings.fsync)
            self._lines.clear()
        except OSError as error:
            # Kept, and tried again with what comes next; but not for ever.
            del self._lines[:-_UNWRITTEN_KEPT]
            self._failed(error)

    def close(self) -> None:
        """End the session on record, if it ever began; nothing is recorded after it."""
        self.flush()
        self._closed = True
        if self._journal:
            now = clock.now()
            try:
                self._journal.close(
                    journal_lines.encode(journal_lines.SessionClosed(timestamp=now, id=self.session_id, end_time=now))
                )
            except OSError as error:
                self._failed(error)
            self._journal = None

    def _session(self, origin: Origin) -> str:
        """The session's id; it is written when it first does something."""
        if self._journal is None and not self._closed:
            self._open(origin)
        return self.session_id

    def _open(self, origin: Origin) -> None:
        client = origin.client
        created = journal_lines.SessionCreated(
            timestamp=clock.now(),
            id=self.session_id,
            via=self._via,
            client_name=self._name(client.name),
            client_version=self._name(client.version),
            protocol_version=self._name(client.protocol_version),
            capabilities=Raw(self.recorded(client.capabilities)),
            project=self._name(origin.project),
            toolset=self._name(origin.toolset),
        )
        create = Journal.of_the_day if self._via == "cli" else Journal.create
        try:
            self._journal = create(self._paths.sessions, created)
            self.session_id = self._journal.session_id
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warn(f"calls go on but are not recorded: {self._paths.sessions}: {error}")

    def recorded(self, json: Json) -> bytes:
        """JSON as the record has it, in any thread: a text too long becomes a JSON string of its beginning."""
        if len(json) > self._limit:
            beginning = cut(bytes(json[: self._limit + 1]), self._limit)
            return msgspec.json.encode(self._redact(beginning).decode("utf-8", "replace"))
        text = bytes(json)
        if text in (b"null", b"{}"):
            return text
        return _readable(self._redact(text))

    def _short(self, json: bytes) -> bytes:
        """JSON as the record has it where it is a name, such as a request's id: one too long becomes a string."""
        if len(json) < _LONGEST_NUMBER and json.isdigit() and (json == b"0" or not json.startswith(b"0")):
            return json  # as nearly every request's id
        if len(json) > LONGEST_NAME:
            return msgspec.json.encode(self._name(json.decode("utf-8", "replace")))
        return _readable(self._redact(json))

    def _name(self, name: _Name) -> _Name:
        """A name, or another short text that a client, server or model chose, as the record has it."""
        if name is None:
            return name
        recorded = self._names.get(name)
        if recorded is None:
            # Redacted first, so that the cut leaves no half of a secret.
            redacted = self._redact(name[:_READ_OF_NAME].encode("utf-8", "replace"))
            recorded = redacted[:LONGEST_NAME].decode("utf-8", "ignore")
            if len(redacted) > LONGEST_NAME or len(name) > _READ_OF_NAME:
                recorded += f"… [cut: {len(name):,} characters]"
            if len(name) <= LONGEST_NAME and len(self._names) < _NAMES_KEPT:
                self._names[name] = recorded  # a call's are nearly always those of calls before it
        return recorded

    def _text(self, text: str) -> str:
        return self._redact(cut(text.encode("utf-8", "replace"), self._limit)).decode("utf-8", "replace")

    def _redact(self, text: bytes) -> bytes:
        if self._redactor is None:
            self._redactor = Redactor(redaction_key.load(self._paths), self._settings.redact_keys)
        return self._redactor.json(text)


def _readable(text: bytes) -> bytes:
    """`text` if every reader takes it for JSON; what strict ones refuse (NaN, half characters) as a string of it."""
    if not text.isascii():
        text = text.decode("utf-8", "replace").encode()
    # Readers differ in how deep they go: what is nested nearly too deep for this one is too deep for some.
    room = _ROOM if text.count(b"[") + text.count(b"{") > _ROOM else 0
    try:
        _json.decode(b"[" * room + text + b"]" * room if room else text)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.json.encode(text.decode("utf-8", "replace"))
    return text


def tokens(size: int) -> int:
    """The estimated tokens of `size` bytes of JSON."""
    return (size + 3) // 4


_random = random.Random(os.urandom(32))


def _new_id() -> str:
    """A random UUID (RFC 9562, version 4). Told apart, not kept secret: one seed from the system is enough for all."""
    digits = f"{_random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
