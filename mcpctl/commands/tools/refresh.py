"""`mcpctl tools refresh`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def refresh(
    servers: list[str] | None = opt.argument("[SERVER]...", "Only these servers.", complete.servers, default=None),
    *,
    listing: opt.Rows,
    place: opt.ProjectLocation,
) -> None:
    """Start the servers and list their tools again. Their prompts and resources are listed, too.

    If some servers fail, the rows of the others are printed, the exit status is 4, and stderr has the reasons.

    Examples:
      mcpctl tools refresh
      mcpctl tools refresh github linear --json
    """
    from mcpctl import output
    from mcpctl.calling import one_shot
    from mcpctl.commands.columns import REFRESHED

    options = listing.chosen()
    with output.progress("listing tools", "servers") as on_progress:
        rows, failure = one_shot.refresh(place.paths(), servers or [], on_progress, place.project)
    output.write_list(rows, REFRESHED, options)
    if failure:
        raise failure
