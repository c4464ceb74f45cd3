"""Latent semantic analysis: tools are near to a query when their words keep the same company as its words."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from mcpctl.search.posting_lists import Okapi, Scores

DIMENSIONS = 128
FEWEST, MOST = 16, 5_000
"""Catalog sizes for which it is made: fewer tools keep too little company, more take seconds and hundreds of megabytes
to analyse."""
_SHARPNESS = 1.5
"""What stands out in a tool counts more here than there."""
_ROUNDS, _SPARE = 3, 16
_NOISE = 1e-9
"""What is so far below the largest square is left of rounding: where tools read the same there is nothing else."""
_AT_ONCE = 2_000_000
"""Numbers held at once while a sparse matrix is multiplied."""

Matrix = NDArray[np.float32]


class Latent:
    """The stems of a corpus in a space of few dimensions, by a truncated singular value decomposition of what each adds
    to each document's BM25 score (Deerwester et al. 1990)."""

    def __init__(self, tools: Matrix, stems: Matrix) -> None:
        self.tools = tools
        """A column for each document, of length 1."""
        self.stems = stems
        """A row for each stem, in the corpus's order."""

    @classmethod
    def analysed(cls, engine: Okapi) -> "Latent":
        """The space of an engine's corpus."""
        # One thread: more use a third more of the processors for the same time, and wait for each other where those
        # are busy, until it takes three times as long.
        with threadpool_limits(1, "blas"):
            return cls._analysed(engine)

    @classmethod
    def _analysed(cls, engine: Okapi) -> "Latent":
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
        """The cosine of each document to a query's stems, given by number and weight; none is below 0."""
        query = np.array(weights, np.float32) @ self.stems[list(stems)]
        length = float(np.linalg.norm(query))
        # Not by matmul: BLAS would start threads for it, and wait for them where the processors are busy.
        cosines: Scores = np.einsum("ij,i->j", self.tools, query / (length or 1.0)).astype(np.float64)
        # In four digits, so that tools which read the same are equals in spite of how floats are rounded.
        return np.maximum(np.round(cosines, 4), 0)


def _svd(
    row: NDArray[np.int32], column: NDArray[np.int32], values: Matrix, shape: tuple[int, int], rank: int
) -> tuple[Matrix, Matrix, Matrix]:
    """The largest singular values of a sparse matrix, given by column, with their vectors.

    A random subspace, turned towards the largest by multiplying (Halko, Martinsson and Tropp 2011); the same at every
    run.
    """
    by_row = np.argsort(row, kind="stable")
    size = min(rank + _SPARE, *shape)
    space = np.random.default_rng(0).standard_normal((shape[0], size), np.float32)
    for _ in range(_ROUNDS):
        other = _basis(_product(column, row, values, shape[1], _basis(space)))
        space = _product(row[by_row], column[by_row], values[by_row], shape[0], other)
    basis = _basis(space)
    small = _product(column, row, values, shape[1], basis)
    squares, turned = _gram(small)
    kept = np.flatnonzero(squares > squares[-1] * _NOISE)[::-1][:rank]
    strength = np.sqrt(squares[kept]).astype(np.float32)
    turn = turned[:, kept].astype(np.float32)
    return basis @ turn, strength, small @ (turn / strength)


def _basis(space: Matrix) -> Matrix:
    """Orthonormal vectors that span the columns; by their Gram matrix: a tenth of the time of numpy's QR."""
    squares, turned = _gram(space)
    kept = squares > squares[-1] * _NOISE
    vectors: Matrix = space @ (turned[:, kept] / np.sqrt(squares[kept])).astype(np.float32)
    return vectors


def _gram(space: Matrix) -> tuple[Scores, Scores]:
    """The squares of the singular values, the smallest first, and the vectors on the right."""
    exact = space.astype(np.float64)
    squares, turned = np.linalg.eigh(exact.T @ exact)
    return squares, turned


def _product(row: NDArray[np.int32], column: NDArray[np.int32], values: Matrix, rows: int, dense: Matrix) -> Matrix:
    """A sparse matrix, its rows in order, times a dense one."""
    product = np.zeros((rows, dense.shape[1]), np.float32)
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    for heads, end in _portions(starts, row.size, max(1, _AT_ONCE // dense.shape[1])):
        part = values[heads[0] : end, None] * dense[column[heads[0] : end]]
        product[row[heads]] = np.add.reduceat(part, heads - heads[0], axis=0)
    return product


def _portions(starts: NDArray[np.intp], end: int, size: int) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Where rows start, in portions of whole rows with about `size` entries, each with where it ends."""
    cuts = np.unique(np.searchsorted(starts, np.arange(0, end, size)).clip(0, starts.size - 1))
    for first, after in itertools.pairwise([*cuts.tolist(), starts.size]):
        yield starts[first:after], int(starts[after]) if after < starts.size else end
