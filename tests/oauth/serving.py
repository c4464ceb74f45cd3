"""An application of a test's, served in a thread of this process; each answer comes at once, and so does the end."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp


@contextlib.contextmanager
def served(app: ASGIApp, listening: socket.socket) -> Iterator[None]:
    """Serve it there for as long as the block lasts."""
    web = _Web(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=0))
    thread = threading.Thread(target=web.run, kwargs={"sockets": [listening]}, name="site")
    thread.start()
    try:
        web.is_up.wait()
        yield
    finally:
        web.end()
        thread.join()


class _Web(uvicorn.Server):
    """One that ends at once, not at its next tick."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Until the end, or until it cannot begin."""
        try:
            super().run(sockets)
        finally:
            self.is_up.set()

    async def main_loop(self) -> None:
        """Wait for the end."""
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self.is_up.set()
        await self._ending.wait()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def end(self) -> None:
        """End it."""
        self.force_exit = True
        self._loop.call_soon_threadsafe(self._ending.set)
