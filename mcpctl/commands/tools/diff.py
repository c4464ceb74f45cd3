"""`mcpctl tools diff`"""

from pathlib import Path

from mcpctl.commands import check_options as checks
from mcpctl.commands import complete
from mcpctl.commands import options as opt


def diff(
    keys: list[str] | None = opt.argument("[KEY...]", "Only these tools.", complete.tools, default=None),
    lock: Path | None = opt.option("--lock", "FILE", "Compare with the definitions in FILE: mcpctl tools lock FILE."),
    since: str | None = opt.option("--since", "TIME", "Compare with how they were then: 7d, yesterday, 2026-11-20."),
    server: list[str] | None = opt.SERVERS,
    fail_on: str = checks.fail_on("warning"),
    select: list[str] | None = checks.SELECT,
    ignore: list[str] | None = checks.IGNORE,
    *,
    report: checks.Report,
    place: opt.ProjectLocation,
) -> None:
    """Show how tools have changed since they were pinned. With --lock, they are compared with a lock file. For CI.

    With [policy] in config.toml, mcpctl pins every tool as it first sees it: its name, title, description, schemas and
    declared hints, by the command line of its server. on_change decides on a tool that differs. The tools are compared
    as the servers last listed them; mcpctl tools refresh lists them again.

    With --since, they are compared with how they were defined at that time, whether or not a person has approved the
    change; each says when it was first seen. It is known from the day on which [policy] was written: a tool that was
    first seen later is new.

    Text shows the old and the new lines. Exit status 7 means that a finding fails the check.

    Examples:
      mcpctl tools diff
      mcpctl tools diff github:create_issue
      mcpctl tools diff --since 7d
      mcpctl tools diff --lock mcpctl.lock.json --format github
      mcpctl tools diff --rules
    """
    from mcpctl.catalog.drift import RULES
    from mcpctl.commands import tool_differences
    from mcpctl.store import filters

    selected = report.selection(RULES, tool_differences.COMMAND, fail_on, select, ignore)
    if selected is None:
        return
    if lock and since:
        opt.refuse_with("--since", since, "--lock")
    servers, moment = opt.listed("server", server), filters.seconds("--since", since)
    tool_differences.compare(place.paths(), keys or [], servers, lock, place.project, selected, report.kind(), moment)
