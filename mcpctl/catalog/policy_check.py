"""The rules of a policy checked against the tools that servers list: those that never decide anything are named."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mcpctl.base.models import FINDING_FIELDS, Row, Tool
from mcpctl.base.near_names import alike, nearest
from mcpctl.base.rules import Rule as CheckRule
from mcpctl.base.rules import Selection
from mcpctl.base.tool_keys import OWN, READ_TOOL, split
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.explained import RulePlaces, decision_of, rule_text, subject_of
from mcpctl.config.policy_settings import ALLOW, ASK, CLASSES, PolicyRule
from mcpctl.policy.decide import decide
from mcpctl.policy.rules import Matcher, names_any

_MOST_LOOKED_UP = 10  # how many rules that match nothing get similar names looked up
_CONFIRM = "confirm_destructive"
_TOGGLES = ("auto_approve_read_only", _CONFIRM)

RULES = {
    rule.id: rule
    for rule in (
        CheckRule("W901", "A rule matches no tool.",
                  "It protects or permits nothing: the name may be mistyped, or its tool renamed.",
                  "Correct the name, or remove the rule; mcpctl tools ls has the keys."),
        CheckRule("W902", "A rule never decides.",
                  "An earlier rule matches every tool that it matches: deny goes before ask, and ask before allow.",
                  "Narrow the earlier rule, or remove this one."),
        CheckRule("W903", "Two lists have the same rule.", "Only the one in the first of deny, ask and allow counts.",
                  "Keep the one that is meant."),
        CheckRule("I901", "It is unknown whether a rule matches a tool.",
                  "A server that it may be about has never listed its tools.", "List them: mcpctl tools refresh."),
        CheckRule("I902", "A rule names a server or tool that is not here.",
                  "No server of that name is configured, or no server has a tool of that name: it waits for one.",
                  "Leave it for a server or a tool that may come, or remove it."),
        CheckRule("I903", "A tool that allow names still asks.",
                  "confirm_destructive is on unless it is written otherwise, and ask goes before allow, also where the"
                  " default is deny.",
                  'Leave it; or let single tools through, as name = "allow" in [servers.NAME.tools], or all of them'
                  " with confirm_destructive = false in [policy]."),
    )
}  # fmt: skip


@dataclass(frozen=True)
class PolicyReport:
    findings: Sequence[Row]  # in the order in which rules apply
    decisions: Mapping[str, int]  # how many tools are decided how
    unlisted: Sequence[str]

    @property
    def tools(self) -> int:
        return sum(self.decisions.values())


def check(catalog: Catalog, selection: Selection) -> PolicyReport:
    return _Check(catalog, selection).checked()


class _Check:
    def __init__(self, catalog: Catalog, selection: Selection) -> None:
        self._catalog = catalog
        self._view = catalog.view
        self._selection = selection
        self._ordered = self._view.rules.ordered
        self._places = RulePlaces(catalog.config)
        self._unlisted = catalog.unlisted()
        self._names_to_look_up = _MOST_LOOKED_UP
        self._deciders: dict[PolicyRule, Counter[PolicyRule]] = defaultdict(Counter)  # by rule, on its tools

    def checked(self) -> PolicyReport:
        decisions: Counter[str] = Counter()
        for tool in self._tools:
            matching = list(self._view.rules.matching(tool.server, tool.name, tool))
            for rule in matching:
                self._deciders[rule][matching[0]] += 1
            decisions[decision_of(decide(subject_of(self._view, tool.server, tool.name, tool)))] += 1
        findings = [finding for finding in self._findings() if self._selection.wants(finding[0])]
        return PolicyReport([self._row(*finding) for finding in findings], decisions, self._unlisted)

    @cached_property
    def _tools(self) -> Sequence[Tool]:
        toolset, lists = self._view.toolset, (self._catalog.listed(name) for name in self._catalog.config.enabled)
        tools = (tool for listed in lists if listed for tool in listed.tools)
        return [toolset.shown(tool) for tool in tools] if toolset else list(tools)

    def _findings(self) -> Iterator[tuple[str, PolicyRule, str]]:
        first: dict[str, PolicyRule] = {}
        for rule in self._ordered:
            if rule.key in _TOGGLES:
                continue  # it is there unless somebody says otherwise
            pattern = "*:*" if rule.pattern == "*" else rule.pattern
            earlier = first.setdefault(pattern, rule)
            if earlier is not rule and rule.effect == earlier.effect:
                yield "W902", rule, f"'{rule.label}' is there twice: {rule_text(earlier, self._view)}"
            elif earlier is not rule:
                before = rule_text(earlier, self._view)
                yield "W903", rule, f"'{rule.label}' never applies: {before} goes before"
            elif rule in self._deciders:
                yield from self._shadowed(rule)
            elif pattern not in CLASSES:
                yield from self._unmatched(rule)
        for rule in self._view.config.policy.limits:
            if rule.pattern not in CLASSES and not any(rule in self._limits_of(tool) for tool in self._tools):
                yield from self._unmatched(rule)

    def _limits_of(self, tool: Tool) -> Sequence[PolicyRule]:
        return self._view.rules.limits(tool.server, tool.name, tool)

    def _shadowed(self, rule: PolicyRule) -> Iterator[tuple[str, PolicyRule, str]]:
        deciders = self._deciders[rule]
        if rule in deciders:
            yield from self._still_asking(rule, deciders)
            return
        count, (decider, _) = deciders.total(), deciders.most_common(1)[0]
        tools = "the one tool" if count == 1 else f"all {count} tools"
        more = f" and {len(deciders) - 1} more" if len(deciders) > 1 else ""
        built_in = decider.key == _CONFIRM and not self._places.of(decider).line
        earlier = f"{rule_text(decider, self._view)}{more} {'do' if more else 'does'}"
        earlier += ", which is on unless it is written otherwise" * built_in
        yield "W902", rule, f"'{rule.label}' never decides: of {tools} that it matches, {earlier}"

    def _still_asking(self, rule: PolicyRule, deciders: Counter[PolicyRule]) -> Iterator[tuple[str, PolicyRule, str]]:
        built_in = {each: number for each, number in deciders.items() if each.key == _CONFIRM and each.effect == ASK}
        if rule.effect == ALLOW and built_in and not self._places.of(next(iter(built_in))).line:
            names = ", ".join(each.pattern for each in built_in)
            still = f"{sum(built_in.values())} of its {deciders.total()} tools"
            yield "I903", rule, f"'{rule.label}' still asks for {still}: {_CONFIRM} is on, and asks for {names} first"

    def _unmatched(self, rule: PolicyRule) -> Iterator[tuple[str, PolicyRule, str]]:
        config, matcher = self._catalog.config, Matcher(rule)
        if names_any(rule, [(OWN, READ_TOOL)]):
            return
        if reached := [name for name in self._unlisted if matcher.reaches(name)]:
            names = ", ".join(reached)
            yield "I901", rule, f"'{rule.label}': it is unknown whether it matches, for {names} is not listed"
            return
        out_of_sight = {*config.elsewhere, *config.problems, *(config.servers.keys() - config.enabled.keys())}
        if any(matcher.reaches(name) for name in out_of_sight - config.enabled.keys()):
            return
        server, tool = split(rule.pattern)
        is_of_servers = any(matcher.reaches(name) for name in config.enabled)
        near = self._near(rule) if is_of_servers else alike(server, config.enabled)
        if near:
            more = f"; did you mean {' or '.join(near)}?"
            yield "W901", rule, f"'{rule.label}' matches no tool{more}"
        elif not is_of_servers:
            yield "I902", rule, f"'{rule.label}': there is no server '{server}' here"
        elif server == "*" and not {"*", "?"}.isdisjoint(tool):
            yield "I902", rule, f"'{rule.label}': no server has such a tool now"
        else:
            yield "W901", rule, f"'{rule.label}' matches no tool"

    def _near(self, rule: PolicyRule) -> list[str]:
        """Keys like the pattern; of the first rules only, since it takes long."""
        if not self._names_to_look_up:
            return []
        self._names_to_look_up -= 1
        return nearest(rule.pattern, (tool.key for tool in self._tools))

    def _row(self, id_: str, rule: PolicyRule, message: str) -> Row:
        place, checked = self._places.of(rule), RULES[id_]
        toolset = self._view.toolset.name if self._view.toolset and rule.file else None
        values = (
            place.file, place.line or 1, place.column, id_, checked.severity, message, checked.why, checked.fix,
            toolset, self._selection.counts(id_),
        )  # fmt: skip
        return dict(zip(FINDING_FIELDS, values, strict=True))


def counted(checked: PolicyReport) -> str:
    decisions = checked.decisions
    rest = [f"{verb} {decisions[name]}" for name, verb in _VERBS.items() if decisions.get(name)]
    sentence = f"would ask for {decisions.get('ask', 0)} of {checked.tools} tools"
    return ", ".join([sentence, *rest])


_VERBS = {"allow": "allow", "deny": "deny", "held": "hold", "refused": "refuse"}
