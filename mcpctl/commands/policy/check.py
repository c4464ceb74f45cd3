"""`mcpctl policy check`"""

from mcpctl.commands import check_options as checks
from mcpctl.commands import options as opt

COMMAND = "mcpctl policy check"


def check(
    fail_on: str = checks.fail_on("warning"),
    history: str | None = opt.option(
        "--history", "TIME", "Replay the policy over the calls since TIME: 30d, 12h, 2026-11-01."
    ),
    *,
    report: checks.Report,
    place: opt.ToolsetLocation,
) -> None:
    """Check that each rule of the policy has an effect. It has one if it matches a tool, and decides at least once.

    It names rules that match no tool (W901), rules that never decide, since an earlier one always does (W902), the same
    rule in two lists (W903), rules that cannot be judged, since a server has never listed its tools (I901), and rules
    of allow for tools that still ask (I903). stderr has the numbers of tools that need your consent, are allowed or are
    denied. Nothing is started: the tools are those that the servers last listed. Exit status 7 means that a finding
    fails the check.

    With --history it says instead what the policy as it is now would have done with the calls and reads on record: for
    each tool how often it would have asked, refused or run, and by which rule. --config tries another file. Each call
    that needs a yes counts as one question; the field sessions says how many there would have been with a yes for the
    session each time. Yeses for always that hold now count, those for a session do not. Tools are taken as they are
    listed now; those that are not listed any more, by the hints that they had. Mistyped names, of which there never was
    a tool, are left out and named. Tokens are not looked at.

    Examples:
      mcpctl policy check
      mcpctl policy check --project work --fail-on never --format github
      mcpctl policy check --history 30d
      mcpctl policy check --history 30d --config stricter.toml --json
    """
    from mcpctl import output
    from mcpctl.base.errors import Problems
    from mcpctl.base.models import FINDING_FIELDS
    from mcpctl.catalog import explained, policy_check
    from mcpctl.catalog.rows import catalog

    selected = report.selection(policy_check.RULES, COMMAND, fail_on)
    if selected is None:
        return
    if history is not None:
        _replay(history, report, place)
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


def _replay(since: str, report: checks.Report, place: opt.ToolsetLocation) -> None:
    from functools import partial

    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.base.models import Found
    from mcpctl.calling import policy_history
    from mcpctl.catalog import explained, rows
    from mcpctl.commands.columns import HISTORY
    from mcpctl.store import filters
    from mcpctl.store.filters import CallFilter

    kind = report.kind()
    if kind not in ("text", "json", "jsonl"):
        raise WrongUsage(f"--history has no findings to print as {kind}", "give --json or --jsonl")
    begin = filters.moment("--history", since)
    criteria = CallFilter(since=begin, projects=(place.project,) if place.project else ())
    paths = place.paths()
    opened = partial(rows.catalog, paths, place.toolset, quiet=True)
    with place.records() as records, opened(place.project) as catalog:
        replay = policy_history.replayed(
            records.history(criteria), lambda project: opened(project or place.project), explained.standing(paths)
        )
        policy = catalog.view.config.policy
    if not policy.is_on:
        output.say(f"the policy is off; to turn it on, write [policy] in {paths.config}", always=True)
    elif not policy.enforces:
        output.say("the policy is only recorded; this is what it would do if it were enforced", always=True)
    output.say(f"{replay.told} since {(begin or '')[:16].replace('T', ' ')}Z", always=True)
    if replay.gone:
        output.say(f"decided as without a project, since these are gone: {', '.join(sorted(replay.gone))}", always=True)
    if unlisted := replay.unlisted:
        output.say(f"not listed now: {unlisted}", always=True)
    if left_out := replay.left_out:
        output.say(f"left out, since nothing of that name was known: {left_out}", always=True)
    output.write_list(Found.of(replay.rows), HISTORY, output.ListOptions("auto" if kind == "text" else kind, limit=0))
