"""Tools that are stuffed with words do not come first for what they do not do."""

from typing import Any

import pytest

from mcpctl.search.bm25 import Bm25
from mcpctl.search.fields import LEAST, texts, trust
from mcpctl.search.providers import build
from tests.bench import crowding, search_quality
from tests.search.test_bm25 import CATALOG, tool
from tests.table import for_each

MANY = (
    "issue ticket bug repository problem defect report error create open file submit tracker team github title log new"
)

MORE = f"{MANY} mail letter weather rain sun storm"


def trusted(name: str = "helper", description: str = "") -> float:
    return round(trust(texts(tool(f"acme:{name}", description))), 2)


def described(parameters: dict[str, Any]) -> float:
    return round(trust(texts(tool("acme:helper", **parameters))), 2)


@pytest.mark.parametrize(
    "description",
    [
        MANY,
        ", ".join(MANY.split()),
        MANY.replace(" ", "\n"),
        f"Fast and easy. Keywords: {MANY}.",
        " ".join(["issue", "ticket", "bug"] * 20),
    ],
)
def test_a_list_of_words_counts_least(description: str) -> None:
    assert trusted(description=description) == LEAST


@pytest.mark.parametrize(
    "description",
    [
        "Fast. " + ", ".join(f"{each} the issue" for each in MANY.split()) + ".",
        f"It is for the {' and for the '.join(MORE.split())}.",
    ],
)
def test_a_sentence_of_very_many_words_or_phrases_counts_half(description: str) -> None:
    assert trusted(description=description) == 0.51


def test_so_does_a_name_or_a_title_of_many_words() -> None:
    assert trusted(MANY.replace(" ", "_")) == trusted(MANY.title().replace(" ", "")) == LEAST
    assert trust(["helper", MANY, "acme", "Open issues.", *[""] * 5]) == pytest.approx(LEAST)


@pytest.mark.parametrize(
    "description",
    [
        "",
        "issue ticket bug",
        "Create an issue in a repository. Returns its number, which other tools take; labels are optional.",
        "Search by name, kind, date, place, or owner of the thing that is wanted, in the order it was put there.",
        "以多种语言、货币、城市、日期、天气、航班、酒店、餐厅、新闻、股票、音乐、电影、图书、邮件、日历查询信息。",
        "Zeigt die Dateien eines Ordners mit ihrer Größe und dem Datum der letzten Änderung an, auch sortiert.",
    ],
)
def test_sentences_count_wholly(description: str) -> None:
    assert trusted(description=description) == 1.0


def test_very_many_parameters_that_are_described_in_a_word_each_are_a_list() -> None:
    many, few = ({word: {"description": word} for word in MANY.split()[:count]} for count in (18, 15))
    assert described(many) == LEAST
    assert described(few) == 1.0
    assert described({word: {"description": f"The {word} of the issue"} for word in many}) == 1.0


def test_hardly_a_tool_of_the_probes_is_taken_for_a_list() -> None:
    assert all(trust(texts(each)) == 1.0 for each in search_quality.probes()[0].tools)


@pytest.mark.slow
def test_a_tool_stuffed_with_words_does_not_come_first() -> None:
    none, *ways, mean = crowding.rows()
    first = {str(row["way"]): row["stuffed first"] for row in ways}
    assert mean["stuffed first"] <= 0.06
    assert max(first.values()) <= 0.15
    assert mean["right first"] >= none["right first"]


def test_the_parts_of_a_stuffed_tool_add_up_to_its_relevance() -> None:
    provider = Bm25([tool("acme:helper", MANY), *CATALOG])
    ranking = provider.search(["report a problem to the team"])
    (stuffed,) = (hit for hit in ranking.hits if hit.key == "acme:helper")
    (why,) = ranking.explain([stuffed])
    assert why.score == pytest.approx(stuffed.relevance, abs=2e-4)


def test_lists_beside_lists_count_wholly() -> None:
    listed = build([tool("acme:helper", MANY), tool("acme:other", f"{MANY} letter mail")]).search(["open a ticket"])
    assert len(listed.hits) == 2
    assert not listed.weak


@for_each("said", ["DEPRECATED: Use read_text instead.", "[deprecated] Use read_text.", "It is DEPRECATED."])
def test_a_deprecated_tool_comes_after_the_one_in_its_place(said: str) -> None:
    both = [tool("a:read_file", f"Read a file as text. {said}"), tool("b:read_file", "Read a file as text, in lines.")]
    assert [hit.key for hit in build(both).search(["read a file as text"]).hits] == ["b:read_file", "a:read_file"]
    assert build(both[:1]).search(["read a file"]).hits[0].relevance > 0.5


def test_a_tool_that_finds_what_is_deprecated_is_trusted() -> None:
    assert trust(texts(tool("a:list", "List the deprecated operations of an API."))) == 1.0
