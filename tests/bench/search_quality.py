"""What searches find: on development sets and on the probes, beside other rankings; what is called weak; what a slip of
the keyboard costs. Intervals are those of the mean difference to mcpctl, query by query."""

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from statistics import fmean
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.catalog import rows
from mcpctl.search.bm25 import Bm25
from mcpctl.search.evaluate import Label, Measured, from_file, interval, measure, places
from mcpctl.search.learning import Learnt, Lessons, Lifts, Success
from mcpctl.search.lessons import Teachable
from mcpctl.search.ranking import Provider

Row = dict[str, Any]
Builders = Mapping[str, Callable[[Sequence[Tool]], Provider]]
"""Each ranking by name; the first is that which the others are compared with."""
PROBES = Path(__file__).parent / "probes"
KINDS = ("abbreviations", "typos", "other-words", "long", "german", "chinese", "japanese", "spanish", "french")
ENGLISH = KINDS[:4]
METRICS = ("ndcg@10", "recall@1", "recall@5")
SEEDS = range(3)
HISTORY = 100
SHORT = 8
"""The most words of a short request."""
_SLIPPED = re.compile(r"[^\W\d_]{5,}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Set:
    """Queries of one kind, and the tools to find."""

    name: str
    tools: Sequence[Tool]
    labels: Sequence[Label]

    @property
    def takes_slips(self) -> bool:
        """Whether a slip of the keyboard is tried on it: not on slips, nor on other languages."""
        return self.name not in KINDS or (self.name in ENGLISH and self.name != "typos")


def development(folders: Iterable[Path]) -> list[Set]:
    """The sets of folders with a catalog and queries."""
    files = ((folder, folder / "catalog.jsonl", folder / "queries.jsonl") for folder in folders)
    return [Set(folder.name, list(rows.tools_in_file(tools)), from_file(queries)) for folder, tools, queries in files]


def probes(folder: Path = PROBES) -> list[Set]:
    """The probes, a set for each kind that a tool answers."""
    tools = list(rows.tools_in_file(folder / "catalog.jsonl"))
    return [Set(kind, tools, from_file(folder / f"{kind}.jsonl")) for kind in KINDS]


def foreign(folder: Path = PROBES) -> Set:
    """The requests of the probes that no tool answers."""
    asked = [json.loads(line)["query"] for line in (folder / "foreign.jsonl").read_text("utf-8").splitlines()]
    tools = list(rows.tools_in_file(folder / "catalog.jsonl"))
    return Set("foreign", tools, [Label((query,), ()) for query in asked])


def answered(sets: Sequence[Set]) -> Set:
    """The probes in English as one set."""
    english = [each for each in sets if each.name in ENGLISH]
    return Set("answered", english[0].tools, [label for each in english for label in each.labels])


def found(sets: Sequence[Set], builders: Builders) -> Iterator[Row]:
    """What each ranking finds of each set, and the means of the sets: of LiveMCPBench's (LM), of the others (X), of
    all."""
    measured = [
        (each, name, measure(build(each.tools), each.labels)) for each in sets for name, build in builders.items()
    ]
    best = next(iter(builders))
    ours = {each.name: result for each, name, result in measured if name == best}
    for each, name, result in measured:
        yield _row(each.name, name, [result], [ours[each.name]])
    groups = {
        "LM": [each for each in sets if each.name.startswith("livemcp")],
        "X": [each for each in sets if not each.name.startswith("livemcp")],
        "all": sets,
    }
    means = groups if groups["LM"] and groups["X"] else {"all": sets}
    for mean, group in means.items():
        for name in builders:
            results = [result for each, engine, result in measured if engine == name and each in group]
            yield _row(f"mean: {mean}", name, results, [ours[each.name] for each in group])


def _row(name: str, engine: str, results: Sequence[Measured], ours: Sequence[Measured]) -> Row:
    """The means of sets, each of them weighing the same."""
    row: Row = {"set": name, "engine": engine, "queries": sum(len(result.labels) for result in results)}
    for metric in METRICS:
        row[metric] = fmean(fmean(result.scores()[metric]) for result in results)
    if results != ours:
        less = [
            _differences(best, result, row["queries"] / len(ours)) for best, result in zip(ours, results, strict=True)
        ]
        row["ndcg@10 less"] = _said([*chain.from_iterable(less)])
    return row


def _differences(best: Measured, result: Measured, queries: float) -> list[float]:
    """What each query finds less, weighed so that a set counts as one of so many queries."""
    pairs = zip(best.scores()["ndcg@10"], result.scores()["ndcg@10"], strict=True)
    return [(mine - theirs) * queries / len(best.labels) for mine, theirs in pairs]


def _said(differences: Sequence[float]) -> str:
    low, high = interval(differences)
    return f"{low:+.3f} to {high:+.3f}"


def called_weak(sets: Sequence[Set], builders: Builders) -> Iterator[Row]:
    """The share of requests called weak: of all, and of those whose tool is among the first five."""
    for each in sets:
        for name, build in builders.items():
            provider = build(each.tools)
            for length, labels in _by_length(each.labels):
                rankings = [provider.search(label.queries, context=label.context, limit=5) for label in labels]
                hits = [
                    ranking.weak
                    for ranking, label in zip(rankings, labels, strict=True)
                    if any(places([hit.key for hit in ranking.hits], label))
                ]
                row = {"set": f"{each.name}, {length}", "engine": name, "queries": len(labels)}
                weak = fmean(ranking.weak for ranking in rankings)
                yield {**row, "weak": weak, "found": len(hits), "found, weak": fmean(hits) if hits else None}


def _by_length(labels: Sequence[Label]) -> Iterator[tuple[str, list[Label]]]:
    long = [label for label in labels if len(" ".join(label.queries).split()) > SHORT]
    short = [label for label in labels if label not in long]
    return ((length, some) for length, some in (("short", short), ("long", long)) if some)


def slips(sets: Sequence[Set], builders: Builders) -> Iterator[Row]:
    """What one slip in each query costs, a mean of several seeds."""
    for each in (each for each in sets if each.takes_slips):
        for name, build in builders.items():
            provider = build(each.tools)
            clean = measure(provider, each.labels).scores()["ndcg@10"]
            tried = [measure(provider, slipped(each.labels, seed)).scores()["ndcg@10"] for seed in SEEDS]
            costs = [before - fmean(after) for before, *after in zip(clean, *tried, strict=True)]
            row = {"set": each.name, "engine": name, "queries": len(clean), "ndcg@10": fmean(clean)}
            yield {**row, "a slip costs": fmean(costs), "interval": _said(costs)}


def learnt(sets: Sequence[Set], builders: Builders) -> Iterator[Row]:
    """What a history of half of a set's queries brings to the other half, each query of it in a session of its own and
    followed by a call of one of its tools."""
    for each, (name, build), seed in product(sets, builders.items(), SEEDS):
        provider, chance = build(each.tools), random.Random(seed)
        labels = chance.sample(each.labels, len(each.labels))
        history, others = labels[: len(labels) // 2][:HISTORY], labels[len(labels) // 2 :]
        calls = [
            Success(label.queries, chance.choice(chance.choice(label.expect)), str(number))
            for number, label in enumerate(history)
        ]
        if isinstance(provider, Teachable):
            choices: list[Learnt] = []
            taught = provider.taught(partial(_taught_by, calls, choices))
            before, after = (measure(one, others).scores()["ndcg@10"] for one in (provider, taught))
            gains = [later - earlier for earlier, later in zip(before, after, strict=True)]
            row = {"set": each.name, "engine": name, "seed": seed, "calls": choices[0].calls}
            row |= {"strength": str(choices[0].strength or "off"), "ndcg@10": fmean(before)}
            yield {**row, "learnt": fmean(gains), "interval": _said(gains)}


def _taught_by(calls: Sequence[Success], choices: list[Learnt], words: Bm25) -> Lifts | None:
    lessons = Lessons(words, calls)
    choices.append(lessons.learn())
    return lessons.use(choices[0])


def slipped(labels: Sequence[Label], seed: int) -> list[Label]:
    """Each label with one letter lost, added, changed or exchanged with the next in a word of five letters or more."""
    chance = random.Random(seed)
    return [replace(label, queries=_slipped(label.queries, chance)) for label in labels]


def _slipped(queries: Sequence[str], chance: random.Random) -> tuple[str, ...]:
    words = [(number, word) for number, query in enumerate(queries) for word in _SLIPPED.finditer(query)]
    if not words:
        return tuple(queries)
    number, word = chance.choice(words)
    query = queries[number]
    changed = query[: word.start()] + slip(word[0], chance) + query[word.end() :]
    return (*queries[:number], changed, *queries[number + 1 :])


def slip(word: str, chance: random.Random) -> str:
    """The word with one slip, never as it was."""
    forms = (_lost, _added, _changed, _exchanged)
    while (mistyped := chance.choice(forms)(word, chance)) == word:
        pass
    return mistyped


def _lost(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word))
    return word[:at] + word[at + 1 :]


def _added(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word) + 1)
    return word[:at] + chance.choice(_LETTERS) + word[at:]


def _changed(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word))
    return word[:at] + chance.choice(_LETTERS) + word[at + 1 :]


def _exchanged(word: str, chance: random.Random) -> str:
    at = chance.randrange(len(word) - 1)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
