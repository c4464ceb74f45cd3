"""The vectors of words that come with mcpctl: words of about one meaning point in about one direction.

The table is made by `python -m tests.words`; what it is made from is in NOTICE.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).with_name("table")
WORDS, VECTORS = "words.txt", "vectors.npy"


class WordTable:
    """Stems of English and other languages, as `tokens.stem` makes them, and pairs and single characters of Chinese and
    Japanese, each with its vector."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.int8]) -> None:
        self.rows: Mapping[str, int] = dict(zip(words, range(len(words)), strict=True))
        """The row of each word in `vectors`; the words that most texts have come first."""
        self.vectors = vectors
        """A row for each word, the longer the more the word says. Only angles and relative lengths mean something."""

    def __contains__(self, stem: object) -> bool:
        return stem in self.rows

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(self.vectors.shape[1])


@cache
def shipped() -> WordTable:
    """The table that comes with mcpctl; its vectors are mapped, so that what is not looked up is not read."""
    words = (FOLDER / WORDS).read_text(encoding="utf-8").splitlines()
    return WordTable(words, np.load(FOLDER / VECTORS, mmap_mode="r", allow_pickle=False))
