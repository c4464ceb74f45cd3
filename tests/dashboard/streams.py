"""Streams of events as a browser has them, without a socket: opened, read message by message, resumed and left."""

import asyncio
import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import ASGIApp, Message, Scope

from mcpctl.base.paths import Paths
from mcpctl.dashboard.app import app
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.dashboard.running import Login
from tests.dashboard.conftest import PERSON, PORT, seen_by

PATIENCE_S = 60
_END = object()


class Told(NamedTuple):
    """One message of a stream."""

    id: str | None
    data: dict[str, Any]


class Source:
    """A stream; what does not come in time fails the test."""

    def __init__(self, portal: BlockingPortal, served: ASGIApp, query: str, headers: dict[str, str]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.last_id = ""
        """What a browser would send as Last-Event-ID."""
        self.sent = 0
        """Bytes."""
        self._portal = portal
        self._came: queue.Queue[object] = queue.Queue()
        self._gone = asyncio.Event()
        self._may_send = asyncio.Event()
        self._may_send.set()
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope: Scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "method": "GET", "scheme": "http",
            "path": "/api/v1/events", "raw_path": b"/api/v1/events", "query_string": query.encode(), "headers": raw,
            "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1), "http_version": "1.1", "root_path": "",
        }  # fmt: skip
        self._served = portal.start_task_soon(served, scope, self._receive, self._send)
        self._served.add_done_callback(lambda _: self._came.put(_END))
        self._take()

    async def _receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self._came.put(b"")
            return
        await self._may_send.wait()
        self.sent += len(message["body"])
        for block in message["body"].split(b"\n\n")[:-1] or [message["body"]]:
            self._came.put(block)

    def _take(self) -> Any:
        return self._came.get(timeout=PATIENCE_S)

    def block(self) -> list[str]:
        """The lines up to the next empty one; of the end, none."""
        block = self._take()
        lines: list[str] = [] if block is _END else block.decode().split("\n")
        self.last_id = next((line[4:] for line in lines if line.startswith("id: ")), self.last_id)
        return lines

    def next(self) -> Told:
        """The next message; comments, and positions alone, are passed over."""
        while lines := self.block():
            fields = dict(line.split(": ", 1) for line in lines if line)
            if "data" in fields:
                told = Told(fields.get("id"), json.loads(fields["data"]))
                assert fields["event"] == told.data["type"], "listeners of a type get it, and no others"
                return told
        raise AssertionError("the stream has ended")

    def next_of(self, type_: str) -> Told:
        """The next message of this type."""
        return next(told for told in iter(self.next, None) if told.data["type"] == type_)

    def take(self, number: int) -> list[Told]:
        """So many messages."""
        return [self.next() for _ in range(number)]

    def body(self) -> Any:
        """The answer where it is no stream."""
        return json.loads(self._take())

    def stall(self) -> None:
        """Take nothing more, and stay."""
        self._may_send.clear()

    def go_on(self) -> None:
        """Take again."""
        self._portal.call(self._may_send.set)

    def wait_for_end(self) -> None:
        """Read until it is ended from the other side."""
        while self.block():
            pass
        self._served.result(PATIENCE_S)

    def leave(self) -> None:
        """Go away, as a tab that is closed; the other side has noticed then."""
        self._portal.call(self._gone.set)
        self._served.result(PATIENCE_S)


class Streams:
    """A dashboard whose streams are opened."""

    def __init__(self, portal: BlockingPortal, paths: Paths) -> None:
        self.dashboard = Dashboard(paths, PORT)
        self._portal = portal
        self._app = app(self.dashboard)

    def open(self, query: str = "", last_id: str = "", login: Login = PERSON) -> Source:
        """A stream that has begun, or was refused; from now on, where nothing else is said."""
        headers = {"last-event-id": last_id} if last_id else {}
        return Source(self._portal, seen_by(login, self._app), query, headers)


@contextmanager
def streams(paths: Paths) -> Iterator[Streams]:
    """A dashboard for as long as the block lasts."""
    with start_blocking_portal() as portal:
        opened = Streams(portal, paths)
        try:
            yield opened
        finally:
            opened.dashboard.feed.close()
