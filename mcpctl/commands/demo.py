"""`mcpctl demo`"""

from typing import Annotated

import typer


def demo(keep: Annotated[bool, typer.Option("--keep", help="Leave its home, and say where it is.")] = False) -> None:
    """Run the whole loop once: two bundled servers, a client, a search, calls, and what is on record of them.

    \b
    Examples:
      mcpctl demo
      mcpctl demo --keep
    """
    from mcpctl.demo import tour

    tour.run(keep=keep)
