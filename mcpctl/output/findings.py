"""The findings of a check in the formats of people, editors and CI systems."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcpctl.errors import inert
from mcpctl.models import Row
from mcpctl.output.text import line_of

FORMATS = ("text", "json", "jsonl", "github", "sarif", "junit")
_GITHUB = {"error": "error", "warning": "warning", "info": "notice"}
_SARIF = {"error": "error", "warning": "warning", "info": "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def lines(
    kind: str,
    findings: Sequence[Row],
    files: Sequence[str],
    rules: Sequence[Row],
    version: str,
    command: str = "annotate check",
) -> Iterator[str]:
    """The findings of this command as text, github, sarif or junit."""
    if kind == "github":
        yield from map(_github, findings)
    elif kind == "sarif":
        yield json.dumps(_sarif(findings, rules, version), indent=2)
    elif kind == "junit":
        yield _junit(findings, files, command)
    else:
        yield from map(_text, findings)


def _text(row: Row) -> str:
    path = line_of(row["path"])
    # GitHub takes a line that begins with :: for a command, even after white space.
    path = f"./{path}" if path.lstrip().startswith("::") else path
    return inert(line_of(f"{path}:{row['line']}:{row['column']}: {row['rule']} {row['message']}"))


def _github(row: Row) -> str:
    """A workflow command, escaped as GitHub's runner reads it."""
    place = {"file": row["path"], "line": row["line"], "col": row["column"], "title": row["rule"]}
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in place.items())
    return f"::{_GITHUB[row['severity']]} {properties}::{_data(row['message'] + '. ' + row['fix'])}"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return line_of(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sarif(findings: Sequence[Row], rules: Sequence[Row], version: str) -> Mapping[str, Any]:
    driver = {"name": "mcpctl", "version": version, "rules": list(map(_sarif_rule, rules))}
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(row, numbers[row["rule"]]) for row in findings],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _sarif_rule(rule: Row) -> Mapping[str, Any]:
    return {
        "id": rule["id"],
        "shortDescription": {"text": rule["what"]},
        "fullDescription": {"text": rule["why"]},
        "help": {"text": rule["fix"]},
        "defaultConfiguration": {"level": _SARIF[rule["severity"]]},
    }


def _sarif_result(row: Row, number: int) -> Mapping[str, Any]:
    region = {"startLine": row["line"], "startColumn": row["column"]}
    place = {"artifactLocation": {"uri": _uri(row["path"])}, "region": region}
    return {
        "ruleId": row["rule"],
        "ruleIndex": number,
        "level": _SARIF[row["severity"]],
        "message": {"text": line_of(f"{row['message']}. {row['fix']}")},
        "locations": [{"physicalLocation": place}],
    }


def _uri(path: str) -> str:
    """A URI relative to the current folder, which in CI is the repository; else an absolute one."""
    full = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    here = Path.cwd()
    return quote(full.relative_to(here).as_posix()) if full.is_relative_to(here) else full.as_uri()


def _junit(findings: Sequence[Row], files: Sequence[str], command: str) -> str:
    from xml.etree import ElementTree

    suites = ElementTree.Element("testsuites", name=f"mcpctl {command}")
    for file in files:
        rows = [row for row in findings if row["path"] == file]
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
            label = f"{row['rule']} line {row['line']}, column {row['column']}"
            case = ElementTree.SubElement(suite, "testcase", name=label, classname=_xml(file))
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
