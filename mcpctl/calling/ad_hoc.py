"""A server that one command names by its address or command, and that is in no configuration."""

import re
import shlex

from msgspec.structs import replace

from mcpctl.base.errors import McpctlError, NotFound, Refused, UpstreamFailed
from mcpctl.config.config import Config
from mcpctl.config.entry_secrets import masked_url
from mcpctl.config.server_settings import AD_HOC, Server
from mcpctl.policy.loosening import is_same_program, names
from mcpctl.secrets.redact import mask

_LONGEST = 60


def beside(loaded: Config, server: Server) -> tuple[Config, str]:
    """The configuration with one more server, and the name of that. One that the configuration has is that one, with
    its rules; raises `Refused` where another of it could get around them."""
    entries = loaded.servers
    same = [name for name, entry in entries.items() if entry.fingerprint == server.fingerprint]
    if same:
        name = next((each for each in same if each in loaded.enabled), same[0])
        if server.headers or server.env:
            own = replace(entries[name], headers=server.headers, env=server.env, oauth=None)
            return replace(loaded, servers={**entries, name: own}), name
        return loaded, name
    for name, entry in entries.items():
        is_bound = loaded.policy.enforces or entry.bars_tools or not entry.enabled or name in loaded.elsewhere
        if is_bound and is_same_program(entry, server):
            hint = f"name its tools as {name}:TOOL; another entry of it is made with: mcpctl servers add"
            raise Refused(f"this is the program of server '{name}', whose rules are by its name", hint, "same_program")
    name = _named(server)
    while name in entries or name in loaded.problems:
        name += "-"
    return replace(loaded, servers={**entries, name: server}), name


def _named(server: Server) -> str:
    last = min(names(server), key=len, default=server.command).strip("/").rpartition("/")[2]
    host = re.sub(r"https?://([^/?#@]*@)?", "", server.url).partition("/")[0]
    return AD_HOC + (re.sub(r"[^A-Za-z0-9]+", "-", host or last).strip("-")[:_LONGEST] or "server")


def told(error: McpctlError, server: Server, name: str) -> McpctlError:
    """The failure with a hint that works for a server without an entry."""
    if name.startswith(AD_HOC):
        error.message = re.sub(r'write transport = "(\w+)"$', r"say --transport \1", error.message)
    if not name.startswith(AD_HOC) or name not in error.hint or "mcpctl approvals" in error.hint:
        return error
    address = f"--url {shlex.quote(masked_url(server.url))}"
    how = address if server.url else f"-- {mask(shlex.join((server.command, *server.args)))}"
    if error.hint.startswith("did you mean"):
        error.hint = error.hint.replace(f"{name}:", "")
    elif error.code == "needs_login":
        error.hint = f"add it, then log in: mcpctl servers add NAME {how} && mcpctl servers login NAME"
    elif isinstance(error, NotFound) or error.code == "tool_error":
        error.hint = f"see its tools with: mcpctl tools ls {how}"
    elif isinstance(error, UpstreamFailed):
        error.hint = "check the address" if server.url else "run the command by itself to see why"
    else:
        error.hint = f"add it, to decide about its tools by name: mcpctl servers add NAME {how}"
    return error
