"""Logins to servers: their addresses, and the messages where one is needed."""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpctl import output
from mcpctl.base.errors import UpstreamFailed, WrongUsage
from mcpctl.base.feature_names import EXPOSABLE
from mcpctl.base.paths import Paths
from mcpctl.base.texts import counted
from mcpctl.config import config
from mcpctl.config.server_environment import CannotLaunch, Endpoint, endpoint
from mcpctl.config.server_settings import OPENAPI, STDIO

if TYPE_CHECKING:
    from mcpctl.oauth.tokens import Tokens

_PROBE_S = 3.0


def place(paths: Paths, name: str) -> Endpoint:
    """The address of a server that one can log in to; raises `NotFound`, `WrongUsage` or `CannotLaunch`."""
    server = config.load(paths.config).server(name)
    if server.kind == STDIO:
        raise WrongUsage(f"server '{name}' is a command, and logs in by itself", "see its own documentation", "no_url")
    if server.kind == OPENAPI:
        hint = f"give it its credentials: mcpctl servers set {name} --auth 'SCHEME=${{TOKEN}}'"
        raise WrongUsage(f"server '{name}' is an HTTP API, which nobody logs in to", hint, "no_login")
    if server.has_token:
        hint = f"to log in instead, first: mcpctl servers set {name} --unset headers.Authorization"
        raise WrongUsage(f"the entry of '{name}' has the header Authorization already", hint, "has_token")
    return endpoint(server, paths.config)


def can_keep(paths: Paths) -> None:
    """Raise `McpctlError` where a new login could not be kept, so that nobody logs in for nothing."""
    if config.load(paths.config).oauth.store == "keyring":
        from mcpctl.oauth.token_store import check_keyring

        check_keyring()


def keep(paths: Paths, tokens: "Tokens") -> None:
    from mcpctl.oauth.token_store import TokenStore

    store = TokenStore(paths, in_keyring=config.load(paths.config).oauth.store == "keyring")
    before = store.find(tokens.server_url, secrets=False)
    store.keep(tokens)
    if before and before.issuer != tokens.issuer:
        store.forget(before.server_url, before.issuer)


def remember_needed(paths: Paths, names: Sequence[str]) -> None:
    """Have lists of servers say of these that they need a login, until they work. It never fails."""
    from mcpctl.base.failure import Failure
    from mcpctl.policy import words
    from mcpctl.store.state import State, StateError

    servers = config.load(paths.config).servers
    with contextlib.suppress(StateError), State.opened(paths, create=True) as state:
        for name in names:
            needed = words.in_brief(Failure("needs_login", {"server": name}))
            state.remember_failure(name, servers[name].fingerprint, needed, "needs_login")


def say_needed(paths: Paths, names: Sequence[str]) -> list[str]:
    """Ask these servers that have a URL and no headers, for 3 s at most, and say which need a login. It never fails."""
    servers = config.load(paths.config).servers if names else {}
    endpoints: dict[str, Endpoint] = {}
    for name in names:
        if (server := servers.get(name)) and server.kind not in (STDIO, OPENAPI) and not server.headers:
            with contextlib.suppress(CannotLaunch):  # its variables may be set where it is used
                endpoints[name] = endpoint(server, paths.config)
    if not endpoints:
        return []
    from mcpctl.oauth.requests import needing_login
    from mcpctl.oauth.token_store import TokenStore

    store = TokenStore(paths)
    needing = needing_login(endpoints, _PROBE_S)
    without = [name for name in needing if store.find(endpoints[name].url, secrets=False) is None]
    if without:
        remember_needed(paths, without)
    for name in without:
        output.say(f"'{name}' needs a login: mcpctl servers login {name}", always=True)
    return without


def say_works(paths: Paths, name: str) -> None:
    """Connect to a server and say what it lists; raises `UpstreamFailed` where it cannot be used."""
    from mcpctl.calling.server_check import check

    row, *_ = check(paths, [name], None, lambda *_: None)
    if row["status"] == "failed":
        raise UpstreamFailed("\n".join(row["problems"]), f"the login is kept; see: mcpctl servers check {name}")
    listed = [counted(row[kind] or 0, kind[:-1]) for kind in ("tools", *EXPOSABLE) if row[kind] or kind == "tools"]
    output.say(f"it lists {', '.join(listed)}", always=True)
