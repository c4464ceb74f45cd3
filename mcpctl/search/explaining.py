"""The parts of a relevance: how much each word of a query adds, in each field and by its meaning."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from mcpctl.search.fields import FIELDS, fields_of
from mcpctl.search.meaning import Matrix, Meaning
from mcpctl.search.posting_lists import K1, Okapi, Scores, stemmed
from mcpctl.search.query_reading import Query
from mcpctl.search.ranking import EMBEDDING_PART, LEAST_NEAR, MEANING_PART, USE_PART, NearWord, Part
from mcpctl.search.soft_words import NearWords
from mcpctl.search.tokens import stem, words


class QueryScores(Struct, frozen=True):
    query: Query
    relevance: Scores
    best: float
    scale: float
    meaning: Scores
    embedding: Scores | None
    vectors: Matrix  # a row for each of `query.meaning`
    sentences: Sequence[Sequence[int]]  # the rows of the whole query, and of each sentence if it has several
    near_words: NearWords = {}
    fitting: Scores | None = None  # by how much the scores of words count, where there are tools of an HTTP API
    use: Mapping[int, tuple[float, str]] = {}  # what use adds to tools, each with the query on record that it is of


def parts(
    engine: Okapi, meaning: Meaning, answer: QueryScores, number: int, texts: Sequence[str], lift: float
) -> Iterator[Part]:
    """The parts that add up to a tool's relevance for a query, times `lift`; `texts` are those of its fields. A term's
    score is divided among the fields like its frequency."""
    corpus, unit = engine.corpus, lift * answer.scale
    unit *= 1.0 if answer.fitting is None else float(answer.fitting[number])
    counts = _counts(texts)

    def of_term(term: str, weight: float) -> dict[str, float]:
        """The share of a term in each field."""
        shares = [count * float(norm) for count, norm in zip(counts[term], corpus.norms[number], strict=True)]
        if not (tf := sum(shares)):
            return {}
        saturated = engine.idf[term] * (K1 + 1) / (tf + K1) * float(corpus.trust[number]) * weight * unit
        return {field.name: share * saturated for field, share in zip(fields_of(texts), shares, strict=True) if share}

    by_word: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for term, word in answer.query.terms.items():
        for field, score in of_term(term, answer.query.shares[term]).items():
            by_word[word][field] += score
    for word, fields, near in _by_neighbours(answer.near_words, by_word, of_term, counts):
        yield from (Part(word, field, score, near) for field, score in fields.items() if score)
    if score := lift * float(answer.meaning[number]):
        yield from _meaning_parts(meaning, answer, number, counts, score)
    if answer.embedding is not None and answer.embedding[number]:
        yield Part("", EMBEDDING_PART, lift * float(answer.embedding[number]))
    if number in answer.use:
        score, recorded = answer.use[number]
        yield Part("", USE_PART, lift * score, recorded=recorded)


def _by_neighbours(
    near_words: NearWords, by_word: Mapping[str, Mapping[str, float]],
    of_term: Callable[[str, float], Mapping[str, float]], words_of_tool: Mapping[str, Sequence[int]],
) -> Iterator[tuple[str, Mapping[str, float], NearWord | None]]:  # fmt: skip
    """The share of each word of a query in each field: as it is written, or by the nearest word, whichever is more."""
    for word in {**by_word, **near_words}:
        most, near = by_word.get(word, {}), None
        for each in near_words[word].neighbours if word in near_words else ():
            fields = of_term(each.term, each.weight)
            if sum(fields.values()) > sum(most.values()):
                met = next(met for met, counts in words_of_tool.items() if any(counts) and stemmed(met) == each.term)
                most, near = fields, NearWord(met, round(each.cosine, 2))
        yield word, most, near


def _meaning_parts(
    meaning: Meaning, answer: QueryScores, number: int, words_of_tool: Mapping[str, Sequence[int]], score: float
) -> Iterator[Part]:
    """The shares of the query's words that point towards the tool, by how far, each with a near word of it."""
    vectors, tool = answer.vectors, meaning.tools[number]
    towards = vectors @ tool
    rows = max(answer.sentences, key=lambda rows: _cosine(vectors[rows].sum(0), tool))
    counted = {row: float(towards[row]) for row in rows if towards[row] > 0}
    tool_words = [(word, f"{stem(word)}~") for word, counts in words_of_tool.items() if any(counts) and word[-1] != "~"]
    stems = meaning.rows([term for _, term in tool_words])
    words = list(answer.query.meaning.items())
    for row, value in counted.items():
        query_stem, word = words[row]
        cosines = stems @ (vectors[row] / np.linalg.norm(vectors[row]))
        nearest = int(cosines.argmax())
        is_near = tool_words[nearest][1] != f"{query_stem}~" and cosines[nearest] >= LEAST_NEAR
        near = NearWord(tool_words[nearest][0], round(float(cosines[nearest]), 2)) if is_near else None
        yield Part(word, MEANING_PART, score * value / sum(counted.values()), near)


def _counts(texts: Sequence[str]) -> Mapping[str, list[int]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(FIELDS))
    for field, text in enumerate(texts):
        for form in (form for forms in words(text) for form in forms):
            counts[form][field] += 1
            counts[stemmed(form)][field] += 1
    return counts


def _cosine(vector: Matrix, unit: Matrix) -> float:
    return float(vector @ unit) / (float(np.linalg.norm(vector)) or 1.0)
