"""`mcpctl calls show`"""

from mcpctl.commands import options as opt
from mcpctl.commands.filter_options import RecordLocation


def show(call: opt.CallId, shown: opt.OneThing, data: RecordLocation) -> None:
    """Show one call whole: what was sent, and what came back.

    Examples:
      mcpctl calls show last
      mcpctl calls show last --json | jq .response
      mcpctl calls show last --fields status,response
    """
    from mcpctl.commands.columns import named
    from mcpctl.output import text

    with data.stored() as records:
        row = records.call(call)
    shown.write(row, lambda row: text.call(named(row, data.paths())))
