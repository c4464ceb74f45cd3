"""`mcpctl tools lock`"""

from pathlib import Path

from mcpctl.commands import options as opt


def lock(
    file: Path | None = opt.argument("[FILE]", "The lock file; mcpctl.lock.json in this folder.", default=None),
    with_held: bool = opt.flag("--with-held", "Lock the tools that are held, too, as they are."),
    json: bool = opt.JSON,
    *,
    place: opt.ProjectLocation,
) -> None:
    """Write a lock file of all tools, for a repository. It has those of the servers in use as they were last listed,
    one tool a line.

    It has their definitions with a hash, no secrets and no commands. mcpctl tools diff --lock FILE shows changes since
    in CI, and mcpctl serve --locked FILE holds every other tool. Written again without a change, it stays the same. If
    tools are held, nothing is written: approve them first. A file that is not a lock file is not replaced, nor the
    target of a link that leads out of the repository.

    Examples:
      mcpctl tools lock
      mcpctl tools lock --project acme tools/mcpctl.lock.json
    """
    from mcpctl import output
    from mcpctl.base.errors import Refused, WrongUsage
    from mcpctl.base.texts import counted
    from mcpctl.catalog import lock_file, rows

    path = file or lock_file.DEFAULT
    with rows.catalog(place.paths(), project=place.project) as catalog:
        if path.suffix != ".json":
            hint = f"name the file, such as: mcpctl tools lock {path}.json"
            if path.name in catalog.config.servers:
                hint = "it takes no servers: it locks the tools of all that are in use; mcpctl tools lock"
            raise WrongUsage(f"the name of a lock file ends in .json, and '{path}' does not", hint, "not_a_lock_file")
        held = [tool for tool in catalog.known() if tool.held] if catalog.config.policy.enforces else []
        if held and not with_held:
            hint = "look at them with: mcpctl tools diff, and approve them; or lock them as they are with --with-held"
            are = "is" if len(held) == 1 else "are"
            raise Refused(f"{counted(len(held), 'tool')} of those to be locked {are} held", hint, "tools_held")
        was_written = lock_file.write(path, catalog)
        number = len(catalog.known())
    output.write_done(json, lambda: {"path": str(path), "tools": number, "written": was_written})
    what = counted(number, "tool")
    output.say(f"wrote {path}: {what}" if was_written else f"{path} has {what}, as before")
