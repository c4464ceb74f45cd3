"""The engine under the default ranking: rank_bm25's own numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from mcpctl.search.fields import FIELDS
from mcpctl.search.posting_lists import K1, Corpus, Okapi

TEXT = st.lists(st.sampled_from(["red", "reds", "green", "Blue", "blueGreen", "图片", "7"]), max_size=6).map(" ".join)
DOCUMENTS = st.lists(st.tuples(*(TEXT for _ in FIELDS)), max_size=6)


def whole(okapi: Okapi) -> Okapi:
    """With what rank_bm25's own functions read: each document as a mapping, all of one length."""
    corpus = okapi.corpus
    okapi.doc_freqs = [{} for _ in range(len(corpus))]
    terms = np.repeat(corpus.terms, corpus.counts) if corpus.terms else ()
    for term, document, frequency in zip(terms, corpus.document, corpus.frequency, strict=True):
        okapi.doc_freqs[document][str(term)] = float(frequency)
    okapi.doc_len, okapi.avgdl = [1] * len(corpus), 1.0
    return okapi


def engine(*names: str) -> Okapi:
    return Okapi(Corpus.read([(name, *[""] * (len(FIELDS) - 1)) for name in names]))


@given(DOCUMENTS, st.lists(st.sampled_from(["red", "red~", "green", "blue~", "unheard", "7", "图片"])))
def test_posting_lists_score_as_rank_bm25_does(documents: list[tuple[str, ...]], query: list[str]) -> None:
    okapi = whole(Okapi(Corpus.read(documents)))
    assert okapi.get_scores(query).tolist() == pytest.approx(BM25Okapi.get_scores(okapi, query).tolist())


def test_rank_bm25_scores_by_the_formula_of_bm25f() -> None:
    okapi = engine("red", "red green", "blue")
    field = FIELDS[0]
    tf = [field.weight / (1 - field.length + field.length * length / (4 / 3)) for length in (1, 2)]
    idf = math.log(1 + 1.5 / 2.5)
    expected = [idf * n * (K1 + 1) / (n + K1) for n in tf]
    assert okapi.get_scores(["red~"]).tolist() == pytest.approx([*expected, 0])


def test_an_idf_is_positive_even_for_a_word_that_every_tool_has() -> None:
    assert all(value > 0 for value in engine("same", "same other").idf.values())


@pytest.mark.parametrize("names", [(), ("",), ("-", "--")])
def test_a_corpus_without_words_scores_nothing(names: tuple[str, ...]) -> None:
    assert engine(*names).get_scores(["anything"]).tolist() == [0] * len(names)


def test_a_document_has_its_words_and_their_stems() -> None:
    assert set(whole(engine("list_users", "x")).doc_freqs[0]) == {"list", "list~", "users", "user~"}
    assert [set(each) for each in whole(engine("a_user", "runs")).doc_freqs] == [{"user", "user~"}, {"runs", "run~"}]


def test_a_longer_field_makes_each_of_its_words_count_less() -> None:
    short, long = whole(engine("red", "red green blue")).doc_freqs
    assert short["red"] > long["red"]
