"""What happens, for all streams of a dashboard: read by one thread, for as long as anybody listens."""

import threading
from collections.abc import Sequence

from mcpctl.base.errors import warn
from mcpctl.base.paths import Paths
from mcpctl.dashboard.listener import Listener, Subscription
from mcpctl.dashboard.logins import Login
from mcpctl.dashboard.state_events import StateEvents
from mcpctl.store.records import Records, Watch

MOST_OF_LOGIN = 4
"""Streams: a browser opens six connections to a host, and pages need some."""
MOST = 32
"""Streams in all."""
_PAUSE_S = 0.1


class Feed:
    """The streams of one dashboard, and the thread that reads for them."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
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
        """Take a stream out that has ended."""
        listener.outlet.end()
        with self._lock:
            self._listeners.remove(listener)
        self._woken.set()

    def hurry(self, listener: Listener) -> None:
        """Read on at once for a stream that has sent what it had."""
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
            with Records(self._paths) as records:
                reader = _Reader(records, StateEvents(self._paths, records))
                while listeners := self._listening():
                    reader.read_for(listeners)
                    self._woken.wait(_PAUSE_S)
                    self._woken.clear()
        except Exception as error:
            # Whoever listens connects again where it was, which begins a new thread.
            warn(f"events are read anew: {error}")
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None
            self._end_all()

    def _listening(self) -> Sequence[Listener]:
        """The streams that are to be read for; where there is none, this thread is not the one that reads any more."""
        with self._lock:
            listening = [each for each in self._listeners if not each.outlet.is_ended]
            if not listening:
                self._thread = None
            return listening


class _Reader:
    """What the thread has looked at."""

    def __init__(self, records: Records, state: StateEvents) -> None:
        self._records = records
        self._state = state
        self._watch = Watch()

    def read_for(self, listeners: Sequence[Listener]) -> None:
        """Read once for all of them."""
        look = [each.events and each.events.look() for each in listeners]
        if None in look:
            self._watch.forget()
        is_new = self._watch.is_due(look)
        if is_new and self._records.refreshed():
            for listener in listeners:
                if listener.events is None:
                    listener.begin(self._records)
        elif is_new:
            self._watch.forget()
        changes = self._state.changes()
        for listener in listeners:
            if listener.events:
                listener.owe(changes)
                listener.read(is_new=is_new)
