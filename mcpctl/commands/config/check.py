"""`mcpctl config check`"""

from pathlib import Path

from mcpctl.commands import check_options as checks
from mcpctl.commands import options as opt

COMMAND = "mcpctl config check"


def check(
    file: Path | None = opt.argument("[FILE]", "Another file than config.toml.", default=None),
    fail_on: str = checks.fail_on("error"),
    *,
    report: checks.Report,
    place: opt.Location,
) -> None:
    """Check config.toml: its TOML, its keys and their values.

    It names every problem with its line and its key, not only the first, and looks at nothing else: whether programs,
    logins and files are there is told by mcpctl doctor, and whether the rules of the policy match tools by mcpctl
    policy check. Exit status 7 means that a finding fails the check.

    Examples:
      mcpctl config check
      mcpctl config check dotfiles/mcpctl/config.toml --format github
      mcpctl config check --json | jq -r '.[] | "\\(.line) \\(.message)"'
    """
    from mcpctl import output
    from mcpctl.base import files
    from mcpctl.base.errors import NotFound
    from mcpctl.base.models import FINDING_FIELDS
    from mcpctl.config import problems

    selected = report.selection(problems.RULES, COMMAND, fail_on)
    if selected is None:
        return
    path, text = file or place.paths().config, ""
    try:
        text = files.read_text(path, code="config_unreadable").removeprefix(files.BOM)
    except NotFound:
        if file:
            raise
    rows = problems.rows(path, text, selected)
    checks.write_findings(COMMAND, problems.RULES, report.kind(), rows, FINDING_FIELDS, [str(path)])
    if rows:
        checks.summarize(COMMAND, rows, str(path))
    else:
        is_there = text or path.exists()
        output.say(f"{path} is in order" if is_there else f"all is in order: there is no {path} yet", always=True)
