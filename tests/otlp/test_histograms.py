"""Durations of calls and sessions as metrics."""

from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.paths import Paths
from tests.otlp import conventions
from tests.otlp.conftest import Export
from tests.otlp.conventions import values
from tests.otlp.receiver import METRICS, OwnReceiver
from tests.recorded import call, raw, session

SERVER, CLIENT = "mcp.server.operation.duration", "mcp.client.operation.duration"


def durations(paths: Paths, *milliseconds: int, **more: Any) -> None:
    """A session with a call of each duration."""
    rest = [each for n, ms in enumerate(milliseconds, 1) for each in call(n, n, duration_ms=ms, **more)]
    session(paths, rest=rest)


def test_durations_are_histograms_by_the_conventions(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    durations(paths, 0, 10, 11, 300_000, 300_001)
    export()
    assert set(receiver.metrics) == {SERVER, CLIENT}
    for name, metric in receiver.metrics.items():
        (point,) = metric.histogram.data_points
        conventions.check(point.attributes, conventions.METRICS[name])
        assert metric.unit == "s"
        assert metric.histogram.aggregation_temporality == 2  # cumulative, as SDKs have it unless told otherwise
        assert list(point.explicit_bounds) == conventions.BOUNDARIES
        assert list(point.bucket_counts) == [2, 1, *[0] * 11, 1, 1]
        assert (point.count, point.min, point.max) == (5, 0, 300.001)
        assert point.sum == pytest.approx(600.022)
        assert 0 < point.start_time_unix_nano < point.time_unix_nano
    own = values(receiver.metrics[SERVER].histogram.data_points[0].attributes)
    assert own == {
        "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_forecast",
        "mcpctl.server.name": "weather", "network.transport": "pipe", "mcp.protocol.version": "2025-11-25",
    }  # fmt: skip


def test_calls_with_other_attributes_are_another_series(paths: Paths, export: Export, receiver: OwnReceiver) -> None:
    error = raw({"code": -32603, "message": "no"})
    rest = [*call(1, 1), *call(2, 2, tool="other"), *call(3, 3, status="failed", error=error), *call(4, 4)]
    session(paths, rest=rest)
    export()
    for name in (SERVER, CLIENT):
        series = [
            (known["gen_ai.tool.name"], known.get("error.type"), known.get("rpc.response.status_code"), point.count)
            for point in receiver.metrics[name].histogram.data_points
            for known in [values(point.attributes)]
        ]
        assert sorted(series, key=str) == [
            ("get_forecast", "-32603", "-32603", 1), ("get_forecast", None, None, 2), ("other", None, None, 1),
        ]  # fmt: skip


def test_beyond_so_many_series_the_rest_is_counted_together(
    paths: Paths, export: Export, receiver: OwnReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "OTLP_SERIES", 3)
    session(paths, rest=[each for number in range(1, 8) for each in call(number, number, tool=f"tool-{number}")])
    export()
    for name in (SERVER, CLIENT):
        points = receiver.metrics[name].histogram.data_points
        counts = {values(point.attributes).get("gen_ai.tool.name", "the rest"): point.count for point in points}
        assert counts == {"tool-1": 1, "tool-2": 1, "tool-3": 1, "the rest": 4}
        (overflow,) = [point for point in points if point.count == 4]
        assert values(overflow.attributes) == {"otel.metric.overflow": True}


def test_a_receiver_that_takes_no_metrics_still_gets_all_spans(
    paths: Paths, export: Export, receiver: OwnReceiver
) -> None:
    durations(paths, 1, 2, 3)
    del receiver.answers[METRICS]  # it has no such address, as Jaeger has none
    ran = export("--json")
    assert len(receiver.spans) == 6
    assert f"{receiver.url} does not take data points: HTTP 404 Not Found" in ran.err
    assert ran.json == {"calls": 3, "spans": 6, "data_points": 0, "refused_spans": 0, "refused_data_points": 2}
