"""Tools checked for suspicious definitions: those that servers last listed, or those of a file.

The features and instructions of listed servers are checked too, for findings that hold them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcpctl.base.errors import NotFound
from mcpctl.base.models import Row, Tool
from mcpctl.base.near_names import nearest
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.base.tool_keys import join, split_typed
from mcpctl.catalog import lists_in_memory as lists_of
from mcpctl.catalog import rows
from mcpctl.checks.checker import Checker
from mcpctl.checks.findings import ERROR, ToolFinding


@dataclass(frozen=True)
class CheckedTools:
    tools: Sequence[Tool]
    lines: Sequence[int] = ()
    path: Path | None = None
    others: Sequence[Tool] = ()
    """Prompts, resources, templates and, without a name, servers' instructions."""

    @property
    def suites(self) -> list[str]:
        return (
            [str(self.path)] if self.path else list(dict.fromkeys(each.server for each in (*self.tools, *self.others)))
        )


def cached(paths: Paths) -> CheckedTools:
    """The last lists of all enabled servers, permitted tools or not."""
    with rows.catalog(paths) as catalog:
        lists = {name: listed for name in catalog.config.enabled if (listed := catalog.listed(name))}
        features = [each for name in lists for each in catalog.features(name)]
    said = [lists_of.said(name, listed.instructions) for name, listed in lists.items()]
    tools, others = ([tool for each in some for tool in each.tools] for some in (lists.values(), features))
    return CheckedTools(tools, others=[*said, *others])


def of_file(path: Path) -> CheckedTools:
    """Raises `NotFound` and `Unusable`."""
    numbered = list(rows.numbered_tools(path))
    return CheckedTools([tool for _, tool in numbered], [line for line, _ in numbered], path)


def check(listed: CheckedTools, keys: Sequence[str], selection: Selection) -> list[Row]:
    """The findings of the named tools, or of all; raises `NotFound` for an unknown key."""
    wanted = _named((*listed.tools, *listed.others), keys)
    checker = Checker(listed.tools)
    found: list[Row] = []
    for number, tool in enumerate(listed.tools):
        if wanted is None or tool.key in wanted:
            line = listed.lines[number] if listed.lines else None
            findings = [finding for finding in checker.check(tool) if selection.wants(finding.rule)]
            found += (_row(finding, listed.path, line, selection) for finding in findings)
    for other in listed.others:
        key = join(other.server, other.name)
        if wanted is None or key in wanted:
            errors = [each for each in checker.check(other) if each.severity == ERROR and selection.wants(each.rule)]
            found += (_row(each if other.name else _of_server(each, key), None, None, selection) for each in errors)
    return found


def _of_server(finding: ToolFinding, server: str) -> ToolFinding:
    """Instructions are checked as a description is."""
    message = finding.message.replace(finding.place, "what it says of itself", 1)
    return replace(finding, key=server, place="instructions", message=message)


def _named(tools: Iterable[Tool], typed: Sequence[str]) -> set[str] | None:
    if not typed:
        return None
    known = {join(tool.server, tool.name) for tool in tools}
    return set(_keys(known, typed))


def _keys(known: set[str], typed: Sequence[str]) -> Iterator[str]:
    for text in typed:
        key = text if text in known else join(*split_typed(text))
        if key not in known:
            near = nearest(text, known)
            hint = f"did you mean '{near[0]}'?" if near else "list tools with: mcpctl tools ls"
            raise NotFound(f"no tool '{text}'", hint, "tool_not_found")
        yield key


def _row(finding: ToolFinding, path: Path | None, line: int | None, selection: Selection) -> Row:
    return {
        "key": finding.key, "rule": finding.rule, "severity": finding.severity, "message": finding.message,
        "why": finding.why, "fix": finding.fix, "place": finding.place, "path": str(path) if path else None,
        "line": line, "counts": selection.counts(finding.rule),
    }  # fmt: skip
