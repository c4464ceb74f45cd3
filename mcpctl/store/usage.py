"""How much tools were used, as the calls on record say."""

import sqlite3

from mcpctl.models import Usage


def by_tool(db: sqlite3.Connection) -> Usage:
    """The tools with calls on record, by server and tool."""
    rows = db.execute("SELECT server, tool, calls, last_used FROM usage")
    return {(server, tool): (calls, last_used) for server, tool, calls, last_used in rows}
