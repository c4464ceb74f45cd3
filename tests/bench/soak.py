"""An hour's worth of calls in minutes: `python -m tests.bench.soak [--calls N]`

Five upstreams, 32 calls in flight, a tenth of them failing in every way that a server can refuse. Memory and file
descriptors must stay flat, and the record must hold every call once, with its outcome. Ends with 1 when one does not.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.bench import raw_client
from tests.bench.raw_client import UPSTREAM
from tests.proxy.client import SERVE, Client, journal_lines, write_config
from tests.servers import command

WIDTH = 32
SAMPLES = 20
GROWTH_MB = 16
"""What the heap may vary by once it is warm; a leak of 1 KB a call would show as ten times that."""
FAILURES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("strict:strict_result", {"title": ""}, "tool_error"),
    ("strict:strict_error", {"title": ""}, "failed"),
    ("strict:strict_result", {"title": "a", "priority": 9}, "tool_error"),
    ("gone:nothing", {}, "failed"),
    ("nowhere:nothing", {}, "failed"),
)


def calls(count: int) -> Iterator[tuple[str, dict[str, Any], str]]:
    """What is called, with what, and what becomes of it; every tenth fails."""
    for number in range(count):
        if number % 10 == 9:
            yield FAILURES[number // 10 % len(FAILURES)]
        else:
            yield f"up{number % 4}:echo", {"n": number, "text": "x" * (number % 500)}, "ok"


def soak(count: int, home: Path) -> tuple[list[tuple[int, float, int]], collections.Counter[str], float]:
    """Make the calls; samples of (calls done, MB resident, descriptors), the outcomes expected, and the seconds."""
    servers: dict[str, Any] = {f"up{number}": UPSTREAM for number in range(4)}
    write_config(home, {**servers, "strict": command("strict"), "gone": ["no-such-command"]})
    client = Client(SERVE, home / "stderr.txt", env={"MCPCTL_HOME": str(home)})
    process = psutil.Process(client.process.pid)
    samples, expected = [], collections.Counter[str]()
    try:
        client.open()
        for number in range(4):
            client.call(f"up{number}:echo", {})
        client.call("strict:strict_result", {"title": "warm", "priority": 1})
        expected["ok"] += 5
        began, done, waiting = time.perf_counter(), 0, set()
        for key, arguments, status in calls(count):
            expected[status] += 1
            waiting.add(client.start_call(key, arguments))
            if len(waiting) == WIDTH:
                waiting.discard(json.loads(client.line())["id"])
                done += 1
                if done % (count // SAMPLES) == 0:
                    samples.append((done, process.memory_info().rss / 1e6, process.num_fds()))
        while waiting:
            waiting.discard(json.loads(client.line())["id"])
        return samples, expected, time.perf_counter() - began
    finally:
        client.close()


def recorded(home: Path) -> tuple[collections.Counter[str], int]:
    """The outcomes in the journals, and how many calls the index has."""
    lines = journal_lines(home)
    ends: dict[str, list[str]] = {line["id"]: [] for line in lines if line["type"] == "calls.started"}
    for line in lines:
        if line["type"] == "calls.finished":
            ends[line["id"]].append(line["status"])
    assert all(len(end) == 1 for end in ends.values()), "a call without an end, or with two"
    argv = [sys.executable, "-m", "mcpctl", "calls", "ls", "--count"]
    counted = subprocess.run(
        argv, env={**raw_client.environment(), "MCPCTL_HOME": str(home)}, capture_output=True, check=True
    )
    return collections.Counter(end[0] for end in ends.values()), int(counted.stdout)


def main() -> int:
    """Run it and say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000, help="how many (default: 100000)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcpctl-soak-") as folder:
        samples, expected, seconds = soak(given.calls, Path(folder))
        outcomes, indexed = recorded(Path(folder))
    for done, megabytes, descriptors in samples:
        print(f"{done:>8,} calls  {megabytes:6.1f} MB  {descriptors} descriptors")
    warm = samples[len(samples) // 4 :]
    growth = warm[-1][1] - warm[0][1]
    print(f"{given.calls / seconds:,.0f} calls/s; {growth:+.1f} MB since warm; outcomes on record: {dict(outcomes)}")
    wrong = {
        f"memory grew by {growth:.1f} MB": growth > GROWTH_MB,
        # One or two come and go with the index, which is kept aside.
        "descriptors are not flat": warm[-1][2] - warm[0][2] > 4,
        f"the record should have {dict(expected)}": outcomes != expected,
        f"the index has {indexed:,} calls": indexed != sum(expected.values()),
    }
    for what in (said for said, is_so in wrong.items() if is_so):
        print(f"WRONG: {what}")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
