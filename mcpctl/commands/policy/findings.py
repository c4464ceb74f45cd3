"""The printing of what `policy check` finds."""

from mcpctl import __version__, output
from mcpctl.catalog import policy_check
from mcpctl.catalog.policy_check import Checked
from mcpctl.errors import Problems
from mcpctl.models import FINDING_FIELDS, Found
from mcpctl.output import Columns, ListOptions
from mcpctl.output import findings as formats
from mcpctl.policy.view import View
from mcpctl.toolsets.check_rules import FIELDS

_FOUND = Columns(fields=FINDING_FIELDS, shown=FINDING_FIELDS, noun="findings")
_RULES = Columns(fields=FIELDS, shown=FIELDS, cut=frozenset(("why", "fix")), noun="rules")
_COMMAND = "policy check"


def write_rules(kind: str) -> None:
    """Print every rule of the check with its reason and its fix."""
    rows = Found.of(list(policy_check.rules()))
    output.write_list(rows, _RULES, ListOptions(kind if kind in ("json", "jsonl") else "auto"))


def write(checked: Checked, view: View, kind: str) -> None:
    """Print the findings, and say what the policy makes of the tools; raises `Problems` if one fails the check."""
    rows = list(checked.findings)
    if kind in ("json", "jsonl"):
        output.write_list(Found.of(rows), _FOUND, ListOptions(kind))
    else:
        files = list(dict.fromkeys([str(view.config.path), *(row["path"] for row in rows)]))
        rules = list(policy_check.rules())
        output.write_lines(formats.lines(kind, rows, files, rules, __version__, _COMMAND))
    if checked.unlisted:
        output.say(
            f"not listed yet: {', '.join(checked.unlisted)}; list their tools with: mcpctl tools refresh", always=True
        )
    summary = f"{_mode(view)}{policy_check.counted(checked)}"
    if failing := sum(row["counts"] for row in rows):
        rules_ = "a rule" if failing == 1 else f"{failing} rules"
        raise Problems(f"{summary}; {rules_} to look at", "what each finding means: mcpctl policy check --rules")
    output.say(summary, always=True)


def _mode(view: View) -> str:
    """What is to be known of a policy that does nothing, or nothing yet."""
    policy = view.config.policy
    if not policy.is_on:
        return f"the policy is off (to turn it on, write [policy] in {view.config.path}); "
    return "" if policy.enforces else "the policy is only recorded; enforced, it "
