"""Vectors of words whose sum, for a text, points where a sentence model's vector of the text does."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Numbers = NDArray[np.int32]

EPOCHS = 8
BATCH = 1_024
RATE = 0.01
"""The learning rate at the start; it falls to 0 along a line."""
PULL = 1e-3
"""How much a word is pulled towards where it began: words of few texts would fit those alone."""


class Bags:
    """The words of texts, by number: those of text n are `words[starts[n]:starts[n + 1]]`."""

    def __init__(self, texts: Iterable[Sequence[int]]) -> None:
        rows = [np.array(text, np.int32) for text in texts]
        self.words: Numbers = np.concatenate(rows) if rows else np.zeros(0, np.int32)
        self.starts = np.cumsum([0, *map(len, rows)])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of(self, texts: NDArray[np.int64]) -> tuple[Numbers, NDArray[np.int64]]:
        """The words of some texts one after another, and for each text where its words begin."""
        sizes = self.starts[texts + 1] - self.starts[texts]
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1]) + np.repeat(self.starts[texts] - (ends - sizes), sizes)
        return self.words[places], ends - sizes


def principal(vectors: Matrix, dimensions: int) -> Matrix:
    """The orthonormal directions, one a column, along which vectors are largest: cosines stay nearly what they are."""
    _, directions = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors.astype(np.float64))
    return np.ascontiguousarray(directions[:, ::-1][:, :dimensions].astype(np.float32))


def vocabulary(texts: Iterable[Iterable[str]], least: int) -> list[str]:
    """The words that at least so many texts have, the most frequent first."""
    counts = Counter(word for text in texts for word in set(text))
    return [word for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])) if count >= least]


def learned(
    bags: Bags,
    target: NDArray[np.int64],
    vectors: Matrix,
    size: int,
    *,
    fixed: Matrix | None = None,
    epochs: int = EPOCHS,
    on_epoch: Callable[[int, float], None] = lambda _epoch, _cosine: None,
) -> Matrix:
    """A vector for each of `size` words; `target` has for each text the row of its vector, of length 1, in `vectors`.

    It minimises the angle between the sum of a text's words and the text's vector by Adam (Kingma and Ba 2015). The
    first words have the vectors `fixed` and keep them.
    """
    start = _begun(bags, target, vectors, size)
    kept = 0 if fixed is None else len(fixed)
    if fixed is not None:
        start[:kept] = fixed
    words = start.copy()
    first, second = np.zeros_like(words), np.zeros_like(words)
    steps = epochs * -(-len(bags) // BATCH)
    chance, step = np.random.default_rng(0), 0
    for epoch in range(epochs):
        order = chance.permutation(len(bags))
        total = 0.0
        for batch in np.array_split(order, -(-len(bags) // BATCH)):
            step += 1
            numbers, begins = bags.of(batch)
            sums = np.add.reduceat(words[numbers], begins, axis=0)
            length = np.linalg.norm(sums, axis=1, keepdims=True).clip(1e-9)
            unit, wanted = sums / length, vectors[target[batch]]
            cosine = (unit * wanted).sum(1, keepdims=True)
            total += float(cosine.sum())
            slope = (cosine * unit - wanted) / length
            distinct, slopes, _ = _by_word(numbers, begins, slope)
            free = distinct >= kept
            distinct, slopes = distinct[free], slopes[free]
            gradient = slopes + PULL * (words[distinct] - start[distinct])
            first[distinct] = 0.9 * first[distinct] + 0.1 * gradient
            second[distinct] = 0.999 * second[distinct] + 0.001 * gradient**2
            rate = RATE * (1 - (step - 1) / steps) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            words[distinct] -= rate * first[distinct] / (np.sqrt(second[distinct]) + 1e-8)
        on_epoch(epoch, total / len(bags))
    return words


def _begun(bags: Bags, target: NDArray[np.int64], vectors: Matrix, size: int) -> Matrix:
    """For each word the mean of the vectors of the texts that have it, the longer the rarer the word is."""
    sums = np.zeros((size, vectors.shape[1]), np.float32)
    counts = np.zeros(size, np.int64)
    for batch in np.array_split(np.arange(len(bags)), -(-len(bags) // (16 * BATCH))):
        numbers, begins = bags.of(batch)
        distinct, added, count = _by_word(numbers, begins, vectors[target[batch]])
        sums[distinct] += added
        counts[distinct] += count
    rarity = np.log(max(len(bags), 2) / counts.clip(1)) / np.log(max(len(bags), 2))
    begun: Matrix = sums * (rarity / counts.clip(1)).astype(np.float32)[:, None]
    return begun


def _by_word(numbers: Numbers, begins: NDArray[np.int64], rows: Matrix) -> tuple[Numbers, Matrix, NDArray[np.int64]]:
    """The distinct words of some texts, as `Bags.of` has them; for each the sum of its texts' rows, and of how many."""
    sizes = np.diff(np.append(begins, len(numbers)))
    order = np.argsort(numbers, kind="stable")
    distinct, at = np.unique(numbers[order], return_index=True)
    sums: Matrix = np.add.reduceat(np.repeat(rows, sizes, axis=0)[order], at, axis=0)
    return distinct, sums, np.diff(np.append(at, len(numbers)))
