"""The printing of what `policy check` finds."""

from mcpctl import output
from mcpctl.catalog import policy_check
from mcpctl.catalog.policy_check import RULES, Checked
from mcpctl.commands.check_options import write_findings
from mcpctl.errors import Problems
from mcpctl.models import FINDING_FIELDS
from mcpctl.policy.view import View

COMMAND = "mcpctl policy check"


def write(checked: Checked, view: View, format: str) -> None:
    """Print the findings, and say what the policy makes of the tools; raises `Problems` if one fails the check."""
    rows = list(checked.findings)
    files = list(dict.fromkeys([str(view.config.path), *(row["path"] for row in rows)]))
    write_findings(COMMAND, RULES, format, rows, FINDING_FIELDS, files)
    if checked.unlisted:
        output.say(
            f"not listed yet: {', '.join(checked.unlisted)}; list their tools with: mcpctl tools refresh", always=True
        )
    summary = f"{_mode(view)}{policy_check.counted(checked)}"
    if failing := sum(row["counts"] for row in rows):
        rules_ = "a rule" if failing == 1 else f"{failing} rules"
        raise Problems(f"{summary}; {rules_} to look at", f"what each finding means: {COMMAND} --rules")
    output.say(summary, always=True)


def _mode(view: View) -> str:
    """What is to be known of a policy that does nothing, or nothing yet."""
    policy = view.config.policy
    if not policy.is_on:
        return f"the policy is off (to turn it on, write [policy] in {view.config.path}); "
    return "" if policy.enforces else "the policy is only recorded; enforced, it "
