"""Which tools of long lists look like an attack, kept for the next process: to find that out takes seconds of CPU."""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from mcpctl import __version__
from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Tool
from mcpctl.base.paths import private_dir

_MOST = 32  # verdicts, each of one list beside those of other servers
_MOST_NAMES = 1_000
_MAX_BYTES = 4_000_000
_RULES = 1  # grows with the rules of `checks`: a verdict by others is none

_Verdicts = dict[str, list[str]]
Check = Callable[[Sequence[Tool], Mapping[str, Sequence[Tool]]], Collection[str]]


def suspicious(
    path: Path, tools: Sequence[Tool], servers: Mapping[str, Sequence[Tool]], check: Check
) -> Collection[str]:
    """The names of those that look like an attack on the model, beside all servers' tools, as `check` finds them."""
    mark = _mark(tools, servers)
    if (kept := _read(path).get(mark)) is not None:
        return frozenset(kept)
    names = check(tools, servers)
    if len(names) <= _MOST_NAMES:
        verdicts = list({**_read(path), mark: sorted(names)}.items())[-_MOST:]
        with contextlib.suppress(OSError, McpctlError):
            private_dir(path.parent)
            with files.beside(path) as (_, new):
                new.write_bytes(msgspec.json.encode(dict(verdicts)))
                new.replace(path)
    return names


def _read(path: Path) -> _Verdicts:
    try:
        return msgspec.json.decode(files.read(path, _MAX_BYTES), type=_Verdicts)
    except (McpctlError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _mark(tools: Sequence[Tool], servers: Mapping[str, Sequence[Tool]]) -> str:
    """A hash of all that a verdict is about: the tools, and what others are called and say of themselves."""
    digest = sha256(f"{__version__} {_RULES}".encode())
    own = ((tool.key, tool.text, tool.description) for tool in tools)
    others = ((tool.key, tool.description, "") for server in sorted(servers) for tool in servers[server])
    for texts in (*own, *others):
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()
