"""`mcpctl policy check`"""

from mcpctl.commands import check_options as checks
from mcpctl.commands import options as opt


def check(
    fail_on: checks.FailOn = "warning",
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: checks.Format = "text",
    rules: checks.Rules = False,
    toolset: opt.Toolset = None,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Check the rules of the policy: that each of them matches a tool, and decides at least once.

    It names rules that match no tool (W901), rules that never decide, since an earlier one always does (W902), the same
    rule in two lists (W903), and rules of which nobody knows, since a server has never listed its tools (I901). stderr
    says for how many tools you would be asked, and how many are allowed and denied. Nothing is started: the tools are
    those that the servers last listed. Exit status 7 means that a finding fails the check.

    \b
    Examples:
      mcpctl policy check
      mcpctl policy check --project work --fail-on never --format github
      mcpctl policy check --rules
    """
    from mcpctl.catalog import policy_check, rows
    from mcpctl.commands.policy import findings
    from mcpctl.rules import selection

    asked = selection(policy_check.RULES, fail_on, [], [], findings.COMMAND)
    kind = checks.chosen_format(json, jsonl, format)
    if rules:
        checks.write_rules(policy_check.RULES, kind)
        return
    paths = opt.paths(config, data_dir)
    with rows.catalog(paths, toolset, project, quiet=True) as catalog:
        checked = policy_check.check(catalog, asked)
        findings.write(checked, catalog.view, kind)
