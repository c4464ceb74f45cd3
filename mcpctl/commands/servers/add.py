"""`mcpctl servers add`"""

from contextlib import nullcontext
from typing import Annotated

from mcpctl.commands import options as opt
from mcpctl.commands import registry_servers, server_options


def add(
    name: Annotated[str, opt.argument("NAME", "The server's name, or io.github.x/y in the registry.")],
    command: server_options.Command = None,
    *,
    entry: server_options.EntryOptions,
    published: registry_servers.RegistryOptions,
    dry_run: bool = opt.DRY_RUN,
    no_check: bool = opt.NO_CHECK,
    place: opt.ChangeOptions,
) -> None:
    """Add a server to config.toml. The comments and the order of a hand-written file stay.

    A server is a command that speaks MCP on stdin and stdout, or a URL. A command gets few variables of the environment
    of mcpctl, such as HOME and PATH; name others with --env, --env-file or --inherit-env. A URL without headers is
    asked, for 3 seconds at most, whether it needs a login.

    With --openapi, it is an HTTP API, and each operation of the document is a tool: see mcpctl help openapi-guide. The
    document is read, also for --dry-run, and later again by tools refresh and by servers set; --url is the address
    before its paths, where the document does not name it.

    A name with a slash is that of a server in the registry, as servers search lists it, or NAME@VERSION; its version is
    exact, npx or uvx runs its package, and nothing that the registry says is expanded. On a terminal you choose among
    its packages and addresses, give the values that it needs, a secret as ${VAR} or ${cmd:COMMAND}, and say yes to the
    entry that is shown. Elsewhere --use, --env, --header and --input do that, and --yes writes it.

    Examples:
      mcpctl servers add time -- uvx mcp-server-time
      mcpctl servers add linear --project acme --url https://mcp.linear.app/mcp
      mcpctl servers add github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' -- npx -y @modelcontextprotocol/server-github
      mcpctl servers add acme --url https://acme.example/mcp --header 'Authorization=Bearer ${ACME_TOKEN}'
      mcpctl servers add shop --openapi https://shop.example/openapi.json --auth 'bearerAuth=${SHOP_TOKEN}'
      mcpctl servers add io.github.brave/brave-search-mcp-server --dry-run
    """
    from mcpctl import output, servers
    from mcpctl.base.errors import warn
    from mcpctl.commands import http_apis, server_logins
    from mcpctl.config import editing

    server_options.check_no_file([name, *(command or [])])
    paths = place.paths(creates=True)
    taken = published.taken(name, entry, command or [], paths, dry=dry_run, json=place.json)
    if taken is None:
        server_options.check_program(command or [], f"mcpctl servers add {name}")
        given = entry.given(command or [])
    else:
        name, given = taken.name, taken.entry(entry.given([]))
    if entry.openapi:
        given["openapi"] = http_apis.place_of(entry.openapi, paths.config)
    server_options.warn_of_secrets(given)
    if entry.url and not entry.openapi:
        server_options.warn_of_document(name, entry.url)
    table = editing.entry(given)
    addition = editing.addition(name, table)
    before, after = editing.edited(paths.config, addition)
    api = http_apis.edit_of(paths, name, before, after) if entry.openapi else None
    if dry_run:
        if api:
            api.show()
        place.preview(paths, name, before, after)
        return
    if taken:
        taken.confirm()
    gate = place.gate(paths)
    with api.read_first(gate) if api else nullcontext():
        editing.edit(paths.config, addition, gate.config)
    if remark := servers.remark(paths.config, name):
        warn(f"{name}: {remark}")
    output.write_done(place.json, lambda: servers.show(paths, name), name)
    output.say(f"added to {paths.config}")
    if not entry.openapi and (no_check or not server_logins.say_needed(paths, [name])):
        output.say(f"list its tools with: mcpctl tools refresh {name}")
