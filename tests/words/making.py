"""A table of words from texts and a teacher: each word's vector, in a few bits, and what they were made from."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mcpctl.search.meaning import COUNTS, MADE, VECTORS, WORDS, WordTable
from mcpctl.search.tokens import meaning_words
from tests.words import training
from tests.words.inputs import Input, digest
from tests.words.recipe import Recipe, Source
from tests.words.sources import MAX_TEXT, Text

Halves = NDArray[np.float16]
_PORTION = 8_192
"""How many texts are embedded between two lines of progress, and how many vectors are turned at once."""


class Embeds(Protocol):
    """A sentence model, which gives each text a vector of length 1."""

    def embed(self, texts: Sequence[str]) -> training.Matrix:
        """A row for each text."""


def make(
    chosen: Iterable[Source],
    paths: Mapping[Input, Path],
    teacher: Embeds,
    recipe: Recipe,
    cache: Path,
    output: Path,
    say: Callable[[str], None] = print,
) -> None:
    """Write a table of what sources tell, taught by a teacher whose vectors are kept in `cache`."""
    lessons = Lessons()
    vectors, names = [], []
    for source in chosen:
        texts = (text for each in source.inputs for text in source.read(paths[each]))
        vectors.append(embedded(lessons.add(texts, recipe.languages), teacher, cache / source.name, say))
        names.append(source.name)
    table, cosine = made(lessons, np.concatenate(vectors), recipe, say)
    inputs = {f"{each.name} {each.version}": each.sha256 for each in paths}
    write(table, output, inputs, {"sources": names, "settings": recipe.settings(), "cosine": round(cosine, 3)})
    size = sum(path.stat().st_size for path in output.iterdir())
    say(f"{output}: {len(table)} words of {table.vectors.shape[1]} numbers, cosine {cosine:.3f}, {size / 1e6:.1f} MB")


@dataclass
class Lessons:
    """Distinct English texts, and distinct texts in other languages with the number of what they say in English."""

    english: dict[str, int] = field(default_factory=dict)
    others: dict[tuple[str, int], str] = field(default_factory=dict)
    """Each with its language."""

    def add(self, texts: Iterable[Text], languages: Sequence[str]) -> list[str]:
        """Add texts; those in English that are new."""
        first = len(self.english)
        for text in texts:
            if text.english.strip():
                number = self.english.setdefault(text.english, len(self.english))
                told = {(other, number): language for language, other in text.others if language in languages}
                self.others |= told
        return list(self.english)[first:]


def embedded(texts: Sequence[str], teacher: Embeds, cache: Path, say: Callable[[str], None]) -> Halves:
    """The teacher's vectors of texts; `cache`, without an ending, is where they are kept for the next time."""
    keys_file, rows_file = cache.with_name(f"{cache.name}.keys.json"), cache.with_name(f"{cache.name}.npy")
    known: list[str] = []
    rows: list[Halves] = []
    if keys_file.exists():
        known, rows = json.loads(keys_file.read_text(encoding="utf-8")), [np.load(rows_file)]
    if known != texts:
        number = {text: row for row, text in enumerate(known)}
        missing = [text for text in texts if text not in number]
        for start in range(0, len(missing), _PORTION):
            rows.append(teacher.embed(missing[start : start + _PORTION]).astype(np.float16))
            say(f"{cache.name}: {min(start + _PORTION, len(missing))} of {len(missing)} texts embedded")
        number |= {text: len(known) + row for row, text in enumerate(missing)}
        rows = [np.concatenate(rows)[[number[text] for text in texts]]]
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.save(rows_file, rows[0])
        keys_file.write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    return rows[0]


def made(lessons: Lessons, vectors: Halves, recipe: Recipe, say: Callable[[str], None]) -> tuple[WordTable, float]:
    """A table of the words of lessons, and how near the sums of words come to the teacher's vectors: their mean cosine.

    `vectors` has the teacher's vector of each English text.
    """
    targets = _turned(vectors, recipe)
    english = [list(meaning_words(whole(text))) for text in lessons.english]
    others = [list(meaning_words(whole(text))) for text, _ in lessons.others]
    frequent = training.vocabulary(english, recipe.least)
    frequent += training.vocabulary(others, recipe.least_of_others)
    words = [word for word in dict.fromkeys(frequent) if len(word.encode()) <= recipe.longest]
    number = {word: row for row, word in enumerate(words)}
    numbered = [[number[word] for word in text if word in number] for text in english + others]
    targets_of = [*range(len(english)), *(target for _, target in lessons.others)]
    taught = [(text, target) for text, target in zip(numbered, targets_of, strict=True) if text]
    say(f"{len(english)} English texts, {len(others)} in other languages, {len(words)} words")
    cosines = [0.0]

    def on_epoch(epoch: int, cosine: float) -> None:
        cosines.append(cosine)
        say(f"epoch {epoch + 1}: cosine {cosine:.4f}")

    learned = training.learned(
        training.Bags(text for text, _ in taught),
        np.array([target for _, target in taught], np.int64),
        targets,
        len(words),
        epochs=recipe.epochs,
        on_epoch=on_epoch,
    )
    small = np.round(learned / recipe.step).clip(-127, 127).astype(np.int8)
    says = np.flatnonzero(small.any(axis=1))
    counts = Counter(word for text in english + others for word in set(text))
    said = [words[row] for row in says]
    return WordTable.of(said, small[says], [counts[word] for word in said]), cosines[-1]


def whole(text: str) -> str:
    """A text without the rest of a word at which it was cut."""
    return text if len(text) < MAX_TEXT else text.rpartition(" ")[0]


def write(table: WordTable, folder: Path, inputs: Mapping[str, str], told: dict[str, Any]) -> None:
    """A table with what it was made from beside it, and the hashes of both."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / WORDS, table.words)
    np.save(folder / VECTORS, table.vectors)
    np.save(folder / COUNTS, table.counts)
    record = {
        "inputs": inputs,
        **told,
        "words": len(table),
        "result": {name: digest(folder / name) for name in (WORDS, VECTORS, COUNTS)},
    }
    (folder / MADE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _turned(vectors: Halves, recipe: Recipe) -> training.Matrix:
    """The vectors in fewer dimensions, of length 1 again."""
    chosen = np.random.default_rng(0).choice(len(vectors), min(len(vectors), recipe.sample), replace=False)
    directions = training.principal(vectors[chosen].astype(np.float32), recipe.dimensions)
    turned = np.empty((len(vectors), directions.shape[1]), np.float32)
    for start in range(0, len(vectors), _PORTION):
        turned[start : start + _PORTION] = vectors[start : start + _PORTION].astype(np.float32) @ directions
    turned /= np.linalg.norm(turned, axis=1, keepdims=True).clip(1e-9)
    return turned
