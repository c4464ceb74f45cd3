"""What a call through a proxy costs: `python -m tests.bench.calls [--runs N] [--era legacy|modern] [--json]`

Direct, through `mcpctl serve` with its records, through a plain proxy made of the MCP SDK, and through FastMCP's: the
same upstream, the same client, one shuffled run. Compare the columns with each other; times are this machine's.
"""

import argparse
import contextlib
import gc
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench import raw_client
from tests.bench.raw_client import ERAS, UPSTREAM, Connection, Target, Unavailable

WIDTH = 32
BLOCK = 100
"""Sequential calls in a row before another target has its turn."""
NUMBERS = iter(range(10, sys.maxsize))


@dataclass
class Figures:
    """What was measured of one target, in seconds."""

    sequential: list[float] = field(default_factory=list)
    cpu: float = 0
    """All of the sequential calls together, of the process itself."""
    pipelined: list[float] = field(default_factory=list)
    mb1: list[float] = field(default_factory=list)
    mb20: list[float] = field(default_factory=list)
    small_peak_mb: float | None = None
    peak_mb: float | None = None


class Bench:
    """One connection, its figures, and the ways to add to them."""

    def __init__(self, connection: Connection, era: str) -> None:
        self.connection, self.era, self.figures = connection, era, Figures()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        """The line of one call."""
        return self.connection.target.call(next(NUMBERS), tool, arguments, self.era)

    def one(self, line: bytes) -> float:
        """The seconds from request to answer."""
        start = time.perf_counter()
        self.connection.write(line)
        self.connection.answer()
        return time.perf_counter() - start

    def sequential(self) -> None:
        """A block of small calls, one after the other."""
        lines = [self.call("echo", {"title": "Buy milk", "n": n}) for n in range(BLOCK)]
        before = self.connection.cpu_s()
        self.figures.sequential += [self.one(line) for line in lines]
        self.figures.cpu += self.connection.cpu_s() - before

    def pipelined(self) -> None:
        """A block of small calls, many at once; kept as calls per second."""
        lines = [self.call("echo", {"title": "Buy milk", "n": n}) for n in range(BLOCK * 5)]
        self.figures.pipelined.append(len(lines) / raw_client.pipelined(self.connection, lines, WIDTH))

    def mb1(self) -> None:
        """One result of 1 MB."""
        self.figures.mb1.append(self.one(self.call("big", {"mb": 1})))

    def mb20(self) -> None:
        """One result of 20 MB."""
        self.figures.mb20.append(self.one(self.call("big", {"mb": 20})))


def available(targets: Sequence[Callable[[], Target]], era: str) -> Iterator[Target]:
    """The targets that work here; what is left out is told on stderr."""
    for make in targets:
        try:
            target = make()
            raw_client.check(target, era, target.call(1, "echo", {"a": 1}, era))
        except Unavailable as reason:
            print(f"left out: {reason}", file=sys.stderr)
        else:
            yield target


def shuffled(benches: Sequence[Bench], plan: Mapping[Callable[[Bench], None], int]) -> None:
    """Do every job of the plan for every target, in one random order."""
    jobs = [(job, bench) for job, times in plan.items() for bench in benches for _ in range(times)]
    random.shuffle(jobs)
    for job, bench in jobs:
        job(bench)


def measure(targets: Sequence[Target], runs: int, era: str) -> dict[str, Figures]:
    """All figures of all targets; small calls first, so that their memory can be told from that of large results."""
    with contextlib.ExitStack() as stack:
        benches = [Bench(stack.enter_context(Connection(target)), era) for target in targets]
        for bench in benches:
            bench.connection.write(raw_client.opening(era))
            bench.connection.answer()
            raw_client.pipelined(bench.connection, [bench.call("echo", {}) for _ in range(200)], WIDTH)
        shuffled(benches, {Bench.sequential: max(1, runs // BLOCK), Bench.pipelined: max(2, runs // 250)})
        for bench in benches:
            bench.figures.small_peak_mb = bench.connection.peak_mb()
        shuffled(benches, {Bench.mb1: max(3, runs // 100), Bench.mb20: max(3, runs // 400)})
        for bench in benches:
            bench.figures.peak_mb = bench.connection.peak_mb()
        return {bench.connection.target.name: bench.figures for bench in benches}


def row(name: str, figures: Figures, direct: Figures, serve: Figures | None) -> dict[str, object]:
    """The columns of one target; `x_mcpctl` is how many times what `mcpctl serve` takes."""
    p50, floor = raw_client.median(figures.sequential), raw_client.median(direct.sequential)
    per_s, big = raw_client.median(figures.pipelined), raw_client.median(figures.mb20)
    added = p50 - floor if figures is not direct else None
    serve_added = raw_client.median(serve.sequential) - floor if serve else None
    return {
        "target": name,
        "p50_ms": p50 * 1000,
        "p99_ms": raw_client.percentile(figures.sequential, 0.99) * 1000,
        "added_p50_ms": None if added is None else added * 1000,
        "added_x_mcpctl": added / serve_added if added is not None and serve_added else None,
        "cpu_us": figures.cpu / len(figures.sequential) * 1e6,
        "cpu_x_mcpctl": figures.cpu / serve.cpu if serve and serve.cpu else None,
        "calls_per_s_32": per_s,
        "calls_32_vs_direct": per_s / raw_client.median(direct.pipelined),
        "calls_32_x_mcpctl": per_s / raw_client.median(serve.pipelined) if serve else None,
        "mb1_ms": raw_client.median(figures.mb1) * 1000,
        "mb20_ms": big * 1000,
        "mb20_vs_direct": big / raw_client.median(direct.mb20),
        "peak_mb_small": figures.small_peak_mb,
        "peak_mb": figures.peak_mb,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="sequential calls per target; the rest in proportion")
    parser.add_argument("--era", choices=ERAS, default="legacy", help="which protocol the client speaks")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    gc.disable()
    try:
        with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as folder:
            up = {"up": UPSTREAM}
            direct = Target("direct", UPSTREAM, proxy=False)
            peers: list[Callable[[], Target]] = [
                lambda: raw_client.serve(Path(folder, "home"), up),
                lambda: raw_client.sdk_proxy(up),
                lambda: raw_client.fastmcp(Path(folder, "fastmcp"), up),
            ]
            targets = [direct, *available(peers, options.era)]
            with raw_client.within(60 + options.runs / 10, "the whole run"):
                figures = measure(targets, options.runs, options.era)
    except Unavailable as reason:
        print(f"stopped: {reason}", file=sys.stderr)
        return 1
    rows = [row(name, taken, figures["direct"], figures.get("mcpctl serve")) for name, taken in figures.items()]
    about = {"runs": options.runs, "era": options.era, "python": sys.version.split()[0]}
    print(json.dumps({**about, "targets": rows}, indent=2) if options.json else raw_client.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
