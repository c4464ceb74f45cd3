"""How often each token may call: counted in memory, for one process."""

from collections import deque
from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

from mcpctl.base import bounds
from mcpctl.config.policy_settings import PolicyRule


class Full(NamedTuple):
    """A rate that is used up, and the seconds until it is not."""

    rule: PolicyRule
    wait_s: float


class Rates:
    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], deque[float]] = {}

    def take(self, rules: Sequence[PolicyRule], token: str, *, counts: bool) -> Full | None:
        """Count a call of this token for each of these rates, or for none where one is used up."""
        now = monotonic()
        full = [Full(rule, wait) for rule in rules if (wait := self._wait(rule, token, now)) > 0]
        if full:
            return max(full, key=lambda each: each.wait_s)
        for rule in rules if counts else ():
            self._of(rule, token).append(now)
        return None

    def _wait(self, rule: PolicyRule, token: str, now: float) -> float:
        if rule.rate is None:
            return 0
        calls = self._of(rule, token)
        while calls and calls[0] <= now - rule.rate.window_s:
            calls.popleft()
        return calls[-rule.rate.most] + rule.rate.window_s - now if len(calls) >= rule.rate.most else 0

    def _of(self, rule: PolicyRule, token: str) -> deque[float]:
        key = token, rule.pattern
        if key not in self._calls and len(self._calls) >= bounds.RATES:
            self._calls = {each: calls for each, calls in self._calls.items() if calls}
        return self._calls.setdefault(key, deque())
