"""What the benchmarks share: a client of bytes on two pipes, the proxies it drives, and how figures are shown.

No event loop and no threads, so that what is measured is the other side.
"""

import contextlib
import importlib.util
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests import scratch
from tests.servers import command

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM = [sys.executable, "-P", str(ROOT / "tests" / "bench" / "upstream.py")]
COUNTER = command("counter")
SDK_PROXY = [sys.executable, "-P", str(ROOT / "tests" / "bench" / "sdk_proxy.py")]
MCPCTL = [sys.executable, "-m", "mcpctl"]
FASTMCP = "fastmcp>=4,<5"
"""The newest that can be installed: one whose requirements the package index does not have is passed over."""
ERAS = ("legacy", "modern")

_CLIENT = {"name": "bench", "version": "1"}
_META = "io.modelcontextprotocol/"
_ENVELOPE = {_META + "protocolVersion": "2026-07-28", _META + "clientInfo": _CLIENT, _META + "clientCapabilities": {}}
_CHUNK = 1 << 16  # What a pipe holds. Asking for more costs the pages of a buffer that is never filled.


class Unavailable(Exception):
    """What should be measured does not work here; says why."""


def request(number: int, method: str, params: Mapping[str, Any], era: str) -> bytes:
    """One request as a line, in the shape of its era."""
    stamped = {**params, "_meta": _ENVELOPE} if era == "modern" else params
    body = {"jsonrpc": "2.0", "id": number, "method": method, "params": stamped}
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def opening(era: str) -> bytes:
    """The lines a client begins with; one answer comes, with the id 0."""
    if era == "modern":
        return request(0, "server/discover", {}, era)
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}
    return request(0, "initialize", asked, era) + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


@dataclass
class Target:
    """A server to be measured: how it is started, and whether its tools are behind `tool_execute`."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    proxy: bool = True

    def call(self, number: int, tool: str, arguments: Mapping[str, Any], era: str) -> bytes:
        """The line that calls a tool of the upstream named `up`."""
        params: Mapping[str, Any] = {"name": tool, "arguments": arguments}
        if self.proxy:
            params = {"name": "tool_execute", "arguments": {"toolKey": f"up:{tool}", "arguments": arguments}}
        return request(number, "tools/call", params, era)


class Connection:
    """One running target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        self.process = subprocess.Popen(
            target.command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env={**environment(), **target.env},
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._buffer = bytearray()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def write(self, lines: bytes) -> None:
        """Send bytes; they must fit a pipe, since nobody reads meanwhile."""
        try:
            os.write(self._in, lines)
        except BrokenPipeError:
            raise self._gone() from None

    def answer(self) -> bytes:
        """The next answer's line; notifications are passed over, an error of either kind is a failure."""
        while True:
            line = self._line()
            head = line[:160]
            if b'"result":' not in head and "result" not in json.loads(line):
                if b'"method"' in head:
                    continue
                raise Unavailable(f"{self.target.name} answered {line[:300]!r}")
            if b'"isError":true' in line[-200:] or b'"isError":true' in head:
                raise Unavailable(f"{self.target.name} answered {line[:300]!r}")
            return line

    def _line(self) -> bytes:
        scanned = 0
        while (end := self._buffer.find(b"\n", scanned)) < 0:
            scanned = len(self._buffer)
            chunk = os.read(self._out, _CHUNK)
            if not chunk:
                raise self._gone()
            self._buffer += chunk
        line = bytes(memoryview(self._buffer)[:end])
        del self._buffer[: end + 1]
        return line

    def _gone(self) -> Unavailable:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        last = self.words().decode(errors="replace").strip().splitlines()[-1:] or ["nothing on stderr"]
        return Unavailable(f"{self.target.name} ended with status {self.process.returncode}: {last[0]}")

    def words(self) -> bytes:
        """What the process has said on stderr so far."""
        file = self._words.fileno()  # the process writes at its end, which stays where it is
        return os.pread(file, os.fstat(file).st_size, 0)

    def cpu_s(self) -> float:
        """The CPU that the process has taken so far, without what it started."""
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)

    def peak_mb(self) -> float | None:
        """The most memory the process has had so far; None where the system does not say."""
        return peak_mb(self.process.pid)

    def close(self) -> None:
        """Close stdin as a client does, wait, and leave nothing of the group behind."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(6)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._words.close()


def peak_mb(pid: int) -> float | None:
    """The most memory a process has had so far; None where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return None


@contextlib.contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """End the block with Unavailable when it takes longer: a hanging target must not hang the benchmark."""

    def expire(number: int, frame: object) -> None:
        raise Unavailable(f"{what} took longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def environment() -> dict[str, str]:
    """Ours, with this checkout importable and nothing of the user's mcpctl."""
    # As on a user's machine: modules are compiled once, and output is buffered.
    changed = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MCPCTL_") and name not in changed}
    return {**kept, "PYTHONPATH": str(ROOT)}


def mcpctl_home(folder: Path, upstreams: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A new home with these servers; the variable that names it."""
    folder.mkdir(mode=0o700)
    # A JSON string or array of strings is TOML as well.
    tables = [
        f"[servers.{name}]\ncommand = {json.dumps(c[0])}\nargs = {json.dumps(c[1:])}\n" for name, c in upstreams.items()
    ]
    (folder / "config.toml").write_text("\n".join(tables), encoding="utf-8")
    return {"MCPCTL_HOME": str(folder)}


def serve(folder: Path, upstreams: Mapping[str, Sequence[str]]) -> Target:
    """`mcpctl serve` on a new home, records on as they are by default."""
    return Target("mcpctl serve", [*MCPCTL, "serve"], mcpctl_home(folder, upstreams))


def sdk_proxy(upstreams: Mapping[str, Sequence[str]]) -> Target:
    """A plain proxy made of the MCP SDK's low-level server and its client."""
    return Target("SDK proxy", [*SDK_PROXY, json.dumps(upstreams)])


def fastmcp(folder: Path, upstreams: Mapping[str, Sequence[str]]) -> Target:
    """`fastmcp run` of a client's configuration, in an environment of its own, which is installed if need be."""
    try:
        installed = scratch.made(scratch.CACHE / "fastmcp", FASTMCP, lambda place: scratch.pip(place, FASTMCP))
    except scratch.CannotInstall as reason:
        raise Unavailable(f"FastMCP proxy: {reason}") from reason
    folder.mkdir(mode=0o700)
    servers = {name: {"command": command[0], "args": command[1:]} for name, command in upstreams.items()}
    (folder / "servers.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    command = [str(installed / "bin" / "fastmcp"), "run", str(folder / "servers.json"), "--no-banner"]
    [about] = installed.glob("lib/python*/site-packages/fastmcp-[0-9]*.dist-info")
    version = about.name.split("-")[1].removesuffix(".dist")
    # A single server's tools keep their names there.
    return Target(f"FastMCP {version} proxy", command, proxy=False)


def check(target: Target, era: str, probe: bytes) -> None:
    """Raise Unavailable, with a reason, unless the target starts and answers the probe."""
    if target.name == "SDK proxy" and importlib.util.find_spec("mcp") is None:
        raise Unavailable("SDK proxy needs the package mcp, which is not installed")
    with Connection(target) as connection, within(30, f"the first answer of {target.name}"):
        connection.write(opening(era) + probe)
        connection.answer()
        connection.answer()


def pipelined(connection: Connection, lines: Sequence[bytes], width: int) -> float:
    """Send all lines, `width` of them unanswered at any time; the seconds until the last answer."""
    start = time.perf_counter()
    connection.write(b"".join(lines[:width]))
    for line in lines[width:]:
        connection.answer()
        connection.write(line)
    for _ in lines[:width]:
        connection.answer()
    return time.perf_counter() - start


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return statistics.median(values)


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows under their column names, aligned, `-` where there is no figure."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [columns] + [[_cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    return "\n".join(
        "  ".join(
            text.ljust(w) if i == 0 else text.rjust(w) for i, (text, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.1f}"
    return str(value)
