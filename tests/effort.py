"""How much work something is, by count: the same on every machine, however busy it is."""

from collections.abc import Callable
from cProfile import Profile
from typing import Any


def calls(work: Callable[[], Any]) -> int:
    """How many functions `work` calls, those written in C included."""
    profile = Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())
