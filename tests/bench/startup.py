"""What starting costs: `python -m tests.bench.startup [--runs N] [--calls N] [--json]`

`serve`, a plain proxy made of the MCP SDK, and FastMCP's: from spawn until `tools/list` is answered, `serve` on a fresh
home; `x_mcpctl` is how many times what it takes. Commands: the whole process, wall clock and CPU.
All against `python -c pass` in the same interpreter, interleaved and shuffled. Compare the ratios; times are this
machine's.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcpctl.base.paths import find
from tests.bench import raw_client
from tests.bench.raw_client import COUNTER, ERAS, MCPCTL, Connection, Target, Unavailable
from tests.recorded import call, session

A_SESSION = 1000
READERS = (
    "calls ls --json",
    "calls ls --json --limit 50",
    "calls ls --count",
    "calls show last",
    "sessions ls --json",
    "tools ls --json",
    "tools search arguments --json",
)
BARE = "python -c pass"
SERVE = "mcpctl serve"

Sample = tuple[float, float | None]
"""Seconds of wall clock, and of CPU where the process ends by itself."""


@dataclass
class Case:
    """Something that is started again and again."""

    name: str
    run: Callable[[], Sample]
    ours: str = ""
    """The case of mcpctl's that this one is to be compared with."""
    samples: list[Sample] = field(default_factory=list)

    @property
    def wall(self) -> float:
        """Median seconds."""
        return raw_client.median([wall for wall, _ in self.samples])

    @property
    def cpu(self) -> float | None:
        """Median seconds of CPU."""
        seconds = [cpu for _, cpu in self.samples if cpu is not None]
        return raw_client.median(seconds) if seconds else None


def whole_process(command: Sequence[str], env: Mapping[str, str] | None = None) -> Sample:
    """Run a command to its end."""
    start = time.perf_counter()
    with raw_client.within(60, " ".join(command[1:])):
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**raw_client.environment(), **(env or {})},
        )
        try:
            _, status, used = os.wait4(process.pid, 0)
        except Unavailable:
            process.kill()
            raise
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    with process:
        if process.returncode:
            assert process.stderr
            last = process.stderr.read().decode(errors="replace").strip().splitlines()[-1:]
            raise Unavailable(f"{' '.join(command[1:])} ended with status {process.returncode}: {' '.join(last)}")
    return wall, used.ru_utime + used.ru_stime


def until_listed(target: Target, era: str) -> Sample:
    """From spawn until `tools/list` is answered; the end of the process is not part of it."""
    lines = raw_client.opening(era) + raw_client.request(1, "tools/list", {}, era)
    start = time.perf_counter()
    with Connection(target) as connection, raw_client.within(60, f"tools/list of {target.name}"):
        connection.write(lines)
        connection.answer()
        connection.answer()
        return time.perf_counter() - start, None


def upstreams(count: int) -> dict[str, list[str]]:
    """That many servers to stand behind a proxy."""
    return {("up", *(f"up{n}" for n in range(2, count + 1)))[i]: COUNTER for i in range(count)}


def serve_cases(folder: Path) -> list[Case]:
    """`mcpctl serve`, the SDK proxy and FastMCP's, before 1 and 5 servers, in both eras."""
    fresh = (folder / f"home-{n}" for n in itertools.count())
    peers: list[Callable[[int], Target]] = [
        lambda count: raw_client.serve(next(fresh), upstreams(count)),
        lambda count: raw_client.sdk_proxy(upstreams(count)),
        lambda count: raw_client.fastmcp(next(fresh), upstreams(count)),
    ]
    listing = raw_client.request(1, "tools/list", {}, "legacy")
    cases: list[Case] = []
    for peer in peers:
        try:
            target = peer(1)
            raw_client.check(target, "legacy", listing)
        except Unavailable as reason:
            print(f"left out: {reason}", file=sys.stderr)
            continue
        for count, era in itertools.product((1, 5), ERAS):
            of = f", {count} behind, {era}"
            cases.append(Case(target.name + of, lambda p=peer, c=count, e=era: until_listed(p(c), e), SERVE + of))  # type: ignore[misc]
    return cases


def recorded_home(folder: Path, calls: int) -> dict[str, str]:
    """A home whose server's tools are listed, by a call through `serve`, with so many more calls on record."""
    target = raw_client.serve(folder / "recorded", upstreams(1))
    with Connection(target) as connection, raw_client.within(120, "recording a call"):
        connection.write(raw_client.opening("legacy"))
        connection.answer()
        raw_client.pipelined(connection, [target.call(1, "echo", {"title": "Buy milk"}, "legacy")], 1)
    paths = find(env=target.env)
    for first in range(0, calls, A_SESSION):
        id_, numbers = str(uuid.UUID(int=first)), range(first, min(first + A_SESSION, calls))
        made = (call(str(uuid.UUID(int=n)), 700 * n / calls, id_, server="up", tool="echo") for n in numbers)
        session(paths, id_, 700 * first / calls, [line for lines in made for line in lines])
    return dict(target.env)


def command_cases(folder: Path, calls: int) -> list[Case]:
    """Whole runs of mcpctl commands; those that read records only where `serve` can make some."""
    commands: list[tuple[list[str], Mapping[str, str]]] = [(["--help"], {})]
    try:
        home = recorded_home(folder, calls)
        commands += [(words.split(), home) for words in READERS]
    except Unavailable as reason:
        print(f"left out: commands that read records: {reason}", file=sys.stderr)
    cases: list[Case] = []
    for words, env in commands:
        command = [*MCPCTL, *words]
        try:
            whole_process(command, env)
        except Unavailable as reason:
            print(f"left out: {reason}", file=sys.stderr)
            continue
        cases.append(Case(" ".join(["mcpctl", *words]), lambda c=command, e=env: whole_process(c, e)))  # type: ignore[misc]
    return cases


def row(case: Case, bare: Case, ours: Case | None) -> dict[str, object]:
    """The columns of one case."""
    return {
        "what": case.name,
        "wall_ms": case.wall * 1000,
        "wall_vs_python": case.wall / bare.wall,
        "x_mcpctl": case.wall / ours.wall if ours else None,
        "cpu_ms": None if case.cpu is None else case.cpu * 1000,
        "cpu_vs_python": case.cpu / bare.cpu if case.cpu is not None and bare.cpu else None,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11, help="how often each is started")
    parser.add_argument("--calls", type=int, default=1000, help="how many calls are on record")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    bare = Case(BARE, lambda: whole_process([sys.executable, "-c", "pass"]))
    try:
        with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as folder:
            cases = [bare, *command_cases(Path(folder), options.calls), *serve_cases(Path(folder))]
            for _ in range(options.runs):
                for case in random.sample(cases, len(cases)):
                    case.samples.append(case.run())
    except Unavailable as reason:
        print(f"stopped: {reason}", file=sys.stderr)
        return 1
    named = {case.name: case for case in cases}
    rows = [row(case, bare, named.get(case.ours)) for case in cases]
    about = {"runs": options.runs, "calls": options.calls, "python": sys.version.split()[0]}
    print(json.dumps({**about, "cases": rows}, indent=2) if options.json else raw_client.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
