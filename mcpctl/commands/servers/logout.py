"""`mcpctl servers logout`"""

from mcpctl.commands import options as opt


def logout(name: opt.ServerName, place: opt.JsonLocation) -> None:
    """Delete the login to a server. Its issuer takes the tokens back if it can.

    Example:
      mcpctl servers logout linear
    """
    import asyncio

    from mcpctl import output
    from mcpctl.base.errors import NotFound, warn
    from mcpctl.commands import server_logins
    from mcpctl.oauth.token_store import TokenStore

    paths = place.paths()
    where, store = server_logins.place(paths, name), TokenStore(paths)
    if (kept := store.find(where.url, secrets=False)) is None:
        raise NotFound(f"nobody is logged in to '{name}'", f"log in with: mcpctl servers login {name}", "not_logged_in")
    from mcpctl.oauth.login import revoke  # with the SDK, 0.7 s

    was_revoked = asyncio.run(revoke(where, store))
    store.forget(where.url)
    server_logins.remember_needed(paths, [name])
    output.write_done(place.json, lambda: {"server": name, "issuer": kept.issuer, "revoked": was_revoked}, name)
    output.say(f"logged out of '{name}'")
    if not was_revoked:
        warn(f"{kept.issuer} did not take the tokens back: until they expire, they are good for whoever has them")
