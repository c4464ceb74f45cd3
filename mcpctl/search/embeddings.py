"""Vectors of texts: computed once by a model, and kept in `state.db` by the hash of the text."""

import contextlib
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from threading import Event, Lock, Thread
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Newest, Progress
from mcpctl.base.paths import Paths
from mcpctl.search.ranking import Unavailable
from mcpctl.search.tokens import sendable
from mcpctl.store.state import State, StateError

Matrix = NDArray[np.float32]  # one row for each text, a vector of length 1, or of length 0 for an empty text
Directions = NDArray[np.int16]  # the same in half the memory: the largest number of a row is 32,767

_MAX_VECTORS = 20_000  # vectors kept in state.db, or twice those of a larger catalog; the oldest are deleted
_MAX_QUERIES = 256
_STOP_S = 5.0
_PORTION_S = 30.0  # seconds for a portion; an endpoint may run on a small machine


class Model(Protocol):
    portion: int  # the most texts that it is given at once; what it has made of them is kept before the next ones

    name: str  # tells its vectors from those of other models

    def embed(self, texts: Sequence[str], *, are_queries: bool, seconds: float) -> Matrix:
        """The vectors of texts, of which none is empty; raises `Unavailable`."""


class Embeddings:
    """The vectors of tools and of queries, for all catalogs of a process. Safe to share between threads."""

    def __init__(
        self, model: Callable[[], Model], paths: Paths, seconds: float, on_progress: Progress | None = None
    ) -> None:
        self._load = model
        self._loaded: Model | None = None
        self._loading = Lock()
        self._paths = paths
        self._seconds = seconds
        self._on_progress = on_progress
        self._starting = Lock()
        self._making: _Making | None = None
        self._known: dict[bytes, Directions] = {}  # those of the last catalog, if state.db cannot keep them
        self._remembering = Lock()
        self._queries = Newest[str, NDArray[np.float32]](_MAX_QUERIES)

    def begin(self, texts: Sequence[str]) -> "_Making":
        with self._starting:
            making = self._making
            if making is None or making.failure or making.texts != texts:
                if making:
                    making.is_stale = True
                self._making = making = _Making(texts, self._model, self._paths, self._known, after=making)
                making.start()
            return making

    def of_tools(self, texts: Sequence[str]) -> Directions:
        with self._starting:
            latest = self._making
        if latest and latest.texts != texts:
            raise Unavailable("the tools have changed")  # a search that began before must not start the old work again
        making = self.begin(texts)
        if self._on_progress is None:
            # After one search has waited in vain, the others need not wait too.
            making.ended.wait(0 if making.is_slow else self._seconds)
            making.is_slow = not making.ended.is_set()
        else:
            try:
                while not making.ended.wait(0.1):
                    self._on_progress(making.done, len(texts))
            except KeyboardInterrupt:
                # A process that ends while a model runs in a thread crashes.
                making.is_stale = True
                making.join(_STOP_S)
                raise
            self._on_progress(len(texts), len(texts))
        if making.failure:
            raise Unavailable(making.failure)
        if making.vectors is None:
            raise Unavailable(f"the tools are still being indexed, {making.done} of {len(texts)} so far")
        return making.vectors

    def of_queries(self, texts: Sequence[str]) -> Matrix:
        texts = [sendable(text) for text in texts]
        vectors = {text: vector for text in texts if (vector := self._queries.get(text)) is not None}
        if missing := [text for text in dict.fromkeys(texts) if text not in vectors]:
            until = time.monotonic() + self._seconds
            model = self._model()
            for start in range(0, len(missing), model.portion):
                if (remaining := until - time.monotonic()) <= 0:
                    raise Unavailable(f"no answer within {self._seconds:.3g} s")
                portion = missing[start : start + model.portion]
                vectors.update(zip(portion, _embed(model, portion, are_queries=True, seconds=remaining), strict=True))
            with self._remembering:
                for text, vector in vectors.items():
                    self._queries[text] = vector
        return np.stack([vectors[text] for text in texts]) if texts else np.zeros((0, 0), np.float32)

    def forget(self) -> None:
        """Forget all vectors of tools, since the model has changed: the next search computes them again."""
        with self._starting:
            self._making = None
            self._known.clear()
            with contextlib.suppress(McpctlError), State.connect(self._paths) as state:
                _forget(state, self._model().name)

    def _model(self) -> Model:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


class _Making(Thread):
    def __init__(
        self, texts: Sequence[str], model: Callable[[], Model], paths: Paths, known: dict[bytes, Directions],
        after: "_Making | None",
    ) -> None:  # fmt: skip
        # A daemon, so that a process can end while a model runs.
        super().__init__(name="embeddings", daemon=True)
        self.texts = texts
        self.done = 0
        self.ended = Event()
        self.vectors: Directions | None = None
        self.failure = ""
        self.is_slow = False  # a search has waited for it in vain
        self.is_stale = False  # the tools have changed: it keeps the vectors that it has, and stops
        self._model = model
        self._paths = paths
        self._known = known
        self._after = after

    def run(self) -> None:
        if self._after:
            self._after.ended.wait()  # it may compute the same vectors
            self._after = None
        try:
            self.vectors = self._all()
        except Unavailable as error:
            self.failure = str(error)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            del self._model  # breaks a reference cycle
            self.ended.set()

    def _all(self) -> Directions:
        model = self._model()
        texts = [sendable(text) for text in self.texts]
        keys = [sha256(text.encode()).digest() for text in texts]
        vectors = {key: self._known[key] for key in keys if key in self._known}
        with contextlib.ExitStack() as stack:
            try:
                state = stack.enter_context(State.connect(self._paths))
            except McpctlError:
                state = None  # a cache: the next process computes again what cannot be kept
            vectors |= _load(state, model.name, [key for key in keys if key not in vectors]) if state else {}
            self.done = len(vectors)
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
            # Sorted by length, as texts that a model reads at once are padded to one length.
            ordered = sorted(missing, key=lambda key: len(missing[key]))
            for start in range(0, len(ordered), model.portion):
                if self.is_stale:
                    break
                portion = ordered[start : start + model.portion]
                embedded = _embed(model, [missing[key] for key in portion], are_queries=False, seconds=_PORTION_S)
                new = dict(zip(portion, _directions(embedded), strict=True))
                if state and not _save(state, model.name, new, at_most=max(_MAX_VECTORS, 2 * len(texts))):
                    state = None
                vectors |= new
                self.done += len(portion)
            if len({vector.size for vector in vectors.values()}) > 1:
                self._known.clear()
                _forget(state, model.name)
                raise Unavailable("the model returned vectors of different lengths")
        self._known.clear()
        if self.is_stale:
            self._known |= vectors
            raise Unavailable("the tools have changed")
        rows = np.stack([vectors[key] for key in keys])
        self._known |= zip(keys, rows, strict=True)  # views, so that each vector is in memory once
        return rows


def _embed(model: Model, texts: Sequence[str], *, are_queries: bool, seconds: float) -> Matrix:
    """The vectors of texts, in their order; an empty text is not given to the model."""
    filled = [text for text in texts if text.strip()]
    vectors = model.embed(filled or ["nothing"], are_queries=are_queries, seconds=seconds)
    if not np.isfinite(vectors).all() or not vectors.any():
        raise Unavailable("the model returned zero or non-finite vectors")
    rows = iter(vectors)
    return np.stack([next(rows) if text.strip() else np.zeros_like(vectors[0]) for text in texts])


def _directions(vectors: Matrix) -> Directions:
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (np.iinfo(np.int16).max / np.where(largest > 0, largest, 1))).astype(np.int16)


def _load(state: State, model: str, keys: Sequence[bytes]) -> dict[bytes, Directions]:
    vectors: dict[bytes, Directions] = {}
    # A cache: what cannot be read is computed again.
    with contextlib.suppress(StateError, ValueError):
        for key in dict.fromkeys(keys):
            vector = state.vector(model, key)
            if vector is not None:
                vectors[key] = np.frombuffer(vector, np.int16)
    return vectors


def _forget(state: State | None, model: str) -> None:
    if state:
        with contextlib.suppress(StateError):
            state.forget_vectors(model)


def _save(state: State, model: str, vectors: dict[bytes, Directions], at_most: int) -> bool:
    """Save vectors; False if they cannot be saved, and then the next ones cannot be either."""
    try:
        state.keep_vectors(model, {key: vector.tobytes() for key, vector in vectors.items()}, at_most)
    except StateError:
        return False
    return True
