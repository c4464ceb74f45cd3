"""How much an answer says of each tool."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mcpctl.base.models import Tool
from mcpctl.catalog.cache import held
from mcpctl.catalog.cache import tool as stored_tool
from mcpctl.metatools import search_results
from mcpctl.search.ranking import Hit, Ranking
from mcpctl.store.state import ListKey
from tests.effort import calls
from tests.table import for_each

SENTENCE = "It does what a tool of this kind does, and says so in a sentence. "


def tool(number: int, parameters: int = 3, *, server: str = "", words: int = 0, described: str = SENTENCE * 20) -> Tool:
    properties = {f"parameter_{n}": {"type": "string", "description": "word " * words} for n in range(parameters)}
    schema = {"type": "object", "properties": properties}
    definition = {"name": f"tool_{number}", "description": described, "inputSchema": schema}
    return Tool(server or f"server{number}", f"tool_{number}", definition, json.dumps(definition))


def answer(tools: list[Tool], tokens: int = 2000, detail: str = "auto", best: float = 0.9, **more: int) -> Any:
    hits = tuple(Hit(each.key, max(best - 0.01 * place, 0.01)) for place, each in enumerate(tools))
    shown = search_results.chosen(hits, more.get("limit", 10), more.get("more", 10))
    by_key = {each.key: each for each in tools}
    ranking = Ranking(hits, "bm25", None, (), weak=False)
    results = search_results.fitted(
        shown, [by_key[hit.key] for hit in shown], ranking,
        detail=detail, budget=tokens, sure=more.get("limit", 10), split=None, direct={},
    )  # fmt: skip
    assert search_results.size(results) <= tokens
    assert json.dumps(results)
    return results


def test_a_result_has_a_schema_or_a_signature() -> None:
    results = answer([tool(n, words=30) for n in range(10)])
    assert {("inputSchema" in each) + ("signature" in each) for each in results} == {1}
    assert "inputSchema" in results[0]
    assert "signature" in results[9]


@for_each("detail", ["auto", "names"])
def test_a_key_is_said_once(detail: str) -> None:
    assert not {"toolName", "serverName"} & answer([tool(1)], detail=detail)[0].keys()


@for_each(("title", "shown"), [("Tool 1", False), ("tool-1", False), ("Tool one", True)])
def test_a_title_that_repeats_the_name_is_said_in_full_alone(title: str, shown: bool) -> None:
    titled = Tool("s", "tool_1", {"name": "tool_1", "title": title, "inputSchema": {}}, "")
    assert ("title" in answer([titled])[0]) is shown
    assert answer([titled], detail="full")[0]["title"] == title


def test_in_full_a_key_has_its_halves_and_no_signature_beside_the_schema() -> None:
    (result,) = answer([tool(1)], detail="full")
    assert (result["toolKey"], result["toolName"], result["serverName"]) == ("server1:tool_1", "tool_1", "server1")
    assert "signature" not in result
    assert result["description"] == SENTENCE * 20


def test_descriptions_after_the_third_are_brief() -> None:
    lengths = [len(each["description"]) for each in answer([tool(n, 0) for n in range(10)])]
    assert all(500 < length <= 600 for length in lengths[:3])
    assert all(50 < length <= 100 for length in lengths[3:])
    assert all(each["description"].endswith("…") for each in answer([tool(n, 0) for n in range(10)]))


def test_a_description_makes_room_for_a_schema() -> None:
    tight, roomy = (answer([tool(1, 6)], tokens)[0] for tokens in (200, 500))
    assert tight["inputSchema"] == roomy["inputSchema"]
    assert len(tight["description"]) <= 100 < len(roomy["description"])


def test_a_schema_that_has_no_room_is_shortened_before_it_is_left_out() -> None:
    (result,) = answer([tool(1, 4, words=60)], 400)
    texts = [each["description"] for each in result["inputSchema"]["properties"].values()]
    assert len(texts) == 4
    assert all(len(text) <= 100 and text.endswith("…") for text in texts)


def test_a_named_tool_s_schema_is_whole_or_left_out() -> None:
    (result,) = answer([tool(1, 4, words=60)], 400, best=1.0)
    assert "inputSchema" not in result
    (whole,) = answer([tool(1, 4, words=60)], 1200, best=1.0)
    assert whole["inputSchema"] == tool(1, 4, words=60).input_schema


def test_one_schema_takes_no_more_than_half_of_the_answer() -> None:
    results = answer([tool(0, 300), *(tool(n) for n in range(1, 10))])
    assert ["inputSchema" in each for each in results] == [False] + [True] * 9


def test_below_the_best_result_a_schema_takes_no_more_than_a_quarter_of_the_answer() -> None:
    large = 45  # parameters: about three tenths of the budget
    results = answer([tool(0, large), tool(1, large), tool(2, large), *(tool(n, 12) for n in range(3, 6))])
    assert ["inputSchema" in each for each in results] == [True, False, False] + [True] * 3


def test_the_first_ten_have_a_place_whatever_the_first_takes() -> None:
    assert len(answer([tool(n, 20, words=20) for n in range(20)], 600)) == 10


def test_more_follow_where_there_is_room_and_none_was_asked_for() -> None:
    tools = [tool(n, 0, described="Does it.") for n in range(40)]
    assert len(answer(tools)) == 20
    assert len(answer(tools, more=0)) == 10
    assert len(answer(tools, limit=35, more=0)) == 35


def test_what_follows_matches_well_enough() -> None:
    tools = [tool(n, 0, described="Does it.") for n in range(40)]
    relevant = answer(tools, best=0.18)
    assert [each["relevance"] for each in relevant][-1] >= 0.3 * 0.18
    assert 10 < len(relevant) < 20


def test_results_of_a_server_beyond_its_share_come_where_others_leave_room_in_their_order() -> None:
    tools = [*(tool(n, 0, server="many", described="Does it.") for n in range(8)), *(tool(n, 0) for n in range(8, 14))]
    with_room, without = answer(tools), answer(tools, 300)
    assert [each["relevance"] for each in with_room] == sorted((e["relevance"] for e in with_room), reverse=True)
    assert sum(each["toolKey"].startswith("many:") for each in with_room) == 8
    assert sum(each["toolKey"].startswith("many:") for each in without) == 4


@pytest.mark.slow
def test_a_huge_schema_is_not_gone_through() -> None:
    huge = [tool(n, 20_000) for n in range(4)]
    answer(huge)
    for tokens in (100, 600, 2000, 20_000):
        assert calls(partial(answer, huge, tokens)) < 10_000, tokens


def deeper(frames: int, work: Callable[[], object]) -> object:
    return deeper(frames - 1, work) if frames else work()


@for_each("depth", [100, 300, *range(500, 1001, 20)])
def test_a_schema_that_is_nested_as_deep_as_can_be_read_is_shown_with_more_on_the_stack(depth: int) -> None:
    definition = b'{"name":"t","inputSchema":%s{}%s}' % (b'{"items":' * depth, b"}" * depth)
    listed = held(ListKey("s", ""), [definition]).tools
    assert len(listed) == 1 or depth > 300
    for each in listed:
        deeper(100, lambda each=each: answer([stored_tool("s", "t", each.text)], 20_000))  # type: ignore[misc]
