"""A receiver of OTLP over HTTP in this process: it decodes what it is sent, and answers as a test has it."""

import gzip
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

TRACES, METRICS = "/v1/traces", "/v1/metrics"
PROTOBUF = "application/x-protobuf"


@dataclass
class Answer:
    """What one request is answered, in place of a 200."""

    status: int = 200
    body: bytes = b""
    kind: str = PROTOBUF
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks_off: bool = False
    """Whether the connection ends without an answer."""
    after: threading.Event | None = None
    """Wait for this first."""


def status(code: int, message: str = "", **headers: str) -> Answer:
    """A failure, whose body is a `google.rpc.Status`: its message has the number of that of a partial success."""
    body = ExportTracePartialSuccess(error_message=message).SerializeToString()
    return Answer(code, body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def partly(rejected: int, message: str = "") -> Answer:
    """A partial success."""
    partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
    return Answer(200, ExportTraceServiceResponse(partial_success=partial).SerializeToString())


@dataclass
class Asked:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def traces(self) -> ExportTraceServiceRequest:
        """The message of a request with spans."""
        return cast(ExportTraceServiceRequest, ExportTraceServiceRequest.FromString(gzip.decompress(self.body)))

    @property
    def metrics(self) -> ExportMetricsServiceRequest:
        """The message of a request with metrics."""
        return cast(ExportMetricsServiceRequest, ExportMetricsServiceRequest.FromString(gzip.decompress(self.body)))

    @property
    def spans(self) -> list[Span]:
        """All spans in it."""
        scopes = [scope for resource in self.traces.resource_spans for scope in resource.scope_spans]
        return [span for scope in scopes for span in scope.spans]


class OwnReceiver:
    """A receiver, and what it was sent."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.answers: dict[str, list[Answer]] = {TRACES: [], METRICS: []}
        """The next answers by the path; the others are successes."""
        self.has_come = threading.Condition()

    @property
    def taken(self) -> list[Asked]:
        """The requests for traces."""
        return [each for each in self.asked if each.path == TRACES]

    @property
    def spans(self) -> list[Span]:
        """All spans that it was sent, those of refused requests included."""
        return [span for each in self.taken for span in each.spans]

    @property
    def metrics(self) -> dict[str, Metric]:
        """The last state of each metric: series of later requests take the place of equal ones."""
        newest: dict[str, Metric] = {}
        for each in self.asked:
            for resource in each.metrics.resource_metrics if each.path == METRICS else ():
                for metric in resource.scope_metrics[0].metrics:
                    kept = newest.setdefault(metric.name, Metric(name=metric.name, unit=metric.unit))
                    points = {str(point.attributes): point for point in kept.histogram.data_points}
                    points.update({str(point.attributes): point for point in metric.histogram.data_points})
                    kept.histogram.CopyFrom(metric.histogram)
                    del kept.histogram.data_points[:]
                    kept.histogram.data_points.extend(points.values())
        return newest

    def await_that(self, what: Callable[["OwnReceiver"], Any]) -> Any:
        """The result of `what` once that is true."""
        with self.has_come:
            assert self.has_come.wait_for(lambda: what(self), timeout=60)
            return what(self)

    def answer(self, asked: Asked) -> Answer:
        """Take a request."""
        with self.has_come:
            self.asked.append(asked)
            waiting = self.answers.get(asked.path)
            answer = waiting.pop(0) if waiting else Answer(200, b"" if waiting is not None else b"not here")
            self.has_come.notify_all()
        if waiting is None:
            answer.status = 404
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender may leave before the end of an answer."""


@contextmanager
def own_receiver() -> Iterator[OwnReceiver]:
    """Run one on loopback for as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = receiver.answer(Asked(self.path, headers, body))
            if answer.after:
                answer.after.wait(60)
            if answer.breaks_off:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {"content-type": answer.kind, **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    receiver = OwnReceiver(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="receiver")
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
