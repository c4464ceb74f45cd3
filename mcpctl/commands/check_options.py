"""Options of the commands that check by rules, and the printing of their findings."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcpctl import output
from mcpctl.base.models import Found, Row
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.base.rules import Rules, Selection

Strings = Sequence[str] | None

_FAIL_ON = "The least severity that fails the check: error, warning, info or never."


def fail_on(default: str) -> Any:
    severities = ("error", "warning", "info", "never")
    return opt.option("--fail-on", "SEVERITY", _FAIL_ON, severities, default=default)


SELECT = opt.option("--select", "RULE", "Only rules whose ids begin with this; A,B for several.")
IGNORE = opt.option("--ignore", "RULE", "No rules whose ids begin with this; A,B for several.")


class Report(opt.Options, section="Output"):
    json: bool = opt.JSON
    jsonl: bool = opt.JSONL
    format: str = opt.option(
        "--format", "FORMAT", "text, json, jsonl, github, sarif or junit.",
        ("text", "json", "jsonl", "github", "sarif", "junit"), default="text",
    )  # fmt: skip
    rules: bool = opt.flag("--rules", "List the rules, each with its reason and its fix.")

    def kind(self) -> str:
        from mcpctl.output import chosen_format
        from mcpctl.output.findings import FORMATS

        return chosen_format(self.json, self.jsonl, self.format, FORMATS)

    def selection(
        self, rules: "Rules", command: str, fail_on: str, select: Strings = None, ignore: Strings = None
    ) -> "Selection | None":
        """The rules to check by; None where they were printed instead."""
        from mcpctl.base.rules import selection

        selected, kind = selection(rules, fail_on, select or [], ignore or [], command), self.kind()
        if not self.rules:
            return selected
        write_rules(rules, kind)
        return None


def write_rules(rules: "Rules", format: str) -> None:
    from mcpctl.base.rules import FIELDS, listed

    columns = output.Columns(fields=FIELDS, shown=FIELDS, cut=frozenset(("what", "why", "fix")), noun="rules")
    output.write_list(listed(rules), columns, output.ListOptions(format if format in ("json", "jsonl") else "auto"))


def write_findings(
    command: str, rules: "Rules", format: str, rows: "Sequence[Row]", fields: Sequence[str], suites: Sequence[str]
) -> None:
    from mcpctl import __version__, output
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
    from mcpctl.base.errors import Problems

    numbers = Counter(row["severity"] for row in rows)
    summary = ", ".join(f"{number} {name}{'s' * (number > 1 and name != 'info')}" for name, number in numbers.items())
    summary = f"{summary or 'nothing found'} in {checked}"
    if any(row["counts"] for row in rows):
        raise Problems(summary, f"what each rule means: {command} --rules")
    output.say(summary, always=True)
