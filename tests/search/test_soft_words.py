"""Words that no tool has count by near words that tools have."""

import numpy as np
import pytest

from mcpctl.search.bm25 import Bm25
from mcpctl.search.fields import texts
from mcpctl.search.meaning import Meaning, shipped
from mcpctl.search.posting_lists import Corpus, Okapi
from mcpctl.search.query_reading import Query, Reader
from mcpctl.search.soft_words import NearWords, Neighbour, SoftWords
from tests.search.test_bm25 import CATALOG
from tests.search.test_explain import explained
from tests.table import for_each

ENGINE = Okapi(Corpus.read([texts(tool) for tool in CATALOG]))
MEANING = Meaning.of(ENGINE, shipped())


def near(query: str, soft_words: SoftWords | None = None) -> tuple[Query, NearWords]:
    read = Reader(ENGINE, shipped()).read(query)
    return read, (soft_words or SoftWords(ENGINE, MEANING, shipped())).near(read, MEANING.vectors(read.meaning))


@for_each(
    ("query", "words"),
    [
        ("open a new issue", {}),
        ("storm warnings for the region in winter", {}),
        ("rain and tempests", {"rain": "weather~"}),
        ("Nachricht an den Kanal schicken", {"nachricht": "messag~", "kanal": "channel~"}),
        ("天气", {"天气": "weather~"}),
    ],
)
def test_words_are_near_to_others_where_tools_lack_half_of_them_or_the_query_is_not_in_english(
    query: str, words: dict[str, str]
) -> None:
    _, found = near(query)
    assert {word: found[word].neighbours[0].term for word in words} == words
    assert bool(found) == bool(words)


def test_neighbours_are_the_stems_with_the_largest_cosines_and_count_the_more_the_nearer_they_are() -> None:
    read, found = near("rain tempests")
    vector = MEANING.vectors(read.meaning)[list(read.meaning).index("rain")]
    stems = MEANING.stems / np.linalg.norm(MEANING.stems, axis=1, keepdims=True).clip(1e-9)
    cosines = stems @ (vector / np.linalg.norm(vector))
    terms = ENGINE.corpus.terms[len(ENGINE.corpus.surface) :]
    best = [(terms[row], cosines[row]) for row in np.argsort(-cosines)[:8] if cosines[row] > 0.5]
    assert [each.term for each in found["rain"].neighbours] == [term for term, _ in best]
    assert [each.cosine for each in found["rain"].neighbours] == pytest.approx([cosine for _, cosine in best], abs=1e-3)
    assert [each.weight for each in found["rain"].neighbours] == pytest.approx(
        [(c - 0.35) / 0.65 for _, c in best], abs=1e-3
    )


def test_a_word_counts_by_its_match_or_by_its_best_neighbour_whichever_is_more() -> None:
    read = Query(terms={"issue~": "issue"}, shares={"issue~": 1.0})
    soft_words = SoftWords(ENGINE, MEANING, shipped())
    by_three = [Neighbour("weather~", 0.9, 0.8), Neighbour("storm~", 0.7, 0.5), Neighbour("open~", 0.6, 0.1)]
    by_one = [Neighbour("issue~", 0.9, 0.5)]
    scores = soft_words.scores(read, {"issue": soft_words._best(by_three), "rain": soft_words._best(by_one)})

    def of(term: str) -> np.ndarray:
        return ENGINE.get_scores([term])

    by_neighbours = np.max([0.8 * of("weather~"), 0.5 * of("storm~"), 0.1 * of("open~")], axis=0)
    expected = np.maximum(of("issue~"), by_neighbours) + 0.5 * of("issue~")
    assert scores.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_how_sure_a_search_is_does_not_depend_on_near_words(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ("Nachricht an den Kanal schicken", "rain and tempests", "ein Fehler im Repository", "天气")
    first = [Bm25(CATALOG).search([query]).hits[0].relevance for query in queries]
    monkeypatch.setattr(SoftWords, "near", lambda *_: {})
    assert [Bm25(CATALOG).search([query]).hits[0].relevance for query in queries] == first


def test_a_near_word_is_told_in_the_field_that_has_it() -> None:
    why = explained(CATALOG, "Nachricht an den Kanal schicken")[0]
    parts = {(part.word, part.field, part.near.word) for part in why.parts if part.near and part.field != "meaning"}
    assert why.key == "slack:send_message"
    assert {("nachricht", "name", "message"), ("kanal", "parameters", "channel")} <= parts
    assert "(≈ channel 0." in why.short
    assert why.score == pytest.approx(why.relevance, abs=1e-4)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpctl.search.soft_words._KEPT", 2)
    monkeypatch.setattr("mcpctl.search.soft_words._KEPT_SCORES", 3)
    soft_words = SoftWords(ENGINE, MEANING, shipped())
    for query in ("Nachricht an den Kanal schicken", "Wetter und Regen", "天气", "rain and tempests"):
        read, found = near(query, soft_words)
        again = SoftWords(ENGINE, MEANING, shipped()).scores(read, found)
        assert soft_words.scores(read, found).tolist() == again.tolist()
        assert len(soft_words._kept) <= 2
