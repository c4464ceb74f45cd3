"""Words of more languages in a table: each is taught by what the table itself says of the English that it translates.

The words that are there keep their vectors, so that nothing changes for English; and no teacher needs to be asked.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from mcpctl.search.meaning import COUNTS, MADE, VECTORS, WORDS, WordTable
from mcpctl.search.tokens import meaning_words
from tests.words import training
from tests.words.inputs import Input
from tests.words.making import Lessons, whole, write
from tests.words.recipe import Recipe, Source


def add(
    base: Path,
    chosen: Iterable[Source],
    paths: Mapping[Input, Path],
    recipe: Recipe,
    output: Path,
    say: Callable[[str], None] = print,
) -> None:
    """Write the table of a folder with the words of translations added."""
    lessons, names = Lessons(), []
    for source in chosen:
        lessons.add((text for each in source.inputs for text in source.read(paths[each])), list(recipe.least_of_added))
        names.append(source.name)
    table = WordTable(*(np.load(base / name) for name in (WORDS, VECTORS, COUNTS)))
    told = json.loads((base / MADE).read_text(encoding="utf-8"))
    larger, cosine = added(table, lessons, recipe, say)
    told |= {"settings": recipe.settings(), "base": told["result"], "translations": names, "cosine_of_added": cosine}
    inputs = told.pop("inputs") | {f"{each.name} {each.version}": each.sha256 for each in paths}
    write(larger, output, inputs, told)
    say(f"{output}: {len(larger)} words, {len(larger) - len(table)} of them added, cosine {cosine}")


def added(
    table: WordTable, lessons: Lessons, recipe: Recipe, say: Callable[[str], None] = print
) -> tuple[WordTable, float]:
    """The table with words of the translations of lessons, and how near their sums come to those of the English."""
    english = [_sum(table, text) for text in lessons.english]
    pairs = [
        (list(meaning_words(whole(text))), number, language)
        for (text, number), language in lessons.others.items()
        if english[number].any()
    ]
    new = _chosen(table, lessons, pairs, recipe)
    known = [word for word in dict.fromkeys(word for text, _, _ in pairs for word in text) if word in table]
    fixed = table.vectors[table.rows_of(known)].astype(np.float32) * np.float32(recipe.step)
    place = {word: number for number, word in enumerate([*known, *new])}
    numbered = [([place[word] for word in text if word in place], number) for text, number, _ in pairs]
    taught = [(text, number) for text, number in numbered if text]
    say(f"{len(taught)} translations, {len(new)} new words")
    cosines = [0.0]
    learned = training.learned(
        training.Bags(text for text, _ in taught),
        np.array([number for _, number in taught], np.int64),
        np.array(english, np.float32),
        len(place),
        fixed=fixed,
        epochs=recipe.epochs,
        on_epoch=lambda _, cosine: cosines.append(cosine),
    )[len(known) :]
    coarse = recipe.coarseness
    small = (np.round(learned / (recipe.step * coarse)) * coarse).clip(-127, 127).astype(np.int8)
    says = np.flatnonzero(small.any(axis=1))
    words = [word.decode() for word in table.words.tolist()] + [new[row] for row in says]
    counts = Counter(word for text, _, _ in pairs for word in set(text))
    vectors = np.concatenate([table.vectors, small[says]])
    larger = WordTable.of(words, vectors, [*table.counts.tolist(), *(counts[new[row]] for row in says)])
    return larger, round(cosines[-1], 3)


def _sum(table: WordTable, text: str) -> training.Matrix:
    """Where a text's words point in a table, as a vector of length 1; zeros if it has none of them."""
    rows = table.rows_of(list(meaning_words(text)))
    total: training.Matrix = table.vectors[rows[rows >= 0]].astype(np.float32).sum(0)
    total /= np.linalg.norm(total).clip(1e-9)
    return total


def _chosen(
    table: WordTable, lessons: Lessons, pairs: Iterable[tuple[list[str], int, str]], recipe: Recipe
) -> list[str]:
    """The words that the table lacks and enough texts have, the most frequent first, without names: words that most
    often stand in the English, too."""
    english = [set(meaning_words(text)) for text in lessons.english]
    languages: dict[str, Counter[str]] = defaultdict(Counter)
    same: Counter[str] = Counter()
    for text, number, language in pairs:
        for word in dict.fromkeys(text):
            if len(word.encode()) <= recipe.longest:
                languages[word][language] += 1
                same[word] += word in english[number]
    counts = {word: by_language.total() for word, by_language in languages.items()}
    return [
        word
        for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if word not in table
        and count >= recipe.least_of_added[languages[word].most_common(1)[0][0]]
        and 2 * same[word] <= count
    ]
