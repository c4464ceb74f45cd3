"""The calls that count for limits, in `policy.db`: of all processes of a data directory, each in one transaction."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from mcpctl.config.policy_settings import PolicyRule
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import clock, sqlite
from mcpctl.store.state import told

_OF = "scope = ? AND pattern = ?"


class Use(NamedTuple):
    """How much of one limit is used."""

    rule: PolicyRule
    used: int
    free_at: float | None  # when the next call may be made, where none may now

    def told(self, now: float) -> str:
        """When it is free again."""
        left = max(1, round((self.free_at or now) - now))
        minutes, hours = -(-left // 60), -(-left // 3600)
        wait = f"{left} s" if left < 120 else f"{minutes} min" if minutes < 120 else f"{hours} h"
        return f"{clock.iso(self.free_at or now)[:19].replace('T', ' ')}Z, in {wait}"


def take(file: PolicyFile, rules: Sequence[PolicyRule], call: str) -> Use | None:
    """Count a call for each of these limits, or for none where one is used up: that one, the last to be free again."""
    now = time.time()
    with told(), sqlite.transaction(file.db):
        for rule in rules:
            # A clock that was set back: calls of the future count as those of this moment, not for as long as it went.
            file.db.execute(f"UPDATE OR REPLACE counted SET at = ? WHERE {_OF} AND at > ?", (now, *_of(rule), now))
            file.db.execute(f"DELETE FROM counted WHERE {_OF} AND at <= ?", (*_of(rule), now - _window_s(rule)))
        full = _full([_use(file, rule, now) for rule in rules])
        if full is None:
            file.db.executemany(
                "INSERT OR IGNORE INTO counted VALUES (?, ?, ?, ?)",
                [(rule.scope, rule.pattern, now, call) for rule in rules],
            )
    return full


def look(file: PolicyFile, rules: Sequence[PolicyRule]) -> Use | None:
    """The limit that is used up, as `take` tells it; counts nothing."""
    return _full(uses(file, rules))


def uses(file: PolicyFile, rules: Sequence[PolicyRule]) -> Sequence[Use]:
    with told(), sqlite.snapshot(file.db):
        return [_use(file, rule, time.time()) for rule in rules]


def give_back(file: PolicyFile, rules: Sequence[PolicyRule], call: str) -> None:
    """Count a call no more, which has not been sent."""
    with told(), sqlite.transaction(file.db):
        for rule in rules:
            file.db.execute(f"DELETE FROM counted WHERE {_OF} AND call = ?", (*_of(rule), call))


def _full(every: Sequence[Use]) -> Use | None:
    return max((use for use in every if use.free_at), key=lambda use: use.free_at or 0, default=None)


def _of(rule: PolicyRule) -> tuple[str, str]:
    return rule.scope, rule.pattern


def _window_s(rule: PolicyRule) -> int:
    return rule.rate.window_s if rule.rate else 0


def _use(file: PolicyFile, rule: PolicyRule, now: float) -> Use:
    most, window_s = rule.rate.most if rule.rate else 0, _window_s(rule)
    recent, values = f"FROM counted WHERE {_OF} AND at > ?", (*_of(rule), now - window_s)
    (used,) = file.db.execute(f"SELECT count(*) {recent}", values).fetchone()
    if used < most:
        return Use(rule, used, None)
    (at,) = file.db.execute(f"SELECT at {recent} ORDER BY at LIMIT 1 OFFSET ?", (*values, used - most)).fetchone()
    return Use(rule, used, min(at, now) + window_s)


def span(seconds: int) -> str:
    """A length of time in words: an hour, 30 minutes."""
    for name, unit in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds % unit == 0:
            return f"{seconds // unit} {name}s" if seconds > unit else f"{'an' if name == 'hour' else 'a'} {name}"
    return ""
