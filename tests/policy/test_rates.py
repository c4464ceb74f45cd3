"""How often a token may call: counted by it and by the rule, in bounds."""

import pytest

from mcpctl.base import bounds
from mcpctl.config.policy_settings import PolicyRule, Rate
from mcpctl.policy import rates


def rule_of(pattern: str, most: int, window_s: int) -> PolicyRule:
    """A rule that allows so many calls in that time."""
    return PolicyRule("limit", pattern, ("policy",), "rate", rate=Rate(most, window_s, f"{most}/{window_s}s"))


def test_a_rate_is_used_up_by_its_token_alone_until_its_oldest_call_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(rates, "monotonic", lambda: now[0])
    rule, slower = (rule_of(pattern, 2, window) for pattern, window in (("*", 60), ("a:*", 600)))
    kept = rates.Rates()
    for count in (False, True, True):
        assert kept.take([rule], "ann", counts=count) is None
        now[0] += 10
    assert kept.take([rule], "ann", counts=True) == (rule, 40)
    assert kept.take([rule], "bob", counts=True) is None
    now[0] += 40
    assert kept.take([rule, slower], "ann", counts=True) is None
    assert kept.take([rule, slower], "ann", counts=True) == (rule, 10)
    now[0] += 10
    assert kept.take([rule, slower], "ann", counts=True) is None
    assert kept.take([rule, slower], "ann", counts=True) == (slower, 590)


def test_of_very_many_tokens_those_are_kept_that_have_called_in_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(rates, "monotonic", lambda: now[0])
    monkeypatch.setattr(bounds, "RATES", 3)
    rule = rule_of("*", 1, 60)
    kept = rates.Rates()
    assert kept.take([rule], "ann", counts=True) is None
    for number in range(10):
        assert kept.take([rule], f"asks {number}", counts=False) is None
    assert kept.take([rule], "ann", counts=True) is not None
    assert len(kept._calls) <= 3
