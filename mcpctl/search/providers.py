"""The search providers by name, made from the configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from mcpctl.base.models import Progress, Tool, unseen
from mcpctl.base.paths import Paths
from mcpctl.config.config import Config
from mcpctl.search.ranking import Build, Provider, Ranking


def build(
    tools: Sequence[Tool],
    notes: Mapping[str, str] | None = None,
    index_path: Path | None = None,
    on_progress: Progress = unseen,
) -> Provider:
    from mcpctl.search.bm25 import Bm25

    return Bm25(tools, notes, index_path, on_progress)


def builder(
    config: Config, paths: Paths, provider: str | None = None, on_progress: Progress | None = None, *,
    learns: bool = True,
) -> Build:  # fmt: skip
    """A function that makes the provider of that name, or the configured one, for each catalog. With `on_progress`,
    which is told of indexing too, a search waits until all embeddings are there; without it, words rank meanwhile. It
    has learnt from use where that is configured, unless it `learns` later."""
    made = _builder(config, paths, provider or config.optimization, on_progress)
    if not (learns and config.search.learn):
        return made
    from mcpctl.search.lessons import learning_builder

    return learning_builder(made, paths, config.project)


def _builder(config: Config, paths: Paths, name: str, on_progress: Progress | None) -> Build:
    if name == "semantic":
        from mcpctl.search.semantic import semantic_builder

        return semantic_builder(config, paths, on_progress)
    if name == "cloud":
        from mcpctl.search.cloud import cloud_builder

        return cloud_builder(config, on_progress or unseen)
    if name == "off":
        return lambda tools, notes, index_path: Off(config.project)
    return lambda tools, notes, index_path: build(tools, notes, index_path, on_progress or unseen)


class Off(Struct, frozen=True):
    project: str | None
    name = "off"
    waits = False

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        where = f" for project '{self.project}'" if self.project else ""
        notice = f'Search is turned off{where} by the user\'s configuration: optimization = "off".'
        return Ranking((), self.name, None, (), weak=False, notice=notice)
