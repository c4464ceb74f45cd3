"""`mcpctl calls replay`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def replay(
    calls: Annotated[
        list[str] | None, opt.argument("[ID...]", "Calls: ids, their beginnings, or last.", complete.calls)
    ] = None,
    session: Annotated[
        str | None,
        opt.option(
            "--session", "ID", "All calls of this session, in their order; last is the newest.", complete.sessions
        ),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Run also the calls of tools that may change something.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run; run nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print how the results differ; exit 7 if one does.")] = False,
    *,
    listing: opt.Rows,
    place: opt.ToolsetPlace,
) -> None:
    """Call again what is on record, with the same arguments, and compare the results.

    Calls of tools that only read run; those of others are shown, and run with --execute. The hints of now decide, as
    the server declares them in its list and once more when it is connected. [policy] holds as for tools call. A call
    of which an argument was redacted or cut is never called again; the column WHY names the field.

    What a session's model read with @mcpctl:read is left out of the session.

    All run in one session with each server, one after the other. Each is on record, with via replay and the id of the
    old call as parent_id. Results are compared as they are on record: SAME is empty where one was cut.

    \b
    Examples:
      mcpctl calls replay last --diff
      mcpctl calls replay --session last --dry-run
      mcpctl calls replay --session 3f2a --execute --json | jq '.[] | select(.same == false)'
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.base.models import Found
    from mcpctl.calling import replay as replays
    from mcpctl.commands.calls import replaying

    options = listing.chosen()
    output.chosen_fields(replaying.COLUMNS, options)  # what is wrong with them is said before anything runs
    if bool(calls) == (session is not None):
        raise WrongUsage("name calls, or one session with --session", "for example: mcpctl calls replay last")
    if diff and options != output.ListOptions():
        raise WrongUsage("--diff prints diffs and no rows", "leave it out; under --json each row has same and result")
    paths = place.paths()
    with opt.records(place.data_dir) as records:
        old = replaying.meant(records, calls or (), session)
    found = replays.planned(paths, old, execute=execute, dry_run=dry_run, toolset=place.toolset, project=place.project)
    if not dry_run:
        replays.run(paths, found, execute=execute, toolset=place.toolset, project=place.project)
    with opt.records(place.data_dir) as records:
        rows = [replaying.row(each, records.call(each.record_id) if each.record_id else None) for each in found]
    if diff:
        output.write_lines(replaying.diff(rows))
    else:
        output.write_list(Found.of(rows), replaying.COLUMNS, options)
    if waiting := list(dict.fromkeys(each.key for each in found if each.plan == "needs_execute")):
        more = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
        output.say(f"not called without --execute, since it may change something: {waiting[0]}{more}", always=diff)
    if diff and (left := replaying.not_compared(rows)):
        output.say(left, always=True)
    if not dry_run and (failure := replaying.failure(rows, found, compared=diff)):
        raise failure
