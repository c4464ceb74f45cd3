"""`mcpctl servers login`"""

from typing import Any

from mcpctl import output
from mcpctl.commands import options as opt


def login(
    name: opt.ServerName,
    scope: list[str] | None = opt.option("--scope", "S", "Ask for this, in place of the server's scopes."),
    client_id: str = opt.option("--client-id", "ID", "The client to log in as, in place of the entry's.", default=""),
    no_browser: bool = opt.flag("--no-browser", "Print the address, and ask for the one that it ends at."),
    *,
    place: opt.JsonLocation,
) -> None:
    """Log in to a server with a URL, in the browser. Its tokens are kept and refreshed from then on.

    Only a person at a terminal can. The server says where one logs in; mcpctl registers itself there, unless client_id
    in [servers.NAME.oauth] names a client of yours. Where no browser can be opened, as over SSH, or with --no-browser,
    the address is printed: open it anywhere, and paste the address that it ends at. With grant = "client_credentials"
    in the entry nobody is asked. mcpctl serve never logs in; a call to a server that needs it says so.

    Examples:
      mcpctl servers login linear
      mcpctl servers login github --no-browser --scope repo
    """
    import asyncio

    from mcpctl.commands import server_logins
    from mcpctl.commands.confirmation import only_for_people
    from mcpctl.config import config as configuration
    from mcpctl.config.server_settings import CLIENT_CREDENTIALS
    from mcpctl.store import clock

    paths = place.paths()
    where = server_logins.place(paths, name)
    if not where.oauth or where.oauth.grant != CLIENT_CREDENTIALS:
        only_for_people("log in")
    server_logins.can_keep(paths)
    from mcpctl.oauth.login import Wish, log_in  # with the SDK, 0.7 s

    wish = Wish(name, scope or (), client_id, in_browser=not no_browser)
    logged_in = asyncio.run(log_in(where, configuration.load(paths.config).oauth, wish, _tell))
    row: dict[str, Any] = {"server": name, **dict.fromkeys(("issuer", "scopes", "expires_at", "registration"))}
    if logged_in is None:
        output.say(f"'{name}' needs no login", always=True)
    else:
        tokens = logged_in.tokens
        server_logins.keep(paths, tokens)
        output.say(f"logged in to '{name}' at {tokens.issuer}", always=True)
        server_logins.say_works(paths, name)
        row |= {
            "issuer": tokens.issuer, "scopes": tokens.scopes.split(), "registration": logged_in.registration,
            "expires_at": None if tokens.expires_at is None else clock.iso(tokens.expires_at),
        }  # fmt: skip
    output.write_done(place.json, lambda: row, name)


def _tell(text: str) -> None:

    for line in text.splitlines():
        output.say(line, always=True)
