"""The changes that an import or an installation would make, with secrets masked."""

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from mcpctl import jsonc
from mcpctl.clients.client_config import NAME, SHOWN
from mcpctl.clients.client_files import members
from mcpctl.config import entry_secrets
from mcpctl.jsonc import edit as json_edit
from mcpctl.secrets.redact import is_secret_name, mask, mask_shapes

_BEFORE_COMMENT = re.compile(r"""(?:[^"'#]|"(?:\\.|[^"\\])*+"|'[^']*+')*+""")
_HUNK = re.compile(r"@@ -(\d+)(\S*) \+(\d+)(\S*) @@")
_CONTEXT = 3
_LONGEST = 1000  # some clients write all on one line


def between(path: Path, before: str, after: str) -> list[str]:
    return _unified(path, _masked(before, "servers"), _masked(after, "servers"))


def of_client(path: Path, before: str, after: str, sections: list[tuple[str, ...]]) -> list[str]:
    if path.suffix == ".toml":
        texts = [_masked(text, "mcp_servers") for text in (before, after)]
    else:
        texts = [_masked_json(text, sections) for text in (before, after)]
    return [mask(line)[:_LONGEST] for line in _unified(path, *texts)]


def _unified(path: Path, before: str, after: str) -> list[str]:
    """A unified diff; only what is between the first and the last difference is compared."""
    old, new = before.splitlines(), after.splitlines()
    head = max(alike(old, new) - _CONTEXT, 0)
    tail = max(alike(old[head:][::-1], new[head:][::-1]) - _CONTEXT, 0)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    lines = difflib.unified_diff(old, new, str(path) if before else os.devnull, str(path), lineterm="")

    def moved(match: re.Match[str]) -> str:
        return f"@@ -{int(match[1]) + head}{match[2]} +{int(match[3]) + head}{match[4]} @@"

    return [_HUNK.sub(moved, line) if line.startswith("@@") else line for line in lines]


def alike(old: list[str], new: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _masked(text: str, section: str) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    servers = document.get(section)
    for name, server in servers.items() if isinstance(servers, MutableMapping) else ():
        for place, masked_value in _shown(name, server) if isinstance(server, MutableMapping) else ():
            holder: Any = server
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = masked_value
    # The values are masked; a token in a comment, or under a key that mcpctl does not know, is a secret too.
    masked = mask_shapes(tomlkit.dumps(document))
    return "".join(map(_without_token, masked.splitlines(keepends=True)))


def _masked_json(text: str, sections: list[tuple[str, ...]]) -> str:
    if not text.strip():
        return text
    document = jsonc.decoded(text.encode())
    masked: dict[tuple[str | int, ...], str] = {}
    for section in sections:
        servers = document
        for key in section:
            servers = members(servers).get(key)
        for name, server in members(servers).items():
            masked.update({(*section, name, *place): value for place, value in _shown(name, members(server))})
    return json_edit.replaced(text, masked)


def _without_token(line: str) -> str:
    code = _BEFORE_COMMENT.match(line)
    end = code.end() if code else 0
    if line[end : end + 1] in ('"', "'"):
        end = max(line.rfind('"'), line.rfind("'")) + 1
    start = line.find("#", end)
    return line if start < 0 else line[:start] + mask(line[start:])


_TEXTS: Mapping[str, Callable[[str], str]] = {
    "command": mask, "url": entry_secrets.masked_url, "serverUrl": entry_secrets.masked_url,
    "httpUrl": entry_secrets.masked_url,
}  # fmt: skip
_TABLES: Mapping[str, Callable[[str], str]] = {
    "env": entry_secrets.masked, "environment": entry_secrets.masked, "headers": entry_secrets.masked_header,
    "http_headers": entry_secrets.masked_header,
}  # fmt: skip


def _shown(server: str, entry: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The place of each text of an entry with a secret, and the masked text; others keep the way they are written."""
    for key, value in entry.items():
        texts: Iterable[tuple[tuple[str | int, ...], Any, str]] = ()
        if key in _TEXTS and isinstance(value, str):
            texts = [((key,), value, _TEXTS[key](value))]
        elif key in _TABLES and isinstance(value, Mapping):
            open_names = SHOWN if server == NAME else ()
            texts = [((key, name), text, _TABLES[key](str(text))) for name, text in value.items()
                     if name not in open_names]  # fmt: skip
        elif key == "oauth" and isinstance(value, Mapping):
            texts = [((key, name), value[name], entry_secrets.masked(str(value[name])))
                     for name in ("client_secret",) if name in value]  # fmt: skip
        elif key in ("auth", "parameters") and isinstance(value, Mapping):
            texts = _of_api(key, value)
        elif key in ("command", "args") and isinstance(value, list):
            masked = entry_secrets.masked_args([str(arg) for arg in value])
            texts = [((key, number), *pair) for number, pair in enumerate(zip(value, masked, strict=True))]
        elif key == "command" and isinstance(value, Mapping):  # an older Zed's
            yield from (((key, *place), text) for place, text in _shown(server, value))
        yield from ((place, text) for place, old, text in texts if str(old) != text)


def _of_api(key: str, table: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any, str]]:
    for name, value in table.items():
        if key == "auth" and isinstance(value, Mapping):
            secret = value.get("client_secret", "")
            yield (key, name, "client_secret"), secret, entry_secrets.masked(str(secret)) if secret else secret
        elif key == "auth" or is_secret_name(name):
            yield (key, name), value, entry_secrets.masked(str(value))
