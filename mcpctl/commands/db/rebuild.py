"""`mcpctl db rebuild`"""

from mcpctl.commands import options as opt


def rebuild(place: opt.JsonLocation) -> None:
    """Rebuild the index from the journals. Sessions that were killed are closed, and those that exceed the limits
    evicted.

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
