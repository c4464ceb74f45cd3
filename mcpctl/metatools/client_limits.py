"""Limits that clients are known to have on the tools that they are shown directly: how many, and how long a name is.

Sources are public threads: of Cursor, Snowflake-Labs/mcp#77 (80 tools of all servers together) and
ComposioHQ/composio#2788 (fewer than 60 characters in the names of server and tool together); of VS Code,
postmanlabs/postman-mcp-server#26; of Claude, sparfenyuk/mcp-proxy#45 (64 with `mcp__SERVER__` before the tool's).
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

_ENTRY = "mcpctl"  # the usual name of the client's entry
_NAMED = 3


class ClientLimit(NamedTuple):
    title: str
    tools: int | None = None  # the most of all servers together; None where no limit is known
    name: int | None = None  # the most characters of a tool's name here

    def problems(self, names: Collection[str]) -> Iterator[str]:
        """Each thing that is too much, in a sentence; names are ours, and safe to show."""
        if self.tools is not None and len(names) > self.tools:
            yield f"{self.title} takes {self.tools} tools of all servers together, and {len(names)} are shown directly"
        if self.name is not None and (long := [name for name in names if len(name) > self.name]):
            which = ", ".join(long[:_NAMED]) + (", …" if len(long) > _NAMED else "")
            yield f"{self.title} may leave out tools whose names have more than {self.name} characters here: {which}"


_CURSOR = ClientLimit("Cursor", 80, 59 - len(_ENTRY))
_CODE = ClientLimit("VS Code", 128)
_CLAUDE_CODE = ClientLimit("Claude Code", None, 64 - len(f"mcp__{_ENTRY}__"))
_CLAUDE_DESKTOP = ClientLimit("Claude Desktop", None, 64 - len(f"mcp__{_ENTRY}__"))
_WINDSURF = ClientLimit("Windsurf", 100)
OF_ENTRIES: Mapping[str, ClientLimit] = {  # by the names of `clients.client_kinds`
    "cursor": _CURSOR, "vscode": _CODE, "claude-code": _CLAUDE_CODE, "claude-desktop": _CLAUDE_DESKTOP,
    "windsurf": _WINDSURF,
}  # fmt: skip
_OF_NAMES: Mapping[str, ClientLimit] = {  # by the names that clients have for themselves, in lower case
    "cursor-vscode": _CURSOR, "visual studio code": _CODE, "visual-studio-code": _CODE, "claude-code": _CLAUDE_CODE,
    "claude-ai": _CLAUDE_DESKTOP, "windsurf-client": _WINDSURF,
}  # fmt: skip


def problems_of(client: str | None, names: Collection[str]) -> Iterator[str]:
    """Each thing that is too much for a client of this name; nothing where its limits are not known."""
    if limit := _OF_NAMES.get((client or "").lower()):
        yield from limit.problems(names)
