"""What the lines of a journal change in the tables of the index, many lines at once. Nothing here knows a database."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mcpctl import hints
from mcpctl.store.journal_lines import (
    REPLAY,
    AnyLine,
    CallFinished,
    CallStarted,
    DecisionMade,
    DiscoveryFinished,
    ReadFinished,
    SessionClosed,
    SessionCreated,
)
from mcpctl.tool_keys import OWN

COUNTS = f"(parent_id IS NULL OR via = '{REPLAY}' OR server = '{OWN}')"
"""Whether a row of `calls` counts as a call: the rounds of one have a row each."""
_LONGEST_REASON = 500
"""Characters of a tool's own words that stand as the error of its call."""

SESSION = (
    "id", "journal", "via", "client_name", "client_version", "protocol_version", "status", "start_time",
    "last_activity", "capabilities", "project", "toolset",
)  # fmt: skip
CALL = (
    "id", "position", "session_id", "request_id", "parent_id", "via", "server", "tool", "arguments", "annotations",
    "hints", "started_at", "input_tokens", "encoding", "client_name", "client_version", "project", "toolset",
)  # fmt: skip
CALL_END = (
    "status", "response", "error", "duration_ms", "output_tokens", "total_tokens", "response_bytes",
    "response_truncated", "delivered_bytes", "shortened", "response_file",
)  # fmt: skip
DISCOVERY = (
    "id", "position", "session_id", "query", "context", "provider", "fallback", "results", "started_at",
    "duration_ms", "tokens", "project",
)  # fmt: skip
READ = (
    "id", "position", "session_id", "via", "kind", "server", "name", "status", "error", "started_at", "duration_ms",
    "response_bytes", "client_name", "client_version", "project", "toolset",
)  # fmt: skip
DECISION = (
    "id", "position", "session_id", "call_id", "key", "decision", "rule", "rule_place", "channel", "scope",
    "arguments_hash", "pin", "token_id", "project", "waited_ms", "enforced", "made_at",
)  # fmt: skip
"""The columns that the rows below fill, in their order."""
_RUNNING = ("running", None, None, None, None)


class StartedCall(msgspec.Struct, gc=False):
    """A call that began among the lines, and how it ended where that is among them, too."""

    position: int
    start: CallStarted
    end: CallFinished | None = None


@dataclass(slots=True)
class Changes:
    """What some lines change, to be applied in the order of the members here; of lines with one id the first counts."""

    sessions: dict[str, SessionCreated] = field(default_factory=dict)
    ended: list[CallFinished] = field(default_factory=list)
    """The ends of calls that began before these lines."""
    closed: list[SessionClosed] = field(default_factory=list)
    """These interrupt the calls that run in the tables; no call among these lines was begun before them."""
    calls: dict[str, StartedCall] = field(default_factory=dict)
    discoveries: dict[str, tuple[int, DiscoveryFinished]] = field(default_factory=dict)
    reads: dict[str, tuple[int, ReadFinished]] = field(default_factory=dict)
    decisions: dict[str, tuple[int, DecisionMade]] = field(default_factory=dict)

    def add(self, position: int, line: AnyLine) -> None:
        """Take one more line, which begins at byte `position`."""
        match line:
            case CallStarted():
                if line.id not in self.calls:
                    self.calls[line.id] = StartedCall(position, line)
            case CallFinished():
                self._end(line)
            case DiscoveryFinished():
                self.discoveries.setdefault(line.id, (position, line))
            case ReadFinished():
                self.reads.setdefault(line.id, (position, line))
            case DecisionMade():
                self.decisions.setdefault(line.id, (position, line))
            case SessionCreated():
                self.sessions.setdefault(line.id, line)
            case SessionClosed():
                self.closed.append(line)

    def _end(self, line: CallFinished) -> None:
        call = self.calls.get(line.id)
        if call is None:
            self.ended.append(line)
        elif call.end is None:
            call.end = line

    def come_before(self, line: SessionCreated | SessionClosed) -> bool:
        """Whether they have to be applied before the line can be added."""
        if isinstance(line, SessionClosed):
            return bool(self.calls)
        return bool(self.calls or self.discoveries or self.reads or self.decisions or self.ended or self.closed)


def batches(lines: Iterable[tuple[int, AnyLine]]) -> Iterator[Changes]:
    """What the lines change, in as few batches as keep their order."""
    changes = Changes()
    for position, line in lines:
        if isinstance(line, SessionCreated | SessionClosed) and changes.come_before(line):
            yield changes
            changes = Changes()
        changes.add(position, line)
    yield changes


@dataclass(slots=True)
class Activity:
    """What a session gained."""

    calls: int = 0
    tokens: int = 0
    discoveries: int = 0
    discovery_tokens: int = 0
    last: str = ""


def activity(
    calls: Iterable[StartedCall],
    ended: Iterable[CallFinished],
    discoveries: Iterable[DiscoveryFinished],
    reads: Iterable[ReadFinished],
) -> Mapping[str, Activity]:
    """What sessions gained, by id. `ended` are the lines that ended an earlier call."""
    sessions: dict[str, Activity] = {}

    def of(session: str, timestamp: str) -> Activity:
        gained = sessions.get(session)
        if gained is None:
            gained = sessions[session] = Activity()
        if timestamp > gained.last:
            gained.last = timestamp
        return gained

    for call in calls:
        start, end = call.start, call.end
        gained = of(start.session_id, max(start.timestamp, end.timestamp) if end else start.timestamp)
        gained.calls += _counts(start)
        gained.tokens += start.input_tokens + (end.output_tokens if end else 0)
    for end in ended:
        of(end.session_id, end.timestamp).tokens += end.output_tokens
    for line in discoveries:
        gained = of(line.session_id, line.timestamp)
        gained.discoveries += 1
        gained.discovery_tokens += line.tokens
    for read in reads:
        of(read.session_id, read.timestamp)
    return sessions


def _counts(start: CallStarted) -> bool:
    """Whether it is a call of its own: what goes on with another, after the tool had asked for input, is the same."""
    return start.parent_id is None or start.via == REPLAY or start.server == OWN


def usage(calls: Iterable[StartedCall]) -> Sequence[tuple[str, str, int, str]]:
    """How often tools were called, and when last: server, tool, calls, time."""
    tools: dict[tuple[str, str], tuple[int, str]] = {}
    for call in calls:
        start = call.start
        key = start.server, start.tool
        count, last = tools.get(key, (0, ""))
        tools[key] = count + _counts(start), max(last, start.timestamp)
    return [(*key, *used) for key, used in tools.items()]


def session_row(journal: str, line: SessionCreated) -> tuple[Any, ...]:
    """The columns `SESSION`."""
    return (
        line.id, journal, line.via, line.client_name, line.client_version, line.protocol_version, "active",
        line.timestamp, line.timestamp, _text(line.capabilities), line.project, line.toolset,
    )  # fmt: skip


def read_row(position: int, line: ReadFinished) -> tuple[Any, ...]:
    """The columns `READ`."""
    return (
        line.id, position, line.session_id, line.via, line.kind, line.server, line.name, line.status,
        _text(line.error), line.started_at, line.duration_ms, line.response_bytes, line.client_name,
        line.client_version, line.project, line.toolset,
    )  # fmt: skip


def decision_row(position: int, line: DecisionMade) -> tuple[Any, ...]:
    """The columns `DECISION`."""
    return (
        line.id, position, line.session_id, line.call_id, line.key, line.decision, line.rule, line.rule_place,
        line.channel, line.scope, line.arguments_hash, line.pin, line.token_id, line.project, line.waited_ms,
        line.enforced, line.timestamp,
    )  # fmt: skip


def call_row(call: StartedCall) -> tuple[Any, ...]:
    """The columns `CALL` and `CALL_END`."""
    line, end = call.start, call.end
    return (
        line.id, call.position, line.session_id, _text(line.request_id), line.parent_id, line.via, line.server,
        line.tool, _text(line.arguments), *_annotations(bytes(line.annotations)), line.timestamp, line.input_tokens,
        line.encoding, line.client_name, line.client_version, line.project, line.toolset,
        *(end_row(end, line.input_tokens) if end else (*_RUNNING, line.input_tokens, *(None,) * 5)),
    )  # fmt: skip


def end_row(line: CallFinished, input_tokens: int) -> tuple[Any, ...]:
    """The columns `CALL_END`."""
    return (
        line.status, _text(line.response), _text(line.error) or _reason(line), line.duration_ms, line.output_tokens,
        input_tokens + line.output_tokens, line.response_bytes, line.response_truncated,
        line.delivered_bytes or line.response_bytes, bool(line.shortened), bool(line.response_file),
    )  # fmt: skip


def discovery_row(position: int, line: DiscoveryFinished) -> tuple[Any, ...]:
    """The columns `DISCOVERY`."""
    return (
        line.id, position, line.session_id, _text(line.query), line.context, line.provider, line.fallback,
        _text(line.results), line.started_at, line.duration_ms, line.tokens, line.project,
    )  # fmt: skip


def _text(raw: msgspec.Raw) -> str | None:
    text = str(raw, "utf-8")
    return None if text == "null" else text


@functools.lru_cache(maxsize=4096)
def _annotations(raw: bytes) -> tuple[str | None, str]:
    """The hints on record, and their letters."""
    try:
        recorded = msgspec.json.decode(raw, type=dict[str, Any] | None)
    except (msgspec.DecodeError, RecursionError):
        recorded = None
    return _text(msgspec.Raw(raw)), hints.compact(recorded).replace(hints.MARK, "")


def _reason(line: CallFinished) -> str | None:
    """What a tool itself said went wrong, the beginning of its first text, in the form of other errors."""
    if line.status != "tool_error":
        return None
    try:
        result = msgspec.json.decode(line.response)
    except (msgspec.DecodeError, RecursionError):
        return None
    reason = result if isinstance(result, str) else _first_text(result)  # one that was cut is the text of its beginning
    if not reason:
        return None
    message = reason if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "…"
    return msgspec.json.encode({"code": "tool_error", "message": message}).decode()


def _first_text(result: Any) -> str:
    content = result.get("content") if isinstance(result, dict) else None
    texts = (block.get("text") for block in content if isinstance(block, dict)) if isinstance(content, list) else ()
    return next((text for text in texts if isinstance(text, str) and text), "")
