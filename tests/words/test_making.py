"""A small table, made as the shipped one is: by the same functions, from a small corpus, with a stand-in teacher."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from mcpctl.search.meaning import COUNTS, MADE, VECTORS, WORDS, WordTable
from tests.words import sources
from tests.words.inputs import Input, digest
from tests.words.making import Lessons, make
from tests.words.recipe import Recipe, Source
from tests.words.sources import Text
from tests.words.training import Matrix, vocabulary

TOPICS = {
    "files": ["file", "folder", "directory", "rename"],
    "weather": ["weather", "forecast", "rain", "wind"],
    "money": ["invoice", "payment", "refund", "price"],
}
OTHERS = {
    "file": {"de": "datei", "zh": "文件"},
    "folder": {"de": "ordner", "zh": "文件夹"},
    "rain": {"de": "regen", "zh": "下雨"},
    "invoice": {"de": "rechnung", "zh": "发票"},
}
RECIPE = Recipe(dimensions=6, epochs=20)
Make = Callable[..., WordTable]


class Topics:
    """A teacher of few words: a text's vector tells how often it speaks of each topic, and a little which words."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        rows = np.array([self._row(text.split()) for text in texts], np.float32)
        unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def _row(self, words: Sequence[str]) -> list[float]:
        known = [word for topic in TOPICS.values() for word in topic]
        by_topic = [float(sum(word in topic for word in words)) for topic in TOPICS.values()]
        return [*by_topic, *(0.2 * words.count(word) for word in known), 0.1]


@pytest.fixture
def teacher() -> Topics:
    return Topics()


@pytest.fixture
def table(tmp_path: Path, teacher: Topics) -> Make:
    """Makes a table of the corpus and loads it."""

    def make_one(*, recipe: Recipe = RECIPE, folder: str = "table") -> WordTable:
        path = corpus(tmp_path / "tldr.jsonl.gz")
        pinned = Input("given", "small", "1", path.name, digest(path))
        source = Source("tldr", sources.tldr, (pinned,))
        output = tmp_path / folder
        make([source], {pinned: path}, teacher, recipe, tmp_path / "cache", output, lambda _: None)
        return WordTable(np.load(output / WORDS), np.load(output / VECTORS), np.load(output / COUNTS))

    return make_one


def corpus(path: Path) -> Path:
    """Pages about each topic, in three languages as far as there are words."""
    lines = []
    for topic in TOPICS.values():
        for number, word in enumerate(topic):
            for other in topic[number + 1 :]:
                page = {
                    "page": f"{word}-{other}",
                    "lang": "en",
                    "about": f"the {word}",
                    "does": [f"{word} {other}"],
                }
                lines.append(json.dumps(page))
                for language in ("de", "zh"):
                    told = [OTHERS.get(each, {}).get(language, each) for each in (word, other)]
                    page |= {"lang": language, "about": told[0], "does": [" ".join(told)]}
                    lines.append(json.dumps(page))
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))  # the same bytes whenever it is made
    return path


def cosine(table: WordTable, one: str, other: str) -> float:
    numbers = table.rows_of([one, other])
    assert min(numbers) >= 0, (one, other)
    rows = table.vectors[numbers].astype(np.float64)
    return float(rows[0] @ rows[1] / np.prod(np.linalg.norm(rows, axis=1)))


def test_words_of_a_topic_are_near_and_those_of_others_are_far(table: Make) -> None:
    made = table()
    near = [cosine(made, "weather", word) for word in ("forecast", "rain", "wind")]
    far = [cosine(made, "weather", word) for word in ("file", "directory", "invoic", "payment")]
    assert min(near) > 0.7
    assert max(far) < 0.4


def test_a_translated_word_is_near_its_english_one(table: Make) -> None:
    made = table()
    for english, others in {
        "rain": ("regen", "下雨", "雨"),
        "invoic": ("rechnung", "发票"),
        "file": ("datei",),
    }.items():
        assert [word for word in others if cosine(made, english, word) < 0.7] == []
    assert cosine(made, "regen", "发票") < 0.4
    # Chinese is looked up by pairs and by single characters.
    assert all(word in made for word in ("文件", "件夹", "夹"))


def test_it_tells_how_many_texts_have_a_word(table: Make) -> None:
    made = table()
    # Alone and with each of three others, which in English are told once more, after what the page is about.
    assert made.counts[made.rows_of(["folder", "ordner"])].tolist() == [7, 4]


def test_the_same_inputs_give_the_same_table_and_the_second_time_nothing_is_embedded(
    table: Make, teacher: Topics, tmp_path: Path
) -> None:
    table()
    asked = list(teacher.asked)
    assert len(asked) == len(set(asked)) > 20
    table(folder="again")
    assert teacher.asked == asked
    assert (tmp_path / "table" / MADE).read_bytes() == (tmp_path / "again" / MADE).read_bytes()
    told = json.loads((tmp_path / "table" / MADE).read_text())
    assert told["result"] == {name: digest(tmp_path / "again" / name) for name in (WORDS, VECTORS, COUNTS)}
    assert (told["words"], told["settings"]["dimensions"], told["sources"]) == (len(table()), 6, ["tldr"])
    assert list(told["inputs"]) == ["small 1"]
    assert told["cosine"] > 0.9


def test_a_text_that_is_new_is_embedded_and_the_others_are_not(table: Make, teacher: Topics, tmp_path: Path) -> None:
    table()
    keys = tmp_path / "cache" / "tldr.keys.json"
    known = json.loads(keys.read_text())
    rows = np.load(tmp_path / "cache" / "tldr.npy")
    keys.write_text(json.dumps(known[1:]))
    np.save(tmp_path / "cache" / "tldr.npy", rows[1:])
    teacher.asked.clear()
    table()
    assert teacher.asked == known[:1]
    assert np.array_equal(np.load(tmp_path / "cache" / "tldr.npy"), rows)


def test_words_of_few_texts_long_words_and_other_languages_are_left_out(table: Make) -> None:
    assert "rechnung" in table()
    assert "rechnung" not in table(recipe=Recipe(dimensions=6, languages=("zh",)))
    assert "rechnung" not in table(recipe=Recipe(dimensions=6, longest=7))
    assert "rechnung" not in table(recipe=Recipe(dimensions=6, least_of_others=9))
    assert vocabulary([["a", "rain", "a"], ["rain"], ["a", "b"], ["b", "rain"]], 3) == ["rain"]


def test_a_text_is_taught_once_and_each_of_its_translations() -> None:
    lessons = Lessons()
    first = [Text("a file", (("de", "eine Datei"), ("fr", "un fichier"))), Text(" "), Text("a folder")]
    assert lessons.add(first, ["de"]) == ["a file", "a folder"]
    second = [Text("a folder", (("de", "ein Ordner"),)), Text("a file", (("de", "eine Datei"), ("de", "Datei")))]
    assert lessons.add([*second, Text("rain")], ["de"]) == ["rain"]
    assert list(lessons.others) == [("eine Datei", 0), ("ein Ordner", 1), ("Datei", 0)]
