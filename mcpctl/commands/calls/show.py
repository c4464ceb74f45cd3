"""`mcpctl calls show`"""

from typing import Annotated

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def show(
    call: Annotated[str, opt.argument("ID", "An id, its beginning, or last.", complete.calls)],
    shown: opt.OneThing,
    data_dir: opt.DataDir = None,
) -> None:
    """Show one call whole: what was sent, what came back, how long it took.

    \b
    Examples:
      mcpctl calls show last
      mcpctl calls show last --json | jq .response
      mcpctl calls show last --fields status,response
    """
    from mcpctl.output import text

    with opt.records(data_dir) as records:
        row = records.call(call)
    shown.write(row, text.call)
