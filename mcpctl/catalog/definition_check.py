"""Tools, and beside them features and instructions, checked for suspicious definitions: `tools check`."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from mcpctl.base.errors import NotFound
from mcpctl.base.models import Row, Tool
from mcpctl.base.near_names import nearest
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.base.tool_keys import join, split_typed
from mcpctl.catalog import lists_in_memory, rows
from mcpctl.checks.checker import Checker
from mcpctl.checks.findings import ERROR, ToolFinding


class CheckedTools(NamedTuple):
    tools: Sequence[Tool]
    lines: Sequence[int] = ()
    path: Path | None = None
    others: Sequence[Tool] = ()  # prompts, resources, templates and, without a name, servers' instructions

    @property
    def suites(self) -> list[str]:
        servers = dict.fromkeys(tool.server for tool in (*self.tools, *self.others))
        return [str(self.path)] if self.path else list(servers)


def cached(paths: Paths) -> CheckedTools:
    with rows.catalog(paths) as catalog:
        lists = {name: listed for name in catalog.config.enabled if (listed := catalog.listed(name))}
        features = [each for name in lists for each in catalog.features(name)]
    others = [lists_in_memory.instructions_tool(name, listed.instructions) for name, listed in lists.items()]
    others += (feature for each in features for feature in each.tools)
    return CheckedTools([tool for listed in lists.values() for tool in listed.tools], others=others)


def of_file(path: Path) -> CheckedTools:
    numbered = list(rows.numbered_tools(path))
    return CheckedTools([tool for _, tool in numbered], [line for line, _ in numbered], path)


def check(listed: CheckedTools, keys: Sequence[str], selection: Selection) -> list[Row]:
    chosen = _chosen((*listed.tools, *listed.others), keys)
    checker, path = Checker(listed.tools), str(listed.path) if listed.path else None
    table: list[Row] = []
    for tool, line in zip_longest(listed.tools, listed.lines):
        if tool.key in chosen:
            findings = (finding for finding in checker.check(tool) if selection.wants(finding.rule))
            table += (_row(finding, path, line, selection) for finding in findings)
    for other in listed.others:
        if (key := join(other.server, other.name)) in chosen:
            errors = (finding for finding in checker.check(other) if finding.severity == ERROR)
            errors = (finding for finding in errors if selection.wants(finding.rule))
            table += (_row(each if other.name else _of_server(each, key), None, None, selection) for each in errors)
    return table


def _of_server(finding: ToolFinding, server: str) -> ToolFinding:
    """Instructions are checked as a description is."""
    message = finding.message.replace(finding.place, "the text of its instructions", 1)
    return replace(finding, key=server, place="instructions", message=message)


def _chosen(tools: Iterable[Tool], typed: Sequence[str]) -> Collection[str]:
    known = {join(tool.server, tool.name) for tool in tools}
    chosen = {text if text in known else join(*split_typed(text)): text for text in typed}
    for key, text in chosen.items():
        if key not in known:
            near = nearest(text, known)
            hint = f"did you mean '{near[0]}'?" if near else "list tools with: mcpctl tools ls"
            raise NotFound(f"no tool '{text}'", hint, "tool_not_found")
    return chosen or known


def _row(finding: ToolFinding, path: str | None, line: int | None, selection: Selection) -> Row:
    return {
        "key": finding.key, "rule": finding.rule, "severity": finding.severity, "message": finding.message,
        "why": finding.why, "fix": finding.fix, "place": finding.place, "path": path, "line": line,
        "counts": selection.counts(finding.rule),
    }  # fmt: skip
