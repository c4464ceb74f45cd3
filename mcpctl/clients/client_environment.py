"""The variables that clients have, and so what an mcpctl has that they start."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from mcpctl.clients import window_path
from mcpctl.clients.client_config import FROM_A_SHELL
from mcpctl.server_environment import inherited
from mcpctl.server_settings import ALL, MINIMAL, Server


def inherited_from(client: str, server: Server) -> dict[str, str]:
    """What the process of an entry inherits of its client; `server` is the entry, as config.toml would have it."""
    if client not in FROM_A_SHELL:  # a window has nothing of what a shell's own files set
        usual = inherited(msgspec.structs.replace(server, inherit_env=MINIMAL))
        return {**usual, "PATH": os.pathsep.join(window_path.STANDARD)}
    if client == "codex":  # which passes on only what the entry names
        return inherited(server)
    return inherited(msgspec.structs.replace(server, inherit_env=ALL))


def of_mcpctl(client: str, entry: Any) -> dict[str, str]:
    """The variables of an mcpctl that the client starts, of which `entry` is the value in its file; None for a new one.

    For whether they are set: their values are as the client has them.
    """
    raw = entry if isinstance(entry, dict) else {}
    named = raw.get("env_vars")
    server = Server(inherit_env=[str(name) for name in named] if isinstance(named, list) else MINIMAL)
    own = [raw[key] for key in ("env", "environment") if isinstance(raw.get(key), Mapping)]
    return {**inherited_from(client, server), **{name: str(value) for each in own for name, value in each.items()}}
