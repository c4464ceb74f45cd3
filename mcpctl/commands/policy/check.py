"""`mcpctl policy check`"""

from typing import Annotated

import typer

from mcpctl.commands import options as opt

FailOn = Annotated[
    str, typer.Option(metavar="SEVERITY", help="The least severity that fails: error, warning, info or never.")
]
Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help="text, json, jsonl, github, sarif or junit.")]
Rules = Annotated[bool, typer.Option("--rules", help="List the rules of this check, each with its reason and its fix.")]


def check(
    fail_on: FailOn = "warning",
    json: opt.Json = False,
    jsonl: opt.Jsonl = False,
    format: Format = "text",
    rules: Rules = False,
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
    from mcpctl.commands.annotate.findings import kind as kind_of
    from mcpctl.commands.policy import findings

    kind = kind_of(json, jsonl, format)
    opt.one_of("fail-on", fail_on, tuple(policy_check.FAIL_ON))
    if rules:
        findings.write_rules(kind)
        return
    paths = opt.paths(config, data_dir)
    with rows.catalog(paths, toolset, project, quiet=True) as catalog:
        checked = policy_check.check(catalog, fail_on)
        findings.write(checked, catalog.view, kind)
