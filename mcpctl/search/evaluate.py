"""How good a ranking is: labelled queries, the usual measures, and how much of them is chance."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mcpctl.errors import UpstreamFailed
from mcpctl.models import Progress, unseen
from mcpctl.search.ranking import Provider

CUTS = (1, 3, 5, 10)
METRICS = (*(f"recall@{cut}" for cut in CUTS), "ndcg@10", "mrr")
FIELDS = (
    "provider", "queries", *METRICS, *(f"{name}_ci" for name in METRICS), "latency_p50_ms", "latency_p95_ms",
    "labels", "asked", "ranks",
)  # fmt: skip
DEPTH = 50
"""Results asked of a provider; a tool beyond them counts as not found."""
_RESAMPLES = 2_000

Ranks = Sequence[int | None]
"""For each wanted tool the place at which it, or one as good, was found; 1 is the first."""


@dataclass(frozen=True)
class Label:
    """A query and what it should find."""

    queries: tuple[str, ...]
    expect: tuple[tuple[str, ...], ...]
    """For each tool that is wanted its key, and the keys of those as good."""
    any: bool = False
    """One of the wanted tools is enough."""
    context: str | None = None


@dataclass(frozen=True)
class Measured:
    """How a provider did on every label."""

    provider: str
    labels: Sequence[Label]
    ranks: Sequence[Ranks]
    seconds: Sequence[float]

    def row(self) -> dict[str, Any]:
        """The measures, each with the interval in which 95 of 100 samples of so many queries have it."""
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
            "ranks": [list(found) for found in self.ranks],
        }

    def scores(self) -> dict[str, list[float]]:
        """Each measure of each label."""
        return scores(self.ranks, [label.any for label in self.labels])


def measure(provider: Provider, labels: Sequence[Label], on_progress: Progress = unseen) -> Measured:
    """Ask a provider every query; raises `UpstreamFailed` where another has to answer in its place."""
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
    """Where each wanted tool was found."""
    place = {key: number for number, key in enumerate(keys, 1)}
    return [min((place[key] for key in group if key in place), default=None) for group in label.expect]


def scores(ranks: Sequence[Ranks], any_is_enough: Sequence[bool]) -> dict[str, list[float]]:
    """Each measure of each label."""
    pairs = list(zip(ranks, any_is_enough, strict=True))
    recalls = {f"recall@{cut}": [_recall(found, cut, enough) for found, enough in pairs] for cut in CUTS}
    return {
        **recalls,
        "ndcg@10": [_ndcg(found, enough) for found, enough in pairs],
        "mrr": [max((1 / place for place in found if place), default=0.0) for found, _ in pairs],
    }


def _recall(found: Ranks, cut: int, any_is_enough: bool) -> float:
    hits = sum(1 for place in found if place and place <= cut)
    return float(hits > 0) if any_is_enough else hits / len(found)


def _ndcg(found: Ranks, any_is_enough: bool) -> float:
    """nDCG at 10 with gains of 0 and 1 (Järvelin and Kekäläinen 2002); a tool that stands for two wanted ones gains
    once at its place, and where any is enough only the first gains."""
    hits = sorted({place for place in found if place and place <= 10})
    wanted = 1 if any_is_enough else len(found)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(wanted, 10) + 1))
    return sum(1 / math.log2(place + 1) for place in hits[:wanted]) / best


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def standard_error(values: Sequence[float]) -> float:
    """By how much the mean of so many values is off by chance."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values))


def interval(values: Sequence[float], share: float = 0.95) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean (Efron 1979); the same at every run."""
    if not values:
        return 0.0, 0.0
    import numpy as np

    chosen = np.random.default_rng(0).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.quantile(np.array(values)[chosen].mean(1), [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def digest(labels: Sequence[Label]) -> str:
    """Tells whether two rows measured the same labels."""
    return sha256(repr([(label.queries, label.expect, label.any) for label in labels]).encode()).hexdigest()[:16]


def worse(measured: Measured, baseline: Mapping[str, Any]) -> Iterator[str]:
    """The measures in which it is worse than an earlier row by more than chance, each in words.

    Where both measured the same labels, their differences are resampled; else the earlier mean is compared with this
    one's interval.
    """
    paired = _scores_of(baseline, measured)
    for name, values in measured.scores().items():
        before = baseline.get(name)
        if not isinstance(before, int | float):
            continue
        pairs = zip(values, paired[name], strict=True) if paired else ((value, before) for value in values)
        if interval([now - then for now, then in pairs], 0.9)[1] < 0:
            yield f"{measured.provider}: {name} is {mean(values):.3f}, was {before:.3f}"


def _scores_of(row: Mapping[str, Any], measured: Measured) -> dict[str, list[float]] | None:
    ranks = row.get("ranks")
    if row.get("labels") != digest(measured.labels) or not isinstance(ranks, list) or len(ranks) != len(measured.ranks):
        return None
    return scores(ranks, [label.any for label in measured.labels])


def below(measured: Measured, least: Mapping[str, float]) -> Iterator[tuple[str, bool]]:
    """The measures that are below what was demanded, each in words, and whether by more than their standard error."""
    found = measured.scores()
    for name, demanded in least.items():
        value, error = mean(found[name]), standard_error(found[name])
        if value < demanded:
            yield f"{measured.provider}: {name} is {value:.3f}, below {demanded:g}", value + error < demanded


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
