"""The client of `mcpctl serve` on two descriptors, from its first line to the end of all that was started for it."""

import asyncio
import contextlib
import select
from collections.abc import Callable

from mcpctl.base import bounds
from mcpctl.base.paths import Paths
from mcpctl.config.config import Config
from mcpctl.metatools.offers import Offer
from mcpctl.policy.holding import Locked
from mcpctl.proxy.client_protocol import ClientProtocol
from mcpctl.proxy.config_file import ConfigFile
from mcpctl.proxy.gateway import Gateway
from mcpctl.proxy.session import LAST_ANSWER_S, Session
from mcpctl.wire.messages import MessageReader
from mcpctl.wire.writer import Readers, Writer

_OPENING_S = 0.075
_GRACE_S = 0.5
_LOOK_S = 0.01
_HANG_UP_S = 0.5
_LAST_S = 1.4
"""After this it ends, though the client has not read all of its answers."""
_UNREAD_S = 0.8
"""After this it ends where the client has read nothing of them."""
_PLAIN = Offer()


async def serve(
    config: Config,
    paths: Paths,
    *,
    ending: asyncio.Event,
    stdin: int,
    stdout: int,
    toolset: str | None = None,
    token: str | None = None,
    offer: Offer = _PLAIN,
    verbose: bool = False,
    followed: ConfigFile | None = None,
    locked: Locked | None = None,
    on_ending: Callable[[], None] = lambda: None,
) -> None:
    """Serve one client on two descriptors until it goes or `ending` is set; then nothing that was started is left.

    `stdout` is closed at the end; `stdin` stays the caller's. `on_ending` is called when the end begins.
    """
    gateway = Gateway(
        config,
        paths,
        toolset=toolset,
        token=token,
        split=offer.split,
        verbose=verbose,
        followed=followed,
        locked=locked,
    )
    readers = gateway.turn.of_client()
    writer = Writer(stdout, gateway.turn, ending.set, inherited=True, holds=readers)
    session = Session(gateway, writer)
    protocol = ClientProtocol(session, writer, offer)
    # The first answer says what is kept of servers, but waits for nobody who holds it.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_OPENING_S):
            await gateway.current()
    reader = MessageReader(
        stdin, readers, on_message=protocol.message, on_malformed=protocol.malformed, decoded=protocol.decoded,
        on_other=protocol.not_a_message, on_end=ending.set, on_too_long=protocol.too_long,
    )  # fmt: skip
    loop = asyncio.get_running_loop()
    watching = asyncio.create_task(_watch_for_hang_up(stdin, readers, writer, ending))
    await ending.wait()
    on_ending()
    began, taken = loop.time(), writer.taken
    watching.cancel()
    reader.close()  # what it would start, nobody would end
    await session.settle(_GRACE_S)
    await gateway.stop(session.close(began + LAST_ANSWER_S), began + LAST_ANSWER_S)
    # One that takes nothing has gone, or never reads.
    while writer.pending and loop.time() < began + (_LAST_S if writer.taken > taken else _UNREAD_S):
        await asyncio.sleep(_LOOK_S)
    writer.close()
    readers.close()


async def _watch_for_hang_up(stdin: int, readers: Readers, writer: Writer, ending: asyncio.Event) -> None:
    """End when the client has gone without reading its answers: what is not read does not tell its own end."""
    poll = select.poll()
    poll.register(stdin, 0)
    while True:
        await readers.held()
        pending = writer.pending
        await asyncio.sleep(_HANG_UP_S)
        if writer.pending == pending and pending > bounds.UNREAD and poll.poll(0):
            ending.set()
            return
