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


class KeptVerdicts:
    def __init__(self, path: Path, check: Check) -> None:
        """`check` finds the suspicious ones of some tools beside those of all servers."""
        self._path = path
        self._check = check

    def suspicious(self, tools: Sequence[Tool], servers: Mapping[str, Sequence[Tool]]) -> Collection[str]:
        """The names of those that look like an attack on the model, beside all servers' tools."""
        mark = _mark(tools, servers)
        if (kept := self._read().get(mark)) is not None:
            return frozenset(kept)
        names = self._check(tools, servers)
        if len(names) <= _MOST_NAMES:
            self._keep(mark, names)
        return names

    def _read(self) -> _Verdicts:
        try:
            return msgspec.json.decode(files.read(self._path, _MAX_BYTES), type=_Verdicts)
        except (McpctlError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}

    def _keep(self, mark: str, names: Collection[str]) -> None:
        verdicts = list({**self._read(), mark: sorted(names)}.items())[-_MOST:]
        with contextlib.suppress(OSError, McpctlError):
            private_dir(self._path.parent)
            with files.beside(self._path) as (_, new):
                new.write_bytes(msgspec.json.encode(dict(verdicts)))
                new.replace(self._path)


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
