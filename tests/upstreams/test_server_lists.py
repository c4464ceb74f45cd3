"""When a server is asked for its lists."""

import asyncio
from typing import Any

import pytest

from mcpctl.base import bounds
from mcpctl.base.callers import ANYBODY, LEGACY_REVISIONS, Caller
from mcpctl.base.failure import failed
from mcpctl.upstreams.server_lists import ListOf, ListRefresher, pages


class Connection:
    """One that answers a list when it is told to."""

    revision = LEGACY_REVISIONS[-1]
    caller = None

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def ask(self, *_: Any) -> bytes:
        self.asked.set()
        return await self.answer


def test_a_connection_that_comes_while_the_last_ones_list_is_failing_is_listed() -> None:
    assert asyncio.run(listed_in_turn()) == [[b'{"name": "a"}']]


async def listed_in_turn() -> list[list[bytes]]:
    listed: list[list[bytes]] = []
    heard = asyncio.Event()

    async def keep(connection: Any, caller: Caller) -> None:
        listed.append(await pages("s", connection, caller, ListOf("tools/list", "tools", 9)))
        heard.set()

    first, second = Connection(), Connection()
    current: Any = first
    listing = ListRefresher("s", lambda connection: connection is current, keep)
    listing.begin(current, None)
    await first.asked.wait()
    current = second
    listing.begin(current, None)
    first.answer.set_exception(failed("server_died", "it has gone"))
    second.answer.set_result(b'{"tools": [{"name": "a"}]}')
    async with asyncio.timeout(20):
        await heard.wait()
    return listed


def test_a_list_without_end_is_cut_and_that_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Endless:
        count = 0

        async def ask(self, *_: Any) -> bytes:
            self.count += 1
            return b'{"tools": [{"name": "a%d"}], "nextCursor": "%d"}' % (self.count, self.count)

    monkeypatch.setattr(bounds, "PAGES", 3)
    endless: Any = Endless()
    for most, words in ((9, "on more than 3 pages"), (2, "more than 2 tools")):
        assert len(asyncio.run(pages("s", endless, ANYBODY, ListOf("tools/list", "tools", most)))) == min(3, most)
        assert words in capsys.readouterr().err
