"""A server that is pinned, and what it lists now; and a person at a terminal."""

from collections.abc import Callable
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests import configured
from tests.configured import READ, WRITE

Listing = Callable[..., None]


@pytest.fixture
def files(paths: Paths) -> Listing:
    """Has a server list these tools, after it was pinned with READ and WRITE."""
    configured.configure(paths, {"files": configured.stub()}, policy={"mode": "enforce"})
    configured.listed(paths, "files", [READ, WRITE])
    configured.pinned(paths, "files")

    def list_now(*tools: dict[str, Any], **more: Any) -> None:
        configured.listed(paths, "files", tools, **more)

    return list_now
