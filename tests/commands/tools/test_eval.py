"""`mcpctl tools eval`"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from tests.configured import DEMO, demo_tools, noted, toolset
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, CURSOR, call, raw, searched, session
from tests.servers import service

GOOD = {"query": "weather forecast for a city", "expect": [["weather:get_forecast"]]}
LOST = {"query": "delete a note", "expect": [["weather:no_such_tool"]], "mode": "all"}


def lines(folder: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def good(tmp_path: Path, paths: Paths) -> str:
    demo_tools(paths)
    return lines(tmp_path, "good.jsonl", [GOOD] * 3)


def test_a_row_tells_how_a_provider_did(mcpctl: Mcpctl, tmp_path: Path, paths: Paths) -> None:
    demo_tools(paths)
    queries = lines(tmp_path, "q.jsonl", [GOOD, LOST])
    ran = mcpctl("tools", "eval", "--queries", queries, "--json")
    (row,) = ran.json
    assert row["provider"] == "bm25"
    assert row["queries"] == 2
    assert row["recall@1"] == row["recall@10"] == row["ndcg@10"] == row["mrr"] == 0.5
    assert row["recall@5_ci"] == [0, 1]
    assert row["latency_p50_ms"] > 0
    assert "weather:no_such_tool" in ran.err


def test_a_terminal_gets_a_table_and_a_pipe_tabs(mcpctl: Mcpctl, good: str) -> None:
    table = mcpctl("tools", "eval", "--queries", good, tty=True).out.splitlines()
    assert table[0].split()[:3] == ["PROVIDER", "QUERIES", "R@1"]
    assert table[1].split()[:3] == ["bm25", "3", "1.000"]
    fields = mcpctl("tools", "eval", "--queries", good, "--fields", "provider,recall@5,recall@5_ci").out
    assert fields == "bm25\t1.000\t1.00-1.00\n"


def test_a_catalog_of_ones_own_takes_the_place_of_the_configured_servers(mcpctl: Mcpctl, tmp_path: Path) -> None:
    tools = [{"server": "zoo", "tool": {"name": "feed_lion", "description": "Feed the lion"}}, *[{"server": "zoo", "tool": {"name": "sell_ticket"}}]]  # fmt: skip # noqa: E501
    catalog = lines(tmp_path, "c.jsonl", tools)
    queries = lines(tmp_path, "q.jsonl", [{"query": ["hungry lion"], "expect": ["zoo:feed_lion"], "mode": "any"}])
    assert mcpctl("tools", "eval", "--queries", queries, "--catalog", catalog, "--json").json[0]["recall@1"] == 1


def test_a_measure_below_what_is_demanded_fails_after_the_table(mcpctl: Mcpctl, tmp_path: Path, good: str) -> None:
    assert mcpctl("tools", "eval", "--queries", good, "--fail-under", "recall@5=1").code == 0
    bad = lines(tmp_path, "bad.jsonl", [LOST] * 3)
    ran = mcpctl("tools", "eval", "--queries", bad, "--json", "--fail-under", "recall@5=0.8", "--fail-under", "mrr=0.1")
    assert ran.code == 7
    assert ran.json[0]["recall@5"] == 0
    assert ran.error["code"] == "eval_missed"
    assert "recall@5" in ran.error["message"]
    assert "mrr" in ran.error["message"]


def test_worse_than_the_baseline_fails(mcpctl: Mcpctl, tmp_path: Path, paths: Paths, good: str) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(mcpctl("tools", "eval", "--queries", good, "--json").out, encoding="utf-8")
    again = ("tools", "eval", "--queries", good, "--baseline", str(baseline))
    assert mcpctl(*again).code == 0
    empty = lines(tmp_path, "c.jsonl", [{"server": "weather", "tool": {"name": "set_alert"}}])
    ran = mcpctl(*again, "--catalog", empty)
    assert ran.code == 7
    assert "recall@1 is 0.000, was 1.000" in ran.err


def test_labels_come_from_searches_that_were_followed_by_a_call_of_a_result(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    offered = raw([{"key": "weather:get_forecast", "relevance": 0.9}, {"key": "notes:add_note", "relevance": 0.2}])
    session(
        paths,
        CLAUDE,
        0,
        [
            searched(1, 1, query=raw(["tomorrow's forecast"]), results=offered),
            *call(1, 2),
            *call(2, 2.5),  # the same tool once more
            searched(2, 3, query=raw(["delete it"]), results=raw([])),
            *call(3, 4, server="notes", tool="delete_note"),  # nobody found it
        ],
    )
    session(paths, CURSOR, 10, [*call(4, 11, CURSOR), searched(3, 12, CURSOR, results=offered)])  # called before
    (row,) = mcpctl("tools", "eval", "--from-records", "--json").json
    assert (row["queries"], row["recall@1"], row["ranks"]) == (1, 1, [[1]])


def test_records_without_a_label_are_not_measured(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    ran = mcpctl("tools", "eval", "--from-records", "--json")
    assert (ran.code, ran.error["code"]) == (3, "no_queries")


@pytest.mark.parametrize(
    "line",
    ["nonsense", "[]", "{}", '{"query": 1, "expect": [["a:b"]]}', '{"query": "x", "expect": [[]]}',
     '{"query": "x", "expect": [[1]]}', '{"query": "x", "expect": [["a:b"]], "mode": "some"}'],
)  # fmt: skip
def test_a_line_that_is_no_label_is_named(mcpctl: Mcpctl, tmp_path: Path, paths: Paths, line: str) -> None:
    demo_tools(paths)
    file = tmp_path / "q.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n\n{line}\n", encoding="utf-8")
    ran = mcpctl("tools", "eval", "--queries", str(file))
    assert ran.code == 5
    assert f"{file}:3" in ran.err


@pytest.mark.parametrize("line", ['{"server": "a"}', '{"server": 1, "tool": {"name": "x"}}', '{"tool": {"name": "x"}}'])
def test_a_line_that_is_no_tool_is_named(mcpctl: Mcpctl, tmp_path: Path, good: str, line: str) -> None:
    file = tmp_path / "c.jsonl"
    file.write_text(line, encoding="utf-8")
    ran = mcpctl("tools", "eval", "--queries", good, "--catalog", str(file))
    assert ran.code == 5
    assert f"{file}:1" in ran.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 2),
        (("--queries", "Q", "--provider", "nope"), 2),
        (("--queries", "Q", "--fail-under", "recall@5"), 2),
        (("--queries", "Q", "--fail-under", "recall@7=0.5"), 2),
        (("--queries", "Q", "--fail-under", "mrr=80"), 2),
        (("--queries", "missing.jsonl"), 3),
        (("--queries", "Q", "--catalog", "missing.jsonl"), 3),
        (("--queries", "Q", "--baseline", "missing.json"), 3),
        (("--queries", "Q", "--baseline", "Q"), 5),
        (("--queries", "Q", "--provider", "bm25", "--provider", "bm25"), 0),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    mcpctl: Mcpctl, good: str, options: tuple[str, ...], code: int
) -> None:
    assert mcpctl("tools", "eval", *(good if option == "Q" else option for option in options)).code == code


def test_providers_are_measured_side_by_side_and_the_configured_one_if_none_is_named(
    mcpctl: Mcpctl, tmp_path: Path, paths: Paths, good: str
) -> None:
    hurricane = {"query": "hurricane", "expect": [["weather:get_forecast", "weather:set_alert"]]}
    queries = lines(tmp_path, "meant.jsonl", [hurricane])
    with service.running(service.embeddings) as endpoint:
        settings = {"optimization": "semantic", "semantic_url": endpoint.url, "semantic_model": "m"}
        demo_tools(paths, search=settings)
        alone = mcpctl("tools", "eval", "--queries", queries, "--json").json
        named = ("--provider", "bm25", "--provider", "semantic", "--provider", "off", "--provider", "bm25")
        rows = mcpctl("tools", "eval", "--queries", queries, *named, "--json").json
    assert [(row["provider"], row["recall@1"]) for row in alone] == [("semantic", 1)]
    assert [(row["provider"], row["recall@1"]) for row in rows] == [("bm25", 1), ("semantic", 1), ("off", 0)]


def test_one_that_falls_back_is_not_measured(mcpctl: Mcpctl, good: str) -> None:
    ran = mcpctl("tools", "eval", "--queries", good, "--provider", "cloud", "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (4, "", "provider_unavailable")
    assert "cannot measure cloud: [search] has no cloud_url" in ran.error["message"]


def test_a_project_is_measured_with_its_servers_and_its_provider(mcpctl: Mcpctl, paths: Paths, good: str) -> None:
    servers = {**DEMO, "weather": {**DEMO["weather"], "projects": ["rain"]}}
    demo_tools(paths, servers, projects={"sun": {}, "rain": {"optimization": "off"}})
    (sun,) = mcpctl("tools", "eval", "--queries", good, "--project", "sun", "--json").json
    (rain,) = mcpctl("tools", "eval", "--queries", good, "--project", "rain", "--json").json
    assert (sun["provider"], sun["recall@10"]) == ("bm25", 0)
    assert rain["provider"] == "off"
    assert mcpctl("tools", "eval", "--queries", good, "--json").json[0]["recall@1"] == 1


def test_a_baseline_of_one_provider_is_for_any_and_one_of_several_for_those(
    mcpctl: Mcpctl, tmp_path: Path, good: str
) -> None:
    base, named = tmp_path / "base.json", ("tools", "eval", "--queries", good, "--provider")
    base.write_text(mcpctl(*named, "bm25", "--json").out)
    ran = mcpctl(*named, "off", "--baseline", str(base))
    assert ran.code == 7
    assert "off: recall@1 is 0.000, was 1.000" in ran.err
    base.write_text(json.dumps([*json.loads(base.read_text()), {"provider": "semantic"}]))
    ran = mcpctl(*named, "off", "--baseline", str(base), "--json")
    assert (ran.code, ran.error["code"]) == (3, "not_in_baseline")


def test_a_measure_that_may_be_below_by_chance_is_told(mcpctl: Mcpctl, tmp_path: Path, good: str) -> None:
    queries = lines(tmp_path, "q.jsonl", [GOOD] * 3 + [LOST])
    ran = mcpctl("tools", "eval", "--queries", queries, "--fail-under", "recall@5=0.9")
    assert ran.code == 0
    assert "recall@5 is 0.750, below 0.9, but within its standard error" in ran.err


def test_a_toolset_is_measured_with_its_tools_and_notes(mcpctl: Mcpctl, tmp_path: Path, paths: Paths) -> None:
    demo_tools(paths)
    toolset(paths, "few", "notes:add_note", toolNotes=[noted("notes:add_note", when="Ask the caretaker.")])
    asked = {"query": "caretaker", "expect": [["notes:add_note"]]}
    queries = lines(tmp_path, "q.jsonl", [asked, GOOD])
    ranks = [
        mcpctl("tools", "eval", "--queries", queries, *options, "--json").json[0]["ranks"]
        for options in ((), ("--toolset", "few"))
    ]
    assert ranks == [[[None], [1]], [[1], [None]]]


def test_records_are_those_of_the_project(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths, projects={"acme": {}, "home": {}})
    session(paths, CLAUDE, 0, [searched(1, 1, project="acme"), *call(1, 2)])
    assert mcpctl("tools", "eval", "--from-records", "--project", "acme", "--json").json[0]["queries"] == 1
    assert mcpctl("tools", "eval", "--from-records", "--project", "home").code == 3
    assert mcpctl("tools", "eval", "--from-records", "--json").json[0]["asked"] == [["weather in a city"]]
