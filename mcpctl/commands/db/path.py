"""`mcpctl db path`"""

from mcpctl.commands import options as opt


def path(json: bool = opt.JSON, *, data: opt.DataLocation) -> None:
    """Print the path of the index, for SQL of your own. It is an SQLite file, and brought up to date.

    It is derived from the journals beside it: reading it is safe, and deleting it loses nothing. Whole answers that
    limit_tokens has kept are in responses/ beside it: see mcpctl calls response.

    Example:
      sqlite3 "$(mcpctl db path)" 'select tool, count(*) from v_calls group by tool'
    """
    from mcpctl import output
    from mcpctl.store.records import LocalRecords

    with output.progress(opt.READING) as on_progress:
        path = LocalRecords.file(data.paths(), on_progress)
    output.write_done(json, lambda: {"path": str(path)}, str(path))
