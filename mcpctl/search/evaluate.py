"""The quality of a ranking: labelled queries, and the usual metrics with their confidence intervals."""

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpctl.base.errors import UpstreamFailed
from mcpctl.base.models import Progress, Tool, unseen
from mcpctl.catalog.rows import json_lines, wrong_line
from mcpctl.search.ranking import Provider
from mcpctl.store.records import Records

if TYPE_CHECKING:
    from mcpctl.search.learning import Learnt

CUTS = (1, 3, 5, 10)
METRICS = (*(f"recall@{cut}" for cut in CUTS), "ndcg@10", "mrr")
FIELDS = (
    "provider", "queries", *METRICS, *(f"{name}_ci" for name in METRICS), "latency_p50_ms", "latency_p95_ms",
    "labels", "asked", "ranks", "learning", "learning_calls", "learning_gain", "learning_error",
)  # fmt: skip
DEPTH = 50  # how many results a provider is asked for; a tool beyond them counts as not found
_RESAMPLES = 2_000

Ranks = Sequence[int | None]
"""For each expected tool the rank of the first hit that is it or one as good, from 1 on; None if there is none."""
_LABEL = 'a line is {"query": "…", "expect": [["server:tool", …as good], …], "mode": "all" or "any"}'


@dataclass(frozen=True)
class Label:
    queries: tuple[str, ...]
    expect: tuple[tuple[str, ...], ...]  # for each expected tool its key, and the keys of tools that are as good
    any: bool = False
    context: str | None = None


@dataclass(frozen=True)
class Measured:
    provider: str
    labels: Sequence[Label]
    ranks: Sequence[Ranks]
    seconds: Sequence[float]
    learnt: "Learnt | None" = None  # what the records would teach it, where it can learn

    def row(self) -> dict[str, Any]:
        scores = self.scores()
        return {
            "provider": self.provider,
            "queries": len(self.labels),
            **{name: round(mean(values), 4) for name, values in scores.items()},
            **{f"{name}_ci": [round(end, 4) for end in interval(values)] for name, values in scores.items()},
            "latency_p50_ms": round(1000 * _quantile(self.seconds, 0.5), 3),
            "latency_p95_ms": round(1000 * _quantile(self.seconds, 0.95), 3),
            "labels": digest(self.labels),
            "asked": [list(label.queries) for label in self.labels],
            "ranks": [list(ranks) for ranks in self.ranks],
            "learning": self.learnt and ("on" if self.learnt.strength else "off"),
            "learning_calls": self.learnt and self.learnt.calls,
            "learning_gain": self.learnt and round(self.learnt.gain, 4),
            "learning_error": self.learnt and round(self.learnt.error, 4),
        }

    def scores(self) -> dict[str, list[float]]:
        return scores(self.ranks, [label.any for label in self.labels])


def measure(provider: Provider, labels: Sequence[Label], on_progress: Progress = unseen) -> Measured:
    """Search for every query; raises `UpstreamFailed` if the provider falls back to another one."""
    ranks, seconds = [], []
    for done, label in enumerate(labels):
        on_progress(done, len(labels))
        started = time.perf_counter()
        ranking = provider.search(label.queries, context=label.context, limit=DEPTH)
        seconds.append(time.perf_counter() - started)
        if ranking.fallback:
            raise UpstreamFailed(
                f"cannot measure {ranking.fallback}", "see [search] in mcpctl-config(5)", "provider_unavailable"
            )
        ranks.append(places([hit.key for hit in ranking.hits], label))
    on_progress(len(labels), len(labels))
    return Measured(provider.name, labels, ranks, seconds)


def places(keys: Sequence[str], label: Label) -> Ranks:
    place = {key: number for number, key in enumerate(keys, 1)}
    return [min((place[key] for key in group if key in place), default=None) for group in label.expect]


def scores(ranks: Sequence[Ranks], any_is_enough: Sequence[bool]) -> dict[str, list[float]]:
    pairs = list(zip(ranks, any_is_enough, strict=True))
    recalls = {f"recall@{cut}": [_recall(label_ranks, cut, enough) for label_ranks, enough in pairs] for cut in CUTS}
    return {
        **recalls,
        "ndcg@10": [_ndcg(label_ranks, enough) for label_ranks, enough in pairs],
        "mrr": [max((1 / place for place in label_ranks if place), default=0.0) for label_ranks, _ in pairs],
    }


def _recall(ranks: Ranks, cut: int, any_is_enough: bool) -> float:
    hits = sum(1 for place in ranks if place and place <= cut)
    return float(hits > 0) if any_is_enough else hits / len(ranks)


def _ndcg(ranks: Ranks, any_is_enough: bool) -> float:
    """nDCG at 10 with gains of 0 and 1 (Järvelin and Kekäläinen 2002). A tool that is as good as two expected ones
    gains once, at its rank; if any is enough, only the first gains."""
    hits = sorted({place for place in ranks if place and place <= 10})
    expected = 1 if any_is_enough else len(ranks)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(expected, 10) + 1))
    return sum(1 / math.log2(place + 1) for place in hits[:expected]) / best


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def standard_error(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values))


def interval(values: Sequence[float], share: float = 0.95) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean (Efron 1979), the same in every run."""
    if not values:
        return 0.0, 0.0
    import numpy as np

    samples = np.random.default_rng(0).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.quantile(np.array(values)[samples].mean(1), [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def digest(labels: Sequence[Label]) -> str:
    """A hash of the labels: two rows with the same one measured the same labels."""
    return sha256(repr([(label.queries, label.expect, label.any) for label in labels]).encode()).hexdigest()[:16]


def worse(measured: Measured, baseline: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each metric that is worse than in an earlier row by more than chance. If both rows measured the
    same labels, their differences are resampled; else the earlier mean is compared with the new interval."""
    ranks = baseline.get("ranks")
    paired: dict[str, list[float]] = {}
    if (
        baseline.get("labels") == digest(measured.labels)
        and isinstance(ranks, list)
        and len(ranks) == len(measured.ranks)
    ):
        paired = scores(ranks, [label.any for label in measured.labels])
    for name, values in measured.scores().items():
        before = baseline.get(name)
        if isinstance(before, int | float):
            earlier = paired.get(name) or [before] * len(values)
            if interval([now - then for now, then in zip(values, earlier, strict=True)], 0.9)[1] < 0:
                yield f"{measured.provider}: {name} is {mean(values):.3f}, was {before:.3f}"


def below(measured: Measured, least: Mapping[str, float]) -> Iterator[tuple[str, bool]]:
    """A sentence for each metric below its minimum, and whether it is below by more than its standard error."""
    by_metric = measured.scores()
    for name, minimum in least.items():
        value, error = mean(by_metric[name]), standard_error(by_metric[name])
        if value < minimum:
            yield f"{measured.provider}: {name} is {value:.3f}, below {minimum:g}", value + error < minimum


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def from_file(path: Path) -> list[Label]:
    return [_label(value, where) for where, value, _ in json_lines(path, _LABEL)]


def from_records(records: Records, known: Iterable[str], project: str | None = None) -> list[Label]:
    """Each search on record that was followed, in its session, by calls of its results: those it should find. With a
    project, those made while it was in force. A call belongs to the latest search before it that had its tool. Tools
    that are not `known` any more are left out."""
    keys = set(known)
    followed = (
        (search, tuple((key,) for key in dict.fromkeys(called) if key in keys))
        for search, called in records.followed_searches(project)
    )
    return [
        Label(queries, found, context=search["context"])
        for search, found in followed
        if found and (queries := _decoded(search["query"]))
    ]


def _decoded(text: str | None) -> tuple[str, ...]:
    value = json.loads(text) if text else []
    return tuple(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))


def _label(value: Mapping[str, Any], where: str) -> Label:
    query, expect, mode, context = (
        value.get("query"),
        value.get("expect"),
        value.get("mode", "all"),
        value.get("context"),
    )
    queries = _texts(query)
    groups = tuple(map(_texts, expect)) if isinstance(expect, list) else ()
    if not queries or not groups or not all(groups) or mode not in ("all", "any"):
        raise wrong_line(where, _LABEL)
    return Label(queries, groups, mode == "any", context if isinstance(context, str) else None)


def _texts(value: Any) -> tuple[str, ...]:
    """A text, or the texts of a list; none if it is neither."""
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(texts) if all(isinstance(text, str) for text in texts) else ()


def strangers(labels: Sequence[Label], tools: Iterable[Tool]) -> list[str]:
    """Keys that a label expects and no tool has: no ranking can find them."""
    known = {tool.key for tool in tools}
    groups = (group for label in labels for group in label.expect)
    return sorted({group[0] for group in groups if not known.intersection(group)})
