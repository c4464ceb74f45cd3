"""Options of the commands that check something by rules, and the printing of what they found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from mcpctl.commands import complete

if TYPE_CHECKING:
    from mcpctl.models import Row
    from mcpctl.rules import Rule

FailOn = Annotated[
    str,
    typer.Option(
        metavar="SEVERITY", help="The least severity that fails the check: error, warning, info or never.",
        autocompletion=complete.choices("error", "warning", "info", "never"),
    ),
]  # fmt: skip
Select = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="Only rules whose ids begin with this; A,B for several.", show_default=False),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="No rules whose ids begin with this; A,B for several.", show_default=False),
]
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="FORMAT", help="text, json, jsonl, github, sarif or junit.",
        autocompletion=complete.choices("text", "json", "jsonl", "github", "sarif", "junit"),
    ),
]  # fmt: skip
Rules = Annotated[bool, typer.Option("--rules", help="List the rules, each with its reason and its fix.")]


def chosen_format(json: bool, jsonl: bool, format: str) -> str:
    """The one format that the options ask for."""
    from mcpctl.errors import WrongUsage
    from mcpctl.output import findings

    kinds = ["json"] * json + ["jsonl"] * jsonl + [format] * (format != "text")
    if len(kinds) > 1:
        raise WrongUsage("give one of --json, --jsonl and --format", "leave the others out")
    if format not in findings.FORMATS:
        raise WrongUsage(f"unknown format '{format}'", f"formats: {', '.join(findings.FORMATS)}")
    return kinds[0] if kinds else "text"


def write_rules(rules: "Mapping[str, Rule]", format: str) -> None:
    """Print every rule with its reason and its fix."""
    from mcpctl import output
    from mcpctl.rules import FIELDS, listed

    columns = output.Columns(fields=FIELDS, shown=FIELDS, cut=frozenset(("what", "why", "fix")), noun="rules")
    output.write_list(listed(rules), columns, output.ListOptions(format if format in ("json", "jsonl") else "auto"))


def write_findings(
    command: str,
    rules: "Mapping[str, Rule]",
    format: str,
    rows: "Sequence[Row]",
    fields: Sequence[str],
    suites: Sequence[str],
) -> None:
    """Print findings in the format that the options ask for."""
    from mcpctl import __version__, output
    from mcpctl.models import Found
    from mcpctl.output import findings
    from mcpctl.rules import listed

    if format in ("json", "jsonl"):
        columns = output.Columns(fields=fields, shown=fields, noun="findings")
        output.write_list(Found.of(rows), columns, output.ListOptions(format))
    else:
        checked = findings.Checked(command, list(listed(rules).rows(None, 0)), suites, __version__)
        output.write_lines(findings.lines(format, rows, checked))


def summarize(command: str, rows: "Sequence[Row]", checked: str) -> None:
    """Say how much was found in what was checked; raises `Problems` if a finding fails the check."""
    from mcpctl import output
    from mcpctl.errors import Problems

    numbers = Counter(row["severity"] for row in rows)
    summary = ", ".join(f"{number} {name}{'s' * (number > 1 and name != 'info')}" for name, number in numbers.items())
    summary = f"{summary or 'nothing found'} in {checked}"
    if any(row["counts"] for row in rows):
        raise Problems(summary, f"what each rule means: {command} --rules")
    output.say(summary, always=True)
