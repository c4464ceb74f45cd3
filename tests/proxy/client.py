"""A client of bytes on two pipes: it sends lines as they are, returns lines as they came, and never waits for ever."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import psutil
import tomli_w

from tests.conftest import without_privileges

ROOT = Path(__file__).resolve().parents[2]
SERVE = (sys.executable, "-m", "mcpctl", "serve")
LATEST = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "tester", "version": "0.1"}
ENVELOPE: dict[str, Any] = {
    META + "protocolVersion": MODERN,
    META + "clientInfo": INFO,
    META + "clientCapabilities": {},
}
TIMEOUT_S = 20.0
SHARED_THREADS = ("aside_", "help_", "answers_")
"""Threads that belong to no server: those of pools that all have."""

Arguments = bytes | Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """One line from the other side."""

    line: bytes

    @cached_property
    def json(self) -> Any:
        """The line, decoded."""
        return json.loads(self.line)

    @property
    def result(self) -> bytes:
        """The bytes of the result, as they came."""
        return self._payload(b'"result":')

    @property
    def error(self) -> bytes:
        """The bytes of the error, as they came."""
        return self._payload(b'"error":')

    @property
    def is_error(self) -> bool:
        """Whether it is a result that says that the call failed."""
        return self.json["result"].get("isError") is True

    @property
    def text(self) -> str:
        """The text blocks of the result."""
        return "\n".join(block["text"] for block in self.json["result"]["content"])

    def _payload(self, name: bytes) -> bytes:
        head, found, rest = self.line.partition(name)
        assert found, self.line[:500]
        assert head.count(b"{") == 1, self.line[:500]
        assert rest.endswith(b"}")
        return rest[:-1]


class Client:
    """One running server, `mcpctl serve` or another, and what it has said."""

    def __init__(
        self,
        argv: Sequence[str],
        stderr: Path,
        *,
        revision: str = LATEST,
        env: Mapping[str, str] | None = None,
        limit: int | None = None,
        unprivileged: bool = False,
    ) -> None:
        self._seen: dict[int, psutil.Process] = {}
        if limit is not None:
            set_limit = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2);"
            argv = [sys.executable, "-c", f"{set_limit} os.execv(sys.argv[2], sys.argv[2:])", str(limit), *argv]
        with stderr.open("ab") as words:
            self.process = subprocess.Popen(
                argv,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
                preexec_fn=without_privileges if unprivileged else None,
            )
        assert self.process.stdin and self.process.stdout
        self._connect(self.process.stdin, self.process.stdout, stderr, revision)

    def _connect(self, stdin: IO[bytes], stdout: IO[bytes], stderr: Path, revision: str) -> None:
        self.revision = revision
        self.said: list[bytes] = []
        """Lines that came while another was waited for."""
        self._in, self._out, self._stderr = stdin, stdout, stderr
        self._buffer, self._scanned, self._last_id = bytearray(), 0, 0
        os.set_blocking(self._in.fileno(), False)

    # ---- sending

    def send(self, *lines: bytes) -> None:
        """Send lines; what the other side says meanwhile is read, so that neither waits for the other."""
        data = memoryview(b"".join(line + b"\n" for line in lines))
        deadline = time.monotonic() + TIMEOUT_S
        while data:
            _, writable, _ = select.select([], [self._in], [], 0.05)
            if writable:
                data = data[os.write(self._in.fileno(), data[: 1 << 16]) :]
            elif not self._read(0):
                assert time.monotonic() < deadline, self._story("it takes no more")

    def request(self, method: str, params: Mapping[str, Any] | bytes = b"{}", *, id: Any = None) -> Any:
        """Send a request in the client's era; its id."""
        if id is None:
            self._last_id += 1
            id = self._last_id
        raw = params if isinstance(params, bytes) else json.dumps(params).encode()
        if self.revision == MODERN and b'"_meta"' not in raw:
            separator = b"" if raw.strip() == b"{}" else b","
            raw = raw.rstrip()[:-1] + separator + b'"_meta":' + json.dumps(ENVELOPE).encode() + b"}"
        line = b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}'
        self.send(line % (json.dumps(id).encode(), json.dumps(method).encode(), raw))
        return id

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode())

    def start_tool(
        self, name: str, arguments: Arguments = b"{}", *, token: Any = None, extra: bytes = b"", id: Any = None
    ) -> Any:
        """Begin a `tools/call`; its id."""
        raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        meta: dict[str, Any] = dict(ENVELOPE) if self.revision == MODERN else {}
        if token is not None:
            meta["progressToken"] = token
        stamp = b',"_meta":' + json.dumps(meta).encode() if meta else b""
        params = b'{"name":%b,"arguments":%b%b%b}' % (json.dumps(name).encode(), raw, extra, stamp)
        return self.request("tools/call", params, id=id)

    def start_call(self, key: str, arguments: Arguments = b"{}", *, token: Any = None, id: Any = None) -> Any:
        """Begin a `tool_execute`; its id."""
        raw = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
        passed = b'{"toolKey":%b,"arguments":%b}' % (json.dumps(key).encode(), raw)
        return self.start_tool("tool_execute", passed, token=token, id=id)

    # ---- receiving

    def line(self, timeout: float = TIMEOUT_S) -> bytes:
        """The next line, without its newline."""
        deadline = time.monotonic() + timeout
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end >= 0:
                found = bytes(memoryview(self._buffer)[:end])
                del self._buffer[: end + 1]
                self._scanned = 0
                return found
            self._scanned = len(self._buffer)
            left = deadline - time.monotonic()
            assert left > 0, self._story("it says nothing")
            if self._read(left) == b"":
                raise AssertionError(self._story("it has closed its stdout"))

    def answer(self, id: Any, timeout: float = TIMEOUT_S) -> Answer:
        """The answer to the request with that id; what comes before it is kept in `said`."""
        deadline = time.monotonic() + timeout
        wanted = b'{"jsonrpc":"2.0","id":%b,' % json.dumps(id).encode()
        for number, line in enumerate(self.said):
            if _answers(line, wanted, id):
                return Answer(self.said.pop(number))
        while True:
            line = self.line(deadline - time.monotonic())
            if _answers(line, wanted, id):
                return Answer(line)
            self.said.append(line)

    def ask(self, method: str, params: Mapping[str, Any] | bytes = b"{}", *, id: Any = None) -> Answer:
        """Send a request and wait for its answer."""
        return self.answer(self.request(method, params, id=id))

    def tool(self, name: str, arguments: Arguments = b"{}", **more: Any) -> Answer:
        """Call one of its own tools."""
        return self.answer(self.start_tool(name, arguments, **more))

    def call(self, key: str, arguments: Arguments = b"{}", *, timeout: float = TIMEOUT_S, **more: Any) -> Answer:
        """Call a tool by its key."""
        return self.answer(self.start_call(key, arguments, **more), timeout)

    def discover(self, *queries: str, **more: Any) -> Any:
        """The answer to a search: its structured content, or its text in revisions that have none."""
        answer = self.tool("tool_discovery", {"query": queries, **more})
        return answer.json["result"].get("structuredContent") or json.loads(answer.text)

    def open(self, **members: Any) -> Any:
        """Begin as a client of its revision does; what it is told."""
        if self.revision == MODERN:
            return self.ask("server/discover").json["result"]
        params = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": INFO, **members}
        answer = self.ask("initialize", params).json["result"]
        self.notify("notifications/initialized")
        return answer

    def rest(self, timeout: float = TIMEOUT_S) -> list[bytes]:
        """All that it says until it closes its stdout."""
        deadline = time.monotonic() + timeout
        while self._read(max(0.0, deadline - time.monotonic())) != b"":
            assert time.monotonic() < deadline, self._story("it does not end")
        *whole, last = bytes(self._buffer).split(b"\n")
        assert last == b"", "the last line is not whole"
        self._buffer.clear()
        said, self.said = self.said, []
        return said + whole

    # ---- ending

    @property
    def stderr(self) -> str:
        """Its stderr so far."""
        return self._stderr.read_text(encoding="utf-8", errors="replace")

    def children(self) -> list[psutil.Process]:
        """Every process of servers that it has started and that lives."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                self._seen[child.pid] = child
        return [child for child in living(self._seen.values()) if child != self.watcher()]

    def watcher(self) -> psutil.Process | None:
        """The process that ends its servers where it is killed, once it has started any."""
        for child in living(self._seen.values()):
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.cmdline()[-1:] == [str(ROOT / "mcpctl/upstreams/watcher.sh")]:
                    return child
        return None

    def end_input(self) -> None:
        """Close its stdin."""
        self._in.close()

    def close_output(self) -> None:
        """Read nothing more of it."""
        self._out.close()

    def readable(self) -> bool:
        """Whether it has said something that was not read."""
        return bool(select.select([self._out], [], [], 0)[0])

    def wait(self, timeout: float = TIMEOUT_S) -> int:
        """Its exit status."""
        return self.process.wait(timeout)

    def close(self) -> None:
        """End it as a client does; nothing of it is left."""
        self.children()
        self._in.close()
        try:
            deadline = time.monotonic() + 5
            while self.process.poll() is None and time.monotonic() < deadline:
                # A server that still has to say something is listened to.
                if self._out.closed or self._read(0.05) == b"":
                    self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
        finally:
            self.process.kill()
            self.process.wait(TIMEOUT_S)
            self._out.close()
            for child in living(self._seen.values()):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()

    def _read(self, timeout: float) -> bytes | None:
        """A line within that time: None for nothing, empty when there never will be one."""
        readable, _, _ = select.select([self._out], [], [], timeout)
        if not readable:
            return None
        data = os.read(self._out.fileno(), 1 << 20)
        self._buffer += data
        return data

    def _story(self, what: str) -> str:
        said = f"{self.said[-3:]!r}, {bytes(self._buffer[-300:])!r}"
        return f"{what}; it is {self._state()}; said {said}; {self.stderr[-2000:]}"

    def _state(self) -> str:
        return "running" if self.process.poll() is None else f"ended with {self.process.returncode}"


def _answers(line: bytes, wanted: bytes, id: Any) -> bool:
    if line.startswith(wanted):
        return True
    if b'"method"' in line[:200] or len(line) > 100_000:
        return False
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(line)
        return isinstance(message, dict) and "id" in message and message["id"] == id
    return False


def living(processes: Any) -> list[psutil.Process]:
    """Those of `processes` that run; what only waits to be reaped does not."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def until(what: str, ready: Any, timeout: float = TIMEOUT_S) -> Any:
    """The result of `ready` once that is true: for states that only a file or the process table can tell."""
    deadline = time.monotonic() + timeout
    while not (found := ready()):
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
        select.select([], [], [], 0.01)
    return found


def write_config(home: Path, servers: Mapping[str, Sequence[str] | Mapping[str, Any]], **sections: Any) -> Path:
    """A `config.toml` in `home` with these servers, each a command line or a whole table."""
    tables = {
        name: dict(server) if isinstance(server, Mapping) else {"command": server[0], "args": list(server[1:])}
        for name, server in servers.items()
    }
    home.mkdir(parents=True, exist_ok=True)
    path = home / "config.toml"
    path.write_text(tomli_w.dumps({"servers": tables, **sections}), encoding="utf-8")
    return path


def journal_lines(home: Path) -> list[dict[str, Any]]:
    """Every line of every journal, oldest session first."""
    files = sorted((home / "data" / "sessions").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines() if line.strip()]
