"""`mcpctl policy decisions`"""

from mcpctl.base.fields import DECISIONS
from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordLocation, WhoAndWhen

_CHANNELS = ("rule", "grant", "client", "hook", "terminal", "dashboard")


def decisions(
    filters: WhoAndWhen,
    decision: list[str] | None = opt.option("--decision", "WORD,…", "approved, declined, denied, ….", DECISIONS),
    channel: list[str] | None = opt.option(
        "--channel", "NAME,…", "rule, grant, client, terminal, dashboard, ….", _CHANNELS
    ),
    *,
    listing: opt.Listing,
    data: RecordLocation,
) -> None:
    """List who said yes or no to which call, and when.

    It has every decision that is on record, newest first: what a rule refused (denied, held), what was asked and what
    was answered (asked, approved, declined, expired, unanswerable), what an earlier answer let through (allowed), and
    which changes loosened the policy (loosened), and who paused and resumed all. A call that no rule is against leaves
    no decision, and a name that is of no tool neither.

    WHO is as exact as is known: the user, machine and terminal of an answer at a terminal, the user and the login of
    one in the dashboard, the client in whose form or prompt it was asked. For a call that an earlier answer let
    through, it is who gave that. A client's form does not say who sits in front of it. An answer at a terminal or in
    the dashboard has a row of its own, without a call, before that of the call that it was for.

    Examples:
      mcpctl policy decisions --decision approved,allowed --since 7d
      mcpctl policy decisions --decision denied,held,declined --json
      mcpctl policy decisions --tool 'shop:*' --channel terminal
    """
    from mcpctl import output
    from mcpctl.commands import columns

    chosen, channels = opt.listed("decision", decision, DECISIONS), opt.listed("channel", channel)
    options = listing.chosen()
    with data.stored() as records:
        criteria = filters.resolved(records, data.paths())
        shown = columns.with_names(data.columns(columns.DECISIONS), data.paths(), options)
        output.write_list(records.decisions_made(criteria, chosen, channels), shown, options)
