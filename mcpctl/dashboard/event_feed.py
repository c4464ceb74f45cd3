"""The event streams of a dashboard, and the one thread that reads for them as long as anybody listens."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mcpctl.base.errors import warn
from mcpctl.base.fields import CALL_PAYLOADS
from mcpctl.base.paths import Paths
from mcpctl.dashboard.running import Login
from mcpctl.dashboard.state_events import StateEvents
from mcpctl.output import to_json
from mcpctl.store.events import Event, JournalEvents
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.records import Records
from mcpctl.store.watch import Watch

MOST_OF_LOGIN = 4  # streams: a browser opens six connections to a host, and pages need some
MOST = 32
RETRY_MS = 3000
_PAUSE_S = 0.1
_AT_ONCE = 1 << 18  # bytes that are read for a stream before it has sent what it has
_MOST_OWED = 1 << 20  # bytes of events without a position, which cannot be read later, that wait for a stream
_PAYLOADS = (*CALL_PAYLOADS, "results")
_CLOSED = "sessions.closed"
_WAITING = ("approvals.", "tools.")  # the types of events that may change what waits for a person


@dataclass(frozen=True)
class Subscription:
    wanted: CallFilter = EVERYTHING
    since: str | None = None  # a position; None is now
    payloads: bool = True  # whether events have arguments, responses, errors and results
    approvals: bool = False  # whether it gets those of approvals and tools, whatever the filter is

    def has(self, event: Event) -> bool:
        """Whether it gets an event that is in no journal: with a filter, what waits, and the end of its session."""
        if self.approvals and event.type.startswith(_WAITING):
            return True
        is_its_end = event.type == _CLOSED and event.data["session_id"] in self.wanted.sessions
        return self.wanted == EVERYTHING or (is_its_end and self.wanted == CallFilter(sessions=self.wanted.sessions))


class Outlet:
    """The place where a stream takes the next block to send; made on the event loop, and filled by a thread."""

    def __init__(self) -> None:
        self.is_free = True
        self.is_ended = False
        self._loop = asyncio.get_running_loop()
        self._blocks: asyncio.Queue[bytes] = asyncio.Queue()

    def put(self, block: bytes) -> None:
        """Give it the next block; only where it is free."""
        self.is_free = False
        self._hand_over(block)

    def end(self) -> None:
        """Have the stream end now: its client connects again, and gets what was not sent."""
        self.is_ended = True
        self._hand_over(b"")

    def _hand_over(self, block: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all streams with it
            self._loop.call_soon_threadsafe(self._blocks.put_nowait, block)

    async def take(self, patience_s: float | None = None) -> bytes | None:
        """The next block; an empty one where none came in time, and None at the end."""
        block = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                block = await self._blocks.get()
        if self.is_ended:
            return None
        self.is_free |= bool(block)
        return block


@dataclass(eq=False)
class Listener:
    login: Login
    subscription: Subscription
    outlet: Outlet = field(default_factory=Outlet)
    is_behind: bool = False  # whether there is more to be read for it than was read
    events: JournalEvents | None = None  # none until it has begun
    _owed: list[bytes] = field(default_factory=list)
    _dead: set[str] = field(default_factory=set)  # the sessions whose end it got before that was on record

    def begin(self, records: Records) -> None:
        self.events = records.events(self.subscription.wanted, since=self.subscription.since)
        self._owed = [f"retry: {RETRY_MS}\nid: {self.events.position()}\n\n".encode()]
        self.is_behind = True

    def owe(self, changes: Sequence[Event]) -> None:
        """Queue events that are in no journal."""
        for event in changes:
            if self.subscription.has(event):
                self._owed.append(self._message(event))
                self._dead |= {event.data["session_id"]} if event.type == _CLOSED else set()
        if sum(map(len, self._owed)) > _MOST_OWED:
            self.outlet.end()

    def read(self, *, is_new: bool) -> None:
        """Give it the next events, as many bytes as it may have; nothing while it still has the last block."""
        assert self.events
        self.is_behind |= is_new
        if not self.outlet.is_free or not (self._owed or self.is_behind):
            return
        blocks, self._owed = self._owed, []
        room = _AT_ONCE
        self.is_behind = False
        for event in self.events.read():
            is_known = event.type == _CLOSED and event.data["session_id"] in self._dead
            # Where the end of a session was sent before, the position alone moves.
            message = b"\n" if is_known else self._message(event)
            block = f"id: {self.events.position()}\n".encode() + message
            blocks.append(block)
            room -= len(block)
            if room <= 0:
                self.is_behind = True
                break
        if blocks:
            self.outlet.put(b"".join(blocks))

    def _message(self, event: Event) -> bytes:
        data = event.data
        if not self.subscription.payloads:
            data = {name: value for name, value in data.items() if name not in _PAYLOADS}
        message = to_json({"type": event.type, "data": data, "timestamp": event.timestamp})
        return f"event: {event.type}\ndata: {message}\n\n".encode()


class Feed:
    def __init__(self, paths: Paths, records: Callable[[], Records]) -> None:
        self._paths = paths
        self._records = records
        self._listeners: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self._woken = threading.Event()

    def join(self, login: Login, subscription: Subscription) -> Listener | None:
        """A stream for this login, on the event loop that asks; None where there are too many, or it is closed."""
        with self._lock:
            of_login = sum(each.login == login for each in self._listeners)
            if self._is_closed or of_login >= MOST_OF_LOGIN or len(self._listeners) >= MOST:
                return None
            listener = Listener(login, subscription)
            self._listeners.append(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="events", daemon=True)
                self._thread.start()
        self._woken.set()
        return listener

    def leave(self, listener: Listener) -> None:
        listener.outlet.end()
        with self._lock:
            self._listeners.remove(listener)
        self._woken.set()

    def hurry(self, listener: Listener) -> None:
        if listener.is_behind:
            self._woken.set()

    def close(self) -> None:
        """End all streams at once, and let no more in. Any thread may do so, and a handler of signals."""
        self._is_closed = True
        self._end_all()
        self._woken.set()

    def _end_all(self) -> None:
        for listener in self._listeners.copy():
            listener.outlet.end()

    def _run(self) -> None:
        try:
            with self._records() as records:
                state, watch = StateEvents(self._paths, records), Watch()
                while listeners := self._listening():
                    _read_for(listeners, records, state, watch)
                    self._woken.wait(_PAUSE_S)
                    self._woken.clear()
        except Exception as error:
            # Clients connect again where they were, which begins a new thread.
            warn(f"the event streams were restarted: {error}")
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None
            self._end_all()

    def _listening(self) -> Sequence[Listener]:
        """The streams to read for; where there are none, this thread is no longer the one that reads."""
        with self._lock:
            listening = [each for each in self._listeners if not each.outlet.is_ended]
            if not listening:
                self._thread = None
            return listening


def _read_for(listeners: Sequence[Listener], records: Records, state: StateEvents, watch: Watch) -> None:
    look = [each.events and each.events.look() for each in listeners]
    if None in look:
        watch.forget()
    is_new = watch.is_due(look)
    if is_new and records.refreshed():
        for listener in listeners:
            if listener.events is None:
                listener.begin(records)
    elif is_new:
        watch.forget()
    changes = state.changes()
    for listener in listeners:
        if listener.events:
            listener.owe(changes)
            listener.read(is_new=is_new)
