"""The table of word vectors: what is looked up in it, and that the one that ships is whole and is the one recorded."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from mcpctl.base.errors import Unusable
from mcpctl.search.meaning import COUNTS, FOLDER, MADE, VECTORS, WORDS, WordTable, shipped
from mcpctl.search.tokens import meaning_words
from tests.words.inputs import digest
from tests.words.recipe import SOURCES, TEACHER, TRANSLATIONS, Recipe

LARGEST = 5_400_000
"""Bytes of the table as a wheel compresses it, which has another 1.5 MB and is to have 7 MB at most."""


@pytest.fixture
def small() -> WordTable:
    return WordTable.of(
        ["rain", "文件", "file", "fil"], np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.int8), [3, 90_000, 5, 5]
    )


def test_a_word_is_found_with_its_vector(small: WordTable) -> None:
    assert [word for word in ("rain", "文件", "file", "fil") if word not in small] == []
    assert (len(small), small.vectors.shape) == (4, (4, 2))
    rows = small.rows_of(["file", "文件", "fil", "rain"])
    assert small.vectors[rows].tolist() == [[5, 6], [3, 4], [7, 8], [1, 2]]
    row = small.row("文件")
    assert row is not None
    assert small.vectors[row].tolist() == [3, 4]


@pytest.mark.parametrize(
    "word", ["", "f", "files", "filing", "文", "文件夹", "zzz", "\x00", "rain\ud800", "r" * 64, "é"]
)
def test_a_word_that_is_not_there_has_no_row(word: str, small: WordTable) -> None:
    assert word not in small
    assert small.row(word) is None
    assert small.rows_of(["rain", word]).tolist() == [small.row("rain"), -1]


@pytest.mark.parametrize("left", [None, b"", b"no numbers", b"half"])
def test_a_table_that_is_not_whole_is_said_to_be_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: bytes | None
) -> None:
    for name in (WORDS, VECTORS, COUNTS):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    torn = tmp_path / VECTORS
    whole = torn.read_bytes()
    torn.unlink()
    if left is not None:
        torn.write_bytes(whole[: len(whole) // 2] if left == b"half" else left)
    monkeypatch.setattr("mcpctl.search.meaning.FOLDER", tmp_path)
    with pytest.raises(Unusable, match="cannot be read"):
        shipped.__wrapped__()


def test_the_commonest_word_is_found_among_those_that_are_common_enough(small: WordTable) -> None:
    assert small.commonest(["rain", "zzz", "file"], 3) == "file"
    assert small.commonest(["file", "文件"], 65_535) == "文件"
    assert small.commonest(["rain", "zzz"], 4) is None
    assert small.commonest([], 1) is None


def test_no_words_have_no_rows(small: WordTable) -> None:
    assert small.rows_of([]).tolist() == []


def test_the_shipped_table_is_well_formed() -> None:
    table = shipped()
    words = [word.decode() for word in table.words]
    assert words == sorted(set(words), key=str.encode)
    assert table.words.dtype.itemsize > max(len(word.encode()) for word in words)
    assert table.vectors.dtype == np.int8
    assert table.vectors.shape == (len(words), Recipe.dimensions)
    assert table.vectors.any(axis=1).all()
    assert all("\n" not in word and word.strip() == word for word in words)
    assert table.counts.dtype == np.uint16
    assert table.counts.shape == (len(words),)
    assert table.counts.all()
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted([WORDS, VECTORS, COUNTS, MADE])


@pytest.mark.slow
def test_it_leaves_room_in_the_wheel() -> None:
    assert sum(len(zlib.compress(path.read_bytes())) for path in FOLDER.iterdir()) < LARGEST


def test_it_is_the_one_that_was_recorded_when_it_was_made() -> None:
    """Made by the script as it is, from what it is pinned to: make it anew when either changes."""
    told = json.loads((FOLDER / MADE).read_text(encoding="utf-8"))
    assert told["result"] == {name: digest(FOLDER / name) for name in (WORDS, VECTORS, COUNTS)}
    inputs = {TEACHER, *(each for source in (*SOURCES, *TRANSLATIONS) for each in source.inputs)}
    assert told["inputs"] == {f"{each.name} {each.version}": each.sha256 for each in inputs}
    assert told["sources"] == [source.name for source in SOURCES]
    assert told["translations"] == [source.name for source in TRANSLATIONS]
    assert told["settings"] == json.loads(json.dumps(Recipe().settings()))
    assert told["words"] == len(shipped())


def test_it_knows_words_of_every_language_as_search_splits_them() -> None:
    text = "list the files of a folder, Dateien anzeigen, 显示文件, ファイルを削除, borrar archivos, supprimer"
    table = shipped()
    assert [word for word in meaning_words(text) if word not in table and len(word) > 1] == []


@pytest.mark.parametrize(
    "one, other, unlike",
    [
        ("folder", "directory", "rain"),
        ("delete", "remove", "price"),
        ("文件", "file", "city"),
        ("löschen", "delete", "photo"),
        ("archivo", "file", "city"),
        ("eliminar", "delete", "photo"),
        ("dossier", "folder", "rain"),
        ("météo", "weather", "price"),
    ],
)
def test_words_of_one_meaning_are_nearer_than_others(one: str, other: str, unlike: str) -> None:
    table = shipped()
    stems = [next(iter(meaning_words(word))) for word in (one, other, unlike)]
    rows = table.rows_of(stems)
    assert min(rows) >= 0
    vectors = table.vectors[rows].astype(np.float64)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.5 > 0.3 > unit[0] @ unit[2]


def test_it_is_mapped_and_not_read_and_that_once() -> None:
    table = shipped()
    assert isinstance(table.words.base, np.memmap)
    assert isinstance(table.vectors.base, np.memmap)
    assert table is shipped()
