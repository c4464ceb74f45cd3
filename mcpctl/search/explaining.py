"""The parts of a relevance: how much each word of a query adds, in each field and by its meaning."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from mcpctl.search.fields import FIELDS, fields_of
from mcpctl.search.meaning import Matrix, Meaning
from mcpctl.search.posting_lists import K1, Okapi, Scores, stemmed
from mcpctl.search.query_reading import Query
from mcpctl.search.ranking import EMBEDDING_PART, LEAST_NEAR, MEANING_PART, NearWord, Part
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
    fitting: Scores | None = None  # by how much the scores of words count, where there are tools of an HTTP API


def parts(
    engine: Okapi, meaning: Meaning, answer: QueryScores, number: int, texts: Sequence[str], lift: float
) -> Iterator[Part]:
    """The parts that add up to a tool's relevance for a query, times `lift`; `texts` are those of its fields. A term's
    score is divided among the fields like its frequency."""
    corpus, unit = engine.corpus, lift * answer.scale
    unit *= 1.0 if answer.fitting is None else float(answer.fitting[number])
    counts = _counts(texts)
    scores: dict[tuple[str, str], float] = defaultdict(float)
    for term, word in answer.query.terms.items():
        shares = [count * float(norm) for count, norm in zip(counts[term], corpus.norms[number], strict=True)]
        if tf := sum(shares):
            saturated = engine.idf[term] * (K1 + 1) / (tf + K1) * float(corpus.trust[number])
            for field, share in zip(fields_of(texts), shares, strict=True):
                scores[word, field.name] += share * saturated * answer.query.shares[term] * unit
    yield from (Part(word, field, score) for (word, field), score in scores.items() if score)
    if score := lift * float(answer.meaning[number]):
        yield from _meaning_parts(meaning, answer, number, counts, score)
    if answer.embedding is not None and answer.embedding[number]:
        yield Part("", EMBEDDING_PART, lift * float(answer.embedding[number]))


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
