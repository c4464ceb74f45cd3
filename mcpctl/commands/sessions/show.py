"""`mcpctl sessions show`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordLocation


def show(session: opt.SessionId, shown: opt.OneThing, data: RecordLocation) -> None:
    """Show one session, with its calls. It says who was connected, what was called how often, and what was read.

    Examples:
      mcpctl sessions show last
      mcpctl sessions show 3f2a --json | jq '.tools'
      mcpctl calls tail --session 3f2a --since-position start
    """
    from mcpctl.commands.columns import named
    from mcpctl.output import text

    with data.stored() as records:
        row = records.session(session, None if shown.json or shown.fields else text.CALL_OF_SESSION)
        shown.write(row, lambda row: text.session(named(row, data.paths())))
