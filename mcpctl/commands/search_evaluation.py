"""What `tools eval` measures, and against what."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpctl import output
from mcpctl.base import files
from mcpctl.base.errors import NotFound, Problems, Unusable, WrongUsage, warn
from mcpctl.base.models import Found, Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows as catalog_rows
from mcpctl.commands import options as opt
from mcpctl.config.config import load
from mcpctl.config.settings import OPTIMIZATIONS
from mcpctl.search import evaluate
from mcpctl.search.evaluate import METRICS, Label, Measured
from mcpctl.search.providers import builder
from mcpctl.toolsets.toolset import searched


@dataclass(frozen=True)
class Source:
    queries: Path | None
    from_records: bool
    catalog: Path | None
    paths: Paths
    project: str | None
    toolset: str | None

    def tools(self) -> list[Tool]:
        if self.catalog:
            return list(catalog_rows.tools_in_file(self.catalog))
        with catalog_rows.catalog(self.paths, self.toolset, self.project) as found:
            return found.visible()

    def labels(self, tools: Sequence[Tool]) -> list[Label]:
        """Those of the file and those on record; raises `WrongUsage` when neither was asked for."""
        if not self.queries and not self.from_records:
            raise WrongUsage("there is nothing to measure with", "give --queries FILE, or --from-records")
        found = evaluate.from_file(self.queries) if self.queries else []
        if self.from_records:
            found += self._recorded(tools)
        if missing := evaluate.strangers(found, tools):
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            warn(f"no tool has these keys, they count as not found: {', '.join(missing[:3])}{more}")
        if not found:
            hint = "give --queries FILE" if self.from_records else "write some, one JSON object a line"
            raise NotFound("no labelled query was found", hint, "no_queries")
        return found

    def _recorded(self, tools: Sequence[Tool]) -> list[Label]:
        if not self.paths.sessions.exists():
            return []  # and asking makes no index
        from mcpctl.store.records import Records

        with output.progress(opt.READING) as on_progress, Records(self.paths, on_progress) as records:
            return evaluate.from_records(records, [tool.key for tool in tools], self.project)


def measured(source: Source, providers: Sequence[str]) -> list[Measured]:
    for name in providers:
        opt.one_of("provider", name, OPTIMIZATIONS)
    tools = source.tools()
    found = source.labels(tools)
    config = load(source.paths.config, source.project)
    results = []
    for name in dict.fromkeys(providers or [config.optimization]):
        with output.progress("indexing", "tools") as on_progress:
            provider = builder(config, source.paths, name, on_progress)(tools, searched(tools), None)
            provider.search([""])  # so that the first query does not wait for what all need
        with output.progress("searching", "queries") as on_progress:
            results.append(evaluate.measure(provider, found, on_progress))
    return results


def rows(results: Sequence[Measured]) -> Found:
    return Found.of([result.row() for result in results])


@dataclass(frozen=True)
class Demands:
    least: Mapping[str, float]
    before: Mapping[str, Mapping[str, Any]]
    """An earlier run's rows, by provider."""

    @classmethod
    def read(cls, fail_under: Iterable[str], baseline: Path | None) -> "Demands":
        return cls(dict(map(_demand, fail_under)), _baseline(baseline) if baseline else {})

    def check(self, results: Sequence[Measured]) -> None:
        missed = []
        for result in results:
            for said, surely in evaluate.below(result, self.least):
                if surely:
                    missed.append(said)
                else:
                    warn(f"{said}, but within its standard error: more queries would tell")
            missed += evaluate.worse(result, self._before(result.provider)) if self.before else ()
        if missed:
            raise Problems("; ".join(missed), "see which queries miss: --json has their ranks", "eval_missed")

    def _before(self, provider: str) -> Mapping[str, Any]:
        """The earlier row of that provider, or the only one: a gate is to notice that another one was chosen."""
        if len(self.before) == 1:
            return next(iter(self.before.values()))
        if provider not in self.before:
            hint = f"it has {', '.join(self.before)}; measure them, or make another baseline"
            raise NotFound(f"the baseline has no provider '{provider}'", hint, "not_in_baseline")
        return self.before[provider]


def _demand(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1
    if name not in METRICS or not 0 <= number <= 1:
        raise WrongUsage(
            f"--fail-under cannot be '{text}'", f"give METRIC=N, N from 0 to 1, METRIC of: {', '.join(METRICS)}"
        )
    return name, number


def _baseline(path: Path) -> Mapping[str, Mapping[str, Any]]:
    text = files.read_text(path, files.MAX_LARGE_BYTES).removeprefix(files.BOM)
    try:
        return {row["provider"]: row for row in json.loads(text)}
    except (ValueError, TypeError, KeyError, RecursionError):
        hint = "make it with: mcpctl tools eval --json"
        raise Unusable(f"{path} is not a result of an earlier run", hint, "baseline_wrong") from None
