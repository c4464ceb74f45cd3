"""The probes of search are well formed, and slips of the keyboard are what they are called."""

import random

import pytest

from mcpctl.search.evaluate import Label, strangers
from tests.bench import search_quality
from tests.bench.search_quality import Set
from tests.table import for_each

PROBES = search_quality.probes()


@for_each("probes", [*PROBES, search_quality.foreign()])
def test_each_kind_has_thirty_different_queries(probes: Set) -> None:
    assert len({label.queries for label in probes.labels}) == len(probes.labels) == 30


@pytest.mark.parametrize("probes", PROBES, ids=lambda probes: probes.name)
def test_each_query_expects_a_tool_of_the_catalog(probes: Set) -> None:
    assert not strangers(probes.labels, probes.tools)
    assert all(len(label.queries) == len(label.expect) == 1 for label in probes.labels)


def test_no_query_is_asked_in_two_kinds() -> None:
    asked = [label.queries for probes in (*PROBES, search_quality.foreign()) for label in probes.labels]
    assert len(set(asked)) == len(asked)


def test_tools_of_the_catalog_differ() -> None:
    tools = PROBES[0].tools
    assert len({tool.key for tool in tools}) == len({tool.description for tool in tools}) == len(tools) == 124


def test_a_slip_changes_one_word_of_five_letters_or_more() -> None:
    labels = [Label(("show me the weather",), (("a:b",),)), Label(("get it", "k8s"), (("a:b",),))]
    for seed in range(50):
        (slipped,), untouched = (label.queries for label in search_quality.slipped(labels, seed))
        assert slipped.startswith("show me the ") and slipped != "show me the weather"
        assert abs(len(slipped) - len("show me the weather")) <= 1
        assert untouched == ("get it", "k8s")
    assert search_quality.slipped(labels, 3) == search_quality.slipped(labels, 3)


def test_a_slip_is_lost_added_changed_or_exchanged() -> None:
    chance = random.Random(0)
    slips = {search_quality.slip("abcde", chance) for _ in range(2_000)}
    assert {"abde", "bacde", "abced"} <= slips
    assert {len(slip) for slip in slips} == {4, 5, 6}
    assert "abcde" not in slips
