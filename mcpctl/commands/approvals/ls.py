"""`mcpctl approvals ls`"""

from typing import Annotated

from mcpctl.commands import options as opt

Pending = Annotated[bool, opt.flag("--pending", "Only those that can be answered now.")]
Standing = Annotated[bool, opt.flag("--standing", "The yeses that hold for more than one call.")]


def ls(
    pending: Pending = False, standing: Standing = False, *, listing: opt.Listing, data_dir: opt.DataDir = None
) -> None:
    """List the calls that needed your consent, the newest first, and what became of them.

    --standing lists the yeses that hold for more than one call instead, for as long as they do, however old they are;
    take one back with mcpctl approvals revoke.

    \b
    Examples:
      mcpctl approvals ls --pending
      mcpctl approvals ls --standing
      mcpctl approvals ls --json | jq '.[] | select(.state == "denied") | .key'
    """
    from mcpctl import output
    from mcpctl.base.errors import WrongUsage
    from mcpctl.commands import columns
    from mcpctl.policy import answering

    if pending and standing:
        raise WrongUsage("--pending and --standing contradict each other", "give one of them")
    options = listing.chosen()
    paths = opt.paths(None, data_dir)
    if standing:
        output.write_list(answering.standing(paths), columns.STANDING, options)
    else:
        output.write_list(answering.rows(paths, pending=pending), columns.APPROVALS, options)
