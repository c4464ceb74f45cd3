"""Durations as histograms, which add up from the first call of an export on."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Histogram, HistogramDataPoint, Metric

from mcpctl.base import bounds
from mcpctl.otlp import spans
from mcpctl.otlp.operations import Attributes

BOUNDARIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)  # in seconds
SERVER, CLIENT, SESSION = (
    "mcp.server.operation.duration",
    "mcp.client.operation.duration",
    "mcp.server.session.duration",
)
_ABOUT = {
    SERVER: "The duration of requests of clients, from their call on record to its end.",
    CLIENT: "The duration of what mcpctl asked of servers.",
    SESSION: "The duration of sessions that have an Mcp-Session-Id.",
}
_OVERFLOW: Attributes = {"otel.metric.overflow": True}  # stands for all attributes, once there are too many


class _Series:
    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.counts = [0] * (len(BOUNDARIES) + 1)
        self.sum_ns = 0
        self.least_ns = self.most_ns = -1

    def add(self, duration_ns: int) -> None:
        self.counts[bisect_left(BOUNDARIES, duration_ns / 1e9)] += 1
        self.sum_ns += duration_ns
        self.least_ns = duration_ns if self.least_ns < 0 else min(self.least_ns, duration_ns)
        self.most_ns = max(self.most_ns, duration_ns)

    def point(self, since_ns: int, until_ns: int) -> HistogramDataPoint:
        return HistogramDataPoint(
            attributes=spans.attributes(self.attributes), start_time_unix_nano=since_ns, time_unix_nano=until_ns,
            count=sum(self.counts), sum=self.sum_ns / 1e9, min=self.least_ns / 1e9, max=self.most_ns / 1e9,
            bucket_counts=self.counts, explicit_bounds=BOUNDARIES,
        )  # fmt: skip


class Histograms:
    def __init__(self) -> None:
        self._series: dict[str, dict[tuple[tuple[str, str | int], ...], _Series]] = {name: {} for name in _ABOUT}
        self._changed: dict[tuple[str, int], _Series] = {}
        self._since_ns = self._until_ns = 0

    def add(self, name: str, attributes: Attributes, duration_ns: int, ended_ns: int) -> None:
        self._since_ns = self._since_ns or ended_ns - 1
        self._until_ns = max(self._until_ns, ended_ns)
        of_name, key = self._series[name], tuple(sorted(attributes.items()))
        if key not in of_name and len(of_name) >= bounds.OTLP_SERIES:
            attributes, key = _OVERFLOW, tuple(_OVERFLOW.items())
        series = of_name.get(key)
        if series is None:
            series = of_name[key] = _Series(attributes)
        series.add(duration_ns)
        self._changed[name, id(series)] = series

    def changed(self, at_most: int) -> Iterator[Sequence[Metric]]:
        """The series that have changed since they were last asked for, in groups of so many."""
        changed, self._changed = list(self._changed.items()), {}
        for begin in range(0, len(changed), at_most):
            metrics: dict[str, Metric] = {}
            for (name, _), series in changed[begin : begin + at_most]:
                if name not in metrics:
                    histogram = Histogram(
                        aggregation_temporality=AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
                    )
                    metrics[name] = Metric(name=name, unit="s", description=_ABOUT[name], histogram=histogram)
                metrics[name].histogram.data_points.append(series.point(self._since_ns, self._until_ns))
            yield list(metrics.values())
