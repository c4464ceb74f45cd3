"""The change that an import would make to config.toml, with secrets masked."""

import difflib
import os
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from mcpctl import server_entries
from mcpctl.store.redact import mask, mask_shapes

_BEFORE_COMMENT = re.compile(r"""(?:[^"'#]|"(?:\\.|[^"\\])*+"|'[^']*+')*+""")


def diff(path: Path, choose: server_entries.Merge) -> list[str]:
    """The change that `server_entries.merge` would make, as a unified diff with secrets masked; writes nothing."""
    return between(path, *server_entries.merged(path, choose))


def between(path: Path, before: str, after: str) -> list[str]:
    """The difference of two texts of a config.toml, as a unified diff with secrets masked."""
    old, new = (_masked(text).splitlines() for text in (before, after))
    return list(difflib.unified_diff(old, new, str(path) if before else os.devnull, str(path), lineterm=""))


def _masked(text: str) -> str:
    """The text of a config.toml, comments and order included, with its secrets masked."""
    import tomlkit

    document = tomlkit.parse(text)
    for server in document.get("servers", {}).values():
        for holder, key, masked_value in _shown(server) if isinstance(server, MutableMapping) else ():
            # A value without a secret keeps the way it is written.
            if holder[key] != masked_value:
                holder[key] = masked_value
    # The values are masked; a token in a comment, or under a key that mcpctl does not know, is a secret too.
    masked = mask_shapes(tomlkit.dumps(document))
    return "".join(map(_without_token, masked.splitlines(keepends=True)))


def _without_token(line: str) -> str:
    """A line with its comment masked. In a string of several lines, the comment may be after the last quote."""
    code = _BEFORE_COMMENT.match(line)
    end = code.end() if code else 0
    if line[end : end + 1] in ('"', "'"):
        end = max(line.rfind('"'), line.rfind("'")) + 1
    start = line.find("#", end)
    return line if start < 0 else line[:start] + mask(line[start:])


def _shown(server: Any) -> Iterator[tuple[Any, Any, str]]:
    """Each text of an entry that may hold a secret: its container, its key there, and the masked text."""
    for key, text in (("command", mask), ("url", server_entries.masked_url)):
        if isinstance(server.get(key), str):
            yield server, key, text(server[key])
    for key, value_of in (("env", server_entries.masked), ("headers", server_entries.masked_header)):
        table = server.get(key)
        for name, value in list(table.items()) if isinstance(table, MutableMapping) else ():
            yield table, name, value_of(str(value))
    args = server.get("args")
    if isinstance(args, list):
        for number, masked_value in enumerate(server_entries.masked_args([str(arg) for arg in args])):
            yield args, number, masked_value
