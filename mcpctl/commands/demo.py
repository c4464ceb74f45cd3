"""`mcpctl demo`"""

from mcpctl.commands import options as opt


def demo(keep: bool = opt.flag("--keep", "Keep the demo's folder, and print its path.")) -> None:
    """Run a demo with two bundled servers. A client connects, searches and calls, and the records are shown.

    Examples:
      mcpctl demo
      mcpctl demo --keep
    """
    from mcpctl.demo import tour

    tour.run(keep=keep)
