"""The rules of a check, and which of them a person asks for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Found

SEVERITIES = {"E": "error", "W": "warning", "I": "info"}
FAIL_ON = {"error": ("error",), "warning": ("error", "warning"), "info": ("error", "warning", "info"), "never": ()}
FIELDS = ("id", "severity", "what", "why", "fix")


@dataclass(frozen=True)
class Rule:
    """The first letter of its id is its severity, unless it has a `level`."""

    id: str
    what: str
    why: str
    fix: str
    level: str = ""

    @property
    def severity(self) -> str:
        return self.level or SEVERITIES[self.id[0]]


Rules = Mapping[str, Rule]


@dataclass(frozen=True)
class Selection:
    fail_on: str
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()

    def wants(self, rule: str) -> bool:
        return rule.startswith(tuple(self.select) or "") and not rule.startswith(tuple(self.ignore) or "-")

    def counts(self, rule: str) -> bool:
        return SEVERITIES[rule[0]] in FAIL_ON[self.fail_on]


def selection(rules: Rules, fail_on: str, select: Iterable[str], ignore: Iterable[str], command: str) -> Selection:
    """The selection by the options of a check; raises `WrongUsage` for an unknown severity or rule."""
    if fail_on not in FAIL_ON:
        raise WrongUsage(f"--fail-on has no value '{fail_on}'", f"values: {', '.join(FAIL_ON)}")
    return Selection(fail_on, _prefixes(rules, select, command), _prefixes(rules, ignore, command))


def _prefixes(rules: Rules, given: Iterable[str], command: str) -> list[str]:
    prefixes = [name.strip().upper() for text in given for name in text.split(",") if name.strip()]
    for name in prefixes:
        if not any(rule.startswith(name) for rule in rules):
            raise WrongUsage(f"no rule begins with '{name}'", f"see the rules: {command} --rules")
    return prefixes


def listed(rules: Rules) -> Found:
    return Found.of([{name: getattr(rule, name) for name in FIELDS} for rule in rules.values()])
