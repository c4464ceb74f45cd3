"""Of several queries of one search each gets its best hit before any gets a second."""

import pytest

from mcpctl.base.models import Tool
from mcpctl.metatools import search_results
from mcpctl.search.providers import build
from mcpctl.search.ranking import Hit, Provider, kept
from tests.bench import search_quality
from tests.search.conftest import Made
from tests.search.test_bm25 import CATALOG, keys, tool
from tests.servers import service
from tests.table import for_each

ASKED = ("list the issues of a repository", "longitude of a place", "post to a channel")
BEST = ("weather:forecast", "slack:send_message")
LISTS = [tool(f"git{n}:list_issues", "List the issues of a repository") for n in range(20)]


@pytest.fixture(scope="module")
def provider() -> Provider:
    return build([*CATALOG, *LISTS])


@for_each("limit", range(3, 28))
def test_each_query_gets_its_best_hit_before_any_gets_a_second(provider: Provider, limit: int) -> None:
    found = provider.search(ASKED, limit=limit)
    assert {keys(provider, query, limit=1)[0] for query in ASKED} == found.firsts > set(BEST)
    assert found.firsts <= {hit.key for hit in found.hits}
    assert list(found.hits) == sorted(found.hits, key=lambda hit: (-hit.relevance, hit.key))
    assert len(found.hits) == min(limit, len(found.hits))
    chosen = search_results.chosen(found.hits, limit, 0, found.firsts)
    assert {hit.key for hit in chosen} >= found.firsts


@for_each("limit", [1, 2])
def test_of_more_queries_than_results_the_best_hits_are_shown(provider: Provider, limit: int) -> None:
    found = provider.search(ASKED, limit=limit)
    first = sorted((hit for hit in provider.search(ASKED, limit=30).hits if hit.key in found.firsts), key=_order)
    assert list(found.hits) == first[:limit]
    everything = provider.search(ASKED, limit=30)
    chosen = search_results.chosen(everything.hits, limit, 0, everything.firsts)
    assert chosen == first[:limit]


def _order(hit: Hit) -> tuple[float, str]:
    return -hit.relevance, hit.key


def test_one_query_more_changes_no_order_of_a_single_one(provider: Provider) -> None:
    assert provider.search(ASKED[:1]).firsts == frozenset()
    assert provider.search(ASKED[:1], limit=5).hits == provider.search(ASKED[:1], limit=30).hits[:5]


def test_a_tool_that_a_query_names_is_its_best_hit(provider: Provider) -> None:
    found = provider.search(["bing:image_search", *ASKED], limit=4)
    assert found.hits[0] == Hit("bing:image_search", 1.0)
    assert "bing:image_search" in found.firsts
    assert len(found.firsts) == len(found.hits) == 4


def test_a_query_without_a_good_match_is_told_and_still_has_its_best_hit(provider: Provider) -> None:
    vague = "next cathedral gargoyle masonry scaffolding buttress organ choir"
    assert provider.search([vague]).weak
    found = provider.search([vague, *ASKED, "zzqqx", " "], limit=4)
    assert (found.weak, found.unanswered) == (False, (vague, "zzqqx"))
    assert {hit.key for hit in provider.search([vague], limit=1).hits} < found.firsts < {hit.key for hit in found.hits}
    assert provider.search([vague, "zzqqx"]).unanswered == ()


def test_probes_that_are_asked_together_each_have_their_own_best_hit() -> None:
    probes = search_quality.probes()[0]
    provider = build(probes.tools)
    for start in range(0, 30, 6):
        queries = [label.queries[0] for label in probes.labels[start : start + 6]]
        own = {keys(provider, query, limit=1)[0] for query in queries}
        assert provider.search(queries).firsts == own <= set(keys(provider, *queries, limit=len(own)))


def test_what_a_service_finds_is_chosen_so_too(made: Made) -> None:
    tools: list[Tool] = [*CATALOG, *LISTS]
    found = [(each.key, 0.9) for each in LISTS] + [("weather:forecast", 0.3), ("slack:send_message", 0.2)]
    said = {"results": [{"toolKey": key, "relevance": relevance} for key, relevance in found]}
    with service.running(lambda asked: said) as cloud:
        provider = made(tools, "cloud", cloud_url=cloud.url)
        hits = provider.search(ASKED, limit=4).hits
        assert [hit.relevance for hit in hits] == [0.9, 0.9, 0.3, 0.2]
        assert [hit.key for hit in hits[2:]] == ["weather:forecast", "slack:send_message"]
        assert len(provider.search(ASKED[:1], limit=4).hits) == 4


def test_what_is_kept_stays_in_its_order() -> None:
    hits = [Hit(f"s:{n}", 0.9 - n / 10) for n in range(6)]
    assert kept(hits, 3, {"s:5", "s:1"}) == [hits[0], hits[1], hits[5]]
    assert kept(hits, 1, {"s:5", "s:1"}) == [hits[1]]
    assert kept(hits, 0, {"s:5"}) == []
    assert kept(hits, 9, {"s:5"}) == hits
