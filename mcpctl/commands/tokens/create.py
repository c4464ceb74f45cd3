"""`mcpctl tokens create`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def create(
    name: str | None = opt.option("--name", "NAME", "The person that it is for: lists and counts then say so."),
    project: list[str] | None = opt.option(
        "--project",
        "NAME",
        "Only for servers of this project and of none; UNASSIGNED: only of none. May be given again.",
        complete.projects,
    ),
    server: list[str] | None = opt.option("--server", "NAME", "Only for this server; repeatable.", complete.servers),
    read_only: bool = opt.flag("--read-only", "Only for read-only tools, by the hints that apply."),
    expires: str | None = opt.option("--expires", "TIME", "Valid for 12h, 30d or 8w, or until 2026-12-31 begins."),
    *,
    place: opt.JsonLocation,
) -> None:
    """Make a token, and print it once; only its hash is kept. Only a person can, in a terminal.

    Give it to a client in MCPCTL_TOKEN, with serve --token-file, or in the _meta.token of a request. A token only
    restricts. The project is still chosen with --project or _meta.projectId. Tokens apply while a policy is enforced;
    with [policy] require_token, nothing is found or called without one. With serve --http they apply always, are sent
    as Authorization: Bearer, and one for a single project chooses that, unless the request names another.

    Examples:
      mcpctl tokens create --name ann --project shop
      mcpctl tokens create --project acme --expires 30d
      mcpctl tokens create --server github --read-only --json
    """
    import time

    from mcpctl import output
    from mcpctl.commands.confirmation import only_for_people
    from mcpctl.config import config as configuration
    from mcpctl.config.server_settings import UNASSIGNED
    from mcpctl.policy import tokens
    from mcpctl.policy.policy_file import PolicyFile

    only_for_people("make tokens")
    paths = place.paths()
    loaded = configuration.load(paths.config)
    for each in project or ():
        configuration.check_project(each, {*loaded.known_projects, UNASSIGNED}, paths.config)
    for each in server or ():
        if each not in loaded.problems:
            loaded.server(each)
    until = opt.moment(expires, time.time())
    with PolicyFile.connect(paths) as file:
        token, text = tokens.create(
            file, projects=project or (), servers=server or (), read_only=read_only, expires=until, name=name or ""
        )
    if place.json:
        row = {name: value for name, value in token.row(token.created).items() if name not in ("created", "state")}
        output.write_row({"id": token.id, "token": text, **row}, True, lambda: iter(()))
    else:
        output.write_text(text)
        output.say(f"token {token.id}, which is shown only now; revoke it with: mcpctl tokens revoke {token.id}")
    if not loaded.has_policy:
        where = f"[policy] in {paths.config}, with require_token = true"
        output.say(f"tokens count only with serve --http, or with a policy: write {where}")
