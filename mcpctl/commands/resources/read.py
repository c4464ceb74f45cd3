"""`mcpctl resources read`"""

import sys

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def read(
    uri: str = opt.argument("URI", "The URI, or mcpctl+SERVER:URI.", complete.resources),
    server: str | None = opt.option("--server", "NAME", "Read it from this server.", complete.servers),
    timeout: float | None = opt.TIMEOUT,
    json: bool = opt.JSON,
    *,
    place: opt.ProjectLocation,
) -> None:
    """Read a resource, and print it.

    A pipe gets texts as they are, and bytes decoded; a terminal gets texts without control characters, and no bytes.
    --json prints the result exactly as the server sent it. The URI goes to one server alone: to the one that lists it,
    that has a template for it, where no other lists anything, or that lists others of its scheme. The record says that
    the resource was read, without its content.

    Examples:
      mcpctl resources read demo://resource/static/document/architecture.md
      mcpctl resources read file:///logo.png --server files > logo.png
      mcpctl resources read mcpctl+docs:guide://start --json
    """
    from mcpctl import output
    from mcpctl.calling import one_shot
    from mcpctl.output import contents

    result = one_shot.resource(place.paths(), uri, server, timeout, place.project)
    if json or sys.stdout.isatty():
        output.write_row(result, json, lambda: contents.resource(result))
    else:
        output.write_bytes(contents.bytes_of(result))
