"""Messages read from a descriptor: short ones on the event loop, long and odd ones beside it, in their order."""

import asyncio
import codecs
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mcpctl import bounds
from mcpctl.wire import jsonrpc, loose_json
from mcpctl.wire.jsonrpc import Malformed, Message
from mcpctl.wire.line_reader import LineReader
from mcpctl.wire.turn import Line, Turn

T = TypeVar("T")
Read = list[Message | Malformed]
_beside = ThreadPoolExecutor(2, "read")


def beside(work: Callable[..., T], *given: Any) -> asyncio.Future[T]:
    """What `work` gives, which scans a text too long for the event loop."""
    return asyncio.get_running_loop().run_in_executor(_beside, work, *given)


class MessageReader:
    """Gives the messages in the lines of `fd` to `on_message`, and each line that has none to `on_other`.

    `on_other` may return a future, which the lines after it wait for. What a client sends that cannot be read is given
    as why, so that it is answered; what a server sends is left out.
    """

    def __init__(
        self,
        fd: int,
        turn: Turn,
        *,
        of_client: bool,
        on_message: Callable[[Message | Malformed], None],
        on_other: Callable[[bytes], asyncio.Future[Any] | None],
        on_end: Callable[[], None],
        on_too_long: Callable[[bytes, bytes], None],
    ) -> None:
        self._of_client = of_client
        self._on_message = on_message
        self._on_other = on_other
        self._loop = asyncio.get_running_loop()
        self._reader = LineReader(fd, turn, self.take, on_end, on_too_long)

    def finish(self) -> bool:
        """Take what is there at this moment, and not what is written meanwhile; whether all of it has been given."""
        return self._reader.finish()

    def close(self) -> None:
        """Read nothing more; the descriptor stays its owner's."""
        self._reader.close()

    def take(self, line: Line) -> asyncio.Future[Any] | None:
        """Take one line; what is returned is done when that is."""
        if line[:1] not in _OPENING and line[:_INDENT].lstrip()[:1] not in (*_OPENING, b"", _MARK):
            return self._on_other(bytes(line))
        if len(line) <= bounds.AT_ONCE:
            # Invalid UTF-8 would end the other side's whole connection, and with it every other call.
            line = loose_json.well_formed(line)
            if message := jsonrpc.decode(line):
                return self._give(line, [message])
            if len(line) <= bounds.LITTLE:
                return self._give(line, _read(line))
        return self._loop.create_task(self._take_beside(line))

    async def _take_beside(self, line: Line) -> None:
        read = await beside(_read, line)
        if busy := self._give(line, read):
            await busy

    def _give(self, line: Line, read: Read) -> asyncio.Future[Any] | None:
        if not self._of_client:
            read = [message for message in read if isinstance(message, Message) and _says_something(message)]
        if not read:
            return self._on_other(bytes(line))
        for message in read:
            self._on_message(message)
        return None


def _says_something(message: Message) -> bool:
    return message.method is not None or jsonrpc.is_id(message.id)


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


def _read(line: Line) -> Read:
    """The messages in a line, none where it has none."""
    text = loose_json.well_formed(line)
    if message := jsonrpc.decode(text):
        return [message]
    try:
        return jsonrpc.messages(bytes(text))
    except Malformed:
        return []
