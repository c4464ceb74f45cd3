"""Odd catalogs and queries: an answer, without endless work, and a sensible one."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.base.models import Tool
from mcpctl.search.providers import build
from mcpctl.search.ranking import MAX_QUERIES, Provider
from mcpctl.search.tokens import MAX_TEXT
from tests.effort import calls
from tests.search.test_bm25 import CATALOG, keys, tool
from tests.table import for_each

VERBS, NOUNS = ("create", "delete", "list", "update", "search"), ("issue", "branch", "comment", "channel", "calendar")
MANY = [tool(f"{noun}hub:{verb}_{noun}", f"{verb.title()} one {noun}") for verb in VERBS for noun in NOUNS]


@pytest.fixture(scope="module")
def provider() -> Provider:
    return build([*MANY, *CATALOG[3:]])


@pytest.mark.parametrize("each", MANY, ids=lambda each: each.name)
def test_a_name_is_found_exact_in_words_joined_and_with_one_letter_lost(each: Tool, provider: Provider) -> None:
    exact, spaced, joined = each.name, each.name.replace("_", " "), each.name.replace("_", "")
    for query in (exact, spaced, joined):
        assert keys(provider, query)[0] == each.key
    lost = [spaced[:n] + spaced[n + 1 :] for n in range(len(spaced))]
    first = [keys(provider, query)[:1] == [each.key] for query in lost]
    assert sum(first) >= len(lost) - 1


def test_names_joined_with_the_words_around_them_are_found(provider: Provider) -> None:
    assert keys(provider, "how to createissue please")[0] == "issuehub:create_issue"


@for_each("query", ["必应图片", "搜索图片", "图片", "使用必应搜索图片"])
def test_chinese_words_of_a_description_find_it(query: str, provider: Provider) -> None:
    assert keys(provider, query)[0] == "bing:image_search"


@for_each("tools", [[], [tool("a:b")], [tool("a:create_issue", "Open an issue")]])
def test_a_catalog_of_none_or_one_is_searched(tools: Sequence[Tool]) -> None:
    for query in ("", "the", "create issue", "unheard of"):
        found = build(tools).search([query])
        assert len(found.hits) == (query == "create issue" and any(each.description for each in tools))


def test_one_tool_that_fits_is_a_good_match() -> None:
    found = build([tool("a:create_issue", "Open an issue in a repository")]).search(["open an issue"])
    assert not found.weak
    assert found.hits[0].relevance > 0.5


@for_each(
    "piece",
    [
        "word",
        "create_issue ",
        "ab1",
        "a" * 50 + " ",
        "图片",
        "\x00\x1b[2J",
        "\u0301",
        "(a+)+$",
        "AaA",
        "{{",
        "🎉 ",
        "ab cd. ",
    ],
)
@pytest.mark.slow
def test_of_a_hundred_thousand_characters_the_beginning_is_searched(piece: str, provider: Provider) -> None:
    query = (piece * (100_000 // len(piece) + 1))[:100_000]

    def search(length: int) -> None:
        text = query[:length]
        provider.search([text, text], context=text)

    search(MAX_TEXT)  # what is looked up but once
    assert calls(lambda: search(100_000)) <= 1.1 * calls(lambda: search(MAX_TEXT))


def test_of_very_many_queries_the_first_are_searched(provider: Provider) -> None:
    queries = [f"create the issue number {n}" for n in range(10_000)]
    provider.search(queries)
    first = calls(lambda: provider.search(queries[:MAX_QUERIES]))
    assert calls(lambda: provider.search(queries)) <= 1.1 * first


@for_each("query", ["", " ", "the of and", "is it what", "!!! ???", "\x00\x01\x02", "\u202e\u200b"])
def test_a_query_without_a_word_finds_nothing_and_says_it_is_no_match(query: str, provider: Provider) -> None:
    ranking = provider.search([query])
    assert ranking.hits == ()
    assert ranking.weak
    assert ranking.unknown_words == ()


def test_the_ranking_of_many_tools_does_not_depend_on_their_order(provider: Provider) -> None:
    queries = ["make a new calendar", "remove some comment"]
    assert build([*CATALOG[3:], *reversed(MANY)]).search(queries) == provider.search(queries)


def test_tools_that_read_the_same_are_found_in_the_order_of_their_keys() -> None:
    alike = [tool(f"s:run{'_' * n}", "Start the job") for n in range(40)]
    assert keys(build([*MANY, *alike]), "start a job", limit=40) == [each.key for each in alike]


@given(st.lists(st.text(), max_size=4), st.lists(st.text(max_size=40), max_size=30), st.text())
def test_any_text_is_searched(queries: list[str], described: list[str], context: str) -> None:
    tools = [Tool("s", f"t{n}{text[:5]}", {"description": text}, "") for n, text in enumerate(described)]
    hits = build(tools).search(queries, context=context).hits
    assert all(0 < hit.relevance <= 1 for hit in hits)
    assert list(hits) == sorted(hits, key=lambda hit: (-hit.relevance, hit.key))


@for_each("query", ["translate this poem into french", "book a table for two", "weigh the elephant"])
def test_a_request_that_no_tool_answers_is_weak(query: str, provider: Provider) -> None:
    assert provider.search([query]).weak


@for_each("query", ["remove a comment", "create new branch", "send a message to a channel"])
def test_a_request_that_a_tool_answers_is_not_weak(query: str, provider: Provider) -> None:
    assert not provider.search([query]).weak
