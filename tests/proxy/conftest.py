"""`serve(...)` starts real processes on this test's home, and leaves none behind."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.client import LATEST, SERVE, Client, write_config

Serve = Callable[..., Client]


def starter(folder: Path, home: Path) -> Iterator[Serve]:
    """A function that starts `mcpctl serve` on `home` with these servers; without any, as it is configured already."""
    clients: list[Client] = []

    def start(
        servers: Mapping[str, Sequence[str] | Mapping[str, Any]] | None = None,
        *,
        revision: str = LATEST,
        opened: bool = True,
        env: Mapping[str, str] | None = None,
        limit: int | None = None,
        unprivileged: bool = False,
        **sections: Any,
    ) -> Client:
        if servers is not None:
            write_config(home, servers, **sections)
        stderr = folder / f"stderr-{len(clients)}.txt"
        variables = {"MCPCTL_HOME": str(home), **(env or {})}
        client = Client(SERVE, stderr, revision=revision, env=variables, limit=limit, unprivileged=unprivileged)
        clients.append(client)
        if opened:
            client.open()
        return client

    try:
        yield start
    finally:
        for client in clients:
            client.close()
    for client in clients:
        assert "internal error" not in client.stderr
        assert "Traceback" not in client.stderr


@pytest.fixture
def serve(tmp_path: Path, home: Path) -> Iterator[Serve]:
    """Starts `mcpctl serve` on this test's home."""
    yield from starter(tmp_path, home)
