"""One upstream process: its pipes, what it was asked and has not answered, and its certain end."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import Raw

from mcpctl import posix
from mcpctl.config import Launch
from mcpctl.proxy import jsonrpc
from mcpctl.proxy.pipes import Line, LineReader, Turn, Writer
from mcpctl.store.recorder import Client
from mcpctl.store.redact import mask

_STDERR_KEPT = 8192
_EOF_GRACE_S = 0.4
_TERM_GRACE_S = 0.4
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the revision, identity and capabilities of the client's request, JSON as it sent them."""

    revision: str
    info: bytes = b""
    capabilities: bytes = b"{}"
    client: Client = field(default_factory=Client)

    @property
    def modern(self) -> bool:
        """Whether the request carries its own envelope."""
        return self.revision == jsonrpc.MODERN_REVISION


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer of the upstream's own."""

    code: str
    message: str


@dataclass(slots=True)
class Exchange:
    """One request to an upstream and where its outcome goes: exactly one of the three is called, once."""

    method: str
    params: Mapping[str, bytes]
    meta: Mapping[str, bytes]
    caller: Caller
    on_result: Callable[[memoryview], None]
    on_error: Callable[[bytes], None]
    on_failure: Callable[[Failure], None]
    on_progress: Callable[[dict[str, bytes]], None] | None = None
    id: int = 0
    connection: "Connection | None" = None
    """The process that it was sent to."""
    timer: asyncio.TimerHandle | None = None

    def failed(self, code: str, message: str) -> None:
        """End it without an answer."""
        if self.timer:
            self.timer.cancel()
        self.on_failure(Failure(code, message))


class NoAnswer(Exception):
    """An `ask` that failed; carries the upstream's error object when it sent one."""

    def __init__(self, message: str, error: bytes = b"") -> None:
        super().__init__(message)
        self.error = error


class Connection:
    """A started server. Speaks the era it was connected in; requests of callers of the other are translated."""

    def __init__(
        self,
        launch: Launch,
        turn: Turn,
        on_message: Callable[["Connection", jsonrpc.Message], None],
        on_gone: Callable[["Connection"], None],
        on_stderr: Callable[[bytes], None],
    ) -> None:
        self.modern = False
        self.revision = ""
        self.server_info = b""
        self.gone = asyncio.Event()
        self.hung_up = False
        self.exit_status: int | None = None
        self.pending: dict[int, Exchange] = {}
        self._on_message = on_message
        self._on_gone = on_gone
        self._on_stderr = on_stderr
        self._loop = asyncio.get_running_loop()
        self._last_id = 0
        self._stderr = b""
        self._ending: asyncio.Task[None] | None = None
        self._ending_group: asyncio.Task[None] | None = None
        self._process = posix.spawn(launch.argv, launch.env, launch.cwd)
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin and stdout and stderr
        self._stdout, self._stderr_pipe = stdout, stderr
        os.set_blocking(stdout.fileno(), False)
        os.set_blocking(stderr.fileno(), False)
        # The writer owns a descriptor of its own, which it closes to say that nothing more comes.
        self._writer = Writer(os.dup(stdin.fileno()), turn, on_broken=self._hung_up)
        stdin.close()
        self._reader = LineReader(stdout.fileno(), turn, self._line, self._hung_up)
        self._loop.add_reader(stderr.fileno(), self._read_stderr)
        threading.Thread(target=self._await_exit, name=f"await-{self._process.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id, which is also its group's."""
        return self._process.pid

    @property
    def is_over(self) -> bool:
        """Whether neither the process nor anything of its group is left."""
        return self.gone.is_set() and (self._ending_group is None or self._ending_group.done())

    @property
    def last_words(self) -> str:
        """The last lines it wrote to stderr, on one line, without what looks like a secret."""
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return mask(" | ".join(line.strip() for line in lines[-3:]))[-500:]

    def send(self, exchange: Exchange) -> None:
        """Forward a request, its params as they came."""
        self._last_id = exchange.id = self._last_id + 1
        exchange.connection = self
        id_ = b"%d" % exchange.id
        line = jsonrpc.request(id_, exchange.method, self._params(exchange, id_))
        self.pending[exchange.id] = exchange
        self._writer.write(line)

    def cancel(self, exchange: Exchange, params: Mapping[str, bytes]) -> None:
        """Take a request back; a late answer to it is dropped."""
        # Its number may be another request's here, if it was sent to an earlier process.
        if self.pending.get(exchange.id) is exchange:
            del self.pending[exchange.id]
            self.notify("notifications/cancelled", {**params, "requestId": b"%d" % exchange.id})

    def notify(self, method: str, params: Mapping[str, bytes]) -> None:
        """Send a notification."""
        self._writer.write(jsonrpc.notification(method, jsonrpc.object_of(params) if params else b""))

    def write(self, line: bytes) -> None:
        """Send a line that is complete already."""
        self._writer.write(line)

    async def ask(self, method: str, params: Mapping[str, bytes], caller: Caller) -> bytes:
        """A request of our own: its result, or `NoAnswer`."""
        answer: asyncio.Future[bytes] = self._loop.create_future()

        def fail(message: str, error: bytes = b"") -> None:
            if not answer.done():
                answer.set_exception(NoAnswer(message, error))

        exchange = Exchange(
            method, params, {}, caller,
            on_result=lambda result: None if answer.done() else answer.set_result(bytes(result)),
            on_error=lambda error: fail(f"{method} failed: {mask(error[:300].decode('utf-8', 'replace'))}", error),
            on_failure=lambda failure: fail(failure.message),
        )  # fmt: skip
        self.send(exchange)
        try:
            return await answer
        finally:
            self.pending.pop(exchange.id, None)

    async def stop(self) -> None:
        """End it: close its stdin, then SIGTERM, then SIGKILL, to the whole group; returns when it is gone."""
        self._writer.close()
        last = self._loop.time() + _EOF_GRACE_S + _TERM_GRACE_S
        for grace, number in ((_EOF_GRACE_S, signal.SIGTERM), (_TERM_GRACE_S, signal.SIGKILL)):
            if await self._is_gone_within(grace):
                break
            posix.signal_group(self.pid, number)
        await self.gone.wait()
        if self._ending_group and not self._ending_group.done():
            await asyncio.wait([self._ending_group], timeout=max(0.0, last - self._loop.time()))
            posix.signal_group(self.pid, signal.SIGKILL)

    async def _is_gone_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.gone.wait()
        except TimeoutError:
            return False
        return True

    def _params(self, exchange: Exchange, id_: bytes) -> bytes:
        meta = exchange.meta
        if meta:
            meta = dict(meta)
            if "progressToken" in meta:
                meta["progressToken"] = id_
            if exchange.caller.modern and not self.modern:
                meta = {name: value for name, value in meta.items() if name not in _ENVELOPE}
        if self.modern and jsonrpc.VERSION_KEY not in meta:
            meta = {**meta, **envelope(exchange.caller)}
        if not meta:
            return jsonrpc.object_of(exchange.params)
        return jsonrpc.object_of({**exchange.params, "_meta": jsonrpc.object_of(meta)})

    def _line(self, line: Line) -> None:
        try:
            message = jsonrpc.decode(line)
        except jsonrpc.Malformed:
            return  # chatter on stdout: the fault of many servers, and harmless
        if message.method is not None:
            self._on_message(self, message)
            return
        exchange = self._answered(message.id)
        if exchange is None:
            return
        if exchange.timer:
            exchange.timer.cancel()
        try:
            self._deliver(exchange, message)
        except Exception as error:
            exchange.on_failure(Failure("bad_answer", f"the server's answer cannot be passed on: {error}"))
            raise

    def _deliver(self, exchange: Exchange, message: jsonrpc.Message) -> None:
        result = memoryview(message.result)
        if memoryview(message.error).nbytes and bytes(message.error) != b"null":
            exchange.on_error(bytes(message.error))
        elif result.nbytes:
            # A view: a result of 20 MB is never copied on its way.
            exchange.on_result(result)
        else:
            exchange.on_failure(Failure("bad_answer", "the server's answer has neither result nor error"))

    def _answered(self, raw: Raw) -> Exchange | None:
        # Some servers send ids back as strings or floats.
        text = bytes(raw).strip(b'"').removesuffix(b".0")
        return self.pending.pop(int(text), None) if text.isdigit() and len(text) < 20 else None

    def _read_stderr(self) -> None:
        try:
            data = os.read(self._stderr_pipe.fileno(), 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._stderr_pipe.fileno())
            return
        self._stderr = (self._stderr + data)[-_STDERR_KEPT:]
        self._on_stderr(data)

    def _await_exit(self) -> None:
        posix.await_exit(self._process)
        try:
            self._loop.call_soon_threadsafe(self._exited)
        except RuntimeError:
            return  # the loop is closed: so is everything else

    def _hung_up(self) -> None:
        # With one stream closed it can answer nothing any more: the next call starts it anew.
        if self.hung_up:
            return
        self.hung_up = True
        self._on_gone(self)
        # Kept, since the loop holds its tasks weakly.
        self._ending = self._loop.create_task(self.stop())

    def _exited(self) -> None:
        self._reader.drain()
        self._read_stderr()
        self.exit_status = self._process.wait()
        if posix.signal_group(self.pid, signal.SIGTERM):
            self._ending_group = self._loop.create_task(self._end_group())
        self.hung_up = True
        self._writer.close()
        self._reader.close()
        self._loop.remove_reader(self._stderr_pipe.fileno())
        self._stdout.close()
        self._stderr_pipe.close()
        self.gone.set()
        self._on_gone(self)
        pending, self.pending = self.pending, {}
        for exchange in pending.values():
            exchange.failed("server_died", f"it ended ({self.how_it_ended()})")

    async def _end_group(self) -> None:
        """What the process has started is in its group, and must not outlive it."""
        last = self._loop.time() + _TERM_GRACE_S
        while self._loop.time() < last and posix.signal_group(self.pid, 0):
            await asyncio.sleep(_LOOK_S)
        posix.signal_group(self.pid, signal.SIGKILL)
        self._loop.call_soon(self._on_gone, self)

    def how_it_ended(self) -> str:
        """Exit status or signal, and its last words, for a message."""
        status = self.exit_status
        if status is not None and status < 0:
            how = (
                f"killed by {signal.Signals(-status).name}"
                if -status in signal.valid_signals()
                else f"signal {-status}"
            )
        else:
            how = f"exit status {status}"
        return f"{how}; its last words: {self.last_words}" if self.last_words else how


_ENVELOPE = (jsonrpc.VERSION_KEY, jsonrpc.CLIENT_INFO_KEY, jsonrpc.CAPABILITIES_KEY, "io.modelcontextprotocol/logLevel")


def envelope(caller: Caller) -> dict[str, bytes]:
    """The `_meta` members that every 2026-07-28 request carries, for `caller`."""
    found = {jsonrpc.VERSION_KEY: b'"%b"' % jsonrpc.MODERN_REVISION.encode()}
    if caller.info:
        found[jsonrpc.CLIENT_INFO_KEY] = caller.info
    # What a client of the other era can do cannot be asked of it across eras.
    return {**found, jsonrpc.CAPABILITIES_KEY: caller.capabilities if caller.modern else b"{}"}
