"""What the dashboard costs: `python -m tests.bench.dashboard [--calls N] [--runs N] [--home FOLDER] [--json]`

How long it takes to start, beside `mcpctl calls ls`; then each page and route with so many calls on record, beside
the same with a few, and the most memory it has had. Compare the ratios; times are this machine's.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from mcpctl.base.paths import find
from tests.bench import raw_client
from tests.bench.raw_client import MCPCTL, Unavailable
from tests.bench.records import A_SESSION, CONFIG, make_journals, run

FEW = 100
"""Calls of the record that the other is compared with."""
PAGES = (
    "/",
    "/sessions",
    "/sessions/{session}",
    "/sessions/{session}?offset={last}",
    "/tool-calls",
    "/tool-calls?sessionId={session}",
    "/tool-calls?sessionId={session}&offset={last}",
    "/tool-calls?offset={last}",
    "/tool-calls?failed=true",
    "/tool-calls?status=denied",
    "/tool-calls?server=server3",
    "/tool-calls?server=server3&hint=idempotent",
    "/tool-calls?server=server7&tool=tool_7",
    "/tool-calls?hint=destructive",
    "/tool-calls?since=2026-03-01&until=2026-03-02",
    "/tool-calls?outcome=error&client=zed&since=7d",
    "/tool-calls?grep=777777",
    "/tool-calls/{call}",
    "/tools",
    "/servers",
    "/approvals",
    "/review",
    "/reads",
    "/stats",
    "/stats?since=all",
    "/stats?since=yesterday",
    "/api/v1/sessions",
    "/api/v1/sessions/{session}",
    "/api/v1/sessions/{session}/timeline",
    "/api/v1/sessions/{session}/tool-calls",
    "/api/v1/tool-calls",
    "/api/v1/tool-calls?limit=1000",
    "/api/v1/tool-calls?limit=1000&payloads=false&offset={last}",
    "/api/v1/tool-calls?status=denied&server=server3",
    "/api/v1/tool-calls/{call}",
    "/api/v1/tools",
    "/api/v1/servers",
    "/api/v1/discoveries",
    "/api/v1/stats?by=day",
    "/api/v1/stats?by=error",
    "/api/v1/approvals",
)


class Dashboard:
    """One that runs over a home, and somebody who has logged in."""

    def __init__(self, process: "subprocess.Popen[str]", link: str) -> None:
        self._pid = process.pid
        self._connection = http.client.HTTPConnection(urlsplit(link).netloc, timeout=120)
        self._cookie = ""
        with self._answer(urlsplit(link).path) as answer:
            answer.read()
            self._cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]

    def get(self, path: str) -> bytes:
        """The body of an answer."""
        with self._answer(path) as answer:
            body = answer.read()
        if answer.status != 200:
            raise Unavailable(f"{path} is answered with status {answer.status}")
        return body

    def answered(self, path: str) -> float:
        """The seconds until an answer is there."""
        start = time.perf_counter()
        self.get(path)
        return time.perf_counter() - start

    def first(self, path: str) -> Any:
        """The first row of a list, and the total."""
        found = json.loads(self.get(path))
        rows = next(value for value in found.values() if isinstance(value, list))
        return rows[0], found["total"]

    def cpu_s(self) -> float:
        """The CPU that it has taken so far."""
        used = psutil.Process(self._pid).cpu_times()
        return float(used.user + used.system)

    def peak_mb(self) -> float | None:
        """The most memory it has had."""
        return raw_client.peak_mb(self._pid)

    def _answer(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        return self._connection.getresponse()


@contextmanager
def started(env: Mapping[str, str]) -> Iterator[tuple[Dashboard, float]]:
    """A dashboard, and the seconds from spawn until its first page is there."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [*MCPCTL, "dashboard", "--json", "--no-open"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env={**raw_client.environment(), **env}, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            raise Unavailable("mcpctl dashboard does not start")
        if json.loads(line)["pid"] != process.pid:
            raise Unavailable("a dashboard runs over that home already")
        dashboard = Dashboard(process, json.loads(line)["url"])
        dashboard.get("/sessions")
        yield dashboard, time.perf_counter() - start
    finally:
        process.terminate()
        process.communicate()


def home(folder: Path, calls: int, a_session: int) -> dict[str, str]:
    """A home with so many calls on record, indexed."""
    env = {"MCPCTL_HOME": str(folder)}
    paths = find(env=env)
    if not paths.sessions.exists():
        folder.mkdir(exist_ok=True)
        paths.config.write_text(CONFIG, encoding="utf-8")
        make_journals(paths, calls, a_session)
    run([*MCPCTL, "calls", "ls", "--count"], env)
    return env


def starts(env: Mapping[str, str], runs: int) -> list[dict[str, object]]:
    """How long a start takes, beside a command that lists calls."""
    listing = raw_client.median([run([*MCPCTL, "calls", "ls", "--limit", "50"], env).wall_s for _ in range(runs)])
    times = []
    for _ in range(runs):
        with started(env) as (_, seconds):
            times.append(seconds)
    ready = raw_client.median(times)
    return [{"what": "start to a page", "ms": ready * 1000, "vs_calls_ls": ready / listing}]


@dataclass(frozen=True)
class Taken:
    """What the answers of one page took."""

    first_s: float
    median_s: float
    cpu_s: float
    """Of each, on average: where others use the machine, it says more."""


def measure(env: Mapping[str, str], runs: int) -> tuple[dict[str, Taken], float | None]:
    """What each page takes, and the most memory afterwards."""
    with started(env) as (dashboard, _):
        session, _ = dashboard.first("/api/v1/sessions?limit=1")
        call, total = dashboard.first("/api/v1/tool-calls?limit=1")
        known = {"session": session["id"], "call": call["id"]}
        last, of_session = max(0, total - 50), max(0, session["tool_call_count"] - 50)
        taken = {}
        for page in PAGES:
            path = page.format(**known, last=of_session if "{session}" in page else last)
            before = dashboard.cpu_s()
            times = [dashboard.answered(path) for _ in range(runs)]
            taken[page] = Taken(times[0], raw_client.median(times), (dashboard.cpu_s() - before) / runs)
        return taken, dashboard.peak_mb()


def rows(many: Mapping[str, str], few: Mapping[str, str], runs: int) -> Sequence[dict[str, object]]:
    """A row for the start, for each page and route, and for memory."""
    found = starts(many, min(runs, 5))
    (taken, peak), (small, small_peak) = measure(many, runs), measure(few, runs)
    found += [
        {"what": page, "ms": of.median_s * 1000, "first_ms": of.first_s * 1000, "cpu_ms": of.cpu_s * 1000,
         "few_ms": small[page].median_s * 1000, "vs_few": of.median_s / small[page].median_s}
        for page, of in taken.items()
    ]  # fmt: skip
    return [*found, {"what": "most memory, MB", "mb": peak, "few_mb": small_peak}]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000, help="how many calls are on record")
    parser.add_argument("--session", type=int, default=A_SESSION, help="how many calls a session has")
    parser.add_argument("--runs", type=int, default=7, help="how often each page is read")
    parser.add_argument("--home", type=Path, help="a folder to make them in, or one that has them already")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as folder:
        try:
            few = home(Path(folder, "few"), FEW, FEW)
            many = home(options.home or Path(folder, "many"), options.calls, options.session)
            found = rows(many, few, options.runs)
        except Unavailable as reason:
            print(f"stopped: {reason}", file=sys.stderr)
            return 1
    about = {"calls": options.calls, "session": options.session, "python": sys.version.split()[0]}
    print(json.dumps({**about, "pages": found}, indent=2) if options.json else raw_client.table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
