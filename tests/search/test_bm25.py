"""What the default ranking puts first, and what it says of its answer."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.base.models import Tool
from mcpctl.base.near_names import nearest
from mcpctl.search.bm25 import Bm25, weak_below
from mcpctl.search.providers import build
from mcpctl.search.ranking import Hit, Provider, Ranking
from tests.table import for_each


def tool(key: str, description: str = "", **parameters: Any) -> Tool:
    server, _, name = key.partition(":")
    return Tool(server, name, {"description": description, "inputSchema": {"properties": parameters}}, "")


CATALOG = [
    tool("github:create_issue", "Open a new issue in a repository", title={"type": "string"}),
    tool("github:list_issues", "List the issues of a repository", state={"description": "open or closed"}),
    tool("github:search_code", "Find source text across repositories"),
    tool("weather:forecast", "The weather of the next days for a place", latitude={}, longitude={}),
    tool("weather:alerts", "Storm and flood warnings for a region"),
    tool("slack:send_message", "Post a message to a channel", channel={"description": "Where it is posted"}),
    tool("bing:image_search", "使用必应搜索图片"),
]


def keys(provider: Provider, *queries: str, **options: Any) -> list[str]:
    return [hit.key for hit in provider.search(queries, **options).hits]


@for_each(
    ("query", "expected"),
    [
        ("open a new issue", "github:create_issue"),
        ("what will the weather be", "weather:forecast"),
        ("posting messages", "slack:send_message"),
        ("longitude", "weather:forecast"),
        ("closed", "github:list_issues"),
        ("图片", "bing:image_search"),
        ("图", "bing:image_search"),
        ("getForecast", "weather:forecast"),
    ],
)
def test_a_tool_is_found_by_its_name_server_description_and_parameters(query: str, expected: str) -> None:
    assert keys(build(CATALOG), query)[0] == expected


def test_a_word_in_the_name_counts_more_than_one_in_the_description() -> None:
    provider = build([tool("a:note", "Archive of things"), tool("b:archive", "A note of things")])
    assert keys(provider, "archive") == ["b:archive", "a:note"]


def test_parameters_of_objects_and_of_items_are_searched_three_levels_deep() -> None:
    deep: dict[str, Any] = {"properties": {"snark": {"properties": {"vorpal": {"properties": {"gleep": {}}}}}}}
    provider = build([tool("pizza:order", pizzas={"type": "array", "items": deep}), tool("other:tool")])
    assert keys(provider, "snark") == keys(provider, "vorpal") == ["pizza:order"]
    assert keys(provider, "gleep") == []


def test_notes_are_searched_with_what_the_server_declares() -> None:
    provider = build(CATALOG, {"weather:alerts": "Use it before every zorb."})
    assert keys(provider, "zorb")[0] == keys(provider, "flood")[0] == "weather:alerts"
    assert keys(build(CATALOG), "zorb") == []


def test_enum_values_are_searched() -> None:
    provider = build(
        [tool("a:chart", kind={"enum": ["histogram", 3, None]}), tool("b:chart", kind={"enum": "scatter"})]
    )
    assert keys(provider, "histogram") == ["a:chart"]


@pytest.mark.parametrize(
    "query",
    ["github:create_issue", "github.create_issue", "create_issue", "Create Issue", "createIssue", " create-issue "],
)
def test_an_exact_name_is_first_whatever_else_matches(query: str) -> None:
    rivals = [tool(f"github:create_issue_{n}", "create issue create issue") for n in range(5)]
    assert build([*rivals, *CATALOG]).search([query]).hits[0] == Hit("github:create_issue", 1.0)


def test_a_key_beats_a_name_that_reads_the_same() -> None:
    provider = build([tool("a:bc_d"), tool("ab:c_d"), tool("z:abcd")])
    assert provider.search(["ab:c_d"]).hits[0] == Hit("ab:c_d", 1.0)
    assert [hit for hit in provider.search(["abcd"]).hits if hit.relevance == 1] == [Hit("z:abcd", 1.0)]


def test_tools_of_one_name_on_several_servers_are_all_first() -> None:
    provider = build([tool("b:search"), tool("a:search"), tool("c:search_more")])
    found = provider.search(["search"]).hits
    assert found[:2] == (Hit("a:search", 1.0), Hit("b:search", 1.0))
    assert found[2].relevance < 1


@pytest.mark.parametrize("query", ["creat isue", "createissues", "create isssue", "newissue", "create isuse"])
def test_a_short_query_is_corrected_if_no_tool_has_the_word(query: str) -> None:
    ranking = build(CATALOG).search([query])
    assert ranking.hits[0].key == "github:create_issue"
    assert ranking.unknown_words == ()


def test_how_a_word_was_read_is_told() -> None:
    ranking = build(CATALOG).search(["creat isuse"])
    assert ranking.notice == "'isuse' was read as issue."
    assert build(CATALOG).search(["createissue"]).notice == ""  # the query names it


def test_of_several_words_that_were_meant_as_likely_the_more_telling_place_decides() -> None:
    tools = [tool("wx:weather"), tool("git:branch", name={"description": "whether it is there"}), *CATALOG[:3]]
    ranking = build(tools).search(["wheather"])
    assert [hit.key for hit in ranking.hits] == ["wx:weather", "git:branch"]
    assert ranking.notice.startswith("'wheather' was read as ")


def test_what_no_tool_has_of_an_identifier_is_unknown() -> None:
    tools = [tool("a:page", number={"description": "10 at most"}), *CATALOG]
    ranking = build(tools).search(["zzq10"])
    assert ranking.unknown_words == ("zzq",)
    assert build(CATALOG).search(["openIssue"]).unknown_words == ()


def test_what_is_not_read_of_a_long_query_is_told() -> None:
    words = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300))
    assert "A long query was cut: only its first 256 words were read." in build(CATALOG).search([words]).notice
    assert build(CATALOG).search([words[:1000]]).notice == ""


def test_a_long_query_is_corrected_too() -> None:
    ranking = build(CATALOG).search(["isue repository channel region warnings"])
    assert ranking.unknown_words == ()
    assert ranking.notice == "'isue' was read as issue."


def test_words_no_tool_has_are_named_as_they_were_typed() -> None:
    ranking = build(CATALOG).search(["book flights to Lisbon", "lisbon hotel"])
    assert ranking == Ranking((), "bm25", None, ("book", "flights", "lisbon", "hotel"), weak=True)


def test_what_answers_one_of_several_queries_less_well_is_lifted_half_the_way_to_the_best() -> None:
    provider = build(CATALOG)
    asked = ("warnings for that region", "find the source of that cathedral")
    strong, faint = (provider.search([query]).hits[0] for query in asked)
    together = {hit.key: hit.relevance for hit in provider.search(asked).hits}
    assert weak_below(len(CATALOG)) < faint.relevance < strong.relevance < 0.9
    assert together[strong.key] == strong.relevance
    assert together[faint.key] == pytest.approx((faint.relevance * strong.relevance) ** 0.5, abs=1e-3)


def test_a_query_that_is_answered_weakly_stays_weak_beside_others() -> None:
    provider = build([*(tool(f"s:tool{n}", "reads the shared word" + " filler" * n) for n in range(8)), *CATALOG])
    faint = "word about cathedral gargoyle masonry scaffolding buttress"
    alone = provider.search([faint], limit=100)
    assert alone.weak
    assert set(alone.hits) <= set(provider.search([faint, "storm warnings"], limit=100).hits)


def test_a_query_more_never_lowers_a_relevance() -> None:
    provider = build(CATALOG)
    alone = {hit.key: hit.relevance for hit in provider.search(["repository issues"]).hits}
    more = {hit.key: hit.relevance for hit in provider.search(["repository issues", "nonsense", "weather"]).hits}
    assert all(more[key] >= relevance for key, relevance in alone.items())


def test_the_context_decides_between_equals_but_finds_nothing_itself() -> None:
    provider = build([tool("vorpal:comment", "Add words"), tool("zorb:comment", "Add words"), tool("mail:send")])
    assert keys(provider, "add words") == ["vorpal:comment", "zorb:comment"]
    assert keys(provider, "add words", context="mail for the zorb") == ["zorb:comment", "vorpal:comment"]
    assert keys(provider, "gleep", context="mail for the zorb") == []


def test_equals_are_in_the_order_of_their_keys() -> None:
    provider = build([tool(f"zorb{server}:run", "Start the job") for server in "dbca"])
    assert keys(provider, "job") == ["zorba:run", "zorbb:run", "zorbc:run", "zorbd:run"]


def test_a_faint_match_is_called_weak_and_still_shown() -> None:
    provider = build([tool(f"s:tool{n}", "reads the shared word" + " filler" * n) for n in range(40)])
    ranking = provider.search(["word about cathedral gargoyle masonry scaffolding"])
    assert ranking.weak
    assert 0 < ranking.hits[0].relevance < weak_below(40)
    assert ranking.known_words == ("word",)


def test_the_more_tools_the_nearer_is_the_nearest_to_what_none_of_them_does() -> None:
    sizes = [0, 1, 15, 30, 124, 527, 2_479, 4_000, 100_000]
    assert [round(weak_below(size), 2) for size in sizes] == [0.25, 0.25, 0.25, 0.31, 0.42, 0.53, 0.65, 0.69, 0.69]
    assert weak_below(500, in_english=False) < weak_below(500)


def test_a_named_tool_is_never_weak() -> None:
    assert not build([tool("s:---"), *CATALOG]).search(["---"]).weak


@pytest.mark.parametrize("limit", [0, 1, 3, 1000])
def test_the_limit_cuts_the_hits_and_nothing_else(limit: int) -> None:
    whole = build(CATALOG).search(["repository"], limit=1000)
    part = build(CATALOG).search(["repository"], limit=limit)
    assert part.hits == whole.hits[:limit]
    assert part.weak == whole.weak


@pytest.mark.parametrize("size", range(4))
def test_a_catalog_of_a_few_tools_is_ranked_like_any_other(size: int) -> None:
    provider = build(CATALOG[:size])
    assert keys(provider, "open a new issue")[:1] == ["github:create_issue"][:size]
    assert provider.search(["open a new issue"]).weak == (size == 0)
    assert len(keys(provider, "repository")) == size
    assert keys(provider) == keys(provider, "") == keys(provider, "what is the") == []


def test_a_catalog_without_a_single_word_is_searched_without_error() -> None:
    provider = build([tool("--:--"), tool("::")])
    assert keys(provider, "anything") == []


def test_definitions_of_any_shape_are_indexed() -> None:
    schemas: list[Any] = [
        {"properties": "x"},
        {"properties": {"a": 1, "b": None, "c": {"description": ["x"]}}},
        {"items": {"items": {"items": []}}},
        {"properties": {f"p{n}": {} for n in range(2000)}},
    ]
    definitions: list[dict[str, Any]] = [{"description": 5}, {"title": {}, "inputSchema": []}]
    definitions += [{"inputSchema": schema} for schema in schemas]
    tools = [Tool("odd", f"tool{n}", definition, "") for n, definition in enumerate(definitions)]
    assert len(keys(build(tools), "odd")) == len(tools)


def test_two_tools_with_one_key_are_found_once() -> None:
    assert keys(build([tool("a:b", "first"), tool("a:b", "second")]), "first second") == ["a:b"]


@pytest.mark.slow
@pytest.mark.process
def test_the_order_is_the_same_in_every_process() -> None:
    code = (
        "from tests.search.test_bm25 import CATALOG, build\n"
        "print(build(CATALOG).search(['new isue repository', 'message'], context='storm'))"
    )
    root = Path(__file__).parents[2]
    outputs = {
        subprocess.check_output([sys.executable, "-c", code], cwd=root, env={"PYTHONHASHSEED": seed}) for seed in "12"
    }
    assert len(outputs) == 1


@given(st.permutations(CATALOG))
def test_the_order_in_which_tools_come_does_not_matter(tools: list[Tool]) -> None:
    queries = ["new isue repository", "message"]
    assert build(tools).search(queries) == build(CATALOG).search(queries)


UNHEARD = ["zorb", "snark", "vorpal", "gleep"]
WORDS = ["issue", "search", "weather", "create", "repository", "message", "image", "storm", "list", "channel"]
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map("_".join)
prose = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
catalogs = st.lists(
    st.builds(tool, st.tuples(st.sampled_from("abc"), names).map(":".join), prose), min_size=1, max_size=8
)


@given(catalogs, st.data())
def test_searching_a_tools_exact_name_ranks_it_first(tools: list[Tool], data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(tools))
    first = build(tools).search([wanted.name]).hits[0]
    assert first.key.endswith(f":{wanted.name}")
    assert first.relevance == 1
    assert build(tools).search([wanted.key]).hits[0].key == wanted.key


@given(catalogs, st.lists(prose, max_size=3), prose)
def test_relevance_is_within_bounds_and_never_rises_and_ties_go_by_key(
    tools: list[Tool], queries: list[str], context: str
) -> None:
    hits = Bm25(tools).search(queries, context=context).hits
    assert all(0 < hit.relevance <= 1 and hit.relevance == round(hit.relevance, 4) for hit in hits)
    assert list(hits) == sorted(hits, key=lambda hit: (-hit.relevance, hit.key))


def _count(text: list[str]) -> int:
    return text.count("zorb")


@given(st.lists(st.lists(st.sampled_from(UNHEARD), min_size=6, max_size=6), min_size=2, unique_by=_count), prose)
def test_an_unrelated_tool_does_not_reorder_tools_of_one_length(described: list[list[str]], more: str) -> None:
    """It does shift idf, the mean length and what words mean there, so between words, between short and long tools, or
    between tools that have a word as often, an order may turn; for one word that the table lacks it may not."""
    tools = [tool(f"s:blort{'q' * number}", " ".join(text)) for number, text in enumerate(described)]
    unrelated = tool("s:unrelated", more)
    before = keys(build(tools), "zorb")
    assert [key for key in keys(build([*tools, unrelated]), "zorb") if key != unrelated.key] == before


def test_the_nearest_names_of_a_mistyped_one_come_best_first() -> None:
    known = [each.key for each in CATALOG]
    assert nearest("github:create_isue", known)[0] == "github:create_issue"
    assert nearest("gitlab:create_issue", known)[0] == "github:create_issue"
    assert nearest("forcast", known) == ["weather:forecast"]
    assert nearest("github.list_issue", known)[0] == "github:list_issues"
    assert nearest("Send-Message", known) == ["slack:send_message"]


def test_nothing_is_near_to_a_name_of_another_kind() -> None:
    assert nearest("xyzzy", [each.key for each in CATALOG]) == []
    assert nearest("a", ["everything:gzip-file-as-resource"]) == []
    assert nearest("memory:nope", ["memory:open_nodes", "memory:read_graph"]) == []


def test_equally_near_names_are_in_the_order_of_their_keys() -> None:
    assert nearest("serch", ["c:search", "a:search", "b:search"], n=2) == ["a:search", "b:search"]
