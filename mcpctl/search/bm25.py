"""The default ranking: BM25 over weighted fields and latent semantic analysis, exact names first."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcpctl.models import Tool
from mcpctl.search import index_file as on_disk
from mcpctl.search.fields import FIELDS, texts
from mcpctl.search.latent import FEWEST, MOST, Latent
from mcpctl.search.posting_lists import K1, Corpus, Okapi, Scores, stemmed
from mcpctl.search.query_reading import MAX_WORDS, Pins, Query, Reader
from mcpctl.search.ranking import (
    CONTEXT_PART,
    EMBEDDING_PART,
    MAX_QUERIES,
    MEANING_PART,
    Explanation,
    Hit,
    Part,
    Ranking,
)
from mcpctl.search.tokens import words

WEAK = 0.25
"""Below it hardly any first hit was a right one, and of requests that no tool of a small catalog answers most stay
below it."""
WEAK_NEAR = 0.22
"""The same with a model's word: it finds less in requests that no tool answers, and something in all that one does."""
WORTH_KEEPING = 100
"""Tools of which an index is kept on disk: fewer are indexed in the time that reading takes."""
MEANING = 0.5
"""What the latent score counts beside BM25, each by its largest."""
NEAR = 1.0
"""What it counts that a language model finds a tool near, beside all of the above: both are on one scale. From .6 on it
made little difference."""
CONTEXT = 0.2
"""What a context adds at most. It helped where it was of the task, and did not hurt where it was of another."""

Near = Callable[[str], Scores]
"""How near each tool is to a text, from 0 to 1, in the order of their keys."""


@dataclass(frozen=True)
class _QueryScores:
    """How every tool does in one query, on the scale of relevance."""

    query: Query
    relevance: Scores
    scale: float
    """What a unit of BM25 is in it."""
    added: Mapping[str, Scores]
    """What is added to BM25, of it, each under the name of its part."""

    @property
    def best(self) -> float:
        return float(np.max(self.relevance, initial=0.0))


class Bm25:
    """Ranks tools by the words of their names, servers, descriptions, notes and parameters; safe to share between
    threads."""

    name = "bm25"
    waits = False

    def __init__(self, tools: Sequence[Tool], notes: Mapping[str, str] | None = None, kept: Path | None = None) -> None:
        # In the order of the keys, so that a stable sort by relevance breaks ties by key.
        catalog = dict(sorted({tool.key: tool for tool in reversed(tools)}.items()))
        self._numbers = {key: number for number, key in enumerate(catalog)}
        self._keys = list(catalog)
        self._tools = list(catalog.values())
        self._notes = dict(notes or {})
        self._pins = Pins(self._tools)
        self._engine, self._latent = self._built() if kept is None else self._kept(kept)
        self._reader = Reader(self._engine)

    @property
    def tools(self) -> Sequence[Tool]:
        """What is ranked, in the order of the keys."""
        return self._tools

    def search(
        self, queries: Sequence[str], *, context: str | None = None, limit: int = 10, near: Near | None = None
    ) -> Ranking:
        """The best `limit` tools for any of the queries; the context only reorders them. `near` counts too."""
        queries = queries[:MAX_QUERIES]
        answers = [self._answer(query, near) for query in queries]
        lifts = _lifts(answers)
        relevance = np.zeros(len(self._keys))
        for lift, answer in zip(lifts, answers, strict=True):
            np.maximum(relevance, lift * answer.relevance, out=relevance)
        nearness = np.zeros(len(self._keys))
        if context:
            nearness = np.minimum(self._answer(context, near).relevance, 1.0)
            relevance *= 1 + CONTEXT * nearness
        pinned = self.named(queries)

        def explained(hit: Hit) -> Explanation:
            number = self._numbers[hit.key]
            lifted = [lift * float(answer.relevance[number]) for lift, answer in zip(lifts, answers, strict=True)]
            best = max(range(len(answers)), key=lifted.__getitem__)
            parts = list(self._parts(number, answers[best], lifts[best]))
            if nearness[number]:
                share = CONTEXT * float(nearness[number])
                parts.append(Part("", CONTEXT_PART, share * sum(part.score for part in parts)))
            return Explanation(hit.key, hit.relevance, queries[best], tuple(parts), pinned.get(hit.key))

        return Ranking(
            hits=tuple(self._best(relevance, [self._numbers[key] for key in pinned], limit)),
            provider=self.name,
            fallback=None,
            unknown_words=tuple(dict.fromkeys(word for answer in answers for word in answer.query.unknown)),
            notice="" if pinned else _notice([answer.query for answer in answers]),
            weak=not pinned and bool(np.max(relevance, initial=0.0) < (WEAK_NEAR if near else WEAK)),
            explain=lambda hits: list(map(explained, hits)),
        )

    def named(self, queries: Sequence[str]) -> dict[str, str]:
        """The keys of the tools that any of the queries names, each with how, in words."""
        return {self._keys[number]: how for number, how in self._pins.find(queries).items()}

    def _kept(self, path: Path) -> on_disk.Index:
        """The index kept there, if it is that of these tools; else a new one, which is then kept."""
        if len(self._tools) < WORTH_KEEPING:
            return self._built()
        mark = on_disk.mark(self._tools, self._notes)
        found = on_disk.load(path, mark)
        if found is None:
            found = self._built()
            on_disk.save(path, mark, found)
        return found

    def _built(self) -> on_disk.Index:
        engine = Okapi(Corpus.read(map(self._texts, self._tools)))
        fits = FEWEST <= len(self._tools) <= MOST and engine.idf
        return engine, Latent.analysed(engine) if fits else None

    def _texts(self, tool: Tool) -> Sequence[str]:
        return texts(tool, self._notes.get(tool.key, ""))

    def _answer(self, text: str, near: Near | None) -> _QueryScores:
        query = self._reader.read(text)
        words_score = self._engine.get_scores(query.terms)
        most = float(np.max(words_score, initial=0.0))
        # A score on one scale for all queries: over (k1 + 1) · sqrt(what the rarest word counts · what the query's do).
        # The share of right first hits was found to rise evenly with it: a third at .3, two of three at .5, nine of
        # ten from .7.
        ceiling = (K1 + 1) * math.sqrt(self._engine.rarest * query.weight)
        scale = 1 / (ceiling or 1.0) / (1 + MEANING if self._latent else 1.0) / (1 + NEAR if near else 1.0)
        meaning = self._meaning(query, words_score) * (MEANING * most * scale)
        relevance = words_score * scale + meaning
        if near is None:
            return _QueryScores(query, relevance, scale, {MEANING_PART: meaning})
        embedding = near(text) * (NEAR / (1 + NEAR))
        return _QueryScores(query, relevance + embedding, scale, {MEANING_PART: meaning, EMBEDDING_PART: embedding})

    def _meaning(self, query: Query, words_score: Scores) -> Scores:
        """The latent score by its largest, of tools that share a word with the query: of others it is mostly noise."""
        if self._latent is None:
            return np.zeros(len(self._keys))
        first = len(self._engine.corpus.surface)
        stems = [term for term in query.terms if self._engine.numbers[term] >= first]
        if not stems:
            return np.zeros(len(self._keys))
        numbers = [self._engine.numbers[term] - first for term in stems]
        found = self._latent.scores(numbers, [self._engine.idf[term] for term in stems])
        most = float(np.max(found, initial=0.0))
        return np.where(words_score > 0, found / (most or 1.0), 0.0)

    def _best(self, relevance: Scores, pinned: list[int], limit: int) -> Iterator[Hit]:
        if limit <= 0:
            return
        candidates = _largest(relevance, limit)
        if pinned:
            candidates = np.union1d(candidates, pinned)
        shown = _shown(relevance[candidates])
        if pinned:
            shown[np.isin(candidates, pinned)] = 1.0
        order = np.argsort(-shown, kind="stable")[: min(limit, np.count_nonzero(shown))]
        for number, value in zip(candidates[order].tolist(), shown[order].tolist(), strict=True):
            yield Hit(self._keys[number], value)

    def _parts(self, number: int, answer: _QueryScores, lift: float) -> Iterator[Part]:
        """What each word adds in each field; a term's score is shared among the fields as its frequency is."""
        corpus, unit = self._engine.corpus, lift * answer.scale
        counts = self._counts(number)
        added: dict[tuple[str, str], float] = defaultdict(float)
        for term, word in answer.query.terms.items():
            shares = [count * float(norm) for count, norm in zip(counts[term], corpus.norms[number], strict=True)]
            if not (tf := sum(shares)):
                continue
            saturated = self._engine.idf[term] * (K1 + 1) / (tf + K1)
            for field, share in zip(FIELDS, shares, strict=True):
                added[word, field.name] += share * saturated * unit
        yield from (Part(word, field, score) for (word, field), score in added.items() if score)
        yield from (
            Part("", name, lift * float(scores[number])) for name, scores in answer.added.items() if scores[number]
        )

    def _counts(self, number: int) -> Mapping[str, list[int]]:
        """How often each term is in each field of a tool."""
        counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(FIELDS))
        for field, text in enumerate(self._texts(self._tools[number])):
            for form in (form for forms in words(text) for form in forms):
                counts[form][field] += 1
                counts[stemmed(form)][field] += 1
        return counts


def _notice(queries: Sequence[Query]) -> str:
    """How queries were read, where that is not as they were written."""
    read_as = {word: meant for query in queries for word, meant in query.read_as.items() if word.isascii()}
    said = [f"'{word}' was read as {' or '.join(meant)}." for word, meant in list(read_as.items())[:8]]
    if any(query.cut for query in queries):
        said.append(f"Of a long query only the beginning was read, {MAX_WORDS} words at most.")
    return " ".join(said)


def _lifts(answers: Sequence[_QueryScores]) -> list[float]:
    """What each query's relevances are multiplied by: those of a query that is answered less well are lifted half the
    way, by the geometric mean, so that the best tool for each is near the top; those of a weak one stay."""
    most = max((answer.best for answer in answers), default=0.0)
    return [math.sqrt(most / answer.best) if answer.best >= WEAK else 1.0 for answer in answers]


def _largest(relevance: Scores, limit: int) -> NDArray[np.intp]:
    """The numbers of the largest, in their order; a few more where they tie in the digits that are shown."""
    if limit >= relevance.size:
        return np.flatnonzero(relevance > 0)
    least = max(float(np.partition(relevance, -limit)[-limit]) - 2e-4, 0.0)
    return np.flatnonzero(relevance > least)


def _shown(relevance: Scores) -> Scores:
    """Relevance in four digits, below 1: from .9 on it nears .99 without reaching it, so that no two ranks merge."""
    bent = 0.99 - 0.09**2 / np.maximum(relevance - 0.81, 0.09)
    return np.where(relevance > 0, np.maximum(np.round(np.where(relevance > 0.9, bent, relevance), 4), 0.0001), 0.0)
