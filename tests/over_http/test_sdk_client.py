"""The SDK's client over HTTP, in both eras: calls with progress, questions, cancellations, its session and its end."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpctl.base.paths import Paths
from mcpctl.over_http.older_clients import SESSION
from tests.over_http.asgi import token_of
from tests.over_http.test_balancers import Processes, answers, free_ports
from tests.proxy.client import TIMEOUT_S, journal_lines, until, write_config
from tests.servers import command

pytestmark = [pytest.mark.process, pytest.mark.slow]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ENDS_S = 60


class Served:
    """A process that serves, and a token for it."""

    def __init__(self, home: Path, port: int, token: str, processes: Processes) -> None:
        self.home, self._port, self._processes = home, port, processes
        self.headers = {"Authorization": f"Bearer {token}"}
        self.seen: list[tuple[str, str | None, int]] = []
        """The method, session and status of each request."""

    def restart(self) -> None:
        """Have another process in its place."""
        self._processes.kill(self._port)
        self._processes.start(self._port)

    @asynccontextmanager
    async def client(self, mode: str, **callbacks: Any) -> AsyncIterator[Any]:
        """A client that has begun."""
        import httpx2
        from mcp.client import Client
        from mcp.client.streamable_http import streamable_http_client

        async def note(response: Any) -> None:
            request = response.request
            self.seen.append((request.method, request.headers.get(SESSION.decode()), response.status_code))

        url = f"http://127.0.0.1:{self._port}/mcp"
        hooks: dict[str, list[Any]] = {"response": [note]}
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=TIMEOUT_S, event_hooks=hooks) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, **callbacks) as client,
        ):
            yield client

    def statuses(self) -> list[str]:
        """Those of the calls on record, in the order of their ends."""
        return [line["status"] for line in journal_lines(self.home) if line["type"] == "calls.finished"]


@pytest.fixture
def served(home: Path, paths: Paths) -> Iterator[Served]:
    """`serve --http` with a server that reports progress, and one that asks."""
    suite = [sys.executable, "-m", "tests.conformance.server"]
    write_config(home, {"progress": command("progress"), "suite": suite})
    (port,) = free_ports(1)
    processes = Processes(home, [port])
    try:
        until("it listens", lambda: answers(port))
        yield Served(home, port, token_of(paths, name="ann")[1], processes)
    finally:
        processes.end()


def drive(played: Callable[[], Any]) -> None:
    async def in_time() -> None:
        with anyio.fail_after(ENDS_S):
            await played()

    anyio.run(in_time)


async def called(client: Any, key: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
    """The text of a call's answer."""
    given = {"toolKey": key, "arguments": arguments or {}}
    return str((await client.call_tool("tool_execute", given, **more)).content[0].text)


@MODES
def test_it_finds_calls_is_told_and_asked_and_takes_back(mode: str, served: Served) -> None:
    from mcp_types import ElicitResult

    async def asked(context: Any, params: Any) -> Any:
        return ElicitResult(action="accept", content={"username": "ann", "email": "a@example.com"})

    async def played() -> None:
        async with served.client(mode, elicitation_callback=asked) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["tool_discovery", "tool_execute"]
            search = await client.call_tool("tool_discovery", {"query": ["slow progress"]})
            assert search.structured_content["results"][0]["toolKey"] == "progress:slow"
            told: list[float] = []

            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                told.append(progress)

            assert "3" in await called(client, "progress:slow", {"n": 3}, progress_callback=progressed)
            assert told == [1, 2, 3]
            assert "ann" in await called(client, "suite:test_elicitation", {"message": "Who are you?"})
            began = anyio.Event()

            async def begun(progress: float, total: float | None, message: str | None) -> None:
                began.set()

            async with anyio.create_task_group() as tasks:
                slow = {"n": 1000, "pause": 0.05}
                tasks.start_soon(lambda: called(client, "progress:slow", slow, progress_callback=begun))
                await began.wait()
                tasks.cancel_scope.cancel()
            assert "1" in await called(client, "progress:slow", {"n": 1})

    drive(played)
    asked_first = [] if mode == "legacy" else ["input_required"]  # a newer client comes again with its answer
    until("all is on record", lambda: sorted(served.statuses()) == ["cancelled", *asked_first, "ok", "ok", "ok"])
    methods = {method for method, _, _ in served.seen}
    assert methods == ({"POST", "GET", "DELETE"} if mode == "legacy" else {"POST"})
    assert all(status in (200, 202, 204) for _, _, status in served.seen), served.seen


@MODES
def test_after_another_process_has_taken_the_place_of_its_own_it_begins_anew_where_it_had_a_session(
    mode: str, served: Served
) -> None:
    from mcp import MCPError

    async def played() -> None:
        async with served.client(mode) as client:
            assert await called(client, "progress:slow", {"n": 1})
            served.restart()
            if mode == "legacy":
                with pytest.raises(MCPError, match="no such session"):
                    await called(client, "progress:slow", {"n": 1})
            else:
                assert await called(client, "progress:slow", {"n": 1})
        async with served.client(mode) as client:
            assert await called(client, "progress:slow", {"n": 1})

    drive(played)
    sessions = {session for _, session, _ in served.seen if session}
    assert len(sessions) == (2 if mode == "legacy" else 0)
    assert served.statuses() == ["ok"] * (2 if mode == "legacy" else 3)
