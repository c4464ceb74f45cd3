"""`mcpctl tools refresh`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def refresh(
    servers: list[str] | None = opt.argument("[SERVER]...", "Only these servers.", complete.servers, default=None),
    from_script: bool = opt.FROM_SCRIPT,
    *,
    listing: opt.Rows,
    place: opt.ProjectLocation,
) -> None:
    """Start the servers and list their tools again. Their prompts and resources are listed, too.

    The OpenAPI document of an HTTP API is read again. The tools that were added, removed or changed are printed as by
    tools diff; --json has their names in added, removed and changed. Where by it requests or clients with credentials
    would go to another host, and calls need no question, only a person at a terminal can read it; elsewhere it needs
    --from-script.

    If some servers fail, the rows of the others are printed, the exit status is 4, and stderr has the reasons.

    Examples:
      mcpctl tools refresh
      mcpctl tools refresh github linear --json
    """
    from mcpctl import output
    from mcpctl.base.errors import warn
    from mcpctl.base.models import Found
    from mcpctl.calling import one_shot
    from mcpctl.commands import http_apis
    from mcpctl.commands.columns import REFRESHED
    from mcpctl.commands.confirmation import Gate

    options, paths = listing.chosen(), place.paths()
    read = http_apis.reread(paths, servers or [], place.project, Gate(paths, from_script))
    with output.progress("listing tools", "servers") as on_progress:
        if read.failures and not read.listable:
            rows, failure = Found.of([]), None
        else:
            names = read.listable if read.failures else servers or []
            rows, failure = one_shot.refresh(paths, names, on_progress, place.project)
    changes = http_apis.changes(paths, read, place.project)
    output.write_list(http_apis.with_changes(rows, changes), REFRESHED, options)
    http_apis.tell(paths, changes, read, options)
    *others, last = failure, *read.failures.values()
    for error in filter(None, others):
        warn(error.message)
    if last:
        raise last
