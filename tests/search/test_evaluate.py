"""How good a ranking is: the measures, and what is chance."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.search.evaluate import (
    METRICS,
    Label,
    Measured,
    below,
    interval,
    mean,
    measure,
    places,
    scores,
    standard_error,
    worse,
)
from mcpctl.search.providers import build
from tests.search.test_bm25 import CATALOG

RANKS = st.lists(st.lists(st.none() | st.integers(1, 50), min_size=1, max_size=4), min_size=1, max_size=12)


def of(*ranks: Sequence[int | None], provider: str = "bm25", enough: bool = False) -> Measured:
    labels = [Label(("q",), tuple((f"s:t{n}",) for n, _ in enumerate(each)), enough) for each in ranks]
    return Measured(provider, labels, ranks, [0.001] * len(ranks))


def test_a_wanted_tool_is_where_it_or_one_as_good_is_first() -> None:
    label = Label(("q",), (("s:a", "s:b"), ("s:c",), ("s:missing",)))
    assert places(["s:x", "s:b", "s:a", "s:c"], label) == [2, 4, None]


def test_recall_counts_the_wanted_tools_that_were_found() -> None:
    found = of([1, 4, None], [7])
    assert found.scores()["recall@3"] == [pytest.approx(1 / 3), 0]
    assert found.scores()["recall@5"] == [pytest.approx(2 / 3), 0]
    assert found.scores()["recall@10"] == [pytest.approx(2 / 3), 1]


def test_where_any_is_enough_one_is_all() -> None:
    assert of([None, 2], enough=True).scores()["recall@3"] == [1]
    assert of([1, 2], enough=True).scores()["ndcg@10"] == of([1, None], enough=True).scores()["ndcg@10"] == [1]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [([1], 1.0), ([2], 0.6309), ([1, 2], 1.0), ([2, 1], 1.0), ([1, None], 0.6131), ([11], 0.0), ([None], 0.0)],
)
def test_ndcg_is_1_for_the_best_order_and_less_the_later_a_tool_is(ranks: list[int | None], expected: float) -> None:
    assert of(ranks).scores()["ndcg@10"] == [pytest.approx(expected, abs=1e-4)]


def test_mrr_is_that_of_the_first_right_tool() -> None:
    assert of([None, 4, 2], [None]).scores()["mrr"] == [0.5, 0]


@given(RANKS, st.booleans())
def test_every_measure_is_within_0_and_1_and_recall_grows_with_the_cut(
    ranks: list[list[int | None]], enough: bool
) -> None:
    found = scores(ranks, [enough] * len(ranks))
    assert set(found) == set(METRICS)
    assert all(0 <= value <= 1 + 1e-12 for values in found.values() for value in values)
    assert mean(found["recall@1"]) <= mean(found["recall@3"]) <= mean(found["recall@5"]) <= mean(found["recall@10"])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_an_interval_is_about_the_mean_and_the_same_at_every_run(values: list[float]) -> None:
    low, high = interval(values)
    assert low - 1e-9 <= mean(values) <= high + 1e-9 or len(set(values)) > 1
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert interval(values) == (low, high)


def test_an_interval_is_narrower_with_more_queries() -> None:
    few, many = interval([0, 1] * 10), interval([0, 1] * 200)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]


def test_nothing_has_no_interval_and_one_value_no_error() -> None:
    assert interval([]) == (0, 0)
    assert standard_error([0.5]) == 0


def test_less_than_demanded_is_sure_only_beyond_its_standard_error() -> None:
    near, far = of([1], [None]), of([1], [None], [None], [None])
    assert list(below(near, {"recall@5": 0.9, "mrr": 0.1})) == [("bm25: recall@5 is 0.500, below 0.9", False)]
    assert list(below(far, {"recall@5": 0.9})) == [("bm25: recall@5 is 0.250, below 0.9", True)]
    assert list(below(of([1], [1]), {"recall@5": 1.0})) == []


def test_worse_than_before_is_told_when_the_same_queries_are_found_later() -> None:
    before = of(*[[1]] * 20).row()
    assert list(worse(of(*[[1]] * 20), before)) == []
    assert list(worse(of(*[[1]] * 19, [2]), before)) == []
    told = list(worse(of(*[[1]] * 12, *[[6]] * 8), before))
    assert told[0] == "bm25: recall@1 is 0.600, was 1.000"
    assert not any("recall@10" in said for said in told)


def test_other_queries_than_before_are_compared_by_their_means() -> None:
    before = of(*[[1]] * 3).row()
    assert list(worse(of([1], [1], [None]), before)) == []
    assert any("recall@5" in said for said in worse(of(*[[None]] * 5), before))
    assert list(worse(of([None]), {})) == []


def test_a_provider_is_asked_every_query_and_timed() -> None:
    labels = [Label(("open an issue",), (("github:create_issue",),)), Label(("nothing like it",), (("x:y",),))]
    seen: list[tuple[int, int]] = []
    row = measure(build(CATALOG), labels, lambda done, total: seen.append((done, total))).row()
    assert (row["provider"], row["queries"], row["recall@1"], row["ranks"]) == ("bm25", 2, 0.5, [[1], [None]])
    assert 0 < row["latency_p50_ms"] <= row["latency_p95_ms"]
    assert seen[-1] == (2, 2)
