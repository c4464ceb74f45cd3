"""The three steps of somebody who has just begun, each done once there is something to be seen of it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from mcpctl.base.errors import McpctlError
from mcpctl.config import config
from mcpctl.dashboard.dashboard import Dashboard

_LOOKED_AT = 200  # sessions, the newest first
_OURS = "mcpctl"  # the client of commands, which is none that was connected


class Step(NamedTuple):
    title: str
    is_done: bool
    command: str  # empty where none is needed
    about: str


def steps(dashboard: Dashboard) -> Sequence[Step]:
    """The steps; none once all are done."""
    has_servers = is_connected = is_called = False
    with suppress(McpctlError):  # pages of servers say what is wrong with the configuration
        loaded = config.load(dashboard.paths.config)
        has_servers = bool(loaded.servers or loaded.problems)
    with suppress(McpctlError), dashboard.records() as records:
        is_called = bool(records.usage())
        is_connected = any(row["client_name"] != _OURS for row in records.sessions().rows(_LOOKED_AT, 0))
    if has_servers and is_connected and is_called:
        return ()
    return (
        Step("Add your servers", has_servers, "mcpctl init",
             "it goes through it with you, and takes over the servers of your clients; or add one by its command:"
             " mcpctl servers add time -- uvx mcp-server-time"),
        Step("Connect a client", is_connected, "mcpctl install",
             "it lists the clients that are here, with the command for each; start the client again afterwards"),
        Step("See its first call", is_called, "", "ask it for something that needs a tool: its call appears here"),
    )  # fmt: skip
