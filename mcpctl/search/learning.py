"""Learning from use: a tool that was called with success after a search is lifted for queries near to that one.

Everything here is by the vectors that searches have, over the tools that are there and seen. How much a tool is lifted,
and whether at all, is what the records themselves say is best: with each session left out in turn.
"""

import math
import time
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from mcpctl.base import bounds
from mcpctl.base.texts import one_line
from mcpctl.search.bm25 import Bm25, weak_below
from mcpctl.search.explaining import QueryScores
from mcpctl.search.meaning import Matrix
from mcpctl.search.posting_lists import Scores

HALF_LIFE_DAYS = 90.0
"""Use that is so much older than the session in the middle counts half: in three months, people work on something else,
and tools change. It is not counted from now, so that what was learnt stays the same until there is more of it; nor from
the newest session, so that no single one can make all others old."""
STRENGTHS = ((0.4, 0.2), (0.4, 0.3), (0.5, 0.3), (0.5, 0.5), (0.6, 0.5), (0.6, 0.7), (0.7, 0.95))
"""Cosines from which a recorded query is near, each with the share of the best hit's relevance that a tool gets for the
very same query. The largest share is below 1: a tool that has nothing else of a query never becomes its first hit."""
CLEAR = (
    4  # how many more sessions must gain than lose, or a quarter of a few: of 27 searches, two or three do by chance
)
LEAST = 5  # the fewest calls to learn from
_NEAREST = 24  # recorded queries that lift at once, at most
_FIRST = 64  # numbers of a vector, as the first say most: so that many records take little of a search
_SURE = 0.25
_DIGITS = 1e-6  # the least that is more: the gain of one session alone is exactly its standard error
_TOP = 10  # ranks that count for the choice
_LONGEST = 100  # characters of a recorded query in an explanation


class Success(NamedTuple):
    """A search on record, and a tool of its results that was then called with success in the same session."""

    queries: Sequence[str]
    key: str
    session: str
    client: str = ""
    at: str = ""


class Learnt(NamedTuple):
    """The choice that so many calls make, and what is lifted by it."""

    calls: int
    sessions: int
    strength: tuple[float, float] | None = None  # one of `STRENGTHS`; None where nothing is lifted
    gain: float = 0.0  # the nDCG@10 of the searches on record that it adds, each session left out in turn
    error: float = 0.0  # the standard error of that
    texts: Sequence[str] = ()  # of each call the query that it was for
    vectors: Matrix = np.zeros((0, 0), np.float32)  # and its direction

    @property
    def sureness(self) -> float:
        """The share of the strength that counts: none where the gain is its standard error, all from a quarter
        more. Without such a ramp, one session more could switch all of it on or off."""
        return min((self.gain / self.error - 1) / _SURE, 1.0) if self.error else 1.0


class Lifts:
    """The lift of tools by what was learnt of their use."""

    def __init__(self, learnt: Learnt, numbers: Sequence[int], weights: Matrix) -> None:
        assert learnt.strength
        self._near, share = learnt.strength
        self._share = share * learnt.sureness
        self._texts = learnt.texts
        self._numbers = numbers
        self._weights = weights
        self._columns = np.ascontiguousarray(learnt.vectors.T)

    def lifted(self, answer: QueryScores) -> QueryScores:
        """The scores with what use adds: to each tool, by the nearest query after which it was called."""
        cosines = np.einsum("ji,j->i", self._columns, unit(answer))
        near = (cosines > self._near).nonzero()[0]
        if not near.size:
            return answer
        added = (cosines[near] - self._near) * self._weights[near] * (self._share * answer.best / (1 - self._near))
        if near.size > _NEAREST:
            best = np.argpartition(added, -_NEAREST)[-_NEAREST:]
            near, added = near[best], added[best]
        use: dict[int, tuple[float, str]] = {}
        for row, score in zip(near.tolist(), added.tolist(), strict=True):
            number = self._numbers[row]
            if number not in use or use[number][0] < score:
                use[number] = score, self._texts[row]
        relevance = answer.relevance.copy()
        for number, (score, _) in use.items():
            relevance[number] += score
        return structs.replace(answer, relevance=relevance, use=use)


def unit(answer: QueryScores) -> Matrix:
    """The direction of a query, by the numbers that say most; zeros if it has none."""
    vector: Matrix = np.add.reduce(answer.vectors[:, :_FIRST])
    return vector / np.float32(math.sqrt(float(np.vdot(vector, vector))) or 1.0)


def bounded(successes: Iterable[Success], known: Container[str]) -> list[Success]:
    """The newest of the successes with known tools, as many as are learnt from. No session, client or server has more
    than its part: a model can write its own records, and a server can name a tool so that it is called."""
    kept: list[Success] = []
    counts: Counter[tuple[str, ...]] = Counter()
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    for each in sorted(successes, key=lambda each: (each.at, each.session), reverse=True):
        server = each.key.partition(":")[0]
        limits = {
            ("session", each.session): bounds.LEARNT_OF_SESSION,
            ("tool", each.session, each.key): bounds.LEARNT_OF_TOOL,
            ("client", each.client): bounds.LEARNT_OF_CLIENT,
            ("server", server): bounds.LEARNT_OF_SERVER,
        }
        same = each.session, each.key, tuple(each.queries)
        if each.key not in known or same in seen or any(counts[name] >= most for name, most in limits.items()):
            continue
        kept.append(each)
        if len(kept) == bounds.LEARNT:
            break
        seen.add(same)
        counts.update(limits.keys())
    return kept


class Lessons:
    """The successes with the tools of an index, as far as they are learnt from."""

    def __init__(self, words: Bm25, successes: Iterable[Success]) -> None:
        self._words = words
        numbers = {tool.key: number for number, tool in enumerate(words.tools)}
        self.kept = bounded(successes, numbers)
        self._numbers = [numbers[each.key] for each in self.kept]
        self._weights = _weights(self.kept)

    def learn(self) -> Learnt:
        learnt = Learnt(len(self.kept), len({each.session for each in self.kept}))
        if learnt.calls < LEAST or learnt.sessions < CLEAR:
            return learnt
        return _Records(self._words, self.kept, self._numbers, self._weights).chosen(learnt)

    def use(self, learnt: Learnt) -> Lifts | None:
        return Lifts(learnt, self._numbers, self._weights) if learnt.strength else None


class _Records:
    """The recorded queries as the index ranks them without learning. Only the relevance that decides on the first ranks
    is kept: that of the tools that were called, and the best of the others."""

    def __init__(self, words: Bm25, kept: Sequence[Success], numbers: Sequence[int], weights: Matrix) -> None:
        self._texts: list[str] = []
        self._weights = weights
        self._called = np.array(sorted(set(numbers)), np.intp)
        self._place = np.searchsorted(self._called, np.array(numbers))
        sessions = {each.session: number for number, each in enumerate(kept)}
        self._session = np.array([sessions[each.session] for each in kept])
        rows = []
        self._of_called: list[Scores] = []
        self._of_others: list[Scores] = []
        self._best: list[float] = []
        for each, number in zip(kept, numbers, strict=True):
            time.sleep(0)  # the event loop of `serve` has its turn meanwhile
            # The call was for the one of several queries that its tool answers best.
            text, answer = max(
                ((text, words.scores(text)) for text in words.parted(each.queries[: bounds.LEARNT_QUERIES], None)[0]),
                key=lambda pair: float(pair[1].relevance[number]),
            )
            self._texts.append(one_line(text)[:_LONGEST])
            rows.append(unit(answer))
            others = np.delete(answer.relevance, self._called)
            self._of_called.append(answer.relevance[self._called])
            self._of_others.append(np.sort(others)[-_TOP:])
            is_weak = answer.best < weak_below(len(words.tools), in_english=answer.query.in_english)
            self._best.append(0.0 if is_weak else answer.best)
        self._vectors: Matrix = np.array(rows, np.float32)

    def chosen(self, learnt: Learnt) -> Learnt:
        """The strength that finds the called tools best, if that is by more than its standard error."""
        cosines = [np.einsum("ij,j->i", self._vectors, vector) for vector in self._vectors]
        before = np.array([self._gain(row, None) for row in range(len(cosines))])
        for strength in STRENGTHS:
            near, share = strength
            gains = np.array([self._gain(row, self._lift(row, each, near, share)) for row, each in enumerate(cosines)])
            gain, error, more = _by_session(gains - before, self._session)
            if more >= min(CLEAR, learnt.sessions / 4) and gain - error > max(learnt.gain - learnt.error, _DIGITS):
                learnt = learnt._replace(strength=strength, gain=gain, error=error)
        return learnt._replace(texts=self._texts, vectors=self._vectors) if learnt.strength else learnt

    def _lift(self, row: int, cosines: Matrix, near: float, share: float) -> Scores | None:
        """The scores that other sessions add to the called tools for a recorded query."""
        is_near = np.flatnonzero((cosines > near) & (self._session != self._session[row]))
        if not is_near.size or not self._best[row]:
            return None
        lift = np.zeros(self._called.size)
        values = (cosines[is_near] - near) * self._weights[is_near] * (share * self._best[row] / (1 - near))
        np.maximum.at(lift, self._place[is_near], values)
        return lift

    def _gain(self, row: int, lift: Scores | None) -> float:
        """The nDCG of a recorded query, whose one right tool is the one that was called."""
        called = self._of_called[row] if lift is None else self._of_called[row] + lift
        own = called[self._place[row]]
        rank = 1 + int((called > own).sum()) + int((self._of_others[row] > own).sum())
        return 1 / math.log2(rank + 1) if own > 0 and rank <= _TOP else 0.0


def _by_session(gains: Scores, session: NDArray[np.integer]) -> tuple[float, float, int]:
    """The mean gain of a session, its standard error, and how many more sessions gain than lose. One with many searches
    counts as much as any other."""
    counts = np.bincount(session)
    means = np.bincount(session, gains)[counts > 0] / counts[counts > 0]
    mean = float(means.mean())
    error = math.sqrt(float(((means - mean) ** 2).sum()) / (len(means) - 1) / len(means))
    return mean, error, int(np.sign(means).sum())


def _weights(kept: Sequence[Success]) -> Matrix:
    if not kept:
        return np.zeros(0, np.float32)
    days = np.array([_days(each.at) for each in kept])
    newest = {
        each.session: day for each, day in sorted(zip(kept, days.tolist(), strict=True), key=lambda pair: pair[1])
    }
    middle = sorted(newest.values())[len(newest) // 2]
    weights: Matrix = (0.5 ** (np.maximum(middle - days, 0) / HALF_LIFE_DAYS)).astype(np.float32)
    return weights


def _days(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp() / 86_400
    except (ValueError, OverflowError):  # a journal that was edited
        return 0.0
