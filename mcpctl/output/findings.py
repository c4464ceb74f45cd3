"""The findings of a check in the formats of people, editors and CI systems, and changed definitions line by line."""

import difflib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcpctl.base.errors import inert
from mcpctl.base.models import Row
from mcpctl.output.text import line_of

FORMATS = ("text", "json", "jsonl", "github", "sarif", "junit")
_GITHUB = {"error": "error", "warning": "warning", "info": "notice"}
_SARIF = {"error": "error", "warning": "warning", "info": "note"}
_MOST_LINES = 200  # lines of one change that are shown, and compared line by line
_LONGEST = 1 << 14  # characters of such a line
_MOST_PAIRED = 1 << 13  # characters of both texts whose lines are paired by likeness, too
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class CheckRun:
    command: str
    rules: Sequence[Row]
    suites: Sequence[str]
    version: str


def lines(kind: str, findings: Sequence[Row], run: CheckRun) -> Iterator[str]:
    """The findings as text, github, sarif or junit; each is about a place in a file, or about a tool, or both."""
    if kind == "github":
        yield from map(_github, findings)
    elif kind == "sarif":
        yield json.dumps(_sarif(findings, run), indent=2)
    elif kind == "junit":
        yield _junit(findings, run)
    else:
        yield from map(_text, findings)


def _text(row: Row) -> str:
    parts = [f"{row['rule']} {row['message']}"]
    if row.get("key"):
        parts = [row["rule"], f"{row['key']}: {row['message']}"]
    if row["path"] is not None:
        path = line_of(row["path"])
        # GitHub takes a line that begins with :: for a command, even after white space.
        path = f"./{path}" if path.lstrip().startswith("::") else path
        place = ":".join(str(part) for part in (path, row["line"], row.get("column")) if part is not None)
        parts = [f"{place}:", *parts]
    return inert(line_of(" ".join(parts)))


def _message(row: Row) -> str:
    return f"{row['key']}: {row['message']}" if row.get("key") else str(row["message"])


def _github(row: Row) -> str:
    """A workflow command, escaped as GitHub's runner reads it."""
    place = {"file": row["path"], "line": row["line"], "col": row.get("column"), "title": row["rule"]}
    values = {name: _data(str(value)) for name, value in place.items() if value is not None}
    escaped = {name: value.replace(":", "%3A").replace(",", "%2C") for name, value in values.items()}
    properties = ",".join(f"{name}={value}" for name, value in escaped.items())
    return f"::{_GITHUB[row['severity']]} {properties}::{_data(_with_fix(row))}"


def _data(text: str) -> str:
    return line_of(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _sarif(findings: Sequence[Row], run: CheckRun) -> Mapping[str, Any]:
    driver = {"name": "mcpctl", "version": run.version, "rules": list(map(_sarif_rule, run.rules))}
    numbers = {rule["id"]: number for number, rule in enumerate(run.rules)}
    result = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(row, numbers[row["rule"]]) for row in findings],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [result]}


def _with_fix(row: Row) -> str:
    message = _message(row)
    return f"{message}{'' if message.endswith('?') else '.'} {row['fix']}"


def _sarif_rule(rule: Row) -> Mapping[str, Any]:
    return {
        "id": rule["id"],
        "shortDescription": {"text": rule["what"]},
        "fullDescription": {"text": rule["why"]},
        "help": {"text": rule["fix"]},
        "defaultConfiguration": {"level": _SARIF[rule["severity"]]},
    }


def _sarif_result(row: Row, number: int) -> Mapping[str, Any]:
    return {
        "ruleId": row["rule"],
        "ruleIndex": number,
        "level": _SARIF[row["severity"]],
        "message": {"text": line_of(_with_fix(row))},
        "locations": [_sarif_place(row)],
    }


def _sarif_place(row: Row) -> Mapping[str, Any]:
    place: dict[str, Any] = {}
    if row["path"] is not None:
        region = {"startLine": row["line"], **({"startColumn": row["column"]} if "column" in row else {})}
        place["physicalLocation"] = {"artifactLocation": {"uri": _uri(row["path"])}, "region": region}
    if row.get("key"):
        place["logicalLocations"] = [{"fullyQualifiedName": line_of(row["key"]), "kind": "function"}]
    return place


def _uri(path: str) -> str:
    """A URI relative to the current folder, which in CI is the repository; else an absolute one."""
    full = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    here = Path.cwd()
    return quote(full.relative_to(here).as_posix()) if full.is_relative_to(here) else full.as_uri()


def _case(row: Row) -> str:
    names = ("line", "column") if "column" in row else ("line",)
    where = ", ".join(f"{name} {row[name]}" for name in names) if row["path"] is not None else ""
    return " ".join(filter(None, [row["rule"], where, row.get("key")]))


def _junit(findings: Sequence[Row], run: CheckRun) -> str:
    from xml.etree import ElementTree

    of_suite: dict[str, list[Row]] = {name: [] for name in run.suites}
    for row in findings:
        of_suite[str(row["key"]).partition(":")[0] if row["path"] is None else str(row["path"])].append(row)
    suites = ElementTree.Element("testsuites", name=run.command)
    for file, rows in of_suite.items():
        failures = sum(row["counts"] for row in rows)
        attributes = {
            "name": _xml(file),
            "tests": str(len(rows) or 1),
            "failures": str(failures),
            "errors": "0",
            "skipped": "0",
        }
        suite = ElementTree.SubElement(suites, "testsuite", attributes)
        for row in rows:
            case = ElementTree.SubElement(suite, "testcase", name=_xml(_case(row)), classname=_xml(file))
            part = "failure" if row["counts"] else "system-out"
            more = {"type": row["rule"], "message": _xml(row["message"])} if row["counts"] else {}
            ElementTree.SubElement(case, part, more).text = _xml(f"{_text(row)}\n{row['fix']}")
        if not rows:
            ElementTree.SubElement(suite, "testcase", name="no findings", classname=_xml(file))
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}'


def _xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    safe = "\n".join(line_of(line) for line in text.split("\n"))
    return safe.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def changes(rows: Sequence[Row]) -> Iterator[str]:
    """Each changed definition, and below it its removed and added lines, safe for a terminal."""
    for row in rows:
        place = f"{row['path']}:{row['line']}: " if row["path"] else ""
        yield _safe(f"{place}{row['rule']} {row['key']}: {row['message']}")
        yield from (_safe(f"    {line}") for line in compared(row["old"], row["new"]))


def compared(old: str | None, new: str | None) -> Iterator[str]:
    """The lines of one change, untreated, after `- ` where removed, `+ ` where added, else spaces."""
    before, after = _cut(old), _cut(new)
    if sum(map(len, (*before, *after))) > _MOST_PAIRED:
        lines = _by_line(before, after)
    elif before and after:
        lines = difflib.ndiff(before, after)  # which also pairs lines that are alike: that takes their square
    else:
        lines = iter([*(f"- {line}" for line in before), *(f"+ {line}" for line in after)])
    return islice((line for line in lines if not line.startswith("?")), 2 * _MOST_LINES)


def _by_line(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    for same, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if same == "equal":
            yield from (f"  {line}" for line in before[start:end])
        else:
            yield from (f"- {line}" for line in before[start:end])
            yield from (f"+ {line}" for line in after[new_start:new_end])


def _cut(text: str | None) -> list[str]:
    all_lines = (text or "").splitlines()
    more = len(all_lines) - _MOST_LINES
    lines = [*all_lines[:_MOST_LINES], *([f"… and {more} more lines"] if more > 0 else [])]
    return [
        line if len(line) <= _LONGEST else f"{line[:_LONGEST]} … and {len(line) - _LONGEST:,} more characters"
        for line in lines
    ]  # fmt: skip


def _safe(line: str) -> str:
    return inert(line_of(line)).rstrip()
