"""Puts what one session does on its journal: redacted, cut to size, and before any answer leaves."""

import os
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from mcpctl.base import bounds, posix
from mcpctl.base.callers import Client
from mcpctl.base.errors import warn
from mcpctl.base.fields import LOOSENED, PAUSED, RESUMED
from mcpctl.base.paths import Paths
from mcpctl.config.settings import RecordSettings
from mcpctl.store import clock, journal_lines
from mcpctl.store.journal import Journal
from mcpctl.store.recordable import Json, Recordable, redaction_key

if TYPE_CHECKING:
    from mcpctl.store.run import Run

_UNWRITTEN_KEPT = 1000
_OF_PEOPLE = ("terminal", "dashboard", "command")  # the channels of answers that commands put on record
_BY_PEOPLE = ("approved", "declined", LOOSENED, PAUSED, RESUMED)
ENCODING = "estimate:bytes/4"  # a quarter of the UTF-8 bytes of the JSON, rounded up


class Origin(Struct, frozen=True):
    client: Client
    project: str | None = None
    toolset: str | None = None
    token_id: str = ""
    direct: Sequence[str] = ()  # patterns of the tools that the client is shown directly


class OpenCall(Struct):
    id: str
    started: float


class Recorder:
    """One session's record. Nothing is written before it first does something; failing to write stops no call."""

    def __init__(
        self, paths: Paths, settings: RecordSettings, *, via: str = "client",
        unwritten: list[tuple[Any, bytes]] | None = None, run: "Run | None" = None, over: str = "stdio",
    ) -> None:  # fmt: skip
        """Lines go to `unwritten`, which whoever sends answers has written before; without it, at each `flush`."""
        self.session_id = new_id()
        self._paths = paths
        self._via = via
        self._over = over if via == "client" else ""  # the transport of the client, on record with its calls
        self.follow(settings)
        self._journal: Journal | None = None
        self._warned = False
        self._closed = False
        self._lines: list[bytes] = []  # those that could not be written
        self._unwritten = [] if unwritten is None else unwritten
        self._run = run
        self._written_at = 0.0

    def follow(self, settings: RecordSettings) -> None:
        self._settings = settings
        self.values = Recordable(self._paths, settings)  # how the texts of others are put on record

    def call_started(
        self, server: str, tool: str, arguments: Json, *, request_id: bytes, annotations: bytes, origin: Origin,
        parent_id: str | None = None, via: str = "", http: tuple[str, str] | None = None, traceparent: bytes = b"",
    ) -> OpenCall:  # fmt: skip
        """Put a call on record before it is sent; `parent_id` is the call that this one goes on with, or repeats. `via`
        is the session's where it is not given; `http` is the method and path of a request to an HTTP API, and
        `traceparent` JSON as the client sent it."""
        if self._journal is None:
            self._open(origin)
        call, client, input_tokens = OpenCall(new_id(), time.monotonic()), origin.client, tokens(len(arguments))
        names = server, tool, client.name, client.version, origin.project, origin.toolset
        server, tool, client_name, client_version, project, toolset = self.values.names(names)
        line = journal_lines.CallStarted(
            id=call.id, session_id=self.session_id, request_id=Raw(self.values.short(request_id)),
            via=via or self._via, server=server, tool=tool, arguments=Raw(self.values.json(arguments)),
            annotations=Raw(annotations), input_tokens=input_tokens, encoding=ENCODING, parent_id=parent_id,
            timestamp=clock.iso(time.time()),
            client_name=client_name, client_version=client_version, project=project, toolset=toolset,
        )  # fmt: skip
        if self._run:
            self._run.started += 1
        if self._over:
            line.transport = self._over
        if origin.token_id:
            line.token_id = origin.token_id
        if http:
            line.http = Raw(msgspec.json.encode(dict(zip(("method", "path"), self.values.names(http), strict=True))))
        if traceparent and (trace := _checked(traceparent)):
            line.trace = trace
        self._unwritten.append((self, journal_lines.encode_all((line,))))
        return call

    def call_finished(
        self, call: OpenCall, status: str, *, response: Json = b"null", error: bytes = b"null",
        recorded: bytes | None = None, delivered: int | None = None, http_status: int | None = None,
    ) -> None:  # fmt: skip
        """Put an end on record before the call is answered; `response` and `error` are JSON as the upstream sent it.
        `recorded` is the result of `values.json` for the response, where that is known. `delivered` is the size of the
        client's part of a response that is kept whole beside the record."""
        size = 0 if len(response) == len(b"null") and response == b"null" else len(response)
        line = journal_lines.CallFinished(
            id=call.id,
            session_id=self.session_id,
            status=status,
            response=Raw(self.values.json(response) if recorded is None else recorded),
            error=journal_lines.NULL if error == b"null" else Raw(self.values.json(error)),
            duration_ms=round((time.monotonic() - call.started) * 1000),
            output_tokens=tokens((size if delivered is None else delivered) or (0 if error == b"null" else len(error))),
            response_bytes=size,
            response_truncated=size > self.values.limit,
            timestamp=clock.iso(time.time()),
        )
        if self._run:
            self._run.finished(status, time.monotonic() - call.started)
        if delivered is not None:
            line.delivered_bytes, line.shortened, line.response_file = delivered, True, True
        if http_status is not None:
            line.http_status = http_status
        self._unwritten.append((self, journal_lines.encode_all((line,))))

    def read_finished(
        self, id_: str, kind: str, server: str | None, name: str, status: str, *, started: float, response_bytes: int,
        error: bytes, origin: Origin,
    ) -> None:  # fmt: skip
        """Put a read on record before it is answered. `id_` is a `new_id`; `started` is in seconds since the epoch."""
        line = journal_lines.ReadFinished(
            timestamp=clock.now(), id=id_, session_id=self._session(origin), via=self._via, kind=kind,
            server=self.values.name(server), name=self.values.name(name), status=status,
            error=Raw(self.values.json(error)), started_at=clock.iso(started),
            duration_ms=round((time.time() - started) * 1000), response_bytes=response_bytes,
            client_name=self.values.name(origin.client.name), client_version=self.values.name(origin.client.version),
            project=self.values.name(origin.project), toolset=self.values.name(origin.toolset),
        )  # fmt: skip
        if origin.token_id:
            line.token_id = origin.token_id
        self._unwritten.append((self, journal_lines.encode_all((line,))))

    def question_asked(
        self, server: str, method: str, message: str | None, outcome: str, *, call_id: str | None, waited_ms: int
    ) -> None:
        """A question before anything else is on record is left out."""
        line = journal_lines.QuestionAsked(
            timestamp=clock.now(), id=new_id(), session_id=self.session_id, call_id=call_id, outcome=outcome,
            server=self.values.name(server), method=self.values.name(method), message=self.values.name(message),
            waited_ms=waited_ms,
        )  # fmt: skip
        self._unwritten.append((self, journal_lines.encode_all((line,))))

    def discovery_finished(
        self, queries: Sequence[str], context: str | None, *, provider: str, fallback: str | None,
        results: Sequence[dict[str, object]], started: float, answer_bytes: int, origin: Origin,
    ) -> None:  # fmt: skip
        """`started` is in seconds since the epoch."""
        line = journal_lines.DiscoveryFinished(
            timestamp=clock.now(),
            id=new_id(),
            session_id=self._session(origin),
            query=Raw(self.values.json(msgspec.json.encode(list(queries)))),
            context=None if context is None else self.values.text(context),
            provider=self.values.name(provider),
            fallback=self.values.name(fallback),
            results=Raw(msgspec.json.encode([{**hit, "key": self.values.name(str(hit["key"]))} for hit in results])),
            started_at=clock.iso(started),
            duration_ms=round((time.time() - started) * 1000),
            tokens=tokens(answer_bytes),
            project=self.values.name(origin.project),
        )
        if origin.token_id:
            line.token_id = origin.token_id
        self._unwritten.append((self, journal_lines.encode_all((line,))))

    def decision_made(
        self, key: str | Sequence[str], decision: str, rule: str, *, origin: Origin, place: str = "", call_id: str = "",
        channel: str = "rule", scope: str = "", arguments_hash: str = "", pin: str = "", token_id: str = "",
        waited_ms: int | None = None, enforced: bool = True, login: str = "",
    ) -> str:  # fmt: skip
        """Put a decision on a call, or on an attempt that became none, on record; returns its id. `login` is that of
        the dashboard in which it was made. A change of the configuration has several keys."""
        keys = (key,) if isinstance(key, str) else key
        *named, rule, place = self.values.names((*keys[: bounds.LOOSENED], rule, place))
        rest = len(keys) - len(named)
        key = ", ".join(named) + (f" and {rest} more" if rest else "")
        line = journal_lines.DecisionMade(
            timestamp=clock.now(), id=new_id(), session_id=self._session(origin), call_id=call_id or None,
            key=key, decision=decision, rule=rule, rule_place=place or None, channel=channel, scope=scope or None,
            arguments_hash=arguments_hash or None, pin=pin or None, token_id=token_id or None,
            project=origin.project, waited_ms=waited_ms, enforced=enforced,
        )  # fmt: skip
        if not self.is_of_client and channel in _OF_PEOPLE and decision in _BY_PEOPLE:
            line.person = person_of(login)
        self._unwritten.append((self, journal_lines.encode_all((line,))))
        return line.id

    @property
    def is_of_client(self) -> bool:
        return self._via == "client"

    @property
    def is_open(self) -> bool:
        return self._journal is not None

    def flush(self) -> None:
        lines = [line for recorder, line in self._unwritten if recorder is self]
        self._unwritten[:] = [pair for pair in self._unwritten if pair[0] is not self]
        self.write(lines)

    def write(self, lines: Sequence[bytes]) -> None:
        """Write these lines. Nothing that depends on them may be sent before."""
        self._lines += lines
        if self._journal is None:
            self._lines.clear()
        if self._journal is None or not self._lines:
            return
        try:
            if self._run:
                self._wake(self._run, self._journal)
            self._journal.append(b"".join(self._lines), fsync=self._settings.fsync)
            self._lines.clear()
        except OSError as error:
            del self._lines[:-_UNWRITTEN_KEPT]  # kept, and tried again with what comes next; but not for ever
            self._failed(error)

    def rest(self, seconds: float) -> None:
        """Close the journal of a session of a run, if nothing was written for so long, until something is."""
        journal = self._journal
        if self._run and journal and not journal.rests and time.monotonic() - self._written_at >= seconds:
            try:
                self._run.rests(journal.path.name)
                journal.rest()
            except OSError as error:
                self._failed(error)

    def _wake(self, run: "Run", journal: Journal) -> None:
        self._written_at = time.monotonic()
        if journal.rests:
            journal.wake()
            run.opened(journal.path.name)

    def close(self) -> None:
        self.flush()
        self._closed = True
        if self._journal:
            now = clock.now()
            try:
                if self._run:
                    self._wake(self._run, self._journal)
                self._journal.close(
                    journal_lines.encode(journal_lines.SessionClosed(timestamp=now, id=self.session_id, end_time=now))
                )
            except OSError as error:
                self._failed(error)
            self._journal = None

    def _session(self, origin: Origin) -> str:
        """The session's id; it is written when it first does something."""
        if self._journal is None:
            self._open(origin)
        return self.session_id

    def _open(self, origin: Origin) -> None:
        if self._closed:
            return
        client = origin.client
        created = journal_lines.SessionCreated(
            timestamp=clock.now(),
            id=self.session_id,
            via="client" if self.is_of_client else "cli",
            client_name=self.values.name(client.name),
            client_version=self.values.name(client.version),
            protocol_version=self.values.name(client.protocol_version),
            capabilities=Raw(self.values.json(client.capabilities)),
            project=self.values.name(origin.project),
            toolset=self.values.name(origin.toolset),
            config_path=self.values.name(str(self._paths.config.absolute())) if self.is_of_client else None,
        )
        if origin.direct and self.is_of_client:
            created.direct = Raw(self.values.json(msgspec.json.encode(origin.direct)))
        if origin.token_id:
            created.token_id = origin.token_id
        folder = self._paths.sessions
        try:
            if self.is_of_client:
                self._journal = Journal.create(folder, created)
                if self._run:
                    self._run.opened(self._journal.path.name)
            else:
                self._journal = Journal.of_the_day(folder, created, redaction_key(self._paths))
            self.session_id = self._journal.session_id
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            warn(f"calls go on but are not recorded: {self._paths.sessions}: {error}")


def person_of(login: str) -> str:
    """Who answers: the system's user, with the terminal or the `login` of the dashboard."""
    return posix.person(f"login {login} of the dashboard" if login else "")


def _checked(traceparent: bytes) -> str | None:
    from mcpctl.base import trace_context  # most requests are part of no trace

    try:
        return trace_context.checked(msgspec.json.decode(traceparent[: bounds.NAME]))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def tokens(size: int) -> int:
    return (size + 3) // 4


_random = random.Random(os.urandom(32))


def new_id() -> str:
    """A random UUID (RFC 9562, version 4). Unique, not secret: one seed from the system is enough for all."""
    digits = f"{_random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
