"""`mcpctl approvals ls`"""

from mcpctl.commands import options as opt


def ls(
    pending: bool = opt.flag("--pending", "Only those that can be answered now."),
    standing: bool = opt.flag("--standing", "The yeses that hold for more than one call."),
    *,
    listing: opt.Listing,
    data: opt.DataLocation,
) -> None:
    """List the calls that needed your consent. The newest is first, and each has its outcome.

    --standing lists instead the consent that applies to more than one call, for as long as it does, however old it is;
    take it back with mcpctl approvals revoke.

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
    paths = data.paths()
    if standing:
        output.write_list(answering.standing(paths), columns.with_names(columns.STANDING, paths, options), options)
    else:
        shown = columns.with_names(columns.APPROVALS, paths, options)
        output.write_list(answering.rows(paths, pending=pending), shown, options)
