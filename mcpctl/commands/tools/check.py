"""`mcpctl tools check`"""

from pathlib import Path

from mcpctl.commands import check_options as checks
from mcpctl.commands import complete
from mcpctl.commands import options as opt

COMMAND = "mcpctl tools check"


def check(
    keys: list[str] | None = opt.argument("[KEY...]", "Only these tools: server:tool.", complete.tools, default=None),
    catalog: Path | None = opt.option("--catalog", "FILE", "Check the tools in FILE: mcpctl tools export > FILE."),
    fail_on: str = checks.fail_on("error"),
    select: list[str] | None = checks.SELECT,
    ignore: list[str] | None = checks.IGNORE,
    *,
    report: checks.Report,
    place: opt.Location,
) -> None:
    """Check tool definitions for hidden instructions. Other things that do not belong there are found, too.

    It checks the tools that the enabled servers last listed, or those of a snapshot (--catalog), by fixed rules and
    without a network. All tools are seen together, since some rules compare a tool with those of other servers; keys
    only narrow the report. Errors in prompts, resources and instructions of servers are reported too.

    A tool with an error is one to hold back: hidden characters, instructions to the model, words about another server's
    tool, secrets taken elsewhere. Warnings and information are for reading; text and github leave information out,
    unless --select names it. No rule finds a harmful text in harmless words, nor a server that describes its tools
    honestly and does something else. Exit status 7 means that a finding fails the check.

    Examples:
      mcpctl tools check
      mcpctl tools check github:create_issue --fail-on warning
      mcpctl tools check --catalog catalog.jsonl --ignore W504 --format sarif > tools.sarif
      mcpctl tools check --rules
    """
    from mcpctl.base.models import TOOL_FINDING_FIELDS
    from mcpctl.catalog import definition_check
    from mcpctl.checks.findings import RULES

    selected = report.selection(RULES, COMMAND, fail_on, select, ignore)
    if selected is None:
        return
    kind = report.kind()
    paths = place.paths()
    listed = definition_check.of_file(catalog) if catalog else definition_check.cached(paths)
    rows = definition_check.check(listed, keys or [], selected)
    is_brief = kind in ("text", "github") and not select
    shown = [row for row in rows if row["severity"] != "info"] if is_brief else rows
    checks.write_findings(COMMAND, RULES, kind, shown, TOOL_FINDING_FIELDS, listed.suites)
    checks.summarize(COMMAND, rows, f"{len(keys or listed.tools)} of {len(listed.tools)} tools")
