"""Requests over HTTP: `python -m tests.bench.http [--runs N] [--json]`, `--crowd [older]` or `--stuck`

Requests a second of 32 connections that are kept alive through `mcpctl serve --http`, beside 32 in flight on stdio
through `mcpctl serve`, and beside the HTTP proxies of FastMCP and of the MCP SDK: the same upstream, one shuffled run;
mcpctl keeps its records. Older clients are 32 connections of one session, and 32 sessions. One connection alone gives
the latency and the CPU of a call. Compare the columns; times are this machine's, and its clients share it.

`--crowd`: 500 clients with 32 calls each on one process. `--stuck`: one client never reads its answers of 1 MB while
499 work; how late these are is measured against the same without it.
"""

import argparse
import contextlib
import gc
import json
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench import raw_client, raw_http
from tests.bench.raw_client import MCPCTL, UPSTREAM, Connection, Unavailable, percentile
from tests.bench.raw_http import Client, HttpTarget, Running

WIDTH = 32
EACH = 25
"""Calls of each connection before another target has its turn."""
ALONE = 100
CROWD, CALLS = 500, 32
LATE_S = 0.05
_ENOUGH = "max_in_flight = 1000\nmax_in_flight_per_token = 1000\nmax_sessions = 1000"


@dataclass
class Figures:
    """What was measured of one kind of client, in seconds."""

    alone: list[float] = field(default_factory=list)
    cpu: float = 0
    rates: list[float] = field(default_factory=list)
    cpu_32: list[float] = field(default_factory=list)
    peak_mb: float | None = None


class OnStdio:
    """`mcpctl serve` with one client on two pipes."""

    name = "serve, stdio"

    def __init__(self, connection: Connection) -> None:
        self.figures, self._connection = Figures(), connection
        connection.write(raw_client.opening("modern"))
        connection.answer()
        target = connection.target
        self._lines = [target.call(n, "echo", {"title": "Buy milk", "n": n}, "modern") for n in range(10, 2010)]
        raw_client.pipelined(connection, self._lines[:200], WIDTH)

    def alone(self) -> None:
        """Calls one after the other."""
        before = self._connection.cpu_s()
        for line in self._lines[:ALONE]:
            self.figures.alone.append(raw_client.pipelined(self._connection, [line], 1))
        self.figures.cpu += self._connection.cpu_s() - before

    def at_once(self) -> None:
        """Calls with 32 in flight."""
        lines, before = self._lines[: WIDTH * EACH], self._connection.cpu_s()
        self.figures.rates.append(len(lines) / raw_client.pipelined(self._connection, lines, WIDTH))
        self.figures.cpu_32.append((self._connection.cpu_s() - before) / len(lines))

    def peak_mb(self) -> float | None:
        """The most memory so far."""
        return self._connection.peak_mb()


class OnHttp:
    """One kind of client of a server that runs."""

    def __init__(self, name: str, running: Running, clients: Sequence[Client]) -> None:
        self.name, self.figures, self._running, self._clients = name, Figures(), running, clients
        raw_http.called(clients, 5)

    def alone(self) -> None:
        """Calls one after the other, on one connection."""
        before = self._running.cpu_s()
        raw_http.called(self._clients[:1], ALONE)
        self.figures.alone += self._clients[0].times
        self.figures.cpu += self._running.cpu_s() - before

    def at_once(self) -> None:
        """Calls on 32 connections."""
        count, before = len(self._clients) * EACH, self._running.cpu_s()
        self.figures.rates.append(count / raw_http.called(self._clients, EACH))
        self.figures.cpu_32.append((self._running.cpu_s() - before) / count)

    def peak_mb(self) -> float | None:
        """The most memory so far."""
        return self._running.peak_mb()


# ---- what is measured


def serve_http(folder: Path, http: str = "", server: str = "") -> HttpTarget:
    """`mcpctl serve --http` on a new home, without tokens, with these lines in its tables."""
    home = raw_client.mcpctl_home(folder, {"up": UPSTREAM})
    with (folder / "config.toml").open("a", encoding="utf-8") as file:
        file.write(f"{server}\n[http]\nrequire_token = false\n{http}\n")
    port = raw_http.free_port()
    return HttpTarget("serve --http", [*MCPCTL, "serve", "--http", str(port)], port, home)


def sdk_proxy() -> HttpTarget:
    """A plain proxy made of the MCP SDK's server over HTTP and its client, with one connection to the upstream."""
    port = raw_http.free_port()
    command = [*raw_client.SDK_PROXY, json.dumps({"up": UPSTREAM}), str(port)]
    return HttpTarget("SDK proxy", command, port)


def fastmcp(folder: Path) -> HttpTarget:
    """FastMCP's proxy over HTTP."""
    target, port = raw_client.fastmcp(folder, {"up": UPSTREAM}), raw_http.free_port()
    command = [*target.command, "--transport", "http", "--port", str(port)]
    return HttpTarget(target.name, command, port, proxy=False)


def available(stack: contextlib.ExitStack, make: Callable[[], HttpTarget], era: str) -> Iterator[OnHttp]:
    """A rival where it works; what is left out is told on stderr."""
    try:
        running = stack.enter_context(raw_http.running(make()))
        clients = [Client(running.target, era, number=n) for n in range(WIDTH)]
        yield OnHttp(running.target.name, running, clients)
    except (Unavailable, OSError) as reason:
        print(f"left out: {reason}", file=sys.stderr)


def measure(folder: Path, runs: int) -> list[OnStdio | OnHttp]:
    """All of them in one shuffled run."""
    with contextlib.ExitStack() as stack:
        on_stdio = raw_client.serve(folder / "stdio", {"up": UPSTREAM})
        benches: list[OnStdio | OnHttp] = [OnStdio(stack.enter_context(Connection(on_stdio)))]
        running = stack.enter_context(raw_http.running(serve_http(folder / "http", _ENOUGH)))
        shared = stack.enter_context(raw_http.running(serve_http(folder / "shared", _ENOUGH, "shared = true")))
        newer = [Client(running.target, "modern", number=n) for n in range(WIDTH)]
        first = Client(running.target, "legacy")
        of_one = [first, *(Client(running.target, "legacy", number=n, session=first.session) for n in range(2, 33))]
        sessions = [Client(shared.target, "legacy", number=n) for n in range(WIDTH)]
        benches.append(OnHttp("serve --http, newer", running, newer))
        benches.append(OnHttp("serve --http, older, 1 session", running, of_one))
        benches.append(OnHttp("serve --http, older, 32 sessions", shared, sessions))
        benches += available(stack, sdk_proxy, "legacy")
        benches += available(stack, lambda: fastmcp(folder / "fastmcp"), "legacy")
        jobs = [job for bench in benches for job in (bench.alone, bench.at_once) for _ in range(runs)]
        random.shuffle(jobs)
        for job in jobs:
            job()
        for bench in benches:
            bench.figures.peak_mb = bench.peak_mb()
        return benches


def row(bench: OnStdio | OnHttp, stdio: OnStdio | OnHttp) -> dict[str, object]:
    """The columns of one; `x_stdio` is the share of what stdio does."""
    figures, base = bench.figures, stdio.figures
    rate, base_rate = raw_client.median(figures.rates), raw_client.median(base.rates)
    return {
        "target": bench.name,
        "calls_per_s_32": rate,
        "x_stdio": rate / base_rate,
        "best_x_stdio": max(figures.rates) / max(base.rates),
        "cpu_us_32": raw_client.median(figures.cpu_32) * 1e6,
        "p50_ms": raw_client.median(figures.alone) * 1000,
        "p99_ms": percentile(figures.alone, 0.99) * 1000,
        "cpu_us": figures.cpu / len(figures.alone) * 1e6,
        "peak_mb": figures.peak_mb,
    }


# ---- a crowd


def opened(target: HttpTarget, era: str, count: int) -> list[Client]:
    """So many clients."""
    return [Client(target, era, number=number) for number in range(1, count + 1)]


def recorded(home: Path) -> Counter[str]:
    """How many lines of each kind the journals have."""
    kinds: Counter[str] = Counter()
    for file in home.rglob("*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            kinds[json.loads(line).get("type", "")] += 1
    return kinds


def crowd(folder: Path, era: str) -> dict[str, Any]:
    """500 clients with 32 calls each: how the clients fare, and what it takes."""
    target = serve_http(folder / "home", _ENOUGH, "shared = true")
    with raw_http.running(target) as running:
        clients = opened(target, era, CROWD)
        before = running.cpu_s()
        seconds = raw_http.called(clients, CALLS)
        cpu = running.cpu_s() - before
        slow = sorted(percentile(client.times, 0.99) for client in clients)
        numbers: dict[str, Any] = {
            "calls": sum(len(client.times) for client in clients),
            "calls_per_s": CROWD * CALLS / seconds,
            "cpu_us": cpu / (CROWD * CALLS) * 1e6,
            "p99_ms_of_the_median_client": slow[len(slow) // 2] * 1000,
            "p99_ms_of_the_slowest_client": slow[-1] * 1000,
            "slowest_x_median": slow[-1] / slow[len(slow) // 2],
            "peak_mb": running.peak_mb(),
            "descriptors": running.descriptors(),
        }
        for client in clients:
            client.close()
    kinds = recorded(folder / "home")
    return {**numbers, "records": {kind: kinds[kind] for kind in ("calls.started", "calls.finished")}}


def stuck(folder: Path) -> dict[str, Any]:
    """499 clients work, without and with one that never reads: how long their calls take."""
    target = serve_http(folder / "home", _ENOUGH, "shared = true")
    with raw_http.running(target) as running:
        clients = opened(target, "modern", CROWD - 1)
        raw_http.called(clients, 4)
        spread = {"without": lateness(clients)}
        idle = []
        for number in range(CALLS):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            connection.connect(("127.0.0.1", target.port))
            connection.sendall(target.call("big", {"mb": 1}, "modern", id=number))
            idle.append(connection)
        time.sleep(2)
        spread["with"] = lateness(clients)
        spread["peak_mb"] = {"": running.peak_mb() or 0}
        for each in idle:
            each.close()
    return {**spread, "late_beyond_ms": LATE_S * 1000}


def lateness(clients: Sequence[Client]) -> dict[str, float]:
    """Calls of clients that ask one after the other, as far apart as the machine can bear."""
    times: list[float] = []
    for client in [*clients] * 4:
        start = time.perf_counter()
        client.ask(client.request)
        times.append(time.perf_counter() - start)
    shares = {f"p{share}_ms": percentile(times, share / 100) * 1000 for share in (50, 90, 99)}
    return {**shares, "most_ms": max(times) * 1000, "late": sum(each > LATE_S for each in times), "calls": len(times)}


def told(numbers: Mapping[str, Any], *, as_json: bool) -> str:
    """Numbers by name."""
    if as_json:
        return json.dumps(numbers, indent=2)
    return "\n".join(
        f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}" for name, value in numbers.items()
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="how often each target has its turn")
    parser.add_argument("--crowd", nargs="?", const="newer", choices=("newer", "older"), help="500 clients of that era")
    parser.add_argument("--stuck", action="store_true", help="499 clients beside one that never reads")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    options = parser.parse_args()
    gc.disable()
    try:
        with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as name, raw_client.within(900, "the whole run"):
            if options.crowd:
                era = "modern" if options.crowd == "newer" else "legacy"
                print(told(crowd(Path(name), era), as_json=options.json))
            elif options.stuck:
                print(told(stuck(Path(name)), as_json=options.json))
            else:
                benches = measure(Path(name), options.runs)
                rows = [row(bench, benches[0]) for bench in benches]
                print(json.dumps(rows, indent=2) if options.json else raw_client.table(rows))
    except Unavailable as reason:
        print(f"stopped: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
