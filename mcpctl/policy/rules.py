"""The rules on a tool: the first that matches decides, and whoever asks is told which it was."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from mcpctl.base import hints, tool_keys
from mcpctl.base.feature_names import is_feature
from mcpctl.base.hints import Hint
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import OWN
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import ALLOW, ASK, CLASSES, DENY, ONLY, TRUSTS, Policy, PolicyRule
from mcpctl.toolsets.toolset import Toolset

_OPEN_WORLD = CLASSES[-1]
_DECLARED = Hint(True, "declared")
_TRUSTED = TRUSTS[0]
_NAMED = 5  # how many names of `only` its rule repeats


class Ruling(NamedTuple):
    effect: str
    rule: PolicyRule | None  # None for the policy's default


class Rules:
    """The rules in order: deny; what a repository asks for; `[servers.X.tools]`; ask; allow; ask for all
    else of a server that is in a command line alone; else the default."""

    def __init__(self, config: Config, toolset: Toolset | None) -> None:
        self.config = config
        self.policy: Policy = config.policy
        self.ordered = tuple(_ordered(config, toolset))
        self._matchers = [(rule, Matcher(rule)) for rule in self.ordered]
        self._limits = [(rule, Matcher(rule)) for rule in self.policy.limits]
        self._of_server: dict[str, list[tuple[PolicyRule, Matcher]]] = {}
        self._rulings: dict[tuple[str, str], tuple[Tool, Ruling]] = {}
        self._offers: dict[str, Offers] = {}

    def ruling(self, server: str, name: str, tool: Tool | None) -> Ruling:
        """The ruling on a tool; one that is not listed is taken as one that declares nothing."""
        kept = self._rulings.get((server, name))
        if kept and kept[0] is tool:
            return kept[1]
        rule = next(self.matching(server, name, tool), None)
        # A model may read on whatever the default is: that is for the tools of servers.
        default = ALLOW if server == OWN else self.policy.table.default
        ruling = Ruling(rule.effect, rule) if rule else Ruling(default, None)
        if tool and not is_feature(name):  # a model may make up names of these without end
            self._rulings[server, name] = tool, ruling
        return ruling

    def barring(self, server: str, name: str) -> PolicyRule | None:
        """The rule in a server's entry that bars a tool by its name. A tool set false is barred however it is spelled,
        unless exactly this name is set; `only`, which loosens, has exact names."""
        entry = self.config.servers[server]
        if (written := refusing(entry.tools, name)) is not None:
            return _of_one_tool(server, written, DENY)
        if entry.only is None:
            return None
        if server not in self._offers:
            self._offers[server] = Offers(entry.only)
        return None if self._offers[server].has(name) else _only(server, entry.only)

    def matching(self, server: str, name: str, tool: Tool | None) -> Iterator[PolicyRule]:
        matchers = self._of_server.get(server)
        if matchers is None:
            matchers = [(rule, matcher) for rule, matcher in self._matchers if matcher.reaches(server)]
            if server in self.config.servers:  # others are whatever a model writes
                self._of_server[server] = matchers
        subject = _Named(name, tool_keys.folded(name), self.classes(server, tool))
        return (rule for rule, matcher in matchers if matcher.names(subject))

    def limits(self, server: str, name: str, tool: Tool | None) -> tuple[PolicyRule, ...]:
        """The limits that a call of this tool counts for, all of them."""
        reaching = [(rule, matcher) for rule, matcher in self._limits if matcher.reaches(server)]
        subject = _Named(name, tool_keys.folded(name), self.classes(server, tool) if reaching else frozenset())
        return tuple(rule for rule, matcher in reaching if matcher.names(subject))

    def first_by_name(self, server: str, name: str) -> PolicyRule | None:
        rules = self.matching(server, name, None)
        return next((rule for rule in rules if not rule.pattern.startswith("@")), None)

    def denies_by_name(self, server: str, name: str) -> bool:
        rule = self.first_by_name(server, name)
        return rule is not None and rule.effect == DENY

    def classes(self, server: str, tool: Tool | None) -> frozenset[str]:
        if tool is None:
            return _UNKNOWN
        open_world = {_OPEN_WORLD} if self.hints(server, tool)["openWorldHint"].value else set()
        return frozenset({f"@{self.risk(server, tool)}", *open_world})

    def risk(self, server: str, tool: Tool | None) -> str:
        """The worst that a tool may do, one of `hints.RISKS`, by those of its hints that count for rules."""
        if tool is None:
            return hints.RISKS[-1]
        counted = self.hints(server, tool)
        # Who declares both says nothing that could be relied on: the worse of them counts.
        both = counted["readOnlyHint"], counted["destructiveHint"]
        return "destructive" if both == (_DECLARED, _DECLARED) else hints.risk(counted)

    def hints(self, server: str, tool: Tool) -> Mapping[str, Hint]:
        trust = self.config.servers[server].trust_hints if server in self.config.servers else "no"
        may_loosen = server == OWN or trust == _TRUSTED or (trust == "pinned" and tool.is_approved)
        return hints.trusted(tool, may_loosen=may_loosen, may_infer=trust == _TRUSTED)

    def may_infer(self, server: str) -> bool:
        """Whether a tool of an API may count as one that only reads by its method."""
        return server in self.config.servers and self.config.servers[server].trust_hints == _TRUSTED

    def permission(self, tool: Tool) -> str:
        """The class of `tool_execute` that calls it, one of `hints.PERMISSIONS`."""
        return hints.permission(tool, may_infer=self.may_infer(tool.server))


_UNKNOWN = frozenset((CLASSES[3], _OPEN_WORLD))


rules_of = lru_cache(maxsize=64)(Rules)  # the same object for the same configuration and toolset


class _Named(NamedTuple):
    name: str
    folded: str
    classes: frozenset[str]


def names_any(rule: PolicyRule, tools: Iterable[tuple[str, str]]) -> bool:
    matcher = Matcher(rule)
    return any(matcher.has(server, name) for server, name in tools)


class Matcher:
    """A rule's pattern: one that tightens compares names as servers may read them, one that loosens exactly."""

    def __init__(self, rule: PolicyRule) -> None:
        self.pattern = rule.pattern
        self._is_own = rule.pattern.startswith(f"{OWN}:")
        self._class = rule.pattern if rule.pattern.startswith("@") and not self._is_own else ""
        self._is_exact = rule.effect == ALLOW
        server, name = tool_keys.split("*:*" if rule.pattern == "*" else rule.pattern)
        if not self._is_exact:
            server, name = server.casefold(), tool_keys.folded(name)
        self._server = _glob(server)
        self._name = re.compile(re.escape(name)) if rule.is_of_one_tool else _glob(name)

    def reaches(self, server: str) -> bool:
        """Whether it may match a tool of this server. Rules for all, or for a class, do not match our own tool."""
        if server == OWN:
            return self._is_own
        return bool(self._class or self._server.fullmatch(server if self._is_exact else server.casefold()))

    def has(self, server: str, name: str) -> bool:
        """Whether it matches a tool by its name alone, whatever that declares."""
        return self.reaches(server) and self.names(_Named(name, tool_keys.folded(name), frozenset()))

    def names(self, subject: _Named) -> bool:
        if self._class:
            return self._class in subject.classes
        return self._name.fullmatch(subject.name if self._is_exact else subject.folded) is not None


def _glob(pattern: str) -> re.Pattern[str]:
    """A glob of `*` and `?`. Matches each part where it first occurs, without backtracking, so that none is slow."""
    first, *parts = ["".join("." if c == "?" else re.escape(c) for c in part) for part in re.split(r"\*+", pattern)]
    if not parts:
        return re.compile(first, re.DOTALL)
    between = "".join(f"(?>.*?{part})" for part in parts[:-1])
    return re.compile(f"{first}{between}.*{parts[-1]}", re.DOTALL)


def _ordered(config: Config, toolset: Toolset | None) -> Iterator[PolicyRule]:
    written = config.policy.rules
    of_toolset = toolset.rules if toolset else ()
    yield from _with(DENY, (*written, *of_toolset))
    yield from (rule for rule in _with(ASK, of_toolset) if rule.of_repository)
    for server, entry in config.servers.items():
        for name, permission in entry.tools.items():
            if permission is not True:
                yield _of_one_tool(server, name, permission or DENY)
    yield from (rule for rule in _with(ASK, (*written, *of_toolset)) if not rule.of_repository)
    yield from _with(ALLOW, written)
    if config.ad_hoc and config.policy.table.default == ALLOW:
        yield PolicyRule(ASK, f"{config.ad_hoc}:*", ("policy",), "ad_hoc")


def _of_one_tool(server: str, name: str, effect: str) -> PolicyRule:
    return PolicyRule(effect, tool_keys.join(server, name), ("servers", server, "tools"), name)


def refusing(tools: Mapping[str, bool | str], name: str) -> str | None:
    if not tools or name in tools:
        return name if tools.get(name) is False else None
    alike = tool_keys.folded(name)
    refused = (written for written, allowed in tools.items() if allowed is False)
    return next((written for written in refused if tool_keys.folded(written) == alike), None)


def _only(server: str, patterns: Sequence[str]) -> PolicyRule:
    names = ", ".join(f'"{pattern}"' for pattern in patterns[:_NAMED])
    more = ", …" if len(patterns) > _NAMED else ""
    return PolicyRule(DENY, f"[{names}{more}]", ("servers", server), ONLY)


class Offers:
    """The names and globs of `only`, exactly as they are written."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._globs = [_glob(pattern) for pattern in patterns if set(pattern) & {"*", "?"}]
        self._names = frozenset(patterns)

    def has(self, name: str) -> bool:
        return name in self._names or any(glob.fullmatch(name) for glob in self._globs)


def _with(effect: str, rules: Iterable[PolicyRule]) -> Iterator[PolicyRule]:
    return (rule for rule in rules if rule.effect == effect)
