"""The changes of the index's tables by the lines of a journal, many at once. Nothing here knows a database."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET

from mcpctl.base import fields, hints
from mcpctl.base.models import NOT_THERE
from mcpctl.base.tool_keys import OWN
from mcpctl.store import error_texts
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

COUNTS = f"(parent_id IS NULL OR via = '{REPLAY}' OR server = '{OWN}')"
_LONGEST_REASON = 500  # characters of a tool's own words that stand as the error of its call

OF_ERROR = "error_message", "error_code", "error_line", "error_group"  # made of the error where there is one
_IS_MARKED = '1 if {0} and "[redacted:" in {0} else 0'
_OF_SESSIONS = SessionCreated, SessionClosed


class StartedCall(msgspec.Struct, gc=False):
    """A call that began among the lines, with its end if that is among them, too."""

    position: int
    start: CallStarted
    end: CallFinished | None = None


@dataclass(slots=True)
class Changes:
    """Lines to be applied in the order of these members; of several with one id the first applies."""

    sessions: dict[str, SessionCreated] = field(default_factory=dict)
    ended: list[CallFinished] = field(default_factory=list)  # the ends of calls that began before these lines
    closed: list[SessionClosed] = field(default_factory=list)  # they interrupt the calls that run in the tables
    calls: dict[str, StartedCall] = field(default_factory=dict)
    discoveries: dict[str, tuple[int, DiscoveryFinished]] = field(default_factory=dict)
    reads: dict[str, tuple[int, ReadFinished]] = field(default_factory=dict)
    decisions: dict[str, tuple[int, DecisionMade]] = field(default_factory=dict)

    def add(self, position: int, line: AnyLine) -> None:
        match line:
            case CallStarted():
                self.calls.setdefault(line.id, StartedCall(position, line))
            case CallFinished():
                call = self.calls.get(line.id)
                if call is None:
                    self.ended.append(line)
                elif call.end is None:
                    call.end = line
            case DiscoveryFinished():
                self.discoveries.setdefault(line.id, (position, line))
            case ReadFinished():
                self.reads.setdefault(line.id, (position, line))
            case DecisionMade() if line.rule not in NOT_THERE:  # older versions had these as denied by a rule
                self.decisions.setdefault(line.id, (position, line))
            case SessionCreated():
                self.sessions.setdefault(line.id, line)
            case SessionClosed():
                self.closed.append(line)

    def come_before(self, line: AnyLine) -> bool:
        """Whether they have to be applied before the line of a session can be added."""
        if isinstance(line, SessionClosed):
            return bool(self.calls)
        return bool(self.calls or self.discoveries or self.reads or self.decisions or self.ended or self.closed)


def batches(lines: Iterable[tuple[int, AnyLine]]) -> Iterator[Changes]:
    """The changes of the lines, in as few batches as keep their order."""
    changes = Changes()
    for position, line in lines:
        if type(line) in _OF_SESSIONS and changes.come_before(line):
            yield changes
            changes = Changes()
        changes.add(position, line)
    yield changes


@dataclass(slots=True)
class Activity:
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
    """The gains of each session. `ended` are the lines that ended an earlier call."""
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
        gained = of(start.session_id, end.timestamp if end and end.timestamp > start.timestamp else start.timestamp)
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
    """Whether it is a call of its own, and not the next round of one whose tool had asked for input."""
    return start.parent_id is None or start.via == REPLAY or start.server == OWN


def usage(calls: Iterable[StartedCall]) -> Sequence[tuple[str, str, int, str]]:
    tools: dict[tuple[str, str], tuple[int, str]] = {}
    for call in calls:
        start = call.start
        key = start.server, start.tool
        count, last = tools.get(key, (0, ""))
        tools[key] = count + _counts(start), start.timestamp if start.timestamp > last else last
    return [(*key, *used) for key, used in tools.items()]


def _text(raw: msgspec.Raw | msgspec.UnsetType) -> str | None:
    if raw is UNSET:
        return None
    text = str(raw, "utf-8")
    return None if text == "null" else text


def _value(member: str, kind: str) -> str:
    if kind.startswith("Json"):
        return f"text(line.{member})"
    if kind.startswith("bool"):
        # Numbers instead of True and False, which take five times as long to hand over to SQLite.
        return f"1 if line.{member} is True else 0"
    return f"None if line.{member} is UNSET else line.{member}" if "UnsetType" in kind else f"line.{member}"


class LineColumns:
    """The columns that a line fills: its members, and `others` as Python, which may name values `given` beside it."""

    def __init__(self, line: type, row: type, *given: str, without: Sequence[str] = (), **others: str) -> None:
        kept = fields.types(row).keys() - set(without)
        values = {name: _value(name, kind) for name, kind in fields.types(line).items() if name in kept} | others
        self.names = tuple(values)
        # Written out, as one would by hand, it takes half the time of a loop over the columns.
        self.row: Callable[..., tuple[Any, ...]] = eval(
            f"lambda {', '.join(('line', *given))}: ({', '.join(values.values())},)", {"text": _text, "UNSET": UNSET}
        )

    def placed(self, lying: tuple[int, AnyLine]) -> tuple[Any, ...]:
        position, line = lying
        return self.row(line, position)


SESSION = LineColumns(
    fields.SessionCreated, fields.Session, "journal", journal="journal", via="line.via", status="'active'",
    start_time="line.timestamp", last_activity="line.timestamp",
)  # fmt: skip
_START = LineColumns(
    fields.CallStarted, fields.Call, "position", "annotations", "hints", position="position", hints="hints",
    annotations="annotations", started_at="line.timestamp",
    arguments="(sent := text(line.arguments))", arguments_redacted=_IS_MARKED.format("sent"),
)  # fmt: skip
END = LineColumns(
    fields.CallFinished, fields.Call, "input_tokens", without=("id", "session_id"),
    **dict.fromkeys(OF_ERROR, "None"),
    response="(came := text(line.response))", response_redacted=_IS_MARKED.format("came"),
    delivered_bytes="line.delivered_bytes or line.response_bytes", total_tokens="input_tokens + line.output_tokens",
)  # fmt: skip
DISCOVERY = LineColumns(fields.DiscoveryFinished, fields.Discovery, "position", position="position")
READ = LineColumns(fields.ReadFinished, fields.Read, "position", position="position")
DECISION = LineColumns(
    fields.DecisionMade, fields.Decision, "position", position="position", made_at="line.timestamp"
)  # fmt: skip
CALL = (*_START.names, *END.names)
_RUNNING = tuple({"status": "running", "response_redacted": 0}.get(name) for name in END.names[:-1])


def call_row(call: StartedCall) -> tuple[Any, ...]:
    line, end = call.start, call.end
    started = _START.row(line, call.position, *_annotations(bytes(line.annotations)))
    return started + (end_row(end, line.input_tokens) if end else (*_RUNNING, line.input_tokens))


def end_row(line: CallFinished, input_tokens: int) -> tuple[Any, ...]:
    values = END.row(line, input_tokens)
    if line.status == "ok":
        return values
    row = dict(zip(END.names, values, strict=True))
    if row["error"] is not None:
        row["response_redacted"] |= "[redacted:" in row["error"]
        error = _decoded(line.error)
        row["error_message"], row["error_code"] = _message(error), error_texts.code(error)
    elif line.status == "tool_error" and (reason := _reason(line)):
        row["error"] = msgspec.json.encode({"code": "tool_error", "message": reason}).decode()
        row["error_message"], row["error_code"] = reason, "tool_error"
    row["error_line"] = error_texts.first_line(row["error_message"])
    row["error_group"] = error_texts.group(row["error_line"])
    return tuple(row.values())


@functools.lru_cache(maxsize=4096)
def _annotations(raw: bytes) -> tuple[str | None, str]:
    try:
        recorded = msgspec.json.decode(raw, type=dict[str, Any] | None)
    except (msgspec.DecodeError, RecursionError):
        recorded = None
    return _text(msgspec.Raw(raw)), hints.compact(recorded).replace(hints.MARK, "")


def _message(error: Any) -> str | None:
    """The text of an error; one that was cut is the text of its beginning."""
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else None


def _reason(line: CallFinished) -> str | None:
    """A tool's own words on what went wrong, the beginning of its first text."""
    result = _decoded(line.response)
    reason = result if isinstance(result, str) else _first_text(result)  # one that was cut is the text of its beginning
    return reason if not reason or len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "…"


def _decoded(recorded: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(recorded)
    except (msgspec.DecodeError, RecursionError):
        return None


def _first_text(result: Any) -> str:
    content = result.get("content") if isinstance(result, dict) else None
    texts = (block.get("text") for block in content if isinstance(block, dict)) if isinstance(content, list) else ()
    return next((text for text in texts if isinstance(text, str) and text), "")
