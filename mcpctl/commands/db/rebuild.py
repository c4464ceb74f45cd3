"""`mcpctl db rebuild`"""

from mcpctl.commands import options as opt


def rebuild(
    json: opt.Json = False,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Make the index anew from the journals, close sessions that were killed, and evict what exceeds the limits.

    \b
    Example:
      mcpctl db rebuild --json
    """
    from mcpctl import output
    from mcpctl.config import load
    from mcpctl.output import text
    from mcpctl.store import retention

    paths = opt.paths(config, data_dir)
    with output.progress(opt.READING) as on_progress:
        row = retention.rebuild(paths, load(paths.config).records, on_progress)
    output.write_row(row, json, lambda: text.pairs(row))
