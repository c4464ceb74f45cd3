"""What the rules of `tools check` find: `python -m tests.bench.policy --sets DIR… [--misses] [--json]`

Each DIR has sets: files NAME.jsonl of labelled definitions (members `set`, `label`, `category`, `server`, `tool` and
`peers`, as in tests/checks/mcpproxy), and folders with a catalog.jsonl as `tools export` prints it, which is taken for
benign and checked as one. Held means that there is an E finding. Beside it stand the rules of other programs, restated
in tests/bench/rival_rules.py. A definition that is in several catalogs counts once. Times are this machine's.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.catalog import rows
from mcpctl.checks.checker import Checker, is_held
from tests.bench import raw_client
from tests.bench.rival_rules import RIVALS

Row = dict[str, Any]
OURS = "mcpctl"
MALICIOUS = "malicious"


@dataclass(frozen=True)
class Judged:
    """A definition, what it is, and which rules it breaks."""

    set: str
    label: str
    category: str
    tool: Tool
    rules: frozenset[str]
    held_by: frozenset[str]


def _tool(server: str | None, definition: dict[str, Any]) -> Tool:
    return Tool(server or "checked", str(definition.get("name") or "unnamed"), definition, "")


def _judged(name: str, label: str, category: str, tool: Tool, checker: Checker, others: Sequence[Tool]) -> Judged:
    findings = checker.check(tool)
    held = [rival for rival, holds in RIVALS.items() if holds(tool, others)]
    held += [OURS] if is_held(findings) else []
    return Judged(name, label, category, tool, frozenset(finding.rule for finding in findings), frozenset(held))


def labelled(path: Path) -> Iterator[Judged]:
    """The definitions of a file, each checked with its own peers."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        tool = _tool(row.get("server"), row["tool"])
        peers = [_tool(peer["server"], peer["tool"]) for peer in row.get("peers") or ()]
        name, category = str(row.get("set") or path.stem), str(row.get("category") or "")
        yield _judged(name, row.get("label", "benign"), category, tool, Checker([tool, *peers]), peers)


def catalogs(folder: Path, seen: set[str]) -> Iterator[Judged]:
    """The tools of every catalog in a folder, checked together."""
    for path in sorted(folder.glob("*/catalog.jsonl")):
        tools = list(rows.tools_in_file(path))
        checker = Checker(tools)
        fresh = [tool for tool in tools if tool.text not in seen]
        seen.update(tool.text for tool in fresh)
        yield from (_judged(path.parent.name, "benign", "catalog", tool, checker, tools) for tool in fresh)


def shares(judged: Iterable[Judged]) -> Iterator[Row]:
    """For each set and category how many are held, in percent of malicious ones, for each 1,000 of benign ones."""
    groups: dict[tuple[str, str, str], list[Judged]] = defaultdict(list)
    for each in judged:
        groups[each.set, each.label, each.category].append(each)
        groups["all", each.label, "" if each.label == MALICIOUS else "all"].append(each)
    for (name, label, category), members in sorted(groups.items(), key=lambda item: (item[0][1], item[0])):
        scale = 100 if label == MALICIOUS else 1000
        row: Row = {"set": name, "label": label, "category": category, "tools": len(members)}
        for engine in (OURS, *RIVALS):
            held = sum(engine in each.held_by for each in members)
            row[engine] = f"{held} ({held / len(members) * scale:.1f}{'%' if label == MALICIOUS else '‰'})"
        yield row


def by_rule(judged: Sequence[Judged]) -> Iterator[Row]:
    """For each rule how many malicious and how many benign definitions break it, the latter for each 1,000 too."""
    counts = {label: Counter(rule for each in judged if (each.label == MALICIOUS) == label for rule in each.rules)
              for label in (True, False)}  # fmt: skip
    benign = sum(each.label != MALICIOUS for each in judged) or 1
    for rule in sorted(counts[True] | counts[False]):
        alarms = counts[False][rule]
        yield {
            "rule": rule,
            "malicious": counts[True][rule],
            "benign": alarms,
            "in 1,000": round(alarms / benign * 1000, 2),
        }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=Path, metavar="DIR", nargs="+", required=True, help="folders with sets")
    parser.add_argument(
        "--misses", action="store_true", help="print the malicious that are not held, the benign that are"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object instead of tables")
    options = parser.parse_args()
    started = time.perf_counter()
    seen: set[str] = set()
    judged: list[Judged] = []
    for folder in options.sets:
        for path in sorted(folder.glob("*.jsonl")):
            judged += labelled(path)
        judged += catalogs(folder, seen)
    seconds = time.perf_counter() - started
    held, rules = list(shares(judged)), list(by_rule(judged))
    if options.json:
        print(json.dumps({"held": held, "rules": rules, "seconds": seconds}, indent=2))
        return 0
    print(raw_client.table(held), raw_client.table(rules), f"{len(judged)} definitions in {seconds:.1f} s", sep="\n\n")
    if options.misses:
        for each in judged:
            if (OURS in each.held_by) != (each.label == MALICIOUS):
                said = each.tool.description[:300]
                print(f"\n{each.label} {each.set} {each.category} {each.tool.key} {sorted(each.rules)}\n  {said!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
