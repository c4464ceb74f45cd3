"""What reading records costs: `python -m tests.bench.records [--calls N] [--runs N] [--json]`

Journals of so many calls are made; then how many of them `db rebuild` reads in a second, and what commands that read
records take beside `python -c pass`, in CPU, and their peak memory. Compare the ratios; times are this machine's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcpctl.base.paths import Paths, find
from mcpctl.store import clock, journal_lines
from tests.bench import raw_client
from tests.bench.raw_client import MCPCTL, Unavailable
from tests.recorded import call, closed, created, hints, opened, raw

A_SESSION = 10_000
TOOLS = [(f"server{n % 8}", f"tool_{n}") for n in range(50)]
RESPONSE = raw({"content": [{"type": "text", "text": "cloudy, with some rain in the afternoon; " * 4}]})
ERRORS = ("no answer from host {} in time", "Invalid timezone 'Mars/Olympus'", "row {0} of table {0} is locked")
REFUSAL = {"code": "denied", "message": "tool 'tool' is denied by the policy (deny = server*:*)"}
HINTS = (hints(True, None, None, True), hints(False, True, None, False), hints(None, None, None, None))
CLIENTS = ("claude-code", "cursor", "codex", "zed")
DAYS = 90
A_YEAR_START = 1_767_225_600
READERS = (
    "calls ls --limit 50",
    "calls ls --limit 50 --json",
    "calls ls --count",
    "calls ls --tool tool_7 --limit 50",
    "calls ls --failed --limit 50",
    "calls ls --failed --server server1,server2 --since 2026-03-01 --until 2026-03-02",
    "calls ls --tool server3:* --hint destructive --client zed --limit 50",
    "calls ls --hint destructive,undeclared --since 2026-02-01 --until 2026-02-08 --count",
    "calls ls --tool *_8,tool_7 --min-duration 1h --limit 50",
    "calls ls --grep 777777 --count",
    "calls ls --grep Zürich --count",
    "calls stats",
    "calls stats --by tool --sort p95_ms",
    "calls stats --by day --client zed --since 2026-03-01",
    "calls export",
    "calls export --format csv --no-payloads",
    "calls show last",
    "calls tail",
    "calls tail --json -n 1000",
    "calls tail --since 2026-03-31",
    "calls tail --grep 777777",
    "sessions ls",
    "sessions show last",
    "sessions show last --json",
    "sessions ls --failed --server server2",
    "sessions stats --saved",
)
TABS = ("calls ls --client ", "calls ls --session ", "calls show ")
CONFIG = "[records]\nkeep_sessions = 1000000\nmax_mb = 1000000\n"


@dataclass(frozen=True)
class Run:
    """One process from start to end."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def make_journals(paths: Paths, calls: int, a_session: int) -> None:
    """So many calls in closed sessions, one in eleven failed, a fifth of those refused, spread over some months."""

    def moment(number: float) -> str:
        return clock.iso(A_YEAR_START + number / calls * DAYS * 86_400)

    for first in range(0, calls, a_session):
        id_, client = str(uuid.uuid4()), CLIENTS[first // a_session % len(CLIENTS)]
        beginning = created(id_, client_name=client, project="acme" if first // a_session % 3 else None)
        beginning.timestamp = moment(first)
        journal = opened(paths, beginning)
        for number in range(first, min(first + a_session, calls)):
            server, tool = TOOLS[number % len(TOOLS)]
            start, end = call(
                str(uuid.uuid4()), 0, id_, server=server, tool=tool, client_name=client,
                arguments=raw({"city": f"Oslo {number}", "days": 3, "units": "metric"}), project=beginning.project,
                annotations=HINTS[number % len(HINTS)], duration_ms=number * 7919 % 5000 // (1 + number % 9),
                **_end(number),
            )  # fmt: skip
            start.timestamp, end.timestamp = moment(number), moment(number + 0.5)
            journal.append(journal_lines.encode(start) + journal_lines.encode(end))
        end_of_session = closed(id_)
        end_of_session.timestamp = end_of_session.end_time = moment(min(first + a_session, calls))
        journal.close(journal_lines.encode(end_of_session))
        os.utime(journal.path, times=(A_YEAR_START + min(first + a_session, calls) / calls * DAYS * 86_400,) * 2)


def _end(number: int) -> dict[str, object]:
    if number % 11:
        return {"status": "ok", "response": RESPONSE}
    if number % 5 == 0:
        return {"status": "denied", "response": raw(None), "error": raw(REFUSAL)}
    text = ERRORS[number % len(ERRORS)].format(number)
    return {"status": "tool_error", "response": raw({"content": [{"type": "text", "text": text}], "isError": True})}


def run(command: Sequence[str], env: Mapping[str, str]) -> Run:
    """Run a command to its end."""
    start = time.perf_counter()
    with raw_client.within(600, " ".join(command[1:])):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**raw_client.environment(), **env}
        )
        _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Unavailable(f"{' '.join(command[1:])} ended with status {process.returncode}")
    divisor = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / divisor)


def measure(env: Mapping[str, str], calls: int, runs: int) -> list[dict[str, object]]:
    """A row for the rebuild, and one for each command."""
    bare = min((run([sys.executable, "-c", "pass"], env) for _ in range(runs)), key=lambda each: each.cpu_s)
    rebuilt = run([*MCPCTL, "db", "rebuild"], env)
    rows = [_row("db rebuild", rebuilt, bare, calls)]
    for words in READERS:
        best = min((run([*MCPCTL, *words.split()], env) for _ in range(runs)), key=lambda each: each.cpu_s)
        rows.append(_row(words, best, bare))
    for line in TABS:
        complete = [*MCPCTL, f"mcpctl {line}"]
        found = (run(complete, {**env, "_MCPCTL_COMPLETE": "bash"}) for _ in range(runs))
        rows.append(_row(f"{line}<Tab>", min(found, key=lambda each: each.cpu_s), bare))
    return rows


def _row(name: str, taken: Run, bare: Run, calls: int | None = None) -> dict[str, object]:
    return {
        "command": name,
        "calls_per_s": None if calls is None else calls / taken.wall_s,
        "wall_ms": taken.wall_s * 1000,
        "cpu_ms": taken.cpu_s * 1000,
        "cpu_vs_python": taken.cpu_s / bare.cpu_s,
        "peak_mb": taken.peak_mb,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000, help="how many calls are on record")
    parser.add_argument("--session", type=int, default=A_SESSION, help="how many calls a session has")
    parser.add_argument("--runs", type=int, default=5, help="how often each command is run; the best counts")
    parser.add_argument("--home", type=Path, help="a folder to make them in, or one that has them already")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as folder:
        home = options.home or Path(folder)
        env = {"MCPCTL_HOME": str(home)}
        paths = find(env=env)
        if not paths.sessions.exists():
            home.mkdir(exist_ok=True)
            paths.config.write_text(CONFIG, encoding="utf-8")
            make_journals(paths, options.calls, options.session)
        try:
            rows = measure(env, options.calls, options.runs)
        except Unavailable as reason:
            print(f"stopped: {reason}", file=sys.stderr)
            return 1
    about = {"calls": options.calls, "session": options.session, "python": sys.version.split()[0]}
    print(json.dumps({**about, "commands": rows}, indent=2) if options.json else raw_client.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
