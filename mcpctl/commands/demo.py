"""`mcpctl demo`"""

from typing import Annotated

import typer


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's folder, and print its path.")] = False,
) -> None:
    """Run a demo with two bundled servers: a client connects, searches and calls, and the records are shown.

    \b
    Examples:
      mcpctl demo
      mcpctl demo --keep
    """
    from mcpctl.demo import tour

    tour.run(keep=keep)
