"""The vectors of words that come with mcpctl: words of about one meaning point in about one direction.

The table is made by `python -m tests.words`; what it is made from is in NOTICE.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcpctl.base.errors import Unusable

FOLDER = Path(__file__).with_name("table")
WORDS, VECTORS, COUNTS = "words.npy", "vectors.npy", "counts.npy"
MADE = "made.json"
"""The file with the sources of a table, and the hashes of its files."""


class WordTable:
    """Stems of English and other languages, as `tokens.stem` makes them, and pairs and single characters of Chinese and
    Japanese, each with its vector."""

    def __init__(
        self, words: NDArray[np.bytes_], vectors: NDArray[np.int8], counts: NDArray[np.unsignedinteger]
    ) -> None:
        """`words` are distinct and in order, in UTF-8; each has room for one byte more than the longest takes."""
        self.words = words
        self.vectors = vectors
        """A row for each word, the longer the more the word says. Only angles and relative lengths mean something."""
        self.counts = counts
        """How many of the texts from which the table was made have each word, up to 65,535."""

    @classmethod
    def of(cls, words: Sequence[str], vectors: NDArray[np.int8], counts: Sequence[int]) -> "WordTable":
        encoded = [word.encode() for word in words]
        column = np.array(encoded, f"S{max(map(len, encoded), default=0) + 1}")
        order = np.argsort(column)
        return cls(column[order], vectors[order], np.array(counts).clip(max=65_535).astype(np.uint16)[order])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self.row(word) is not None

    def row(self, word: str) -> int | None:
        """The row of a word in `vectors`, None if the table does not have it."""
        # A search in the mapped words takes microseconds; a dictionary of them all takes 20 ms to make.
        encoded = word.encode(errors="replace")
        place = bisect_left(self.words, encoded)
        return place if place < len(self.words) and self.words[place] == encoded else None

    def rows_of(self, words: Sequence[str]) -> NDArray[np.int32]:
        """The rows of words in `vectors`, -1 for those that the table does not have."""
        # A word that is cut to the size of the column is longer than all that are in it.
        asked = np.array([word.encode(errors="replace") for word in words], self.words.dtype)
        places = np.searchsorted(self.words, asked)
        found = self.words[np.minimum(places, len(self.words) - 1)] == asked
        return np.where(found, places, -1).astype(np.int32)

    def commonest(self, words: Sequence[str], least: int) -> str | None:
        """The word that most texts have, of those that at least so many have; None if none is so common."""
        rows = self.rows_of(words) if words else np.zeros(0, np.int32)
        counts = np.where(rows >= 0, self.counts[rows], 0)
        return words[int(counts.argmax())] if np.max(counts, initial=0) >= least else None


@cache
def shipped() -> WordTable:
    """The table that comes with mcpctl; it is mapped, so that what is not looked up is not read. Raises `Unusable`."""
    try:
        return WordTable(_mapped(WORDS), _mapped(VECTORS), _mapped(COUNTS))
    except (OSError, ValueError, EOFError) as error:
        raise Unusable(f"the words in {FOLDER} cannot be read: {error}", "install mcpctl again") from None


def _mapped(name: str) -> NDArray:  # type: ignore[type-arg]
    # A plain array: each look into a numpy.memmap makes another one, ten times as slowly.
    return np.asarray(np.load(FOLDER / name, mmap_mode="r", allow_pickle=False))
