"""Providers as the configuration makes them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcpctl.base.models import Progress, Tool, unseen
from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.search.providers import builder
from mcpctl.search.ranking import Provider
from tests.servers import service

Made = Callable[..., Provider]


@pytest.fixture
def made(home: Path, paths: Paths) -> Made:
    """Makes the provider that these settings of [search] choose."""

    def make(tools: list[Tool], name: str, on_progress: Progress | None = unseen, **settings: object) -> Provider:
        lines = [f"{key} = {value if isinstance(value, float) else repr(value)}" for key, value in settings.items()]
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text("\n".join(["[search]", f"optimization = '{name}'", *lines]))
        return builder(config.load(home / "config.toml"), paths, on_progress=on_progress)(tools, None, None)

    return make


@pytest.fixture
def endpoint() -> Iterator[service.Service]:
    """An embeddings endpoint."""
    with service.running(service.embeddings) as found:
        yield found
