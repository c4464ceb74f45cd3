"""One turn of reading, and who stops reading while the client takes nothing."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from mcpctl.errors import warn

Line = bytes | bytearray


class Pausable(Protocol):
    """What reads for a client."""

    def pause(self) -> None:
        """Leave what comes where it is."""

    def resume(self) -> None:
        """Read on."""


class Flushed(Protocol):
    """What sends when it is told to."""

    def flush(self) -> None:
        """Send what is queued, as far as the other side takes it."""


class Turn:
    """One turn of reading: what its lines cause to be written leaves at its end, the record first.

    Shared by all who read for one client, so that they stop together while it takes nothing.
    """

    def __init__(self) -> None:
        self._records: list[Callable[[], None]] = []
        self._writers: dict[Flushed, None] = {}
        self._taking = False
        self._readers: set[Pausable] = set()
        self._taken = asyncio.Event()
        self._taken.set()
        self._held = asyncio.Event()

    def begin_record(self, flush: Callable[[], None]) -> None:
        """Have `flush` called before anything leaves."""
        self._records.append(flush)

    def end_record(self, flush: Callable[[], None]) -> None:
        """Call `flush` no more."""
        self._records.remove(flush)

    def _record(self) -> None:
        for flush in self._records:
            flush()

    def take(self, lines: Iterable[Line], on_line: Callable[[Line], None]) -> None:
        """Handle lines that were read."""
        self._taking = True
        for line in lines:
            try:
                if line:
                    on_line(line)
            except Exception as error:
                # One line's fault must not cost the lines after it, nor the process.
                warn(f"internal error: {error!r}")
        self._taking = False
        self._record()
        writers, self._writers = self._writers, {}
        for writer in writers:
            writer.flush()

    def written(self, writer: Flushed) -> None:
        """Let a writer send now, or at the end of the turn."""
        if self._taking:
            self._writers[writer] = None
        else:
            self._record()
            writer.flush()

    def join(self, reader: Pausable) -> None:
        """Have a reader stop with the others."""
        self._readers.add(reader)
        if not self._taken.is_set():
            reader.pause()

    def leave(self, reader: Pausable) -> None:
        """Forget a reader that reads no more."""
        self._readers.discard(reader)

    def hold(self) -> None:
        """Read nothing until `release`: who should have it takes nothing."""
        if self._taken.is_set():
            self._taken.clear()
            self._held.set()
            for reader in self._readers:
                reader.pause()

    def release(self) -> None:
        """Read on."""
        if not self._taken.is_set():
            self._taken.set()
            self._held.clear()
            for reader in list(self._readers):
                reader.resume()

    async def held(self) -> None:
        """Return when there is a `hold`."""
        await self._held.wait()

    async def released(self) -> None:
        """Return when there is no `hold`, for those who read no descriptor."""
        await self._taken.wait()
