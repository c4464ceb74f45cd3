"""Tools in a file, one JSON object a line: written by `tools export`, read where a catalog takes the servers' place."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import Unusable
from mcpctl.base.models import Tool
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog

_TOOL = 'a line is {"server": "…", "tool": {"name": "…", …as its server lists it}}; mcpctl tools export prints them'


def written(catalog: Catalog, wanted: rows.Wanted) -> Iterator[bytes]:
    """The tools that may be found, one JSON line each, as their servers sent them."""
    for server in wanted.servers:
        catalog.config.server(server)
    for tool in catalog.visible():
        if wanted.met_by(tool):
            # Some servers indent what they send, and a line is one tool.
            compact = msgspec.json.format(tool.text.encode(), indent=-1)
            yield msgspec.json.encode({"server": tool.server, "tool": msgspec.Raw(compact)})


def tools(path: Path) -> Iterator[Tool]:
    """The tools of a file; raises `NotFound` and `Unusable`, with the line."""
    return (tool for _, tool in numbered(path))


def numbered(path: Path) -> Iterator[tuple[int, Tool]]:
    """The tools of a file with their lines; raises `NotFound` and `Unusable`, with the line."""
    for where, said, text in lines(path, _TOOL):
        server, definition = said.get("server"), said.get("tool")
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(server, str) or not isinstance(name, str) or not isinstance(definition, dict):
            raise wrong(where, _TOOL)
        yield int(where.rpartition(":")[2]), Tool(server, name, definition, text)


def lines(path: Path, form: str) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """The JSON objects of a file that has one a line: where each is, what it says, and its text.

    Raises `NotFound`, and `Unusable` with the line and the `form` that it should have.
    """
    data = files.read(path, files.MAX_LARGE_BYTES).removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            said = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise wrong(where, form) from error
        if not isinstance(said, dict):
            raise wrong(where, form)
        yield where, said, line.decode("utf-8", "replace")


def wrong(where: str, form: str) -> Unusable:
    """The failure of a line that has another form."""
    return Unusable(f"{where}: not as it should be", form, "line_wrong")
