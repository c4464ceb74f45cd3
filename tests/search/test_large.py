"""Large catalogs: found as in small ones, with bounds on what the index holds."""

import itertools

import numpy as np
import pytest

from mcpctl.base.models import Tool
from mcpctl.search import meaning, posting_lists
from mcpctl.search.bm25 import Bm25
from mcpctl.search.posting_lists import Corpus
from tests.bench import search_quality

PROBES = search_quality.probes()[0]
QUERIES = [query for label in PROBES.labels for query in label.queries]


def hits(tools: list[Tool]) -> list[list[str]]:
    ranks = Bm25(tools)
    return [[hit.key for hit in ranks.search([query], limit=5).hits] for query in QUERIES]


def test_comparing_by_the_first_numbers_first_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = list(PROBES.tools)
    whole = hits(tools)
    monkeypatch.setattr(meaning, "LARGE", 1)
    monkeypatch.setattr(meaning, "_BEST", len(tools) // 2)
    assert Bm25(tools)._meaning.tools.shape[1] > meaning._FIRST
    assert sum(map(list.__eq__, hits(tools), whole)) > 0.95 * len(whole)


def test_words_are_counted_in_portions_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [("open issue", "Open", "s", f"open an issue {n} issue", "", "", "", "", "") for n in range(50)]
    whole = Corpus.read(texts)
    for portion in (1, 7, 64):
        monkeypatch.setattr(posting_lists, "_PORTION", portion)
        parts = Corpus.read(texts)
        assert parts.terms == whole.terms
        for name in ("counts", "document", "frequency"):
            assert np.array_equal(getattr(parts, name), getattr(whole, name))


def test_rows_are_added_up_in_portions_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [Tool("s", f"read_file{n}", {}, "read a file") for n in range(30)]
    whole = Bm25(tools)._meaning.tools
    monkeypatch.setattr(meaning, "_AT_ONCE", 4)
    assert np.allclose(Bm25(tools)._meaning.tools, whole, atol=1e-3)


def test_what_is_kept_of_each_word_in_a_tool_is_twelve_bytes() -> None:
    corpus = Bm25(list(PROBES.tools))._engine
    pairs = [corpus.corpus.document, corpus.corpus.frequency, corpus.added]
    assert [column.itemsize for column in pairs] == [4, 4, 4]
    assert len({column.size for column in pairs}) == 1


def test_a_tool_is_told_by_its_first_numbers_and_all_of_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "LARGE", 1)
    monkeypatch.setattr(meaning, "_BEST", 1)
    kept = Bm25([Tool("s", "read_file", {}, "read a file"), Tool("s", "send_mail", {}, "")])._meaning
    assert (kept.tools.itemsize, kept.stems.itemsize) == (4, 2)
    assert kept._columns.shape == (meaning._FIRST, 2)


def test_indexing_tells_its_progress_and_ends_with_all() -> None:
    tools = [Tool("s", f"tool{n}", {}, "") for n in range(1_200)]
    told: list[tuple[int, int]] = []
    Bm25(tools, on_progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 1_200), (500, 1_200), (1_000, 1_200), (1_200, 1_200)]
    assert all(before < after for before, after in itertools.pairwise(told))
