"""Sends what is on record to a receiver: each call once its end is on record, and how long calls and sessions took."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics, ScopeMetrics
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from mcpctl import __version__
from mcpctl.base import bounds, files
from mcpctl.base.errors import NotFound, Unusable, UpstreamFailed, warn
from mcpctl.base.models import Newest, Row
from mcpctl.base.paths import Paths
from mcpctl.base.texts import counted
from mcpctl.otlp import histograms, operations, spans
from mcpctl.otlp.destination import Destination
from mcpctl.otlp.receiver import Receiver, ReceiverAway, RefusedByReceiver
from mcpctl.store import events, watch
from mcpctl.store.events import Event, JournalEvents
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records

_READ = ("calls.finished", "sessions.closed", events.RESET)
_LEFT_OUT = tuple(kind for kind in events.TYPES if kind not in _READ)
_SESSIONS_KNOWN = 1000
_SPANS, _POINTS = "span", "data point"
_LONGEST_NAME = 16


class Export:
    """One run: it sends what it is given, and counts how much was taken."""

    def __init__(self, records: Records, to: Destination, *, patience_s: float, content: bool) -> None:
        self.calls = 0
        self.taken = {_SPANS: 0, _POINTS: 0}
        self.refused = {_SPANS: 0, _POINTS: 0}
        self._records = records
        self._content = content
        self._traces = Receiver(to.traces, to.headers, patience_s=patience_s)
        self._metrics = Receiver(to.metrics, to.headers, patience_s=patience_s) if to.metrics else None
        self._resource = Resource(attributes=spans.attributes(to.resource))
        self._scope = InstrumentationScope(name="mcpctl", version=__version__)
        self._group: list[Span] = []
        self._size = 0
        self._since = ""  # the time of the first event of what is not sent yet
        self._histograms = histograms.Histograms()
        self._revisions = Newest[str, str | None](_SESSIONS_KNOWN)

    def close(self) -> None:
        self._traces.close()
        if self._metrics:
            self._metrics.close()

    @property
    def summary(self) -> Mapping[str, Any]:
        return {
            "calls": self.calls, "spans": self.taken[_SPANS], "data_points": self.taken[_POINTS],
            "refused_spans": self.refused[_SPANS], "refused_data_points": self.refused[_POINTS],
        }  # fmt: skip

    @property
    def told(self) -> str:
        sent = [counted(number, noun) for noun, number in self.taken.items()]
        return f"sent {' and '.join(sent)} of {counted(self.calls, 'call')} to {self._traces.origin}"

    @property
    def not_taken(self) -> str:
        return " and ".join(f"{counted(number, noun)} not taken" for noun, number in self.refused.items() if number)

    def take(self, event: Event) -> bool:
        """Take what comes of an event, and send it once there is a group of spans; whether nothing waits since."""
        self._since = self._since or event.timestamp
        if event.type == events.RESET:
            warn("spans may be missing: records were removed before they were sent, or the kept position is no good")
        else:
            self._add(event)
        is_group = len(self._group) >= bounds.OTLP_SPANS - 1 or self._size >= bounds.OTLP_GROUP
        if is_group:
            self.send(is_all=False)
        return is_group

    def send(self, *, is_all: bool = True) -> None:
        """Send the spans that wait, and, unless more come at once, the metrics that have changed."""
        while self._group:
            group, self._group[: bounds.OTLP_SPANS] = self._group[: bounds.OTLP_SPANS], []
            request = ExportTraceServiceRequest(
                resource_spans=[
                    ResourceSpans(resource=self._resource, scope_spans=[ScopeSpans(scope=self._scope, spans=group)])
                ]
            )
            answer = self._post(self._traces, request.SerializeToString(), _SPANS, len(group))
            if answer is not None:
                response = _response(ExportTraceServiceResponse, answer).partial_success
                self._count(self._traces, _SPANS, len(group), response.rejected_spans, response.error_message)
        self._size = 0
        if is_all and self._metrics:
            for metrics in self._histograms.changed(bounds.OTLP_SPANS):
                self._send_metrics(self._metrics, metrics)
        self._since = ""

    def _send_metrics(self, receiver: Receiver, metrics: Any) -> None:
        scoped = ScopeMetrics(scope=self._scope, metrics=metrics)
        request = ExportMetricsServiceRequest(
            resource_metrics=[ResourceMetrics(resource=self._resource, scope_metrics=[scoped])]
        )
        number = sum(len(metric.histogram.data_points) for metric in metrics)
        answer = self._post(receiver, request.SerializeToString(), _POINTS, number)
        if answer is not None:
            response = _response(ExportMetricsServiceResponse, answer).partial_success
            self._count(receiver, _POINTS, number, response.rejected_data_points, response.error_message)

    def _post(self, receiver: Receiver, message: bytes, noun: str, number: int) -> bytes | None:
        """The answer; None where it is a refusal, which is counted."""
        try:
            return receiver.post(message)
        except RefusedByReceiver as error:
            self.refused[noun] += number
            warn(f"{receiver.origin} does not take {noun}s: {error}")
            return None
        except ReceiverAway as error:
            since = f" with --since {self._since}" if self._since else ""
            hint = f"send the rest later{since}: what comes twice has the same ids"
            raise UpstreamFailed(
                f"{receiver.origin} takes no {noun}s: {error}; {self.told}", hint, "receiver_away"
            ) from None

    def _count(self, receiver: Receiver, noun: str, number: int, rejected: int, message: str) -> None:
        rejected = min(max(rejected, 0), number)
        self.refused[noun] += rejected
        self.taken[noun] += number - rejected
        if rejected or message:
            what = f"has not taken all {noun}s" if rejected else f"has taken the {noun}s, and says"
            warn(": ".join(filter(None, (f"{receiver.origin} {what}", receiver.words(message)))))

    # ---- what is on record

    def _add(self, event: Event) -> None:
        row = event.data
        try:
            if event.type == "calls.finished":
                self._call(row, self._revision(row["session_id"]))
            else:
                self._session(row)
        except (ValueError, OverflowError):  # somebody has changed the journal
            name = row.get("id", row["session_id"])
            warn(f"{name}: the times of its lines cannot be read, so that nothing of it is sent")

    def _call(self, call: Row, revision: str | None, ended: str | None = None) -> None:
        decisions = list(self._records.decisions(call=call["id"]).rows(None, 0)) if call["decision_id"] else []
        decided = decisions[-1]["made_at"] if decisions else None
        sides = operations.of_call(call, revision, ended=ended, decided=decided, content=self._content)
        made_of = [(each, spans.span(each, content=self._content)) for each in sides]
        self.calls += 1
        for each, made in made_of:
            self._group.append(made)
            self._size += made.ByteSize()
            metric = histograms.SERVER if each.is_server else histograms.CLIENT
            self._histograms.add(metric, each.attributes, each.ended_ns - each.begun_ns, each.ended_ns)

    def _session(self, session: Row) -> None:
        """Its own duration, and its calls that have no other end."""
        id_, revision = session["session_id"], session["protocol_version"]
        for call in self._calls(id_, "interrupted"):
            if call["duration_ms"] is None:
                self._call(call, revision, session["end_time"])
        newest = next(self._calls(id_), None) if revision else None
        if newest and operations.has_session_id(newest["transport"], revision):
            ended_ns = operations.nanoseconds(session["end_time"])
            lasted_ns = ended_ns - operations.nanoseconds(session["start_time"])
            self._histograms.add(histograms.SESSION, operations.of_session(revision), max(0, lasted_ns), ended_ns)

    def _calls(self, session_id: str, *statuses: str) -> Iterator[Row]:
        criteria = CallFilter(sessions=(session_id,), statuses=statuses)
        return self._records.calls(criteria).rows(None if statuses else 1, 0)

    def _revision(self, session_id: str) -> str | None:
        if session_id not in self._revisions:
            row = next(self._records.sessions(CallFilter(sessions=(session_id,))).rows(1, 0), None)
            self._revisions[session_id] = row["protocol_version"] if row else None
        return self._revisions[session_id]


def once(records: Records, to: Destination, since: str | None, *, content: bool) -> Export:
    """Send what is on record, all or since a time. Raises `UpstreamFailed` where not all spans were taken: there are
    receivers that have no place for metrics."""
    with closing(Export(records, to, patience_s=bounds.OTLP_PATIENCE_S, content=content)) as export:
        for event in _events(records, since, events.START).read():
            export.take(event)
        export.send()
        if export.refused[_SPANS]:
            hint = "the lines above say why; send them again once that is fixed: what comes twice has the same ids"
            raise UpstreamFailed(f"{export.told}; {export.not_taken}", hint, "spans_refused")
        return export


def follow(
    records: Records, paths: Paths, to: Destination, since: str | None, pause: Callable[[], object], *, content: bool
) -> None:
    """Send what is on record, and go on with what follows, until `pause` raises. It begins where the last run for this
    receiver has ended, unless at a time, and waits for the receiver for as long as it takes."""
    with ExitStack() as stack:
        place = stack.enter_context(_place(paths.otlp, records.source, to.traces))
        kept = None if since else _kept(place)
        read = _events(records, since, kept or events.START)
        export = stack.enter_context(closing(Export(records, to, patience_s=math.inf, content=content)))
        position = ""

        def keep() -> None:
            nonlocal position
            if (reached := read.position()) != position:
                position = reached
                files.edit(place, lambda _: reached.encode(), "make it writable")

        def at_end() -> None:
            export.send()
            keep()
            pause()

        try:
            for event in watch.follow(records, read, at_end):
                if export.take(event):
                    keep()
        finally:
            if export.not_taken:
                warn(f"{export.told}; {export.not_taken}")


def _events(records: Records, since: str | None, position: str) -> JournalEvents:
    return records.events(CallFilter(since=since), since=events.START if since else position, without=_LEFT_OUT)


@contextmanager
def _place(folder: Path, source: str, url: str) -> Iterator[Path]:
    """The file of the position for a receiver of these records; raises `Unusable` while another process follows them
    for it."""
    name = hashlib.sha256((source + url).encode()).hexdigest()[:_LONGEST_NAME]
    with files.claimed(folder / f"{name}.lock") as lock:
        if lock is None:
            host = urlsplit(url).hostname
            raise Unusable(f"another mcpctl sends what follows to {host}", "end that one first", "already_followed")
        yield folder / name


def _kept(place: Path) -> str | None:
    try:
        return files.read_text(place)
    except NotFound:
        return None


def _response(kind: Any, answer: bytes) -> Any:
    """A receiver's answer; an empty one, which says that all was taken, where it cannot be read."""
    try:
        return kind.FromString(answer)
    except DecodeError:
        return kind()
