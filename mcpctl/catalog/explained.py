"""The policy's decision on one tool, and why: every rule that matches it, its class, and whose hints count."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mcpctl.base import files, hints
from mcpctl.base.callers import BY_TOKEN, MODERN_REVISION, Caller
from mcpctl.base.errors import McpctlError, WrongUsage
from mcpctl.base.models import HINTS, Row, Tool
from mcpctl.base.near_names import nearest
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import split_typed
from mcpctl.catalog.cache import Catalog
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import ASK, DENY, RATE_KEY, PolicyRule
from mcpctl.jsonc import Positions
from mcpctl.policy import approvals, limits, words
from mcpctl.policy.approvals import Grant
from mcpctl.policy.decide import ALLOW, CALL, CURRENT, Subject, Verdict, decide
from mcpctl.policy.limits import Use
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.rules import Ruling
from mcpctl.policy.view import NOTHING_DECIDED, Standing, View
from mcpctl.store import clock


class RulePlace(NamedTuple):
    file: str
    line: int | None  # None where it is not known, and for a default that is not written anywhere
    column: int = 1


class RulePlaces:
    def __init__(self, config: Config) -> None:
        self._config = config
        self._positions: dict[str, Positions | None] = {}

    def of(self, rule: PolicyRule) -> RulePlace:
        if not rule.file:
            return RulePlace(str(self._config.path), self._config.line_of(rule.table, rule.key, rule.item))
        if rule.file not in self._positions:
            self._positions[rule.file] = _read(rule.file)
        positions = self._positions[rule.file]
        if positions is None:
            return RulePlace(rule.file, None)
        item = () if rule.item is None else (rule.item,)
        return RulePlace(rule.file, *positions.of((*rule.table, rule.key, *item)))


def _read(file: str) -> Positions | None:
    try:
        text = files.read_text(Path(file)).removeprefix(files.BOM)
        msgspec.json.decode(text)
    except (McpctlError, msgspec.MsgspecError, RecursionError):
        return None  # it has changed since its rules were read
    return Positions(text)


DECISIONS = (ALLOW, ASK, DENY, "held", "refused")  # `refused`: outside the policy, such as for a disabled server
_BY_CODE = {"needs_consent": ASK, "denied": DENY, "held": "held"}


def decision_of(verdict: Verdict) -> str:
    """One of `DECISIONS`; where a policy only records, what it would be."""
    if verdict.failure is None:
        return ALLOW
    return _BY_CODE.get(verdict.failure.code, "refused")


def subject_of(view: View, server: str, name: str, tool: Tool | None) -> Subject:
    """The call of a cached tool, as if its server had just listed it; a tool that is not listed declares nothing."""
    if tool is None:
        tool = Tool(server, name, {}, "{}")
        tool = view.toolset.shown(tool) if view.toolset else tool
    return Subject(CALL, server, name, tool, view, listing=CURRENT)


def standing(paths: Paths) -> Standing:
    if not PolicyFile.is_made(paths):
        return NOTHING_DECIDED
    with PolicyFile.connect(paths) as file:
        return Standing(approvals.grants(file), pause=file.pause)


def explain(catalog: Catalog, key: str, paths: Paths, arguments_digest: str = "") -> Row:
    decided = standing(paths)
    server, name = split_typed(key)
    _check(catalog, key, server, name)
    tool = catalog.find(server, name)
    view = msgspec.structs.replace(catalog.view, standing=decided)
    if view.access.token:  # whoever has it calls over HTTP
        view = msgspec.structs.replace(view, caller=Caller(MODERN_REVISION, holder=BY_TOKEN))
    subject = subject_of(view, server, name, tool)._replace(arguments_digest=arguments_digest)
    now, resumed = decide(subject), msgspec.structs.replace(view, standing=Standing(decided.grants))
    verdict = decide(subject._replace(view=resumed)) if decided.pause else now
    decision, failure = decision_of(now), now.failure
    is_on, rules = view.config.policy.is_on, list(_rules(subject, verdict))
    assert subject.tool
    error = words.for_person(failure) if failure and decision in ("held", "refused") else None
    return {
        "key": subject.key,
        "server": server,
        "tool": name,
        "project": view.project,
        "toolset": view.toolset.name if view.toolset else None,
        "mode": view.config.policy.table.mode if is_on else "off",
        "listed": tool is not None,
        "near": nearest(subject.key, catalog.keys()) if tool is None and catalog.listed(server) else [],
        "decision": decision,
        "enforced": now.outcome != ALLOW or decision == ALLOW,
        "code": failure.code if failure else None,
        "reason": error.message if error else None,
        "hint": error.hint if error else None,
        "decided_by": _decided_by(verdict, rules) if is_on or decision != ALLOW else None,
        "rules": rules,
        "risk": view.rules.risk(server, subject.tool),
        "classes": sorted(view.rules.classes(server, subject.tool)),
        "limits": [_limit(use, view) for use in _uses(paths, subject)] if is_on else [],
        "hints": _hints(view, server, subject.tool),
        "trust_hints": view.config.servers[server].trust_hints if server in view.config.servers else None,
        "grants": [_grant(grant, subject) for grant in sorted(decided.grants) if grant.key == subject.key],
        "arguments_hash": arguments_digest or None,
    }


def _check(catalog: Catalog, key: str, server: str, name: str) -> None:
    loaded = catalog.config
    known = {*loaded.servers, *loaded.problems, *loaded.elsewhere}
    if server not in known:
        raise config.no_server(server, known)
    if not name:
        raise WrongUsage(f"'{key}' is a server, not a tool", f"name one as {server}:TOOL; see: mcpctl tools ls")


def _rules(subject: Subject, verdict: Verdict) -> Iterator[Mapping[str, Any]]:
    view, places = subject.view, RulePlaces(subject.view.config)
    barring = verdict.failure.facts.get("barring") if verdict.failure else None
    decides = barring or (verdict.ruling.rule if verdict.ruling else None)
    matching = list(view.rules.matching(subject.server, subject.name, subject.tool))
    for rule in matching if barring is None or barring in matching else (barring, *matching):
        place = places.of(rule)
        yield {
            "effect": rule.effect,
            "pattern": rule.pattern,
            "rule": rule.label,
            "file": place.file,
            "line": place.line,
            "decides": rule == decides,
        }


def _decided_by(verdict: Verdict, rules: list[Mapping[str, Any]]) -> str | None:
    """The rule that decides; None where something else than the policy does."""
    for rule in rules:
        if rule["decides"]:
            return str(rule["rule"])
    return f"default {verdict.ruling.effect}" if verdict.ruling else None


def _hints(view: View, server: str, tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    """Each hint in effect, and the value that counts for rules: they differ where a hint may not loosen."""
    effective, counting = hints.effective(tool), view.rules.hints(server, tool)
    return {
        name: {
            "value": effective[name].value,
            "source": effective[name].source,
            "file": tool.overrides.file if tool.overrides and effective[name].source == "override" else None,
            "counts": not effective[name].is_known or counting[name] == effective[name],
            "counted_value": counting[name].value,
            "counted_source": counting[name].source,
        }
        for name in HINTS
    }


def _uses(paths: Paths, subject: Subject) -> Sequence[Use]:
    found = subject.view.rules.limits(subject.server, subject.name, subject.tool)
    if not found or not PolicyFile.is_made(paths):
        return [Use(rule, 0, None) for rule in found]
    with PolicyFile.connect(paths) as file:
        return limits.uses(file, found)


def _limit(use: Use, view: View) -> Mapping[str, Any]:
    """A limit with what is left of it; of a rate, only each process knows that."""
    rule, place = use.rule, RulePlaces(view.config).of(use.rule)
    assert rule.rate
    is_kept = rule.effect != RATE_KEY
    return {
        "rule": rule.label,
        "file": place.file,
        "line": place.line,
        "most": rule.rate.most,
        "seconds": rule.rate.window_s,
        "left": max(0, rule.rate.most - use.used) if is_kept else None,
        "free_at": clock.iso(use.free_at) if use.free_at and is_kept else None,
    }


def _grant(grant: Grant, subject: Subject) -> Mapping[str, Any]:
    holds = grant in (subject.grant, subject.grant._replace(session=grant.session))
    return {
        "scope": "session" if grant.session else "always",
        "session": grant.session or None,
        "project": grant.project or None,
        "token": grant.token or None,
        "holds": holds,
    }


def rule_text(rule: PolicyRule, view: View) -> str:
    """A rule as people are shown it: `deny *:drop_* (config.toml:14)`."""
    label, place = words.rule_of(Ruling(rule.effect, rule), view.config)
    return f"{label} ({place})" if place else label
