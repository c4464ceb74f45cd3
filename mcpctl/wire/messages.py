"""Messages read from a descriptor: short ones on the event loop, long and odd ones beside it, in their order."""

import asyncio
import codecs
import contextlib
import re
from collections.abc import Callable
from typing import Any

from mcpctl.base import bounds
from mcpctl.wire import jsonrpc, loose_json
from mcpctl.wire.jsonrpc import Malformed
from mcpctl.wire.line_reader import Line, LineReader
from mcpctl.wire.threads import beside
from mcpctl.wire.writer import Readers

Read = list[Any]  # messages, and in place of one that cannot be read the `Malformed` that says why


class MessageReader:
    """Gives the messages in the lines of `fd` to `on_message`, and each line that has none to `on_other`. `on_other`
    may return a future, which the lines after it wait for. `on_malformed` gets why a message cannot be read that a
    client has sent, so that it is answered; without it, as for a server, that is left out. `decoded` may have other
    classes than `Message` for messages that come often; it raises as `jsonrpc.decoded`, in any thread."""

    def __init__(
        self, fd: int, readers: Readers, *, on_message: Callable[[Any], None],
        on_other: Callable[[bytes], asyncio.Future[Any] | None], on_end: Callable[[], None],
        on_too_long: Callable[[bytes, bytes], None], on_malformed: Callable[[Malformed], None] | None = None,
        decoded: Callable[[Line], Any] = jsonrpc.decoded,
    ) -> None:  # fmt: skip
        self.given = 0  # how many lines so far had messages
        self._on_message = on_message
        self._on_malformed = on_malformed
        self._decoded = decoded
        self._on_other = on_other
        self._loop = asyncio.get_running_loop()
        reader = LineReader(fd, readers, self.take, on_end, on_too_long)
        self.finish, self.close = reader.finish, reader.close

    def take(self, line: Line) -> asyncio.Future[Any] | None:
        """Take one line; what is returned is done when that is."""
        if line[:1] not in _OPENING and line[:_INDENT].lstrip()[:1] not in (*_OPENING, b"", _MARK):
            return self._on_other(bytes(line))
        if len(line) > bounds.AT_ONCE:
            return self._loop.create_task(self._take_beside(line))
        if not line.isascii():
            # Invalid UTF-8 would end the other side's whole connection, and with it every other call.
            line = loose_json.well_formed(line)
        try:
            message = self._decoded(line)
        except jsonrpc.REFUSED:
            if len(line) <= bounds.LITTLE:
                return self._give(line, self._read(line))
            return self._loop.create_task(self._take_beside(line))
        if self._on_malformed is None and message.method is None and message.id in jsonrpc.NOTHING:
            return self._on_other(bytes(line))
        self.given += 1
        self._on_message(message)
        return None

    async def _take_beside(self, line: Line) -> None:
        read = await beside(self._read, line)
        if busy := self._give(line, read):
            await busy

    def _give(self, line: Line, read: Read) -> asyncio.Future[Any] | None:
        if self._on_malformed is None:
            read = [
                each for each in read
                if not isinstance(each, Malformed) and (each.method is not None or each.id not in jsonrpc.NOTHING)
            ]  # fmt: skip
        if not read:
            return self._on_other(bytes(line))
        self.given += 1
        for each in read:
            if not isinstance(each, Malformed):
                self._on_message(each)
            elif self._on_malformed:
                self._on_malformed(each)
        return None

    def _read(self, line: Line) -> Read:
        """The messages in a line, none where it has none."""
        text = loose_json.well_formed(line)
        with contextlib.suppress(*jsonrpc.REFUSED):
            return [self._decoded(text)]
        with contextlib.suppress(Malformed):
            return [*jsonrpc.messages(bytes(text))]
        return []


def id_of(beginning: bytes, end: bytes) -> bytes:
    """The id, in JSON, of a message that cannot be read, from its first and last bytes; empty where neither tells."""
    if b'"jsonrpc"' not in beginning and b'"jsonrpc"' not in end:
        return b""
    match = _FIRST_ID.match(beginning) or _LAST_ID.search(end)
    return match[1] if match else b""


_ID = rb'"id"[ \t]*:[ \t]*("[^"\\]{0,200}"|-?\d{1,20})[ \t]*'
_FIRST_ID = re.compile(rb"[ \t]*\{[^\[\]{}]{0,300}?" + _ID + rb",")
_LAST_ID = re.compile(_ID + rb"\}\s*\Z")
_OPENING = (b"{", b"[")
_MARK = codecs.BOM_UTF8[:1]
_INDENT = 64
