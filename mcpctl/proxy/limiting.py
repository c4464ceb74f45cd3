"""How many calls the limits of the policy leave: asked for those calls alone that a limit names."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from mcpctl.base.errors import Unusable
from mcpctl.base.failure import Failure
from mcpctl.base.texts import counted
from mcpctl.config.policy_settings import LIMIT, RATE_KEY, PolicyRule
from mcpctl.policy import limits
from mcpctl.policy.decide import refusal_of
from mcpctl.policy.limits import Use
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.rates import Rates
from mcpctl.policy.rules import Ruling
from mcpctl.proxy.memory import PolicyMemory
from mcpctl.proxy.request import Request


async def take(policy: PolicyMemory, call: Request) -> Failure | None:
    """Have a call count for its limits; the refusal where one is used up, or where that cannot be told."""
    call.record.start()
    if full := _rated(policy, call, counts=True):
        return full
    return await _asked(policy, call, partial(limits.take, rules=_kept(call.verdict.limits), call=call.record.id))


async def look(policy: PolicyMemory, call: Request) -> Failure | None:
    """The refusal of a call that is not counted yet, as `take` has it."""
    if full := _rated(policy, call, counts=False):
        return full
    return await _asked(policy, call, partial(limits.look, rules=_kept(call.verdict.limits)))


async def give_back(policy: PolicyMemory, rules: Sequence[PolicyRule], call: str) -> None:
    """Only what is kept: a rate counts what was asked for."""
    if kept := _kept(rules):
        with suppress(Unusable):  # then it counts, though it was not sent
            await policy.run(partial(limits.give_back, rules=kept, call=call))


def _kept(rules: Sequence[PolicyRule]) -> Sequence[PolicyRule]:
    return [rule for rule in rules if rule.effect == LIMIT]


def _rated(policy: PolicyMemory, call: Request, *, counts: bool) -> Failure | None:
    rules = [rule for rule in call.verdict.limits if rule.effect == RATE_KEY]
    if not rules:
        return None
    policy.rates = policy.rates or Rates()
    full = policy.rates.take(rules, call.view.token_id, counts=counts)
    if full is None or full.rule.rate is None:
        return None
    most, window_s, _ = full.rule.rate
    return refusal_of(
        call.subject, "rate_limited", ruling=Ruling(RATE_KEY, full.rule), most=most, calls=counted(most, "call"),
        time=limits.span(window_s), retry_after=full.wait_s, wait=f"{max(1, math.ceil(full.wait_s))} s",
    )  # fmt: skip


async def _asked(policy: PolicyMemory, call: Request, ask: Callable[[PolicyFile], Use | None]) -> Failure | None:
    if not _kept(call.verdict.limits):
        return None
    try:
        full = await policy.run(ask)
    except Unusable as error:
        return refusal_of(call.subject, "not_counted", reason=error.message)
    if full is None or full.rule.rate is None:
        return None
    most, window_s, _ = full.rule.rate
    return refusal_of(
        call.subject, "over_limit", ruling=Ruling(LIMIT, full.rule), most=most, calls=counted(most, "call"),
        time=limits.span(window_s), free=full.told(time.time()),
    )  # fmt: skip
