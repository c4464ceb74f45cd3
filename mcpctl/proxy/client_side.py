"""The side of the client: a request as it came, and where its outcome goes."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec
from msgspec import Raw, field

from mcpctl.base.callers import Caller
from mcpctl.base.failure import Failure
from mcpctl.store.recordable import Json


class Incoming(msgspec.Struct, eq=False):
    """A request as the client sent it: a `tool_execute`, or one about prompts and resources."""

    id: bytes
    caller: Caller
    meta: Mapping[str, bytes] = field(default_factory=dict)
    extra: Mapping[str, bytes] = field(default_factory=dict)
    """Members of a call's params that do not concern us, such as `inputResponses`; all params of another request."""
    execute_class: str | None = None
    """What alone may be called this way, one of `hints.PERMISSIONS`; None for anything."""
    as_sent: bool = False
    """Whether an error is wanted as its server sent it, without help on the arguments."""
    replays: str | None = None
    """The call on record that it repeats."""


Barring = Callable[[], Failure | None]
"""Why something may not be sent as things are at this moment."""


def nothing_bars() -> None:
    """Nothing is barring it."""


class Resources(Protocol):
    """Where resources are read for a client."""

    async def read(self, uri: str, caller: Caller, server: str | None = None, barring: Barring = nothing_bars) -> bytes:
        """The result of `resources/read`; raises `Failed`. Nothing is read where something is `barring` it."""


class ClientSide(Protocol):
    """Where what becomes of a client's calls and reads goes."""

    @property
    def features(self) -> Resources:
        """What it gets beside tools."""

    @property
    def is_reading(self) -> bool:
        """Whether it takes what it is sent; who does not goes without questions and notifications."""

    def answer(self, request: Incoming, result: Json) -> None:
        """The result of a request, as the client's revision has it."""

    def error(self, request: Incoming, error: bytes) -> None:
        """The JSON-RPC error of a request."""

    def refused(self, request: Incoming, failure: Failure, call_id: str) -> None:
        """A call did not happen, or did not end; `call_id` is its id on record."""

    def progress(self, params: dict[str, bytes]) -> None:
        """How far a call is."""

    def log(self, raw: Raw, least: bytes | None) -> None:
        """What a server logs, from the level `least` on: as the client has set it where that is None."""

    def send(self, line: bytes) -> None:
        """A request or notification of ours."""
