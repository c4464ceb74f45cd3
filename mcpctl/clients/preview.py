"""What an import would change in config.toml, as people may see it."""

import difflib
import os
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

from mcpctl import server_entries
from mcpctl.store.redact import mask, mask_shapes

_BEFORE_COMMENT = re.compile(r"""(?:[^"'#]|"(?:\\.|[^"\\])*+"|'[^']*+')*+""")


def changes(path: Path, chosen: server_entries.Merge) -> list[str]:
    """What `servers.merge` would change, as a unified diff with secrets masked; nothing is written."""
    before, after = server_entries.merged(path, chosen)
    old, new = (_masked(text).splitlines() for text in (before, after))
    return list(difflib.unified_diff(old, new, str(path) if before else os.devnull, str(path), lineterm=""))


def _masked(text: str) -> str:
    """The text of a config.toml with its comments and its order, but no secret."""
    import tomlkit

    document = tomlkit.parse(text)
    for server in document.get("servers", {}).values():
        for holder, key, shown in _shown(server) if isinstance(server, MutableMapping) else ():
            # What shows as it is stays as it is written.
            if holder[key] != shown:
                holder[key] = shown
    # What a value shows is decided; a token in a comment, or under a key that is none of ours, is no less a secret.
    shown = mask_shapes(tomlkit.dumps(document))
    return "".join(map(_without_token, shown.splitlines(keepends=True)))


def _without_token(line: str) -> str:
    """A line with its comment masked; where a string goes on in other lines, what may be one behind the last quote."""
    before = _BEFORE_COMMENT.match(line)
    after = before.end() if before else 0
    if line[after : after + 1] in ('"', "'"):
        after = max(line.rfind('"'), line.rfind("'")) + 1
    begins = line.find("#", after)
    return line if begins < 0 else line[:begins] + mask(line[begins:])


def _shown(server: Any) -> Iterator[tuple[Any, Any, str]]:
    """Each text of an entry that may hold a secret: what holds it, where, and how it is shown."""
    for key, text in (("command", mask), ("url", server_entries.masked_url)):
        if isinstance(server.get(key), str):
            yield server, key, text(server[key])
    for key, value_of in (("env", server_entries.masked), ("headers", server_entries.masked_header)):
        table = server.get(key)
        for name, value in list(table.items()) if isinstance(table, MutableMapping) else ():
            yield table, name, value_of(str(value))
    args = server.get("args")
    if isinstance(args, list):
        for number, shown in enumerate(server_entries.masked_args([str(arg) for arg in args])):
            yield args, number, shown
