"""All that is held until a person has looked at it: tools, prompts, resources and servers' instructions."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache as cache_of
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mcpctl.base import definitions
from mcpctl.base.errors import McpctlError, NotFound
from mcpctl.base.feature_names import EXPOSED_AS, is_feature, kind_of_list
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import join
from mcpctl.catalog import cache, drift, explained
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.drift import ChangeFilter, ToolChange
from mcpctl.catalog.lists_in_memory import Listed, instructions_tool
from mcpctl.checks.findings import ERROR, ToolFinding
from mcpctl.config.policy_settings import HOLD
from mcpctl.policy import pins, words
from mcpctl.policy.decide import ALLOW, FIND, Subject, decide
from mcpctl.policy.holding import NOT_LOCKED, SUSPICIOUS
from mcpctl.policy.pins import Pin, ShownList
from mcpctl.policy.policy_file import PolicyFile

if TYPE_CHECKING:
    from mcpctl.checks.checker import Checker

_WORST = (SUSPICIOUS, pins.CHANGED, pins.NEW, NOT_LOCKED)


class HeldThing(NamedTuple):
    """One of them, with all that a person is shown who is to approve it."""

    key: str  # the server's name for its instructions
    tool: Tool  # or a feature, or instructions as a tool without a name
    why: str  # one of `models.HOLDS`
    findings: Sequence[ToolFinding]
    changes: Sequence[ToolChange]
    shown: str  # the hash of all that is approved with it
    was: str  # one of `explained.DECISIONS` on its calls, as it was pinned; empty where it has none
    decision: str  # the same once it is approved
    decided_by: str

    @property
    def is_loosened(self) -> bool:
        return self.decision == ALLOW != self.was and bool(self.was)

    @property
    def badness(self) -> tuple[bool, bool, int, str]:
        """The worst sorts first: attacks, then looser hints, changed and new definitions."""
        is_harmless = all(drift.RULES[change.rule].severity != ERROR for change in self.changes)
        return not self.findings, is_harmless, _WORST.index(self.why), self.key


def keys(catalog: Catalog) -> dict[str, str]:
    """Why each is held, by its key; only what would be shown to clients otherwise."""
    if not catalog.config.policy.enforces:
        return {}
    for server in catalog.config.enabled:
        list(_lists(catalog, server))  # read before all are checked together, which would be done again otherwise
    catalog.check_together()
    found: dict[str, str] = {}
    for server in catalog.config.enabled:
        for each in _lists(catalog, server):
            for drift_ in each.drifts:
                if drift_.is_held and _would_be_found(catalog, each, drift_.key):
                    found[drift_.key] = min(found.get(drift_.key, drift_.why), drift_.why, key=_WORST.index)
    return found


def _would_be_found(catalog: Catalog, list_: Listed, key: str) -> bool:
    server, _, name = key.partition(":")
    tool = list_.by_name.get(name)
    if tool is None or is_feature(name):
        return True
    view = msgspec.structs.replace(catalog.view, toolset=None)
    return decide(Subject(FIND, server, name, replace(tool, held=""), view)).outcome == ALLOW


def listed(catalog: Catalog, file: PolicyFile) -> list[HeldThing]:
    """All of them, the worst first."""
    if not (found := keys(catalog)):
        return []
    check, changes = _check(catalog), drift.since_pinned(catalog, file, ChangeFilter(found))
    every = drift.shown(catalog, file, ChangeFilter(found))
    pinned = cache_of(lambda server: pins.pinned(file, server))
    rows = []
    for key, why in found.items():
        lists = _of_key(every, key)
        tools = _distinct(lists)
        # Where such tools are held, the others have none.
        to_check = tools if why == SUSPICIOUS or catalog.lists.holding.checks != HOLD else ()
        findings = dict.fromkeys(finding for tool in to_check for finding in check(tool))
        of_key = [change for change in changes if join(change.server, change.tool) == key]
        was = _decision(catalog, _pinned(pinned(tools[0].server), tools[0]))[0]
        then = _decision(catalog, replace(tools[0], held="", is_approved=True))
        rows.append(HeldThing(key, tools[0], why, list(findings), of_key, _hashed(lists), was, *then))
    return sorted(rows, key=lambda each: each.badness)


def approve(catalog: Catalog, file: PolicyFile, key: str, shown: str) -> None:
    """Approve what is held under this key, if it is what was shown; raises `NotFound`, or `changed_since`."""
    if key not in keys(catalog):
        raise NotFound(f"'{key}' is not held", "it was approved already, or is as it was before", "not_held")
    lists = _of_key(drift.shown(catalog, file, ChangeFilter([key])), key)
    if _hashed(lists) != shown:
        raise changed_since(key)
    pins.approve(file, lists)


def changed_since(what: str) -> McpctlError:
    return McpctlError(f"{what} has changed since it was shown", "look at it again, and answer then", "changed_since")


def _lists(catalog: Catalog, server: str) -> Iterator[Listed]:
    exposed = catalog.config.exposes(server)
    yield from catalog.every(server)
    if exposed:
        of_kind = ((EXPOSED_AS[kind_of_list(listed.capabilities)], listed) for listed in catalog.features(server))
        yield from (listed for kind, listed in of_kind if kind in exposed)


def _of_key(lists: Sequence[ShownList], key: str) -> list[ShownList]:
    """The definitions that are approved under one key, by list; instructions come with the lists of tools alone."""
    found = []
    for of, tools, instructions in lists:
        is_asked = key == of.server and not kind_of_list(of.capabilities)
        each = ShownList(of, [tool for tool in tools if tool.key == key], instructions if is_asked else None)
        found += [each] if each.tools or each.instructions else []
    return found


def _distinct(lists: Sequence[ShownList]) -> list[Tool]:
    """All definitions that are approved, which differ where the server tells clients apart; texts as one tool."""
    tools = {definitions.pin_of(tool): tool for each in lists for tool in each.tools}
    texts = dict.fromkeys(each.instructions for each in lists if each.instructions)
    return list(tools.values()) or [instructions_tool(lists[0].of.server, "\n\n".join(texts))]


def _pinned(of_server: Sequence[Pin], tool: Tool) -> Tool | None:
    """A tool as it was pinned last."""
    of_name = [pin for pin in of_server if pin.name == tool.name]
    if not of_name:
        return None
    last = max(of_name, key=lambda pin: pin.approved or pin.seen)
    before = cache.tool(tool.server, tool.name, last.definition, is_of_api=tool.inferred is not None)
    return replace(before, is_approved=last.approved is not None)


def _decision(catalog: Catalog, tool: Tool | None) -> tuple[str, str]:
    """The decision on a call of a tool, and its rule or the reason of a refusal; none of what is not called."""
    if tool is None or not tool.name or is_feature(tool.name):
        return "", ""
    shown = catalog.toolset.shown(tool) if catalog.toolset else tool
    verdict = decide(explained.subject_of(catalog.view, tool.server, tool.name, shown))
    decision, failure, ruling = explained.decision_of(verdict), verdict.failure, verdict.ruling
    if failure and decision in ("held", "refused"):
        return decision, words.for_person(failure).message
    return decision, "" if not ruling else ruling.rule.label if ruling.rule else "default"


def _check(catalog: Catalog) -> Callable[[Tool], Sequence[ToolFinding]]:
    @cache_of
    def checker() -> "Checker":
        from mcpctl.checks import checker  # hundreds of expressions, and all tools: only where one is suspicious

        lists = (catalog.listed(server) for server in catalog.config.enabled)
        return checker.Checker(tool for listed in lists if listed for tool in listed.tools)

    return lambda tool: [finding for finding in checker().check(tool) if finding.severity == ERROR]


def _hashed(lists: Sequence[ShownList]) -> str:
    told = [
        (*each.of, [(tool.name, definitions.pin_of(tool)) for tool in each.tools], each.instructions or "")
        for each in lists
    ]  # fmt: skip
    return hashlib.sha256(msgspec.json.encode(sorted(told))).hexdigest()
