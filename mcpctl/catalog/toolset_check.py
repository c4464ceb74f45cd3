"""Toolset files checked: by themselves, and against the tools that servers list."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import files, hints
from mcpctl.base.errors import warn
from mcpctl.base.models import Overrides, Row, Tool
from mcpctl.base.near_names import alike, nearest
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.base.tool_keys import split
from mcpctl.catalog import rows
from mcpctl.config.policy_settings import CLASSES, PolicyRule
from mcpctl.jsonc import Place, Positions, fault
from mcpctl.policy.rules import Matcher, names_any
from mcpctl.toolsets import lint, toolset_files
from mcpctl.toolsets.files_to_check import Candidate
from mcpctl.toolsets.lint import RULES, Item, Problem
from mcpctl.toolsets.toolset import ToolIndex, ToolReference, dotted
from mcpctl.toolsets.toolset_files import policy_problems

_SIMILAR = 10  # how many unknown tools get similar names looked up
_LONGEST_MESSAGE = 500
_OPPOSITE = {"readOnlyHint": "destructiveHint", "destructiveHint": "readOnlyHint"}


class KnownTools(ToolIndex):
    """The tools that entries are compared with; nothing is compared where none are known."""

    def __init__(self, tools: Sequence[Tool], servers: Iterable[str], *, compares: bool = True) -> None:
        super().__init__(tools)
        self.servers = frozenset(servers)
        self.compares = compares

    def who(self, reference: ToolReference) -> str:
        """A text that is the same for all references to one tool."""
        tool = None if reference.name else self.by_hash.get(reference.index)
        return dotted(tool) if tool else reference.index


def cached(paths: Paths) -> KnownTools:
    with rows.catalog(paths, quiet=True) as catalog:
        servers = [name for name in catalog.config.enabled if catalog.listed(name)]
        known = KnownTools(catalog.known(), servers, compares=bool(servers))
    if not servers:
        warn("no server has listed its tools; entries are compared with none: give --catalog FILE or --live")
    return known


def snapshot(path: Path) -> KnownTools:
    tools = list(rows.tools_in_file(path))
    return KnownTools(tools, (tool.server for tool in tools))


def check(
    paths: Paths, candidates: Mapping[str, Candidate], known: KnownTools, max_note_chars: int, selection: Selection
) -> list[Row]:
    table: list[Row] = []
    for file, candidate in candidates.items():
        own = toolset_files.place_of(paths, str(candidate.path.absolute())).own
        of_file: list[Row] = []
        for problem, (line, column), toolset in _located(candidate, known, max_note_chars, selection, own=own):
            rule, message = RULES[problem.rule], problem.message
            message = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
            of_file.append({
                "path": file, "line": line, "column": column, "rule": rule.id, "severity": rule.severity,
                "message": message, "why": rule.why, "fix": rule.fix, "toolset": toolset,
                "counts": selection.counts(rule.id),
            })  # fmt: skip
        table += sorted(of_file, key=lambda row: (row["line"], row["column"], row["rule"]))
    return table


def _located(
    candidate: Candidate, known: KnownTools, max_note_chars: int, selection: Selection, *, own: bool
) -> Iterator[tuple[Problem, tuple[int, int], str | None]]:
    text = candidate.text.removeprefix(files.BOM)
    try:
        root = None if candidate.problem else msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        line, column, message = _fault(text, error)
    else:
        line, column, message = 1, 1, candidate.problem
    if message:
        if selection.wants("E101"):
            yield Problem("E101", (), message), (line, column), None
        return
    found = _problems(root, text, known, max_note_chars, own=own)
    if problems := [problem for problem in found if selection.wants(problem.rule)]:
        positions = Positions(text)
        named = {at: content.get("name", at[-1] if at else None) for at, content in toolset_files.toolsets_in(root)}
        names = {at: name for at, name in named.items() if isinstance(name, str)}
        for problem in problems:
            yield problem, positions.of(problem.place), names.get(tuple(problem.place[:2]), names.get(()))


def _problems(root: Any, text: str, known: KnownTools, max_note_chars: int, *, own: bool) -> Iterator[Problem]:
    several = toolset_files.toolsets_in(root)
    if not several and not (isinstance(root, dict) and "toolsets" in root):
        yield Problem("E104", (), "the file is not a toolset: it has neither tools nor toolsets")
        return
    yield from lint.shape(root)
    yield from lint.repeated_members(text)
    for at, content in several:
        yield from lint.content_problems(content, at, known.who, max_note_chars)
        if known.compares:
            yield from _against(content, at, known, own=own)


def _fault(text: str, error: Exception) -> tuple[int, int, str]:
    if syntax_fault := fault(text):
        return syntax_fault.line, syntax_fault.column, syntax_fault.message
    if isinstance(error, RecursionError):
        return 1, 1, "it is too deep"
    byte = re.search(r"\(byte (\d+)\)", str(error))
    before = text.encode()[: int(byte[1])].decode("utf-8", "ignore") if byte else ""
    return before.count("\n") + 1, len(before) - before.rfind("\n"), f"it is not strict: {error}"


def _against(content: Mapping[str, Any], at: Place, known: KnownTools, *, own: bool) -> Iterator[Problem]:
    every = [item for member in ("tools", "toolNotes", "toolOverrides") for item in lint.entries(content, at, member)]
    missing = [item for item in every if known.tool(item.reference) is None]
    for number, item in enumerate(missing):
        yield _missing(item, known, suggests=number < _SIMILAR)
    for item in every:
        tool, hash_ = known.tool(item.reference), item.reference.ref_id
        if tool and item.reference.name and hash_ and hash_ != known.hash(tool):
            told = f"the refId of {item.reference.label} is not what the tool has now"
            yield Problem("I301", (*item.at, "refId"), told)
    yield from _unmatched(content, at, known)
    for item in lint.entries(content, at, "toolOverrides"):
        if tool := known.tool(item.reference):
            yield from _overriding(item, tool, own=own)


def _unmatched(content: Mapping[str, Any], at: Place, known: KnownTools) -> Iterator[Problem]:
    """The rules of the policy that match no tool; one for any server may wait for a tool to come."""
    if any(policy_problems(content)):
        return
    left = _SIMILAR
    tools = [(tool.server, tool.name) for tool in known.tools]
    for effect, patterns in content.get("policy", {}).items():
        for index, pattern in enumerate(patterns):
            rule, place = PolicyRule(effect, pattern, ("policy",), effect, index), (*at, "policy", effect, index)
            server, name = split(pattern)
            waits = pattern == "*" or (server == "*" and not {"*", "?"}.isdisjoint(name))
            if pattern in CLASSES or waits or names_any(rule, tools):
                continue
            is_of_servers = any(Matcher(rule).reaches(server_name) for server_name in known.servers)
            keys = (tool.key for tool in known.tools)
            near = (nearest(pattern, keys) if is_of_servers else alike(server, known.servers)) if left else []
            left -= bool(left)
            if is_of_servers or near:
                told = f"; did you mean {' or '.join(near)}?" if near else ""
                yield Problem("W211", place, f"'{rule.label}' matches no tool{told}")
            else:
                yield Problem("I304", place, f"server '{server}' of the rule '{rule.label}' is not known")


def _missing(item: Item, known: KnownTools, *, suggests: bool) -> Problem:
    name = item.reference.name
    if name is None:
        return Problem("W205", (*item.at, "refId"), f"{item.reference.label} matches no known tool")
    server, _, tool = name.partition(".")
    place = (*item.at, "namespacedName")
    if server not in known.servers:
        return Problem("W204", place, f"server '{server}' of {name} is not known")
    near = alike(tool, [other.name for other in known.tools if other.server == server], n=1) if suggests else []
    more = f"; did you mean '{near[0]}'?" if near else ""
    return Problem("E113", place, f"server '{server}' has no tool '{tool}'{more}")


def _overriding(item: Item, tool: Tool, *, own: bool) -> Iterator[Problem]:
    hints_set = toolset_files.hints_of(item.members)
    here = replace(tool, overrides=Overrides(hints_set, "", own))
    shown, decides = hints.effective(here), hints.deciding(here)
    for name, value in hints_set.items():
        place, told = (*item.place, "annotations", name), f"{name} {json.dumps(value)} of {tool.key}"
        yield from _declared(name, value, tool, place, told)
        if shown[name].value != decides[name].value:
            yield Problem("I302", place, f"{told} loosens it: it is shown, but decides nothing")


def _declared(name: str, value: bool, tool: Tool, place: Place, told: str) -> Iterator[Problem]:
    declared, opposite = tool.annotations.get(name), _OPPOSITE.get(name, "")
    if isinstance(declared, bool) and declared != value:
        yield Problem("W208", place, f"{told} contradicts its server")
    elif declared is value:
        yield Problem("I303", place, f"{told} is what its server declares")
    elif value and tool.annotations.get(opposite) is True:
        yield Problem("W208", place, f"{told} contradicts its server, which declares {opposite} true")
