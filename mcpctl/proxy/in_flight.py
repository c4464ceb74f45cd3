"""What a client waits for: its calls and reads, by the ids of its requests."""

import asyncio
from typing import Protocol

from mcpctl.proxy.client_side import CallRequest


class Awaited(Protocol):
    """One of them."""

    request: CallRequest

    def cancel(self, params: dict[str, bytes]) -> None:
        """The client takes it back: so do we upstream, and nothing is answered."""

    def interrupt(self) -> None:
        """Answer that the session ends before there is an answer."""


class InFlight:
    """Those of one session."""

    def __init__(self) -> None:
        self._awaited: dict[bytes, Awaited] = {}
        self.idle = asyncio.Event()
        """Set while there is none."""
        self.idle.set()

    def __len__(self) -> int:
        return len(self._awaited)

    def __contains__(self, id_: bytes) -> bool:
        return id_ in self._awaited

    def get(self, id_: bytes) -> Awaited | None:
        """What the request with this id waits for."""
        return self._awaited.get(id_)

    def add(self, awaited: Awaited) -> None:
        """One has begun."""
        self._awaited[awaited.request.id] = awaited
        self.idle.clear()

    def remove(self, awaited: Awaited) -> None:
        """One has its answer, or needs none."""
        if self.get(awaited.request.id) is awaited:
            del self._awaited[awaited.request.id]
        if not self._awaited:
            self.idle.set()

    def cancel(self, id_: bytes, params: dict[str, bytes]) -> None:
        """The client takes a request back, if it is one of these."""
        if awaited := self.get(id_):
            awaited.cancel(params)

    def interrupt(self) -> None:
        """End all of them: on record as interrupted, and answered so."""
        for awaited in list(self._awaited.values()):
            awaited.interrupt()
