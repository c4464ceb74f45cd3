"""`mcpctl servers set`"""

from contextlib import nullcontext

from mcpctl.commands import options as opt
from mcpctl.commands import server_options


def set(
    name: opt.ServerName,
    words: server_options.Command = None,
    program: str | None = opt.option("--command", "PROGRAM", "Its program; its arguments stay as they are."),
    args: list[str] | None = opt.option("--arg", "ARG", "An argument, in place of all that it has."),
    *,
    entry: server_options.EntryOptions,
    unset: list[str] | None = opt.option("--unset", "FIELD", "Take out a field first, such as cwd or env.NAME."),
    dry_run: bool = opt.DRY_RUN,
    place: opt.ChangeOptions,
) -> None:
    """Change a server's entry in config.toml. All other fields, comments and order stay.

    A command after -- replaces the program and its arguments. --env, --header, --oauth, --auth and --deny add to the
    entry; --arg, --project, --only, --include, --exclude and --inherit-env replace all of theirs. --unset takes the
    names of config.toml, as servers show --json has them. An entry that would be unusable is not written. Only a person
    at a terminal can have tools called without a question that could not be before; elsewhere it needs --from-script.

    Where the tools of an HTTP API may differ by the change, its document is read again before anything is written.

    Examples:
      mcpctl servers set github --env 'GITHUB_TOKEN=${GITHUB_TOKEN}' --unset env_file
      mcpctl servers set github --only 'get_*' --only 'list_*' --dry-run
      mcpctl servers set time -- uvx mcp-server-time --local-timezone Europe/Oslo
      mcpctl servers set acme --unset command --unset inherit_env --url https://acme.example/mcp
    """
    from mcpctl import output, servers
    from mcpctl.base.errors import WrongUsage, warn
    from mcpctl.commands import http_apis
    from mcpctl.config import editing

    if words and (program or args):
        raise WrongUsage("a command after -- and --command or --arg contradict each other", "give one of them")
    to_url = "--unset command --unset args --unset inherit_env --url"
    server_options.check_program(words or [program or ""], f"mcpctl servers set {name}", to_url)
    given = entry.given(words or [program or "", *(args or [])])
    paths = place.paths()
    path = paths.config
    if entry.openapi:
        given["openapi"] = http_apis.place_of(entry.openapi, path)
    server_options.warn_of_secrets(given)
    change = servers.set_fields(path, name, given, [*(unset or []), *(["args"] if words else [])])
    before, after = editing.edited(path, change)
    api = http_apis.edit_of(paths, name, before, after)
    if dry_run:
        if api and api.makes_tools:
            api.show()
        place.preview(paths, name, before, after)
        return
    gate = place.gate(paths)
    with api.read_first(gate) if api else nullcontext():
        editing.edit(path, change, gate.config)
    if remark := servers.remark(path, name):
        warn(f"{name}: {remark}")
    output.write_done(place.json, lambda: servers.show(paths, name), name)
    output.say(f"written to {path}" if before != after else f"nothing to change in {path}")
