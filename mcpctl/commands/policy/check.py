"""`mcpctl policy check`"""

from mcpctl.commands import check_options as checks
from mcpctl.commands import options as opt

COMMAND = "mcpctl policy check"


def check(fail_on: str = checks.fail_on("warning"), *, report: checks.Report, place: opt.ToolsetLocation) -> None:
    """Check that each rule of the policy has an effect. It has one if it matches a tool, and decides at least once.

    It names rules that match no tool (W901), rules that never decide, since an earlier one always does (W902), the same
    rule in two lists (W903), and rules that cannot be judged, since a server has never listed its tools (I901). stderr
    has the numbers of tools that need your consent, are allowed or are denied. Nothing is started: the tools are those
    that the servers last listed. Exit status 7 means that a finding fails the check.

    Examples:
      mcpctl policy check
      mcpctl policy check --project work --fail-on never --format github
      mcpctl policy check --rules
    """
    from mcpctl import output
    from mcpctl.base.errors import Problems
    from mcpctl.base.models import FINDING_FIELDS
    from mcpctl.catalog import explained, policy_check
    from mcpctl.catalog.rows import catalog

    selected = report.selection(policy_check.RULES, COMMAND, fail_on)
    if selected is None:
        return
    with catalog(place.paths(), place.toolset, place.project, quiet=True) as tools:
        checked, view = policy_check.check(tools, selected), tools.view
        rows = list(checked.findings)
        files = list(dict.fromkeys([str(view.config.path), *(row["path"] for row in rows)]))
        checks.write_findings(COMMAND, policy_check.RULES, report.kind(), rows, FINDING_FIELDS, files)
        if checked.unlisted:
            servers = ", ".join(checked.unlisted)
            output.say(f"not listed yet: {servers}; list their tools with: mcpctl tools refresh", always=True)
        if paused := explained.standing(place.paths()).pause:
            output.say(f"nothing is called now: {paused.told}; go on with: mcpctl policy resume", always=True)
        policy, mode = view.config.policy, ""
        if not policy.is_on:
            mode = f"the policy is off (to turn it on, write [policy] in {view.config.path}); "
        elif not policy.enforces:
            mode = "the policy is only recorded; enforced, it "
        summary = f"{mode}{policy_check.counted(checked)}"
        if failing := sum(row["counts"] for row in rows):
            rules_ = "a rule" if failing == 1 else f"{failing} rules"
            raise Problems(f"{summary}; {rules_} to look at", f"what each finding means: {COMMAND} --rules")
        output.say(summary, always=True)
