"""The counters of `tests.bench.counts`: each drives what is counted and returns numbers by name."""

import collections
import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bench import raw_client
from tests.bench.counting import WAITED, WROTE, Entry, let_rest
from tests.bench.raw_client import ROOT, Connection, Target, Unavailable

COUNTING = ROOT / "tests" / "bench" / "counting.py"
UPSTREAM = [sys.executable, "-I", str(ROOT / "tests" / "bench" / "upstream.py")]
WIDTH = 32
RUNS = 25
CALLS = 400
"""The N of the runs of N and 3N calls."""
COMMANDS = ("--help", "--version", "calls ls", "sessions ls", "tools ls", "tools search arguments", "serve")
TRACED_CALLS = 1000
BIG = {"text": "x" * 1_000_000}
QUIET_S = 6
"""A moment in which nothing is asked, and what is not needed any more can be given back."""
SMALL = {"title": "Buy milk"}


@dataclass(frozen=True)
class Measured:
    """The mcpctl that is counted: the Python that has it, and the checkout that it is in."""

    python: str
    root: Path

    @classmethod
    def of(cls, python: str | None) -> "Measured":
        """This checkout in this Python, or whatever another Python has installed."""
        if python is None:
            return cls(sys.executable, ROOT)
        argv = [python, "-P", "-c", "import mcpctl; print(mcpctl.__file__)"]
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        installed = subprocess.run(argv, env=env, capture_output=True, text=True)
        if installed.returncode:
            raise Unavailable(f"{python} has no mcpctl: {installed.stderr.strip().splitlines()[-1:]}")
        return cls(python, Path(installed.stdout.strip()).parents[1])

    @property
    def env(self) -> dict[str, str]:
        """The environment in which its Python imports it."""
        return {**raw_client.environment(), "PYTHONPATH": str(self.root), "PYTHONHASHSEED": "0"}

    def command(self, *words: str, options: Sequence[str] = ()) -> list[str]:
        """A command line of mcpctl, as its script begins it, with options of Python's."""
        scripts = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
        module, _, function = scripts["mcpctl"].partition(":")
        return [self.python, "-P", *options, "-c", f"import sys, {module}; sys.exit({module}.{function}())", *words]

    def serve(self, folder: Path, command: Sequence[str | Path] = ()) -> Target:
        """`mcpctl serve` on a new home before one echo, started by this command instead of its own."""
        argv = [*map(str, command)] or self.command("serve")
        return Target("mcpctl serve", argv, {**self.env, **raw_client.mcpctl_home(folder, {"up": UPSTREAM})})


class Client:
    """A connection to `serve`, and what its requests are."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._number = 0

    def call(self, arguments: object = SMALL) -> bytes:
        """The line of a call of the echo."""
        called = {"toolKey": "up:echo", "arguments": arguments}
        return self._line("tools/call", {"name": "tool_execute", "arguments": called})

    def search(self) -> bytes:
        """The line of a search."""
        return self._line("tools/call", {"name": "tool_discovery", "arguments": {"query": ["returns its arguments"]}})

    def tools(self) -> bytes:
        """The line of a `tools/list`."""
        return self._line("tools/list", {})

    def initialize(self) -> bytes:
        """The line of an opening."""
        client = {"name": "bench", "version": "1"}
        return self._line("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})

    def ping(self) -> bytes:
        """The line of a request that asks for nothing."""
        return self._line("ping", {})

    def _line(self, method: str, params: dict[str, Any]) -> bytes:
        self._number += 1
        return raw_client.request(self._number, method, params, "legacy")

    def one(self, line: bytes) -> None:
        """Send a line and wait for its answer."""
        self.connection.write(line)
        self.connection.answer()

    def one_at_a_time(self, count: int) -> None:
        """Calls, each after the answer to the one before."""
        for _ in range(count):
            self.one(self.call())

    def many_at_once(self, count: int) -> None:
        """Calls, 32 of them in flight."""
        raw_client.pipelined(self.connection, [self.call() for _ in range(count)], WIDTH)


@contextlib.contextmanager
def opened(target: Target) -> Iterator[Client]:
    """A client whose session is open, and whose server is warm."""
    with Connection(target) as connection, raw_client.within(120, target.name):
        client = Client(connection)
        connection.write(raw_client.opening("legacy"))
        connection.answer()
        client.one_at_a_time(100)
        client.many_at_once(200)
        yield client


def taken(pid: int, fifo: Path) -> Any:
    """What a `serve` that counts from within has counted so far."""
    os.kill(pid, signal.SIGUSR1)
    return json.loads(fifo.read_bytes())


class Counted:
    """A `serve` that counts from within."""

    def __init__(self, client: Client, fifo: Path) -> None:
        self.client, self._fifo = client, fifo

    def taken(self) -> Any:
        """What it has counted so far."""
        return taken(self.client.connection.process.pid, self._fifo)


@contextlib.contextmanager
def counted(measured: Measured, kind: str) -> Iterator[Counted]:
    """`serve` with a counter of this kind."""
    with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as name:
        fifo = Path(name, "counted")
        os.mkfifo(fifo)
        with opened(measured.serve(Path(name, "home"), [measured.python, "-P", COUNTING, kind, fifo])) as client:
            let_rest(Path(name))
            yield Counted(client, fifo)


# ---- the way of one request through the package


def ways(measured: Measured) -> dict[str, list[Entry]]:
    """The functions of the package that a warm call, a search and an opening enter in the running `serve`.

    A way begins where the event loop wakes up with the request, and ends with the turn of the loop that wrote the
    answer.
    """
    taken: dict[str, list[list[Entry]]] = collections.defaultdict(list)
    for _ in range(4):
        with counted(measured, "entries") as serve:
            requests = {"call": serve.client.call, "search": serve.client.search, "initialize": serve.client.initialize}
            for name, request in requests.items():
                taken[name].append(min((_way(serve, request) for _ in range(RUNS)), key=len))
    # A busy machine does what was left to do beside some requests, and in some processes beside most.
    return {name: min(each, key=len) for name, each in taken.items()}


def has_scenes(measured: Measured) -> bool:
    """Whether calls can be made in memory there."""
    return (measured.root / "tests" / "proxy" / "in_memory.py").exists()


def scenes(measured: Measured) -> dict[str, list[Entry]]:
    """The same of calls in memory, between request and answer."""
    done = subprocess.run(
        [measured.python, "-P", str(COUNTING), "scenes"], env=measured.env, capture_output=True, text=True, timeout=60
    )
    if done.returncode:
        raise Unavailable(f"a scene failed: {done.stderr[-300:]}")
    runs: dict[str, list[list[Entry]]] = json.loads(done.stdout)
    return {name: _usual([entry for entry in run if entry[1]] for run in each) for name, each in runs.items()}


def _way(serve: Counted, request: Callable[[], bytes]) -> list[Entry]:
    serve.client.one(serve.client.ping())  # what the request before has left to be done is done
    serve.taken()
    began = time.monotonic_ns()
    serve.client.one(request())
    answered = time.monotonic_ns()
    serve.client.one(serve.client.ping())
    entries: list[Entry] = serve.taken()
    begin = next(at for at, _, what, _ in entries if what == WAITED and at > began)
    wrote = max(at for at, _, what, _ in entries if what == WROTE and at < answered)
    end = next(at for at, _, what, _ in entries if what == WAITED and at > wrote)
    return [entry for entry in entries if entry[1] and begin <= entry[0] < end]


def _usual(ways: Iterable[list[Entry]]) -> list[Entry]:
    """A way of the length that most have: something else is done beside a few."""
    ordered = sorted(ways, key=len)
    length, _ = collections.Counter(map(len, ordered)).most_common(1)[0]
    return next(way for way in ordered if len(way) == length)


def of_way(entries: Sequence[Entry]) -> dict[str, float]:
    """How many functions are entered, in how many files, and how often a file is returned to: that is, entered from
    another file after it was left for another one.
    """
    files = [file for _, file, _, _ in entries]
    visits = [file for file, _ in itertools.groupby(files)]
    return {"functions": len(files), "files": len(set(files)), "returns": len(visits) - len(set(files))}


# ---- all Python functions


def profiled(measured: Measured) -> dict[str, dict[str, float]]:
    """All functions in Python of a call, by file: what 3N calls take more than N, for each call."""
    with counted(measured, "profile") as serve:
        return {
            "32 in flight": by_file(serve.taken, serve.client.many_at_once),
            "one at a time": by_file(serve.taken, serve.client.one_at_a_time),
        }


def by_file(take: Callable[[], Any], make: Callable[[int], object]) -> dict[str, float]:
    totals = []
    for count in (0, CALLS, 3 * CALLS):
        if count:
            make(count)
        total = collections.Counter[str]()
        for file, _, times in take():
            total[file] += times
        totals.append(total)
    start, once, thrice = totals
    more = {file: (thrice[file] - 2 * once[file] + start[file]) / (2 * CALLS) for file in thrice if file}
    return {file: number for file, number in more.items() if number >= 0.01}


# ---- from outside


def system_calls(measured: Measured) -> dict[str, float]:
    """The system calls of the main thread for a call, 32 in flight: what 3N calls take more than N, for each call.

    How many calls are read or written at once depends on the machine, so those that do not read, write or wait are
    counted by themselves, too. How often threads wait for the interpreter, which is `futex`, is not counted.
    """

    def names(count: int) -> collections.Counter[str]:
        with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as name:
            trace = Path(name, "trace")
            with opened(measured.serve(Path(name, "home"), [*_strace(trace), *measured.command("serve")])) as client:
                client.many_at_once(count)
            return _traced(trace)

    # A busy machine lets fewer calls be read at once, never more: the least of three runs is the one to compare.
    once, thrice = (
        min((names(times) for _ in range(3)), key=collections.Counter.total)
        for times in (TRACED_CALLS, 3 * TRACED_CALLS)
    )
    each = {name: (thrice[name] - once[name]) / (2 * TRACED_CALLS) for name in thrice if name != "futex"}
    others = sum(number for name, number in each.items() if not re.search("read|write|send|recv|poll", name))
    numbers = {"all": sum(each.values()), "neither read, write nor wait": others}
    return {f"system calls, 32 in flight: {what}": round(number, 1) for what, number in numbers.items()}


def _strace(trace: Path) -> list[str]:
    """What counts the system calls of the main thread of a command that follows it."""
    return ["strace", "-qq", "-c", "-U", "calls,name", "-o", str(trace)]


def _traced(trace: Path) -> collections.Counter[str]:
    """How often each system call was made."""
    _, _, *lines, _, _ = trace.read_text(encoding="utf-8").splitlines()
    return collections.Counter({name: int(count) for count, name in map(str.split, lines)})


def memory(measured: Measured) -> dict[str, float]:
    """MB resident: warm, and after 160 calls of 1 MB that are answered with as much and a moment of quiet."""
    with (
        tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as name,
        opened(measured.serve(Path(name, "home"))) as client,
    ):
        process = psutil.Process(client.connection.process.pid)
        warm = process.memory_info().rss
        for _ in range(160):
            client.one(client.call(BIG))
        time.sleep(QUIET_S)
        after = process.memory_info().rss
    return {"RSS: warm": round(warm / 2**20, 1), "RSS: after 160 of 1 MB": round(after / 2**20, 1)}


def commands(measured: Measured, *, strace: bool) -> dict[str, float]:
    """The modules that each command imports, and the system calls of its main thread; of `serve`, until it has answered
    `tools/list` and ended. Each command has been run once before, and has what 300 calls have left.
    """
    with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as name:
        target, trace = measured.serve(Path(name, "home")), Path(name, "trace")
        with opened(target) as client:
            client.one(client.search())
        numbers: dict[str, float] = {}
        for words in COMMANDS:
            run = _listed if words == "serve" else _run
            run(target, measured.command(*words.split()))
            importing = measured.command(*words.split(), options=["-X", "importtime"])
            numbers[f"modules of {words}"] = run(target, importing).count(b"import time:") - 1
            if strace:
                run(target, [*_strace(trace), *measured.command(*words.split())])
                numbers[f"system calls of {words}"] = _traced(trace).total()
        return numbers


def _run(target: Target, argv: Sequence[str]) -> bytes:
    """What a command says on stderr."""
    done = subprocess.run(
        argv, env={**raw_client.environment(), **target.env}, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    if done.returncode:
        raise Unavailable(f"{argv[-1]} ended with status {done.returncode}: {done.stderr[-300:]!r}")
    return done.stderr


def _listed(target: Target, argv: Sequence[str]) -> bytes:
    """What `serve` has said on stderr when it has answered `tools/list`."""
    with Connection(Target(target.name, argv, target.env)) as connection, raw_client.within(60, target.name):
        client = Client(connection)
        connection.write(raw_client.opening("legacy"))
        connection.answer()
        client.one(client.tools())
        return connection.words()
