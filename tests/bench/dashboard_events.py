"""What six open pages cost: `python -m tests.bench.dashboard_events [--block S] [--pairs N] [--rate N] [--json]`

Calls go through `mcpctl serve` at a steady rate. In one of two blocks of seconds six clients listen to a dashboard,
which is stopped in the other; each client has to get every event of its block once and in order. Compare the blocks
with each other; times are this machine's.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import uvicorn
from starlette.types import Receive, Scope, Send

from mcpctl.base.paths import find
from mcpctl.dashboard.app import app
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.dashboard.running import Login
from tests.bench import raw_client
from tests.bench.raw_client import UPSTREAM, Connection, Unavailable

CLIENTS = 6
EVENTS_OF_CALL = ("calls.started", "calls.finished", "sessions.updated")
ME = [sys.executable, "-m", "tests.bench.dashboard_events"]
_LATE_S = 20


def serve_dashboard() -> None:
    """A dashboard for whoever names a login; its port is printed."""
    board = Dashboard(find(), 0)
    inner = app(board)
    logins = [Login(may_answer=False, form_token="") for _ in range(CLIENTS)]

    async def seen(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["login"] = logins[int(dict(scope["headers"])[b"x-login"])]
        await inner(scope, receive, send)

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print(self.servers[0].sockets[0].getsockname()[1], flush=True)

    Server(uvicorn.Config(seen, port=0, log_level="critical", timeout_graceful_shutdown=1)).run()


class Clients:
    """Six clients, and what each of them got: types and ids."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reading: list[asyncio.Task[None]] = []
        self._got: list[list[tuple[str, str]]] = []
        self._came = asyncio.Event()

    async def open(self) -> str:
        """Connect; each stream has begun then."""
        for number in range(CLIENTS):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
            writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Login: {number}\r\n\r\n".encode())
            await reader.readuntil(b"retry")
            got: list[tuple[str, str]] = []
            self._got.append(got)
            self._reading.append(asyncio.create_task(self._read(reader, writer, got)))
        return "opened"

    async def _read(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, got: list[tuple[str, str]]
    ) -> None:
        with contextlib.closing(writer):
            while line := await reader.readline():
                if line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    got.append((event["type"], event["data"].get("id") or event["data"].get("session_id", "")))
                    self._came.set()

    async def close(self, number: int) -> str:
        """Wait until each has so many events, or for long, and disconnect; what they got."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LATE_S):
                while any(len(got) < number for got in self._got):
                    self._came.clear()
                    await self._came.wait()
        await asyncio.sleep(0.5)  # what comes twice may come late
        for task in self._reading:
            task.cancel()
        await asyncio.wait(self._reading)
        got, self._got, self._reading = self._got, [], []
        return json.dumps(got)


async def listen(port: int) -> None:
    """Do what is said on stdin: `open`, and `close N`."""
    clients = Clients(port)
    while words := (await asyncio.to_thread(sys.stdin.readline)).split():
        print(await (clients.open() if words[0] == "open" else clients.close(int(words[1]))), flush=True)


class Bench:
    """A `serve`, a dashboard, and its clients."""

    def __init__(self, serve: Connection, dashboard: subprocess.Popen[str], clients: subprocess.Popen[str]) -> None:
        self._serve, self._dashboard, self._clients = serve, dashboard, clients
        self._numbers = iter(range(1, sys.maxsize))

    def block(self, seconds: float, rate: float, *, listening: bool) -> dict[str, float]:
        """Call at a steady rate; what that took, and with clients what they got."""
        os.kill(self._dashboard.pid, signal.SIGCONT)
        if listening:
            self._say("open")
        else:
            os.kill(self._dashboard.pid, signal.SIGSTOP)
        dashboard = psutil.Process(self._dashboard.pid)
        cpu, cpu_of_dashboard = self._serve.cpu_s(), _cpu_s(dashboard)
        taken = list(self._calls(int(seconds * rate / len(EVENTS_OF_CALL)), rate / len(EVENTS_OF_CALL)))
        row = {
            "calls": len(taken),
            "median_ms": statistics.median(taken) * 1000,
            "p95_ms": statistics.quantiles(taken, n=20)[-1] * 1000,
            "serve_cpu_ms_a_call": (self._serve.cpu_s() - cpu) / len(taken) * 1000,
            "dashboard_cpu_percent": (_cpu_s(dashboard) - cpu_of_dashboard) / seconds * 100,
        }
        if listening:
            row |= self._compared(json.loads(self._say(f"close {len(taken) * len(EVENTS_OF_CALL)}")), len(taken))
        return row

    def _calls(self, number: int, rate: float) -> Iterator[float]:
        due = time.perf_counter()
        for _ in range(number):
            time.sleep(max(0, due - time.perf_counter()))
            due += random.uniform(0.5, 1.5) / rate
            start = time.perf_counter()
            line = self._serve.target.call(next(self._numbers), "echo", {"text": "x" * 200}, "legacy")
            self._serve.write(line)
            self._serve.answer()
            yield time.perf_counter() - start

    def _say(self, word: str) -> str:
        assert self._clients.stdin and self._clients.stdout
        print(word, file=self._clients.stdin, flush=True)
        return self._clients.stdout.readline()

    @staticmethod
    def _compared(got: Sequence[Sequence[Sequence[str]]], calls: int) -> dict[str, float]:
        every = [[tuple(event) for event in each if event[0] in EVENTS_OF_CALL] for each in got]
        ids = [[id_ for type_, id_ in each if type_ == "calls.finished"] for each in every]
        expected = calls * len(EVENTS_OF_CALL)
        return {
            "events_each": expected,
            "lost": sum(max(0, expected - len(each)) for each in every),
            "twice": sum(len(each) - len(set(each)) for each in ids) + sum(max(0, len(e) - expected) for e in every),
            "out_of_order": sum(each != every[0] for each in every),
        }


def _cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def measure(seconds: float, pairs: int, rate: float) -> list[dict[str, Any]]:
    """A row for each block, with clients and without in turn, the first of each pair by chance."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as folder, contextlib.ExitStack() as stack:
        target = raw_client.serve(Path(folder) / "home", {"up": UPSTREAM})
        env = {**raw_client.environment(), **target.env}
        serve = stack.enter_context(Connection(target))
        serve.write(raw_client.opening("legacy"))
        serve.answer()
        dashboard = stack.enter_context(_child([*ME, "--dashboard"], env))
        assert dashboard.stdout
        clients = stack.enter_context(_child([*ME, "--clients", dashboard.stdout.readline().strip()], env))
        bench = Bench(serve, dashboard, clients)
        bench.block(1, rate, listening=True)
        for _ in range(pairs):
            for listening in random.sample([True, False], 2):
                name = f"{CLIENTS} clients" if listening else "no dashboard"
                rows.append({"block": name, **bench.block(seconds, rate, listening=listening)})
    return rows


@contextlib.contextmanager
def _child(command: Sequence[str], env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Clients against none: medians of the blocks."""

    def of(name: str, *, listening: bool) -> float:
        figures: list[float] = [row[name] for row in rows if ("lost" in row) == listening]
        return statistics.median(figures)

    compared = ("median_ms", "p95_ms", "serve_cpu_ms_a_call")
    ratios = {f"{name}_ratio": of(name, listening=True) / of(name, listening=False) for name in compared}
    counted = {name: sum(row.get(name, 0) for row in rows) for name in ("lost", "twice", "out_of_order")}
    return {**ratios, **counted, "events_each": sum(row.get("events_each", 0) for row in rows)}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--block", type=float, default=10, help="seconds of a block")
    parser.add_argument("--pairs", type=int, default=6, help="how many blocks of either kind")
    parser.add_argument("--rate", type=float, default=50, help="events a second")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--dashboard", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--clients", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.dashboard:
        serve_dashboard()
        return 0
    if options.clients:
        asyncio.run(listen(options.clients))
        return 0
    try:
        rows = measure(options.block, options.pairs, options.rate)
    except Unavailable as reason:
        print(f"stopped: {reason}", file=sys.stderr)
        return 1
    said = summary(rows)
    if options.json:
        print(json.dumps({"blocks": rows, **said}, indent=2))
    else:
        print(raw_client.table(rows))
        print(*(f"{name}: {value:.3g}" for name, value in said.items()), sep="\n")
    return 1 if said["lost"] or said["twice"] else 0


if __name__ == "__main__":
    sys.exit(main())
