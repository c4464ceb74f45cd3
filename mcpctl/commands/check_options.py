"""Options of the commands that check something by rules, and the printing of what they found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.base.models import Row
    from mcpctl.base.rules import Rule

FailOn = Annotated[
    str,
    typer.Option(
        metavar="SEVERITY", help="The least severity that fails the check: error, warning, info or never.",
        autocompletion=complete.choices("error", "warning", "info", "never"),
    ),
]  # fmt: skip
Select = Annotated[
    list[str] | None,
    opt.option("--select", "RULE", "Only rules whose ids begin with this; A,B for several.", default=...),
]
Ignore = Annotated[
    list[str] | None,
    opt.option("--ignore", "RULE", "No rules whose ids begin with this; A,B for several.", default=...),
]
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="FORMAT", help="text, json, jsonl, github, sarif or junit.",
        autocompletion=complete.choices("text", "json", "jsonl", "github", "sarif", "junit"),
    ),
]  # fmt: skip
Rules = Annotated[bool, opt.flag("--rules", "List the rules, each with its reason and its fix.", default=...)]


@dataclass(frozen=True)
class Report(opt.Options):
    """How findings are printed, or the rules in their place."""

    json: bool = opt.JSON
    jsonl: bool = opt.JSONL
    format: Format = "text"
    rules: Rules = False

    def kind(self) -> str:
        from mcpctl.output import chosen_format
        from mcpctl.output.findings import FORMATS

        return chosen_format(self.json, self.jsonl, self.format, FORMATS)


def write_rules(rules: "Mapping[str, Rule]", format: str) -> None:
    from mcpctl import output
    from mcpctl.base.rules import FIELDS, listed

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
    from mcpctl import __version__, output
    from mcpctl.base.models import Found
    from mcpctl.base.rules import listed
    from mcpctl.output import findings

    if format in ("json", "jsonl"):
        columns = output.Columns(fields=fields, shown=fields, noun="findings")
        output.write_list(Found.of(rows), columns, output.ListOptions(format))
    else:
        run = findings.CheckRun(command, list(listed(rules).rows(None, 0)), suites, __version__)
        output.write_lines(findings.lines(format, rows, run))


def summarize(command: str, rows: "Sequence[Row]", checked: str) -> None:
    """Print the number of findings; raises `Problems` if one fails the check."""
    from mcpctl import output
    from mcpctl.base.errors import Problems

    numbers = Counter(row["severity"] for row in rows)
    summary = ", ".join(f"{number} {name}{'s' * (number > 1 and name != 'info')}" for name, number in numbers.items())
    summary = f"{summary or 'nothing found'} in {checked}"
    if any(row["counts"] for row in rows):
        raise Problems(summary, f"what each rule means: {command} --rules")
    output.say(summary, always=True)
