"""Limits that clients are known to have on the tools that they are shown directly: how many, and how long a name is.

Sources are public threads: of Cursor, Snowflake-Labs/mcp#77 (80 tools of all servers together) and
ComposioHQ/composio#2788 (fewer than 60 characters in the names of server and tool together); of VS Code,
postmanlabs/postman-mcp-server#26; of Claude, sparfenyuk/mcp-proxy#45 (64 with `mcp__SERVER__` before the tool's).
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

_ENTRY = "mcpctl"  # the usual name of the client's entry
_NAMED = 3


class ClientLimit(NamedTuple):
    title: str
    tools: int | None = None  # the most of all servers together; None where no limit is known
    name: int | None = None  # the most characters of a tool's name here

    def problems(self, names: Collection[str], own: int) -> dict[str, str]:
        """Each thing that is too much of these tools and as many of our `own`, in a sentence, by its kind. Names are
        ours, and safe to show."""
        problems, shown = {}, len(names) + own
        if self.tools is not None and shown > self.tools:
            problems["tools"] = f"{self.title} takes {self.tools} tools of all servers together, and {shown} are shown"
        if self.name is not None and (long := [name for name in names if len(name) > self.name]):
            which = ", ".join(long[:_NAMED]) + (", …" if len(long) > _NAMED else "")
            problems["name"] = (
                f"{self.title} may leave out tools whose names have more than {self.name} characters here: {which}"
            )
        return problems


_CURSOR = ClientLimit("Cursor", 80, 59 - len(_ENTRY))
_CODE = ClientLimit("VS Code", 128)
_CLAUDE = ClientLimit("Claude", None, 64 - len(f"mcp__{_ENTRY}__"))
_WINDSURF = ClientLimit("Windsurf", 100)
OF_ENTRIES: Mapping[str, ClientLimit] = {  # by the names of `clients.client_kinds`
    "cursor": _CURSOR, "vscode": _CODE, "claude-code": _CLAUDE, "claude-desktop": _CLAUDE,
    "windsurf": _WINDSURF,
}  # fmt: skip
_OF_NAMES: Mapping[str, ClientLimit] = {  # by the names that clients have for themselves, in lower case
    "cursor-vscode": _CURSOR, "visual studio code": _CODE, "visual-studio-code": _CODE, "claude-code": _CLAUDE,
    "claude-ai": _CLAUDE, "windsurf-client": _WINDSURF,
}  # fmt: skip


def problems_of(client: str | None, names: Collection[str], own: int) -> dict[str, str]:
    """Each thing that is too much for a client of this name; nothing where its limits are not known."""
    limit = _OF_NAMES.get((client or "").lower())
    return limit.problems(names, own) if limit else {}
