"""The variables that clients have, and so what an mcpctl has that they start."""

import os
import shutil
from collections.abc import Mapping
from typing import Any

import msgspec

from mcpctl.clients import window_path
from mcpctl.clients.client_config import FROM_A_SHELL
from mcpctl.config.command_values import CannotLaunch
from mcpctl.config.server_environment import expand, inherited
from mcpctl.config.server_settings import ALL, FROM_COMMAND, MINIMAL, Server
from mcpctl.secrets.redact import mask


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


def missing_program(server: Server, variables: Mapping[str, str]) -> str:
    """The program of a server that is not there for an mcpctl with these variables; empty where it is, and where only
    a start can tell. Nothing is run to find out.

    What is on the PATH of this shell is there: `install` writes that into the entry of a client with a window.
    """
    texts = [server.command, server.cwd or "", server.env.get("PATH", "")]
    if not server.command or any(FROM_COMMAND in text for text in texts):
        return ""
    try:
        command, cwd, path = (expand(text, variables) for text in texts)
    except CannotLaunch:  # what is not set is told of itself
        return ""
    file = os.path.expanduser(command)  # noqa: PTH111 - Path.expanduser raises for a user who is not there
    if os.sep in file and not file.startswith(os.sep):
        if not cwd:
            return ""  # in which folder the client starts it, nobody knows here
        file = os.path.join(os.path.expanduser(cwd), file)  # noqa: PTH111, PTH118
    paths = [path] if path else [variables.get("PATH", ""), os.environ.get("PATH", "")]
    return "" if any(shutil.which(file, path=each or os.defpath) for each in paths) else mask(server.command)
