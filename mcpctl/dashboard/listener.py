"""One stream of events, between the thread that reads and the event loop that sends."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mcpctl.dashboard.logins import Login
from mcpctl.output import to_json
from mcpctl.store.events import Event, JournalEvents
from mcpctl.store.filters import EVERYTHING, CallFilter
from mcpctl.store.records import Records

RETRY_MS = 3000
"""After so long a browser connects again."""
_AT_ONCE = 1 << 18
"""Bytes that are read for a stream before it has sent what it has."""
_MOST_OWED = 1 << 20
"""Bytes of what has no position, and so cannot be read later, that wait for a stream."""
_PAYLOADS = ("arguments", "response", "error", "results")
_CLOSED = "sessions.closed"


@dataclass(frozen=True)
class Subscription:
    """What a stream is to have."""

    wanted: CallFilter = EVERYTHING
    since: str | None = None
    """A position; None is now."""
    payloads: bool = True
    """Whether with arguments, responses, errors and results."""
    approvals: bool = False
    """Whether with what waits for a yes, whatever is asked of the rest."""

    def has(self, event: Event) -> bool:
        """Whether an event is meant that no journal has. What is asked of calls leaves none."""
        if self.approvals and event.type.startswith("approvals."):
            return True
        is_its_end = event.type == _CLOSED and event.data["session_id"] in self.wanted.sessions
        return self.wanted == EVERYTHING or (is_its_end and self.wanted == CallFilter(sessions=self.wanted.sessions))


class Outlet:
    """Where a stream takes what is to be sent, a block at a time; made on the event loop, and filled by a thread."""

    def __init__(self) -> None:
        self.is_free = True
        """Whether the last block was taken."""
        self.is_ended = False
        self._loop = asyncio.get_running_loop()
        self._came = asyncio.Event()
        self._block = b""

    def put(self, block: bytes) -> None:
        """Give it the next block; only where it is free."""
        self.is_free = False
        self._on_loop(self._receive, block)

    def end(self) -> None:
        """Have the stream end now: whoever it is for connects again, and gets what was not sent."""
        self.is_ended = True
        self._on_loop(self._came.set)

    def _on_loop(self, function: Callable[..., object], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all streams with it
            self._loop.call_soon_threadsafe(function, *args)

    def _receive(self, block: bytes) -> None:
        self._block = block
        self._came.set()

    async def take(self, patience_s: float | None = None) -> bytes | None:
        """The next block; an empty one where none came in time, and None at the end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._came.wait()
        self._came.clear()
        if self.is_ended:
            return None
        block, self._block = self._block, b""
        self.is_free |= bool(block)
        return block


@dataclass(eq=False)
class Listener:
    """One stream: what is read for it, by the thread that reads."""

    login: Login
    subscription: Subscription
    outlet: Outlet = field(default_factory=Outlet)
    is_behind: bool = False
    """Whether there is more to be read for it than was read."""
    events: JournalEvents | None = None
    """None until it has begun."""
    _owed: list[bytes] = field(default_factory=list)
    _dead: set[str] = field(default_factory=set)
    """The sessions whose end it was told before that was on record."""

    def begin(self, records: Records) -> None:
        """Begin where it is asked to, and say so: who connects again before any event comes goes on from here."""
        self.events = records.events(self.subscription.wanted, since=self.subscription.since)
        self._owed = [f"retry: {RETRY_MS}\nid: {self.events.position()}\n\n".encode()]
        self.is_behind = True

    def owe(self, changes: Sequence[Event]) -> None:
        """Have it told of what no journal has."""
        for event in changes:
            if self.subscription.has(event):
                self._owed.append(self._message(event))
                self._dead |= {event.data["session_id"]} if event.type == _CLOSED else set()
        if sum(map(len, self._owed)) > _MOST_OWED:
            self.outlet.end()

    def read(self, *, is_new: bool) -> None:
        """Give it what has come, as much at once as it may have; nothing while it still has what it was given."""
        assert self.events
        self.is_behind |= is_new
        if not self.outlet.is_free or not (self._owed or self.is_behind):
            return
        blocks, self._owed = self._owed, []
        room = _AT_ONCE
        self.is_behind = False
        for event in self.events.read():
            block = f"id: {self.events.position()}\n".encode() + self._of_journal(event)
            blocks.append(block)
            room -= len(block)
            if room <= 0:
                self.is_behind = True
                break
        if blocks:
            self.outlet.put(b"".join(blocks))

    def _of_journal(self, event: Event) -> bytes:
        """The event; only an empty line for the end of a session that was told already: the position alone moves."""
        if event.type == _CLOSED and event.data["session_id"] in self._dead:
            return b"\n"
        return self._message(event)

    def _message(self, event: Event) -> bytes:
        data = event.data
        if not self.subscription.payloads:
            data = {name: value for name, value in data.items() if name not in _PAYLOADS}
        said = to_json({"type": event.type, "data": data, "timestamp": event.timestamp})
        return f"data: {said}\n\n".encode()
