"""Words that are added to a small table by what they translate."""

import json
from pathlib import Path

import numpy as np
import pytest

from mcpctl.search.meaning import COUNTS, MADE, VECTORS, WORDS, WordTable
from tests.words.adding import add, added
from tests.words.inputs import Input
from tests.words.making import Lessons, write
from tests.words.recipe import Recipe, Source
from tests.words.sources import Text

ENGLISH = {"file": [60, 0, 0], "folder": [50, 20, 0], "rain": [0, 0, 60], "open": [20, 0, 30], "error": [9, 9, 9]}
TABLE = WordTable.of(list(ENGLISH), np.array(list(ENGLISH.values()), np.int8), [5] * len(ENGLISH))
RECIPE = Recipe(dimensions=3, least_of_added={"es": 2, "fr": 3}, coarseness=2)
TEXTS = [
    Text("file", (("es", "fichero"), ("fr", "fichier"))),
    Text("open file", (("es", "abrir fichero"), ("fr", "ouvrir fichier"), ("de", "Datei öffnen"))),
    Text("rain", (("es", "llúvia"), ("fr", "pluie"))),
    Text("open rain zigbee", (("es", "abrir lluvia zigbee"), ("fr", "ouvrir pluie zigbee"))),
    Text("rain zigbee", (("es", "lluvia zigbee error"), ("fr", "zigbee"))),
    Text("zigbee", (("es", "fantasma fantasma"), ("fr", "fantôme"))),
]


@pytest.fixture
def lessons() -> Lessons:
    lessons = Lessons()
    lessons.add(TEXTS, ["es", "fr"])
    return lessons


def row(table: WordTable, word: str) -> list[float]:
    place = table.row(word)
    assert place is not None, word
    vector = table.vectors[place].astype(np.float64)
    return [float(number) for number in vector / np.linalg.norm(vector)]


def test_words_with_enough_translations_are_added_where_their_english_is(lessons: Lessons) -> None:
    table, cosine = added(TABLE, lessons, RECIPE, lambda _: None)
    assert sorted(word.decode() for word in table.words) == sorted([*ENGLISH, "fichero", "abrir", "lluvia"])
    assert row(table, "fichero") == pytest.approx([1, 0, 0], abs=0.3)
    assert row(table, "lluvia") == pytest.approx([0, 0, 1], abs=0.3)
    assert cosine > 0.9
    assert not (table.vectors[table.rows_of(["fichero", "abrir", "lluvia"])] % 2).any()


def test_words_that_are_there_stay_as_they_are(lessons: Lessons) -> None:
    table, _ = added(TABLE, lessons, RECIPE, lambda _: None)
    assert table.vectors[table.rows_of(list(ENGLISH))].tolist() == list(ENGLISH.values())
    assert table.counts[table.rows_of(list(ENGLISH))].tolist() == [5] * len(ENGLISH)


def test_the_record_has_what_both_were_made_from(tmp_path: Path) -> None:
    write(TABLE, tmp_path / "base", {"teacher 1": "ab"}, {"sources": ["tldr"], "cosine": 0.9})
    pinned = Input("given", "texts", "2", "texts.gz", "cd")
    source = Source("texts", lambda _: iter(TEXTS), (pinned,))
    for output in ("one", "two"):
        add(tmp_path / "base", [source], {pinned: tmp_path}, RECIPE, tmp_path / output, lambda _: None)
    one, two, base = (json.loads((tmp_path / name / MADE).read_text()) for name in ("one", "two", "base"))
    assert one == two
    assert one["inputs"] == {"teacher 1": "ab", "texts 2": "cd"}
    assert (one["sources"], one["translations"], one["base"]) == (["tldr"], ["texts"], base["result"])
    assert one["result"].keys() == {WORDS, VECTORS, COUNTS}
    assert one["words"] == len(ENGLISH) + 3
