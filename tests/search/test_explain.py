"""Why a tool is found: parts that add up to its relevance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.base.models import Tool
from mcpctl.search.bm25 import Bm25
from mcpctl.search.ranking import Explanation, NearWord, Part
from tests.search.test_bm25 import CATALOG, catalogs, prose, tool

LARGE = [*CATALOG, *(tool(f"s{n}:do_{word}", f"Does {word} with care", how={}) for n, word in enumerate("abcdefghij"))]


def explained(tools: list[Tool], *queries: str, context: str | None = None) -> list[Explanation]:
    ranking = Bm25(tools).search(queries, context=context)
    return ranking.explain(ranking.hits)


@given(catalogs, st.lists(prose, min_size=1, max_size=3), prose)
def test_the_parts_add_up_to_the_relevance(tools: list[Tool], queries: list[str], context: str) -> None:
    for why in explained(tools, *queries, context=context):
        if why.pinned:
            assert why.relevance == 1
        elif why.score < 0.9:
            assert why.score == pytest.approx(why.relevance, abs=1e-4)
        else:
            assert 0.89 < why.relevance < 1
        if why.parts:
            assert round(sum(part.score for part in why.shares()), 4) == why.relevance


def test_the_parts_of_a_large_catalog_add_up_too_with_the_meaning() -> None:
    found = explained(LARGE, "do the care for a repository", "weather warnings", context="a region")
    assert {part.field for why in found for part in why.parts} >= {"name", "summary", "meaning", "context"}
    assert all(why.score == pytest.approx(why.relevance, abs=1e-4) for why in found if why.score < 0.9)


def test_the_word_of_a_tool_that_a_word_is_near_to_is_told_beside_what_that_adds() -> None:
    why = explained(CATALOG, "rain of the coming days")[0]
    assert why.key == "weather:forecast"
    near = {part.word: part.near for part in why.parts if part.near}
    assert near["rain"].word == "weather"
    assert near["rain"].cosine == pytest.approx(0.6, abs=0.3)
    assert f"meaning (≈ weather {near['rain'].cosine:.2f})" in why.short
    assert all(part.score > 0 for part in why.parts)


def test_a_word_that_is_near_to_none_of_the_tool_is_told_without_one() -> None:
    near = [
        part.near for why in explained(CATALOG, "rain of the coming days", "bounce it", "merge") for part in why.parts
    ]
    assert all(each is None or each.cosine >= 0.3 for each in near)
    assert any(near)


def test_of_a_compound_the_nearest_of_its_parts_is_told() -> None:
    parts = (
        Part("ordnerinhalt", "meaning", 0.3, NearWord("directory", 0.77)),
        Part("ordnerinhalt", "meaning", 0.1, NearWord("understanding", 0.38)),
    )
    why = Explanation("s:t", 0.4, "ordnerinhalt", parts, None)
    assert why.short == "'ordnerinhalt' in meaning (≈ directory 0.77): 0.40"


def test_each_word_is_told_with_the_fields_that_have_it() -> None:
    why = explained(CATALOG, "forecasting the longitude of the weather")[0]
    assert {(part.word, part.field) for part in why.parts if part.field != "meaning"} == {
        ("forecasting", "name"),
        ("longitude", "parameters"),
        ("weather", "server"),
        ("weather", "summary"),
    }
    assert "'longitude' in parameters" in why.short


def test_a_mistyped_word_is_told_as_it_was_typed() -> None:
    assert {part.word for part in explained(CATALOG, "creat isue")[0].parts} == {"creat", "isue"}


@pytest.mark.parametrize(
    ("query", "how"),
    [("slack:send_message", "key"), ("send_message", "name"), ("SendMessage", "name without case and separators")],
)
def test_what_is_pinned_is_told_with_how_the_query_names_it(query: str, how: str) -> None:
    why = explained(CATALOG, query)[0]
    assert (why.key, why.relevance, why.pinned) == ("slack:send_message", 1.0, how)
    assert why.short.startswith(f"the query is its {how}")


def test_of_several_queries_the_one_that_a_tool_answers_best_is_told() -> None:
    found = {why.key: why.query for why in explained(CATALOG, "storm warnings", "post to a channel")}
    assert found["weather:alerts"] == "storm warnings"
    assert found["slack:send_message"] == "post to a channel"


def test_words_are_in_the_order_of_what_they_add_and_what_is_of_no_word_is_last() -> None:
    parts = (Part("", "meaning", 0.4), Part("b", "name", 0.2), Part("a", "name", 0.1), Part("a", "title", 0.3))
    why = Explanation("s:t", 1.0, "a b", parts, None)
    assert list(why.by_word()) == ["a", "b", ""]
    assert why.short == "'a' in name, title: 0.40; 'b' in name: 0.20; meaning: 0.40"


def test_a_name_without_a_word_is_explained_by_itself() -> None:
    (why,) = explained([tool("s:~", "Nothing")], "~")
    assert [(part.field, part.score) for part in why.shares()] == [("exact", 1.0)]
