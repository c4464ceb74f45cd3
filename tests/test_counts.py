"""The counters: a number over the one kept fails and is named, and to raise it takes a reason."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.bench import counters, counts
from tests.bench.counters import Measured
from tests.bench.counts import Kept
from tests.bench.raw_client import Unavailable
from tests.conftest import ROOT
from tests.table import for_each

EXACT, ROUGH = "call: functions", "all Python functions: one at a time"
KEPT = {EXACT: Kept(110), ROUGH: Kept(150.0)}


@for_each(
    ("name", "number", "is_over"),
    [(EXACT, 110, False), (EXACT, 111, True), (EXACT, 100, False), (ROUGH, 154.4, False), (ROUGH, 154.6, True)],
)
def test_a_number_over_the_one_kept_is_named(name: str, number: float, is_over: bool) -> None:
    sentences = counts.too_many({name: number}, KEPT)
    assert [
        sentence.startswith(f"{name}: {number:g}, where {KEPT[name].number:g} is kept") for sentence in sentences
    ] == ([True] if is_over else [])


def test_a_number_that_none_is_kept_for_is_named() -> None:
    assert counts.too_many({"call: rooms": 5}, KEPT) == ["call: rooms: 5, and no number is kept for it"]


@pytest.mark.parametrize(("python", "status"), [(counts.PYTHON, 1), ("another", 0)])
def test_numbers_are_compared_on_the_python_that_is_named(
    python: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "counts.toml"
    file.write_text(counts.written(KEPT).replace(counts.PYTHON, python), encoding="utf-8")
    monkeypatch.setattr(counts, "KEPT", file)
    assert counts.compared({EXACT: 111}) == status
    said = capsys.readouterr().err
    if status:
        assert f"TOO MANY: {EXACT}: 111" in said
        assert f"not compared: {ROUGH}" in said
    else:
        assert "nothing is compared" in said


def test_to_raise_a_number_takes_a_reason() -> None:
    with pytest.raises(Unavailable, match=EXACT):
        counts.anew({EXACT: 111}, KEPT, "")
    assert counts.anew({EXACT: 111, ROUGH: 149}, KEPT, "a new check") == {**KEPT, EXACT: Kept(111, "a new check")}
    assert counts.anew({EXACT: 109}, {EXACT: Kept(111, "a new check")}, "") == {EXACT: Kept(109)}


def test_numbers_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept = {EXACT: Kept(111, 'a "new" check'), ROUGH: Kept(149.5)}
    file = tmp_path / "counts.toml"
    file.write_text(counts.written(kept), encoding="utf-8")
    assert counts.read(file) == (counts.PYTHON, kept)


def test_what_is_kept_is_what_is_counted() -> None:
    _, kept = counts.read(counts.KEPT)
    begins = {"call:", "search:", "initialize:", "in", "all", "system", "modules", "RSS:"}
    assert {name.split()[0] for name in kept} == begins
    assert "  .venv/bin/python -m tests.bench.counts" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
@pytest.mark.process
def test_a_function_more_on_the_way_of_a_call_is_seen(tmp_path: Path) -> None:
    """In a copy, every result that is passed on goes through one function more."""
    shutil.copytree(ROOT / "mcpctl", tmp_path / "mcpctl")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "mcpctl" / "wire" / "jsonrpc.py").open("a", encoding="utf-8") as module:
        module.write("\n_pieces = result_pieces\n\n\ndef result_pieces(*given):\n    return _pieces(*given)\n")
    before, after = (
        counters.of_way(counters.ways(Measured(sys.executable, root))["call"]) for root in (ROOT, tmp_path)
    )
    assert after == {**before, "functions": before["functions"] + 1}
