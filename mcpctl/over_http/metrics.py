"""The counts of a process, in Prometheus' text format. https://prometheus.io/docs/instrumenting/exposition_formats/"""

from collections import Counter
from collections.abc import Iterator, Sized
from typing import Protocol

from mcpctl.base import posix
from mcpctl.proxy.gateway import Gateway
from mcpctl.store.run import BOUNDS_S

KIND = b"text/plain; version=0.0.4; charset=utf-8"


class Limits(Protocol):
    @property
    def in_flight(self) -> int: ...
    @property
    def listening(self) -> int: ...


class Counted(Protocol):
    @property
    def admission(self) -> Limits: ...
    @property
    def newer(self) -> Sized: ...
    @property
    def older(self) -> Sized: ...


def text(gateway: Gateway, front: Counted) -> str:
    return "".join(f"{line}\n" for line in _lines(gateway, front))


def _lines(gateway: Gateway, front: Counted) -> Iterator[str]:
    run = gateway.run
    assert run
    yield from _head("calls_total", "counter", "Calls that ended, by status.")
    for status, count in sorted(run.statuses.items()):
        yield f'mcpctl_calls_total{{status="{status}"}} {count}'
    yield from _head("call_duration_seconds", "histogram", "Durations of calls.")
    total = 0
    for bound, count in zip((*BOUNDS_S, "+Inf"), run.durations, strict=True):
        total += count
        yield f'mcpctl_call_duration_seconds_bucket{{le="{bound}"}} {total}'
    yield f"mcpctl_call_duration_seconds_sum {run.seconds:.6f}"
    yield f"mcpctl_call_duration_seconds_count {total}"
    gauges = {
        "calls_in_flight": (run.started - sum(run.statuses.values()), "Calls that go on."),
        "requests_in_flight": (front.admission.in_flight, "HTTP requests that go on, but for open streams."),
        "streams": (front.admission.listening, "Streams that are open for what comes outside of requests."),
        "resident_memory_bytes": (posix.resident_memory(), "Memory of this process, without its servers."),
    }
    for name, (value, help_) in gauges.items():
        yield from _head(name, "gauge", help_)
        yield f"mcpctl_{name} {value}"
    yield from _head("sessions", "gauge", "Sessions, by era of the protocol.")
    for era, count in (("older", len(front.older)), ("newer", len(front.newer))):
        yield f'mcpctl_sessions{{era="{era}"}} {count}'
    yield from _head("servers", "gauge", "Servers, by state.")
    states = Counter(
        "running" if each.connection else "down" if each.down_since else "idle" for each in gateway.held.every()
    )
    for state in ("running", "down", "idle"):
        yield f'mcpctl_servers{{state="{state}"}} {states[state]}'


def _head(name: str, kind: str, help_: str) -> tuple[str, str]:
    return f"# HELP mcpctl_{name} {help_}", f"# TYPE mcpctl_{name} {kind}"
