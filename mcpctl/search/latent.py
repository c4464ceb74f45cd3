"""Latent semantic analysis: a tool is near to a query if its words occur together with the query's words."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mcpctl.search.posting_lists import Okapi, Scores

DIMENSIONS = 128
FEWEST, MOST = 16, 5_000
"""The catalog sizes that are analysed: fewer tools have too few words in common, more tools take seconds and hundreds
of megabytes."""
_SHARPNESS = 1.5
"""The exponent of a term's BM25 score: above 1, the words that stand out in a tool count more than in BM25."""
_ROUNDS, _SPARE = 3, 16
_NOISE = 1e-9
"""Squared singular values below this share of the largest are rounding noise."""
_PORTION = 2_000_000
"""How many numbers are held in memory while a sparse matrix is multiplied."""

Matrix = NDArray[np.float32]


class Latent:
    """The stems of a corpus in a space of few dimensions, by a truncated singular value decomposition of the BM25
    scores of stems in documents (Deerwester et al. 1990)."""

    def __init__(self, tools: Matrix, stems: Matrix) -> None:
        self.tools = tools
        """A column for each document, of length 1."""
        self.stems = stems
        """A row for each stem, in the corpus's order."""

    @classmethod
    def analyse(cls, engine: Okapi) -> "Latent":
        """The space of an engine's corpus."""
        # One thread: several need a third more processor time for the same result, and on a busy machine they wait for
        # each other, up to three times as long.
        with threadpool_limits(1, "blas"):
            return cls._analyse(engine)

    @classmethod
    def _analyse(cls, engine: Okapi) -> "Latent":
        corpus = engine.corpus
        first = len(corpus.surface)
        stems = slice(int(np.searchsorted(corpus.term, first)), None)
        weights = engine.added[stems] ** _SHARPNESS
        document, term = corpus.document[stems], corpus.term[stems] - first
        lengths = np.sqrt(np.bincount(document, weights**2, minlength=len(corpus)))
        values = (weights / lengths[document]).astype(np.float32)
        shape = (len(corpus), len(corpus.terms) - first)
        left, strength, right = _svd(document, term, values, shape, min(DIMENSIONS, len(corpus) // 4))
        tools = left * np.sqrt(strength)
        tools /= np.maximum(np.linalg.norm(tools, axis=1, keepdims=True), 1e-9)
        return cls(np.ascontiguousarray(tools.T), right)

    def scores(self, stems: Sequence[int], weights: Sequence[float]) -> Scores:
        """The cosine, at least 0, of each document to a query's stems, which are given by number and weight."""
        query = np.array(weights, np.float32) @ self.stems[list(stems)]
        length = float(np.linalg.norm(query))
        # Not by matmul: BLAS would start threads for it, and wait for them on a busy machine.
        cosines: Scores = np.einsum("ij,i->j", self.tools, query / (length or 1.0)).astype(np.float64)
        # Four digits, so that tools with the same text are equal in spite of rounding.
        return np.maximum(np.round(cosines, 4), 0)


def _svd(
    row: NDArray[np.int32], column: NDArray[np.int32], values: Matrix, shape: tuple[int, int], rank: int
) -> tuple[Matrix, Matrix, Matrix]:
    """The largest singular values of a sparse matrix, given by column, with their vectors.

    It turns a random subspace towards the largest ones by multiplying (Halko, Martinsson and Tropp 2011). The result is
    the same in every run.
    """
    by_row = np.argsort(row, kind="stable")
    size = min(rank + _SPARE, *shape)
    space = np.random.default_rng(0).standard_normal((shape[0], size), np.float32)
    for _ in range(_ROUNDS):
        other = _basis(_product(column, row, values, shape[1], _basis(space)))
        space = _product(row[by_row], column[by_row], values[by_row], shape[0], other)
    basis = _basis(space)
    small = _product(column, row, values, shape[1], basis)
    squares, vectors = _gram(small)
    largest = np.flatnonzero(squares > squares[-1] * _NOISE)[::-1][:rank]
    strength = np.sqrt(squares[largest]).astype(np.float32)
    turn = vectors[:, largest].astype(np.float32)
    return basis @ turn, strength, small @ (turn / strength)


def _basis(space: Matrix) -> Matrix:
    """Orthonormal vectors that span the columns, by their Gram matrix, in a tenth of the time of numpy's QR."""
    squares, vectors = _gram(space)
    is_signal = squares > squares[-1] * _NOISE
    basis: Matrix = space @ (vectors[:, is_signal] / np.sqrt(squares[is_signal])).astype(np.float32)
    return basis


def _gram(space: Matrix) -> tuple[Scores, Scores]:
    """The squared singular values, the smallest first, and the right singular vectors."""
    exact = space.astype(np.float64)
    squares, vectors = np.linalg.eigh(exact.T @ exact)
    return squares, vectors


def _product(row: NDArray[np.int32], column: NDArray[np.int32], values: Matrix, rows: int, dense: Matrix) -> Matrix:
    """The product of a sparse matrix, its rows in order, and a dense one."""
    product = np.zeros((rows, dense.shape[1]), np.float32)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    for heads, end in _portions(starts, row.size, max(1, _PORTION // dense.shape[1])):
        part = values[heads[0] : end, None] * dense[column[heads[0] : end]]
        product[row[heads]] = np.add.reduceat(part, heads - heads[0], axis=0)
    return product


def _portions(starts: NDArray[np.intp], end: int, size: int) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Portions of whole rows with about `size` entries: the starts of the rows, and the end of the portion."""
    cuts = np.unique(np.searchsorted(starts, np.arange(0, end, size)).clip(0, starts.size - 1))
    for first, after in itertools.pairwise([*cuts.tolist(), starts.size]):
        yield starts[first:after], int(starts[after]) if after < starts.size else end
