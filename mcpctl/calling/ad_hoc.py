"""A server that one command names by its address or command, and that is in no configuration."""

import hashlib
import re
import shlex

from msgspec.structs import replace

from mcpctl.base.errors import McpctlError, NotFound, Refused, UpstreamFailed
from mcpctl.config import toml
from mcpctl.config.config import Config
from mcpctl.config.entry_secrets import masked_url
from mcpctl.config.server_environment import compared
from mcpctl.config.server_settings import AD_HOC, Server
from mcpctl.policy.same_program import is_known, is_same_program, names, reading
from mcpctl.secrets.redact import mask

_LONGEST, _HASHED = 60, 8


def beside(loaded: Config, server: Server) -> tuple[Config, str]:
    """The configuration with one more server, and the name of that. One that the configuration has is that one, with
    its rules; raises `Refused` where another of it could get around them."""
    entries = loaded.servers
    same = [name for name, entry in entries.items() if entry.fingerprint == server.fingerprint]
    if same:
        name = next((each for each in same if each in loaded.enabled), same[0])
        if server.headers or server.env:
            own = replace(entries[name], headers=server.headers, env=server.env, oauth=None)
            if compared(own, loaded.path).fingerprint != compared(entries[name], loaded.path).fingerprint:
                why = f"with these variables it would be another program under the name and the rules of '{name}'"
                raise Refused(why, "write the program out, without ${…}", "same_program")
            return replace(loaded, servers={**entries, name: own}), name
        return loaded, name
    started = compared(server, loaded.path)
    _check_apart(loaded, started)
    name = _named(server, started)
    while name in entries or name in loaded.problems:
        name += "-"
    return replace(loaded, servers={**entries, name: server}, ad_hoc=name), name


def _check_apart(loaded: Config, started: Server) -> None:
    """Raises `Refused` for one that may be a server with rules of its own, or that nobody can tell from it."""
    entries, enforces = loaded.servers, loaded.policy.enforces
    bound = {
        name: compared(entry, loaded.path) for name, entry in entries.items()
        if enforces or entry.bars_tools or not entry.enabled or name in loaded.elsewhere
    }  # fmt: skip
    for name in (*loaded.problems, *sorted(loaded.elsewhere - entries.keys())):
        if bound or enforces or _restricts(loaded, name):
            why = f"server '{name}' cannot be read, and this may be its program, whose rules are by its name"
            problem = loaded.problems.get(name, str(loaded.path))
            raise Refused(why, f"fix [servers.{name}]: {problem}", "same_program")
    if not bound:
        return
    own = reading(started)
    for name, entry in bound.items():
        its = reading(entry)
        if is_same_program(entry, started) or its.meets(own):
            hint = f"name its tools as {name}:TOOL; another entry of it is made with: mcpctl servers add"
            raise Refused(f"this is the program of server '{name}', whose rules are by its name", hint, "same_program")
        if not its.is_known:
            why = f"this may be the program of server '{name}', whose words are known only when it starts"
            raise Refused(why, f"set its variables, or write the program out in [servers.{name}]", "same_program")
    if not is_known(started):
        why = f"this may be the program of server '{next(iter(bound))}': its words are known only when it starts"
        raise Refused(why, "write them out, without $, `, * or ${cmd:…}", "same_program")


def _restricts(loaded: Config, name: str) -> bool:
    table = toml.loads(loaded.text).get("servers", {}).get(name) if loaded.text else None
    return isinstance(table, dict) and bool(table.keys() & {"tools", "only", "enabled", "projects"})


def _named(server: Server, started: Server) -> str:
    """A name for what is started alone, for a yes to one is none to another of the same file name or host."""
    last = min(names(server), key=len, default=server.command).strip("/").rpartition("/")[2]
    host = re.sub(r"(?i)https?://([^/?#@]*@)?", "", server.url).partition("/")[0]
    shown = re.sub(r"[^A-Za-z0-9]+", "-", host or last).strip("-")[:_LONGEST] or "server"
    identity = "\0".join((server.fingerprint, *sorted(names(started))))
    return f"{AD_HOC}{shown}-{hashlib.sha256(identity.encode()).hexdigest()[:_HASHED]}"


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
