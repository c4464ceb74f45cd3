"""`mcpctl help`"""

from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Words = Annotated[
    list[str] | None, opt.argument("[WORD]...", "The words of a command, such as: calls ls.", complete.commands)
]


def help(ctx: typer.Context, words: Words = None) -> None:
    """Print the help of a command, like its option -h.

    \b
    Examples:
      mcpctl help
      mcpctl help calls ls
    """
    ctx.find_root().command([*(words or []), "--help"], prog_name="mcpctl")
