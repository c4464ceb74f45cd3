"""`mcpctl tools lock`"""

from pathlib import Path
from typing import Annotated

import typer

from mcpctl.commands import options as opt

File = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="The lock file; mcpctl.lock.json in this folder.", show_default=False),
]
WithHeld = Annotated[bool, typer.Option("--with-held", help="Lock the tools that are held, too, as they are.")]


def lock(
    file: File = None,
    with_held: WithHeld = False,
    json: opt.Json = False,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Write a lock file for a repository: the tools of the servers in use as they were last listed, one tool a line.

    It has their definitions with a hash, no secrets and no commands. mcpctl tools diff --lock FILE tells in CI what
    changed since, and mcpctl serve --locked FILE holds whatever is not in it. Written again, it stays as it is where
    nothing changed. Where tools are held, nothing is written: approve them first. A file that is not a lock file is
    not replaced, nor what a link leads to outside of the repository.

    \b
    Examples:
      mcpctl tools lock
      mcpctl tools lock --project acme tools/mcpctl.lock.json
    """
    from mcpctl import output
    from mcpctl.catalog import lock_file, rows
    from mcpctl.commands.tools import locking
    from mcpctl.plurals import counted

    path = file or lock_file.DEFAULT
    with rows.catalog(opt.paths(config, data_dir), project=project) as catalog:
        locking.check(catalog, path, with_held=with_held)
        was_written = lock_file.write(path, catalog)
        number = len(catalog.known())
    output.write_done(json, lambda: {"path": str(path), "tools": number, "written": was_written})
    what = counted(number, "tool")
    output.say(f"wrote {path}: {what}" if was_written else f"{path} has {what}, as before")
