"""The percentiles of SQLite, which has none."""

import itertools
from array import array
from bisect import bisect_left
from collections import Counter


class Percentiles:
    """An aggregate of SQL: the 50th and the 95th percentile, each in 20 characters; null of nothing."""

    def __init__(self) -> None:
        values = array("q")
        self._values = values
        self.step = values.append  # called a million times, a method of Python's would take as long as everything else

    def finalize(self) -> str | None:
        # Many calls have few durations, in milliseconds: counted, they take a fraction of the memory of a sorted list.
        counts = Counter(self._values)
        ordered = sorted(counts)
        up_to = list(itertools.accumulate(counts[value] for value in ordered))
        ranks = (-(-len(self._values) * percent // 100) for percent in (50, 95) if ordered)
        return "".join(f"{ordered[bisect_left(up_to, rank)]:20}" for rank in ranks) or None
