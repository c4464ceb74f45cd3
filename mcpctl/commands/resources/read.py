"""`mcpctl resources read`"""

import sys
from typing import Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands import options as opt

Uri = Annotated[
    str, typer.Argument(metavar="URI", help="The URI, or mcpctl+SERVER:URI.", autocompletion=complete.resources)
]
Server = Annotated[
    str | None,
    typer.Option("--server", metavar="NAME", help="Read it from this server.", show_default=False,
                 autocompletion=complete.servers),
]  # fmt: skip


def read(
    uri: Uri,
    server: Server = None,
    timeout: opt.Timeout = None,
    json: opt.Json = False,
    project: opt.Project = None,
    config: opt.ConfigFile = None,
    data_dir: opt.DataDir = None,
) -> None:
    """Read a resource from the server whose URI it is, and print it.

    A pipe gets texts as they are, and bytes decoded; a terminal gets texts without what could command it, and no bytes.
    --json prints the result exactly as the server sent it. The URI goes to one server alone: to the one that lists it,
    that has a template for it, where no other lists anything, or that lists others of its scheme. That it was read is
    on record, without its content.

    \b
    Examples:
      mcpctl resources read demo://resource/static/document/architecture.md
      mcpctl resources read file:///logo.png --server files > logo.png
      mcpctl resources read mcpctl+docs:guide://start --json
    """
    from mcpctl import output
    from mcpctl.output import features
    from mcpctl.proxy import one_read

    result = one_read.resource(opt.paths(config, data_dir), uri, server, timeout, project)
    if json or sys.stdout.isatty():
        output.write_row(result, json, lambda: features.resource(result))
    else:
        output.write_bytes(features.bytes_of(result))
