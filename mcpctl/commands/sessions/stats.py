"""`mcpctl sessions stats`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import ConfiguredRecordLocation, SessionFilters
from mcpctl.store.filters import EVERYTHING


def stats(
    filters: SessionFilters,
    _saved: bool = opt.flag(
        "--saved", "The tokens that mcpctl has saved the model, or cost it; the default.", default=True
    ),
    *,
    listing: opt.Listing,
    place: ConfiguredRecordLocation,
) -> None:
    """Compare tokens of sessions with and without mcpctl. They are those of the last session, or of those chosen.

    definitions_tokens is what the client would have put in front of every prompt: the definitions of all tools of all
    enabled servers of the session's project, as last listed; servers that never listed theirs are counted in unlisted.
    In their place stand metatools_tokens, the two tools of mcpctl and its instructions; direct_tokens, the tools that
    the client was shown directly; discovery_tokens and query_tokens, the answers to its searches and the searches; and
    key_tokens, added to each call by tool_execute.
    saved_tokens is the difference at the end of the session, and negative where mcpctl cost more than it saved. Savings
    are largest early in a session, before searches add up. It is empty, as are the definitions, for a project that is
    not in config.toml any more.

    Tokens are estimated as the field encoding says, so compare them with each other and not with a bill. The estimate
    does not know the tools that servers had at that time, what else the client keeps back or caches, other options of
    serve than --direct, or the instructions of servers.

    Examples:
      mcpctl sessions stats
      mcpctl sessions stats --since 7d --client claude-code
      mcpctl sessions stats --session last --json | jq .[].saved_tokens
    """
    from mcpctl import output
    from mcpctl.calling import token_savings
    from mcpctl.catalog import rows as catalogs
    from mcpctl.commands.columns import SAVINGS

    options = listing.chosen()
    paths = place.paths()
    with place.stored() as records:
        criteria = filters.resolved(records, paths)
        rows = token_savings.rows(
            paths,
            records.overheads(criteria, *filters.statuses),
            lambda project: catalogs.catalog(paths, project=project, quiet=True),
            only_last=filters.criteria == EVERYTHING and not filters.statuses,
        )
        output.write_list(rows, SAVINGS, options)
