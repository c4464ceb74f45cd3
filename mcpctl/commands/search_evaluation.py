"""The measurement of searches by `tools eval`, and its demands."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from mcpctl import output
from mcpctl.base import files
from mcpctl.base.errors import NotFound, Problems, Unusable, WrongUsage, warn
from mcpctl.base.models import Tool
from mcpctl.base.paths import Paths
from mcpctl.commands import options as opt
from mcpctl.config.config import load
from mcpctl.config.settings import OPTIMIZATIONS
from mcpctl.search import evaluate
from mcpctl.search.evaluate import METRICS, Label, Measured
from mcpctl.search.lessons import learnt_from_use
from mcpctl.search.providers import builder
from mcpctl.toolsets.toolset import searched


def measured(
    paths: Paths, queries: Path | None, from_records: bool, tools: Sequence[Tool], project: str | None,
    providers: Sequence[str],
) -> list[Measured]:  # fmt: skip
    """The results of each provider, or of the configured one; raises `WrongUsage` without labelled queries."""
    for name in providers:
        opt.one_of("provider", name, OPTIMIZATIONS)
    labels = _labels(paths, queries, from_records, tools, project)
    config = load(paths.config, project)
    results = []
    for name in dict.fromkeys(providers or [config.optimization]):
        with output.progress("indexing", "tools") as on_progress:
            # Lessons from the records are not measured with these.
            build = builder(config, paths, name, on_progress, learns=not from_records)
            provider = build(tools, searched(tools), None)
            provider.search([""])  # so that the first query does not wait for what all need
            learnt = learnt_from_use(provider, paths, config.project)
        with output.progress("searching", "queries") as on_progress:
            results.append(replace(evaluate.measure(provider, labels, on_progress), learnt=learnt))
    return results


def _labels(
    paths: Paths, queries: Path | None, from_records: bool, tools: Sequence[Tool], project: str | None
) -> list[Label]:
    if not queries and not from_records:
        raise WrongUsage("there is nothing to measure with", "give --queries FILE, or --from-records")
    labels = evaluate.from_file(queries) if queries else []
    if from_records and paths.sessions.exists():  # else asking would make an index
        from mcpctl.store.records import LocalRecords

        with output.progress(opt.READING) as on_progress, LocalRecords(paths, on_progress) as records:
            labels += evaluate.from_records(records, [tool.key for tool in tools], project)
    if missing := evaluate.strangers(labels, tools):
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        warn(f"no tool has these keys, they count as not found: {', '.join(missing[:3])}{more}")
    if not labels:
        hint = "give --queries FILE" if from_records else "write some, one JSON object a line"
        raise NotFound("no labelled query was found", hint, "no_queries")
    return labels


class Demands(NamedTuple):
    least: Mapping[str, float]
    before: Mapping[str, Mapping[str, Any]]  # an earlier run's rows, by provider

    def check(self, results: Sequence[Measured]) -> None:
        """Raise `Problems` if a result misses a demand."""
        missed = []
        for result in results:
            for message, is_sure in evaluate.below(result, self.least):
                if is_sure:
                    missed.append(message)
                else:
                    warn(f"{message}, but within its standard error: more queries would tell")
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


def demands(fail_under: Iterable[str], baseline: Path | None) -> Demands:
    return Demands(dict(map(_demand, fail_under)), _baseline(baseline) if baseline else {})


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
