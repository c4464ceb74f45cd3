"""The cost of a call to an HTTP API over the same request: `python -m tests.bench.http_api [--runs N] [--json]`

The same request by the same HTTP library, made directly, by a connection in this process, and through `mcpctl serve`
with its records; one shuffled run against one API on this machine. Compare the rows; times are this machine's.
"""

import argparse
import asyncio
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Raw

from mcpctl.base.paths import Paths
from mcpctl.config.server_settings import check_server
from mcpctl.openapi import snapshot
from mcpctl.wire import http_client
from tests.bench import raw_client
from tests.bench.raw_client import MCPCTL, Connection, Target, Unavailable
from tests.upstreams.http_api.own_api import document, opened, operation, parameter, sent

BLOCK = 50
BODY = json.dumps([{"id": n, "name": f"order {n}", "paid": True} for n in range(20)]).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
ENTRY = {"openapi": "api.json", "auth": {"bearer": "a-token-of-nobody"}}
Call = Callable[[int], Awaitable[object]]


async def api() -> None:
    """Serve until the process is killed; prints the address."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(HEAD + BODY)

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def running_api() -> Iterator[str]:
    """The address of the API in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.http_api", "--api"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def measured(runs: int, calls: Mapping[str, Call]) -> dict[str, list[float]]:
    """The seconds of each call, block after block in one random order."""
    figures: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for number in range(BLOCK):
            await call(number)
    jobs = [name for name in calls for _ in range(max(1, runs // BLOCK))]
    random.shuffle(jobs)
    for name in jobs:
        for number in range(BLOCK):
            start = time.perf_counter()
            await calls[name](number)
            figures[name].append(time.perf_counter() - start)
    return figures


async def measure(folder: Path, url: str, runs: int) -> dict[str, list[float]]:
    """All figures."""
    paths = Paths(folder / "config.toml", folder / "data")
    (folder / "config.toml").write_text('[servers.up]\nopenapi = "api.json"\nauth = { bearer = "a-token-of-nobody" }\n')
    entry = check_server("up", ENTRY)
    of = operation(
        "GET", "/orders/{id}/lines", parameter("id", "path"), parameter("page"), tool="lines",
        definition=Raw(b'{"name":"lines","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}'),
    )  # fmt: skip
    content = snapshot.encoded(document(url, of))
    for name in ("up", "shop"):
        snapshot.save(paths, name, entry, content)
    connection = await opened(paths, entry)
    plain = http_client.client(url, {})
    served = Target("mcpctl serve", [*MCPCTL, "serve"], {"MCPCTL_HOME": str(folder)})
    numbers = iter(range(10, sys.maxsize))

    async def direct(number: int) -> None:
        headers = {"Authorization": "Bearer a-token-of-nobody", "Accept": "application/json"}
        response: httpx2.Response = await plain.get(f"{url}/orders/a%2F{number}/lines?page=2", headers=headers)
        assert response.content == BODY

    async def connected(number: int) -> None:
        await sent(connection, {"id": f"a/{number}", "page": 2}, "lines")[1].answered

    with Connection(served) as process:
        process.write(raw_client.opening("legacy"))
        process.answer()

        async def through(number: int) -> None:
            process.write(served.call(next(numbers), "lines", {"id": f"a/{number}", "page": 2}, "legacy"))
            process.answer()

        calls = {"direct": direct, "connection": connected, "mcpctl serve": through}
        figures = await measured(runs, calls)
    await connection.stop()
    await plain.aclose()
    return figures


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="calls of each kind")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--api", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.api:
        asyncio.run(api())
        return 0
    try:
        with tempfile.TemporaryDirectory(prefix="mcpctl-bench-") as folder, running_api() as url:
            figures = asyncio.run(measure(Path(folder), url, options.runs))
    except Unavailable as reason:
        print(f"stopped: {reason}", file=sys.stderr)
        return 1
    floor = raw_client.median(figures["direct"])
    rows: list[dict[str, Any]] = [
        {
            "call": name, "p50_ms": raw_client.median(taken) * 1000,
            "added_p50_ms": (raw_client.median(taken) - floor) * 1000,
            "x_direct": raw_client.median(taken) / floor, "p99_ms": raw_client.percentile(taken, 0.99) * 1000,
        }
        for name, taken in figures.items()
    ]  # fmt: skip
    print(json.dumps({"runs": options.runs, "calls": rows}, indent=2) if options.json else raw_client.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
