"""The default ranking: BM25 over weighted fields and nearness of meaning, exact names first."""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mcpctl.base.models import Progress, Tool, unseen
from mcpctl.base.posix import give_back_memory
from mcpctl.search import explaining, index_file
from mcpctl.search.explaining import QueryScores
from mcpctl.search.fields import texts
from mcpctl.search.idioms import without_idioms
from mcpctl.search.meaning import Meaning, shipped
from mcpctl.search.pins import Pins
from mcpctl.search.posting_lists import K1, Corpus, Okapi, Scores
from mcpctl.search.query_reading import MAX_WORDS, Query, Reader
from mcpctl.search.ranking import CONTEXT_PART, MAX_QUERIES, Explanation, Hit, Part, Ranking, kept
from mcpctl.search.soft_words import SoftWords
from mcpctl.search.steps import steps
from mcpctl.search.tokens import COURTEOUS_WORDS, is_cjk, meaning_words, sentences, stem

if TYPE_CHECKING:
    from mcpctl.search.api_tools import ApiTools

FEWEST, MOST = 15, 4_000  # the sizes between which the relevance of tools that nobody asked for grows with the catalog
NOT_ENGLISH = 0.75  # the share of that relevance for a query in another language: the table knows fewer of its words
WORTH_KEEPING = 100  # from so many tools on, the index is kept on disk: fewer are indexed as fast as a file is read
MANY = 1_000  # from so many tools on, the memory that building has taken is worth being given back
MEANING = 0.8  # the weight of the nearness of meaning beside BM25, each divided by its largest value or `HALF`
HALF = 0.5  # if less than this of the words is met, or none is so near, the largest value counts less beside the other
LEAST, ALONE = 0.15, 0.5  # the least nearness, by itself and beside the nearest, of a tool without a word of the query
_TOLD = 500
_MANY = 1000  # from so many tools on, their meaning takes longer than a search may
MAX_SENTENCES = 12
NEAR = 1.0  # the weight of the nearness for an embedding model. Values from .8 to 1.5 differed little.
MEANING_BESIDE_NEAR = 0.5  # the same beside an embedding model, which tells tools that look alike apart better
CONTEXT = 0.2  # the most that a context adds: it helped if it was about the task, and did not hurt if not

Near = Callable[[str], Scores | None]
"""How near each tool is to a text for an embedding model; nothing if it does not know what that is written in."""


class Lift(Protocol):
    """A cause to lift some tools of an index for some queries."""

    def lifted(self, answer: QueryScores) -> QueryScores: ...


Teach = Callable[["Bm25"], Lift | None]


class Bm25:
    """Ranks tools by the words of their fields and by what these mean; safe to share between threads."""

    name = "bm25"
    waits = False

    def __init__(
        self, tools: Sequence[Tool], notes: Mapping[str, str] | None = None, index_path: Path | None = None,
        on_progress: Progress = unseen, made: "tuple[index_file.Index, Pins] | None" = None,
    ) -> None:  # fmt: skip
        # In the order of the keys, so that a stable sort by relevance breaks ties by key.
        catalog = dict(sorted({tool.key: tool for tool in reversed(tools)}.items()))
        self._numbers = {key: number for number, key in enumerate(catalog)}
        self._keys = list(catalog)
        self.tools = list(catalog.values())
        self._notes = dict(notes or {})
        self._on_progress = on_progress
        if made:
            (self._engine, self._meaning), self._pins = made
        else:
            self._pins = Pins(self.tools)
            self._engine, self._meaning = self._build() if index_path is None else self._load_or_build(index_path)
        self._of_apis = _of_apis(self.tools)
        self._soft_words = SoftWords(self._engine, self._meaning, shipped())
        self._reader = Reader(self._engine, shipped(), self._pins.folded_names)
        self._lift: Lift | None = None

    def taught(self, teach: "Teach") -> "Bm25":
        """The same index with what use teaches it, which lifts tools in all answers but weak ones."""
        taught = copy.copy(self)
        taught._lift = teach(self)
        return taught

    def only(self, tools: Sequence[Tool]) -> "Bm25 | None":
        """An index of these tools alone, made from the parts that this one has of them; None where it lacks any. Words,
        how rare they are, and corrections are those of these tools; the meaning of many is as it is among all."""
        numbers = [self._numbers.get(tool.key, -1) for tool in tools]
        there = zip(numbers, tools, strict=True)
        if not all(number >= 0 and _is_same(self.tools[number], tool) for number, tool in there):
            return None
        documents = np.array(sorted(set(numbers)), np.int32)
        corpus, terms = self._engine.corpus.only(documents)
        engine = Okapi(corpus)
        if len(documents) < _MANY:
            meaning = Meaning.of(engine, shipped())
        else:
            meaning = self._meaning.only(engine, documents, terms[len(self._engine.corpus.surface) :])
        return Bm25(tools, made=((engine, meaning), self._pins.only(documents.tolist())))

    def search(
        self, queries: Sequence[str], *, context: str | None = None, limit: int = 10, near: Near | None = None
    ) -> Ranking:
        """The best `limit` tools for any of the queries; the context only reorders them. `near` adds to the
        relevance."""
        queries, context = self.parted(queries[:MAX_QUERIES], context)
        answers = [self.scores(query, near) for query in queries]
        weak = [answer.best < weak_below(len(self._keys), in_english=answer.query.in_english) for answer in answers]
        if lift := self._lift:
            answers = [answer if stays else lift.lifted(answer) for answer, stays in zip(answers, weak, strict=True)]
        # A query with a lower best hit is lifted half the way (the geometric mean) to the highest one, so that the best
        # tool for each query is near the top; a weak query stays.
        most = max((answer.best for answer in answers), default=0.0)
        lifts = [1.0 if stays else math.sqrt(most / answer.best) for answer, stays in zip(answers, weak, strict=True)]
        lifted = [lift * answer.relevance for lift, answer in zip(lifts, answers, strict=True)]
        relevance = reduce(np.maximum, lifted) if lifted else np.zeros(len(self._keys))
        nearness = np.minimum(self.scores(context, near).relevance, 1.0) if context else None
        if nearness is not None:
            relevance = relevance * (1 + CONTEXT * nearness)
        named = list(map(self._pins.find, queries))
        pinned = {self._keys[number]: how for found in reversed(named) for number, how in found.items()}
        several = len(queries) > 1 and len(self._keys)
        best_of = list(self._best_of(queries, named, lifted, nearness)) if several else []
        firsts = [number for _, number in best_of]
        unanswered = [not found and stays for found, stays in zip(named, weak, strict=True)]
        is_weak = all(unanswered)

        def explained(hit: Hit) -> Explanation:
            number = self._numbers[hit.key]
            best = max(range(len(answers)), key=lambda query: float(lifted[query][number]))
            texts_ = self._texts(self.tools[number])
            parts = list(explaining.parts(self._engine, self._meaning, answers[best], number, texts_, lifts[best]))
            if nearness is not None and nearness[number]:
                share = CONTEXT * float(nearness[number])
                parts.append(Part("", CONTEXT_PART, share * sum(part.score for part in parts)))
            return Explanation(hit.key, hit.relevance, queries[best], tuple(parts), pinned.get(hit.key))

        return Ranking(
            hits=tuple(self._best(relevance, [self._numbers[key] for key in pinned], firsts, limit)),
            provider=self.name,
            fallback=None,
            unknown_words=tuple(dict.fromkeys(word for answer in answers for word in answer.query.unknown)),
            unheard_words=tuple(dict.fromkeys(word for answer in answers for word in answer.query.unheard)),
            best_of=tuple((query, self._keys[number]) for query, number in best_of),
            unanswered=() if is_weak else tuple(filter(str.strip, compress(queries, unanswered))),
            known_words=_known_words([answer.query for answer in answers]) if is_weak else (),
            notice="" if pinned else _notice([answer.query for answer in answers]),
            weak=is_weak,
            explain=lambda hits: list(map(explained, hits)),
        )

    def parted(self, queries: Sequence[str], context: str | None) -> tuple[Sequence[str], str | None]:
        """The steps of a single query that has several, beside all of it, which says what `it` is; else as they are."""
        if len(queries) != 1 or len(parts := steps(queries[0])) == 1 or self._pins.find(queries[0]):
            return queries, context
        return parts, context or queries[0]

    def _best_of(
        self, queries: Sequence[str], named: Sequence[Mapping[int, str]], lifted: Sequence[Scores],
        nearness: Scores | None,
    ) -> Iterator[tuple[str, int]]:  # fmt: skip
        for query, numbers, scores in zip(queries, named, lifted, strict=True):
            relevance = scores if nearness is None else scores * (1 + CONTEXT * nearness)
            best = max(numbers, key=lambda number: float(relevance[number])) if numbers else int(relevance.argmax())
            if numbers or relevance[best]:
                yield query, best

    def named(self, queries: Sequence[str]) -> dict[str, str]:
        found = map(self._pins.find, reversed(queries))
        return {self._keys[number]: how for named in found for number, how in named.items()}

    def _load_or_build(self, path: Path) -> index_file.Index:
        if len(self.tools) < WORTH_KEEPING:
            return self._build()
        mark = index_file.mark(self.tools, self._notes)
        index = index_file.load(path, mark)
        if index is None:
            index = self._build()
            index_file.save(path, mark, index)
        return index

    def _build(self) -> index_file.Index:
        engine = Okapi(Corpus.read(self._read()))
        meaning = Meaning.of(engine, shipped())
        if len(self.tools) >= MANY:
            give_back_memory()
        if len(self.tools) >= _TOLD:
            self._on_progress(len(self.tools), len(self.tools))
        return engine, meaning

    def _read(self) -> Iterator[Sequence[str]]:
        """The texts of each tool. Reading is most of the work on a large catalog: its progress is reported."""
        for number, tool in enumerate(self.tools):
            if number % _TOLD == 0 and len(self.tools) >= _TOLD:
                self._on_progress(number, len(self.tools))
            yield self._texts(tool)

    def _texts(self, tool: Tool) -> Sequence[str]:
        return texts(tool, self._notes.get(tool.key, ""))

    def scores(self, text: str, near: Near | None = None) -> QueryScores:
        asked, idioms = without_idioms(text)
        query = self._reader.read(asked)
        if idioms:
            query.read_as = idioms | query.read_as
        if self._of_apis and (pronoun := self._of_apis.pronoun(text)):
            query.mean(self._of_apis.caller, pronoun, self._engine.idf)
        words = self._engine.get_scores(query.terms, query.shares)
        vectors = self._meaning.vectors(query.meaning)
        said = list(_said(asked, query))
        of_model = near(text) if near else None
        near_words = {} if of_model is not None else self._soft_words.near(query, vectors)  # a model knows what is near
        counted = self._soft_words.scores(query, near_words) if near_words else words
        sums = np.array([vectors.sum(0), *(vectors[rows].sum(0) for rows in said[1:])])
        # The nearest sentence counts, since a long text as a whole is near to no tool.
        meaning = self._meaning.nearness(sums, counted)
        meaning[(counted <= 0) & (meaning < max(LEAST, ALONE * float(meaning.max(initial=0.0))))] = 0
        ceiling = (K1 + 1) * math.sqrt(self._engine.rarest * query.weight)
        measures = [(counted, 1.0, ceiling), (meaning, MEANING if of_model is None else MEANING_BESIDE_NEAR, 1.0)]
        if of_model is not None:
            measures.append((of_model * self._engine.corpus.trust, NEAR, 1.0))
        parts, units, largest = [], [], []
        for scores, weight, most in measures:
            largest.append(float(scores.max(initial=0.0)))
            # With an embedding model none is divided by its largest value: a model that does not know the query's
            # language finds next to nothing, which would count as much as what the table of words knows.
            whole = most if of_model is not None else max(largest[-1], HALF * most)
            units.append(weight / (whole or 1.0))
            parts.append(scores * units[-1])
        fitting = self._of_apis.fitting(asked) if self._of_apis else None
        if fitting is not None:
            parts = [part * fitting for part in parts]
        relevance = sum(parts[1:], parts[0])
        # The best hit is as relevant as it is sure, by the words as they are written; the others in proportion.
        most = float(relevance.max(initial=0.0))
        by_words = float(words.max(initial=0.0)) if near_words else largest[0]
        unit = confidence(by_words / (ceiling or 1.0), max(largest[1:])) / (most or 1.0)
        return QueryScores(
            query,
            relevance=relevance * unit,
            best=most * unit,
            scale=units[0] * unit,
            meaning=parts[1] * unit,
            embedding=parts[2] * unit if of_model is not None else None,
            vectors=vectors,
            sentences=said,
            fitting=fitting,
            near_words=near_words,
        )

    def _best(self, relevance: Scores, pinned: list[int], firsts: list[int], limit: int) -> Iterable[Hit]:
        if limit <= 0:
            return ()
        least = 0.0
        if limit < relevance.size:  # a few more if they tie in the digits that are shown
            least = max(float(np.partition(relevance, -limit)[-limit]) - 2e-4, 0.0)
        candidates = (relevance > least).nonzero()[0]
        if pinned or firsts:
            # np.union1d imports numpy.ma.
            candidates = np.array(sorted({*candidates.tolist(), *pinned, *firsts}), np.intp)
        shown = _shown(relevance[candidates])
        if pinned:
            shown[np.isin(candidates, pinned)] = 1.0
        order = np.argsort(-shown, kind="stable")[: None if firsts else limit]
        keys = map(self._keys.__getitem__, candidates[order].tolist())
        hits = list(map(Hit, keys, shown[order].tolist()))
        return kept(hits, limit, {self._keys[number] for number in firsts})


def confidence(by_words: float, by_meaning: float) -> float:
    """The relevance of the best hit, from how well the words of the query are met and how near its meaning is. It is
    about the share of right first hits: a third at .35, half at .5, .7 at .7, .9 at .9, as measured."""
    return max(by_meaning, 0.8 * min(by_words, 1.0))


def weak_below(tools: int, *, in_english: bool = True) -> float:
    """The relevance below which the best of so many tools is not a good match. Among more
    tools the best is nearer, even to a request that none of them meets: measured on 1 to 3,600 tools, two of three
    such requests stay below it, and one in thirty of those that a tool meets."""
    size = min(max(tools, FEWEST), MOST)
    return (0.04 + 0.18 * math.log10(size)) * (1.0 if in_english else NOT_ENGLISH)


_read_of = attrgetter("text", "notes", "title", "inferred")  # all of a tool that is searched


def _is_same(tool: Tool, other: Tool) -> bool:
    return tool is other or _read_of(tool) == _read_of(other)


def _of_apis(tools: Sequence[Tool]) -> "ApiTools | None":
    if all(tool.inferred is None for tool in tools):
        return None
    from mcpctl.search.api_tools import ApiTools

    return ApiTools(tools)


def _said(text: str, query: Query) -> Iterator[Sequence[int]]:
    """The numbers of the words of `query.meaning`: all, and those of each sentence if there are several."""
    yield range(len(query.meaning))
    for sentence in sentences(text, MAX_SENTENCES):
        said = set(meaning_words(sentence))
        yield [
            row
            for row, (query_stem, word) in enumerate(query.meaning.items())
            if query_stem in said or stem(word) in said
        ]


def _known_words(queries: Sequence[Query]) -> tuple[str, ...]:
    """The words of the queries that tools have; no courtesies, and none that the notice says are read as others."""
    meant = {word for query in queries for phrase in query.read_as.values() for word in " ".join(phrase).split()}
    known = [word for query in queries for word in query.terms.values() if word not in query.read_as or is_cjk(word)]
    return tuple(word for word in dict.fromkeys(known) if word not in COURTEOUS_WORDS | meant)


def _notice(queries: Sequence[Query]) -> str:
    read_as = {word: meant for query in queries for word, meant in query.read_as.items() if not is_cjk(word)}
    sentences = [f"'{word}' was read as {' or '.join(meant)}." for word, meant in list(read_as.items())[:8]]
    if any(query.cut for query in queries):
        sentences.append(f"A long query was cut: only its first {MAX_WORDS} words were read.")
    return " ".join(sentences)


def _shown(relevance: Scores) -> Scores:
    """Relevance in four digits, within 0 and 1: values above .9 are compressed towards .99, so that no two merge."""
    bent = 0.99 - 0.09**2 / np.maximum(relevance - 0.81, 0.09)
    return np.maximum(np.minimum(relevance, bent).round(4), 0.0001)
