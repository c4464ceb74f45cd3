"""`mcpctl db rebuild`"""

from mcpctl.commands import options as opt


def rebuild(place: opt.JsonLocation) -> None:
    """Rebuild the index from the journals, close sessions that were killed, and evict those that exceed the limits.

    Example:
      mcpctl db rebuild --json
    """
    from mcpctl import output
    from mcpctl.config.config import load
    from mcpctl.output import text
    from mcpctl.store import retention

    paths = place.paths()
    with output.progress(opt.READING) as on_progress:
        row = retention.rebuild(paths, load(paths.config).records, on_progress)
    output.write_row(row, place.json, lambda: text.pairs(row))
