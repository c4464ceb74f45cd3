"""Clients over HTTP for the benchmarks: bytes made beforehand, on many sockets at once, without an event loop.

A client shares the machine with what it measures, so it does as little as it can for each answer.
"""

import contextlib
import json
import os
import re
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import psutil

from tests.bench import raw_client
from tests.bench.raw_client import Unavailable

MODERN, LEGACY = "2026-07-28", "2025-11-25"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_SESSION = re.compile(rb"\r\nmcp-session-id: *([^\r]+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
_READ = 1 << 18
_STARTS_S = 60


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@dataclass
class HttpTarget:
    """A server on a port: how it is started, and whether its tools are behind `tool_execute`."""

    name: str
    command: Sequence[str]
    port: int
    env: Mapping[str, str] = field(default_factory=dict)
    path: str = "/mcp"
    token: str = ""
    proxy: bool = True

    def message(self, method: str, params: Mapping[str, Any], era: str, session: bytes = b"", id: int = 1) -> bytes:
        """The bytes of one POST."""
        body = raw_client.request(id, method, params, era).rstrip(b"\n")
        if method.startswith("notifications/"):
            body = json.dumps({"jsonrpc": "2.0", "method": method}).encode()
        headers = {
            "Host": f"127.0.0.1:{self.port}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream", "User-Agent": "bench/1", "Connection": "keep-alive",
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        }  # fmt: skip
        if era == "modern":
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            headers |= {"Mcp-Name": params["name"]} if "name" in params else {}
        elif session:
            headers |= {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": session.decode()}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST {self.path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def call(self, tool: str, arguments: Mapping[str, Any], era: str, session: bytes = b"", id: int = 1) -> bytes:
        """The bytes that call a tool of the upstream named `up`."""
        params: Mapping[str, Any] = {"name": tool, "arguments": arguments}
        if self.proxy:
            params = {"name": "tool_execute", "arguments": {"toolKey": f"up:{tool}", "arguments": arguments}}
        return self.message("tools/call", params, era, session, id)


class Client:
    """One connection that is kept alive, of one client, which in the older era has a session."""

    def __init__(self, target: HttpTarget, era: str, tool: str = "echo", number: int = 1, session: bytes = b"") -> None:
        """Without a `session`, one of an older client is begun."""
        self._port = target.port
        self._connect()
        self.buffer = b""
        self.left = 0
        self.sent_at = 0.0
        self.times: list[float] = []
        if era == "legacy" and not session:
            asked = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
            head = self.ask(target.message("initialize", asked, era))
            match = _SESSION.search(head)
            if not match:
                raise Unavailable(f"{target.name} has no session: {head[:300]!r}")
            session = match[1]
            self.ask(target.message("notifications/initialized", {}, era, session))
        self.session = session
        self.request = target.call(tool, {"title": "Buy milk", "n": number}, era, session, number)

    def _connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def again(self, *, is_idle: bool) -> None:
        """Connect again, and send the call: the other side may close what was not used for some seconds at any time."""
        if self.buffer or not is_idle:
            raise Unavailable(f"a connection was closed after {self.buffer[:300]!r}")
        self.socket.close()
        self._connect()
        self.socket.setblocking(False)
        self.begin(time.perf_counter())

    def part(self) -> bytes:
        """What has come of an answer; nothing where the connection is closed."""
        try:
            return self.socket.recv(_READ)
        except ConnectionError:
            return b""

    def ask(self, request: bytes) -> bytes:
        """Send bytes, and wait for the whole answer, which is returned."""
        self.socket.sendall(request)
        data = b""
        while not (size := whole(data)):
            part = self.socket.recv(_READ)
            if not part:
                raise Unavailable(f"the connection was closed after {data[:300]!r}")
            data += part
        return data[:size]

    def begin(self, now: float) -> None:
        """Send the call."""
        self.sent_at = now
        with contextlib.suppress(ConnectionError):  # which is seen where its answer is read
            self.socket.send(self.request)

    def close(self) -> None:
        """Leave."""
        self.socket.close()


def whole(data: bytes) -> int:
    """How long the answer at the beginning of these bytes is; 0 while it is not whole."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return 0
    if match := _LENGTH.search(data, 0, end + 2):
        size = end + 4 + int(match[1])
        return size if len(data) >= size else 0
    if _CHUNKED.search(data, 0, end + 2):
        last = data.find(b"\r\n0\r\n\r\n", end)
        return last + 7 if last >= 0 else 0
    return end + 4


def is_good(answer: bytes) -> bool:
    """Whether a call was answered with the result of its server."""
    return answer.startswith(b"HTTP/1.1 200") and b'"result":' in answer and b'"isError":true' not in answer


def called(clients: Sequence[Client], count: int) -> float:
    """Have each client call `count` times, one call after the other; the seconds until the last answer. A connection
    that was closed since its last turn is opened again, as every client of HTTP does it."""
    poll = select.epoll()
    by_fd = {}
    idle = set(clients)
    for client in clients:
        client.left, client.times, client.buffer = count, [], b""
        client.socket.setblocking(False)
        by_fd[client.socket.fileno()] = client
        poll.register(client.socket.fileno(), select.EPOLLIN)
    clock = time.perf_counter
    start = clock()
    for client in clients:
        client.begin(clock())
    waiting = len(clients)
    while waiting:
        for fd, _ in poll.poll(60):
            client = by_fd[fd]
            part = client.part()
            if not part:
                client.again(is_idle=client in idle)
                idle.remove(client)
                by_fd[client.socket.fileno()] = client
                poll.register(client.socket.fileno(), select.EPOLLIN)
                continue
            data = client.buffer + part if client.buffer else part
            if not whole(data):
                client.buffer = data
                continue
            if not is_good(data):
                raise Unavailable(f"answered {data[:600]!r}")
            client.buffer = b""
            idle.discard(client)
            now = clock()
            client.times.append(now - client.sent_at)
            client.left -= 1
            if client.left:
                client.begin(now)
            else:
                poll.unregister(fd)  # its connection may be closed while others go on
                waiting -= 1
    seconds = clock() - start
    poll.close()
    for client in clients:
        client.socket.setblocking(True)
        client.socket.settimeout(60)
    return seconds


class Running:
    """One target that runs."""

    def __init__(self, target: HttpTarget) -> None:
        self.target = target
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        self.process = subprocess.Popen(
            target.command, stdin=subprocess.DEVNULL, stdout=self._words, stderr=self._words,
            env={**raw_client.environment(), **target.env}, start_new_session=True,
        )  # fmt: skip
        self._until_listening()

    def _until_listening(self) -> None:
        last = time.monotonic() + _STARTS_S
        while time.monotonic() < last and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.target.port), timeout=1):
                return
            time.sleep(0.05)
        words = self.words()
        self.close()
        raise Unavailable(f"{self.target.name} does not listen: {words[-300:]!r}")

    def words(self) -> bytes:
        """What it has said so far."""
        file = self._words.fileno()
        return os.pread(file, os.fstat(file).st_size, 0)

    def cpu_s(self) -> float:
        """The CPU that the process has taken so far, without what it started."""
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)

    def peak_mb(self) -> float | None:
        """The most memory that the process has had so far."""
        return raw_client.peak_mb(self.process.pid)

    def descriptors(self) -> int:
        """How many files it has open."""
        return psutil.Process(self.process.pid).num_fds()

    def close(self) -> None:
        """End it, and what it started."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        self._words.close()


@contextlib.contextmanager
def running(target: HttpTarget) -> Iterator[Running]:
    """The target, until the end of the block."""
    with ExitStack() as stack:
        one = Running(target)
        stack.callback(one.close)
        yield one
