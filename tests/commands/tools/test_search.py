"""`mcpctl tools search`"""

import re
from decimal import Decimal

import pytest

from mcpctl.base.paths import Paths
from tests.configured import DEMO, configure, demo_tools, listed, stub
from tests.conftest import Mcpctl
from tests.recorded import at, call, session
from tests.servers import service


def test_the_best_match_is_first_and_relevance_never_rises(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    rows = mcpctl("tools", "search", "forecast", "weather", "--json").json
    assert rows[0]["key"] == "weather:get_forecast"
    relevances = [row["relevance"] for row in rows]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 < relevance <= 1 for relevance in relevances)


def test_the_words_of_a_query_need_no_quotes(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    apart, together = mcpctl("tools", "search", "delete", "note"), mcpctl("tools", "search", "delete note")
    assert apart.out == together.out


def test_an_exact_name_is_first_with_full_relevance(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    for query in ("set_alert", "weather:set_alert"):
        first = mcpctl("tools", "search", query, "--json").json[0]
        assert (first["key"], first["relevance"]) == ("weather:set_alert", 1.0)


def test_filters_leave_out_and_never_change_a_relevance(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    every = mcpctl("tools", "search", "note", "--json").json
    some = mcpctl("tools", "search", "note", "--read-only", "--server", "notes", "--json").json
    assert some == [row for row in every if row["server"] == "notes" and row["read_only"]["effective"]]
    assert 0 < len(some) < len(every)


def test_words_that_no_tool_has_are_named_on_stderr(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "search", "xylophone", "--json")
    assert ran.json == []
    assert "xylophone" in ran.err


def test_a_forbidden_tool_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, {**DEMO, "weather": {**DEMO["weather"], "tools": {"set_alert": False}}})
    found = mcpctl("tools", "search", "set_alert", "--json").json
    assert "weather:set_alert" not in [row["key"] for row in found]


def test_an_unknown_server_is_not_found(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert mcpctl("tools", "search", "note", "--server", "nots").code == 3


def test_a_query_is_required(mcpctl: Mcpctl) -> None:
    assert mcpctl("tools", "search").code == 2


def test_control_characters_in_a_query_never_reach_the_terminal(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    mcpctl("tools", "search", "a\x1b[2Jb \x9b31m")


def test_usage_is_told_of_what_is_found(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    session(paths, rest=call(1, 1))
    first = mcpctl("tools", "search", "get_forecast", "--json").json[0]
    assert (first["key"], first["usage"], first["last_used"]) == ("weather:get_forecast", 1, at(1))
    options = ("--fields", "usage,risk", "--limit", "1")
    assert mcpctl("tools", "search", "get_forecast", *options).out == "1\tread-only\n"


def test_explained_each_tool_tells_what_every_word_added_in_every_field(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    for row in mcpctl("tools", "search", "delete a note zebra", "--explain", "--json").json:
        why = row["explanation"]
        assert why["score"] == row["relevance"] == round(sum(part["score"] for part in why["parts"]), 4)
        assert why["unknown_words"] == ["zebra"]
        assert why["pinned"] is None


@pytest.mark.parametrize("query", ["delete a note", "add a note", "delete_note", "forecast for a city"])
def test_explained_text_adds_up_to_the_relevance_to_the_last_digit(mcpctl: Mcpctl, paths: Paths, query: str) -> None:
    demo_tools(paths)
    found = re.findall(r"^\S.*\n(?:  .*\n)+", mcpctl("tools", "search", query, "--explain").out, re.MULTILINE)
    assert found
    for tool in found:
        relevance = Decimal(tool.splitlines()[0].split()[-1])
        parts = [Decimal(found) for found in re.findall(r"[:,] [a-z ]+ (-?\d\.\d{4})", tool)]
        assert sum(parts) == relevance, tool
        assert f"  sum: {relevance}\n" in tool


def test_explained_text_tells_which_word_of_the_tool_is_near(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    explained = mcpctl("tools", "search", "prediction for a town", "--explain", "--limit", "1").out
    assert re.search(r"^  prediction: .*\bmeaning 0\.\d{4} \(≈ forecast 0\.\d\d\)$", explained, re.MULTILINE)


def test_explained_a_named_tool_is_told_to_be_pinned(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert "pinned: the query is its name\n" in mcpctl("tools", "search", "set_alert", "--explain").out
    assert mcpctl("tools", "search", "set_alert", "--explain", "--json").json[0]["explanation"]["pinned"] == "name"


def test_explanations_keep_to_the_window_and_to_chosen_fields(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    search = ("tools", "search", "note", "--explain")
    assert mcpctl(*search, "--count").out == mcpctl("tools", "search", "note", "--count").out
    assert mcpctl(*search, "--fields", "key", "--limit", "2").out.count("\n") == 2
    assert mcpctl(*search, "--limit", "2", "--offset", "1", "--jsonl").jsonl[0]["explanation"]["score"] > 0
    assert mcpctl("tools", "search", "xylophone", "--explain").out == ""


def test_what_nothing_matches_is_told_with_the_nearest_names(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "search", "4orecast")
    assert ran.out == ""
    assert "nearest names: weather:get_forecast" in ran.err


def test_of_a_weak_search_it_is_told_that_it_is_weak_then_what_was_understood(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "search", "convert pizza zamboni carousel tuxedo lagoon walnut")
    assert [line.removeprefix("mcpctl: ") for line in ran.err.splitlines()] == [
        "no tool is a good match, these are weak",
        "these words of the query occur in tools: convert",
        "no tool has these words: pizza, zamboni, carousel, tuxedo, lagoon, walnut",
    ]


def test_a_search_service_ranks_where_it_is_configured_and_words_where_it_fails(mcpctl: Mcpctl, paths: Paths) -> None:
    found = {"toolKey": "notes:add_note", "relevance": 0.5, "explanation": "it \x1b[31mwrites"}
    search = ("tools", "search", "delete a note", "--explain")
    with service.running(lambda asked: {"results": [found]}) as cloud:
        demo_tools(paths, search={"optimization": "cloud", "cloud_url": cloud.url})
        ran = mcpctl(*search)
        row = mcpctl(*search, "--json").json[0]
        cloud.answer = lambda asked: (500, {}, b"")
        failed = mcpctl(*search, "--json")
    assert ran.out == "notes:add_note  0.5000\n  explanation: it \ufffd[31mwrites\n"
    assert (row["explanation"]["said"], row["explanation"]["parts"]) == ("it \ufffd[31mwrites", [])
    assert failed.json[0]["key"] == "notes:delete_note"
    assert "ranked by bm25; cloud: HTTP 500 Internal Server Error" in failed.err


def test_a_model_ranks_where_it_is_configured(mcpctl: Mcpctl, paths: Paths) -> None:
    with service.running(service.embeddings) as endpoint:
        settings = {"optimization": "semantic", "semantic_url": endpoint.url, "semantic_model": "m"}
        demo_tools(paths, search=settings)
        ran = mcpctl("tools", "search", "hurricane", "--explain", "--json")
    assert ran.json[0]["key"].startswith("weather:")
    assert {part["field"] for part in ran.json[0]["explanation"]["parts"]} == {"meaning", "embedding"}


def test_search_that_is_off_finds_nothing_and_says_why(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, search={"optimization": "off"})
    ran = mcpctl("tools", "search", "set_alert", "--json")
    assert (ran.code, ran.json) == (0, [])
    assert "Search is turned off by the user's configuration" in ran.err


@pytest.mark.parametrize("query", ["", "the of and a", "?!", "\U0001f642"])
def test_a_query_without_a_word_finds_nothing_and_says_so(mcpctl: Mcpctl, paths: Paths, query: str) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "search", query, tty=True)
    assert (ran.code, ran.out, ran.err) == (0, "", "no tool matches\n")


def test_why_nothing_is_found_is_told(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert (
        "no tool passes the filters, of 3 tools that match\n"
        in mcpctl("tools", "search", "weather", "--server", "notes").err
    )
    many = " ".join(f"zz{chr(97 + n)}y" for n in range(12))
    assert mcpctl("tools", "search", many).err.splitlines()[0].endswith("zzjy and 2 more")


def test_a_terminal_gets_the_ten_best_and_is_told_of_the_rest(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"s": stub()})
    listed(paths, "s", [{"name": f"note_{word}", "inputSchema": {}} for word in "abcdefghijklmnopqrs"])
    ran = mcpctl("tools", "search", "note", tty=True)
    assert len(ran.out.splitlines()) == 11
    assert ran.err.endswith("10 of 19 tools; --limit 0 shows all\n")
    assert len(mcpctl("tools", "search", "note", "--limit", "0", tty=True).out.splitlines()) == 20
    assert len(mcpctl("tools", "search", "note").out.splitlines()) == 19
    assert mcpctl("tools", "search", "note", "--explain", tty=True).err.endswith(
        "10 of 19 tools; --limit 0 shows all\n"
    )
    assert not mcpctl("tools", "search", "note", "--explain", "--limit", "0", tty=True).err
