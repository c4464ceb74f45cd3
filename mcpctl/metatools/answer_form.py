"""In which form a client gets an answer of `tool_discovery`: as text, as structured content, or as both.

Clients give their models the text, the structured content, or both, which then count twice. Where it is known that one
of them reaches the model, that one is sent; the guide `search` says of which clients. What is not known gets both, as
the specification advises.
"""

from enum import Enum

from mcpctl.base.callers import LEGACY_REVISIONS, Caller

_WITHOUT_STRUCTURE = LEGACY_REVISIONS[: LEGACY_REVISIONS.index("2025-06-18")]
"""The revisions that have no structured content."""
_READ_TEXT = frozenset((
    "claude-ai", "claude-code", "cline", "cursor-vscode", "gemini-cli-mcp-client", "github-copilot-developer", "goose",
    "opencode", "visual studio code", "visual-studio-code", "windsurf-client", "zed",
))  # fmt: skip
"""Clients that give their model the text where there is nothing else, by the names that they say, in lower case."""
_COPILOT = "-copilot-intellij"
"""How the names of GitHub Copilot in JetBrains's programs end; it gives its model both."""
_READ_STRUCTURE = frozenset(("codex-mcp-client", "codex"))
"""Clients that give their model the structured content, and a text only quoted in JSON."""


class Form(Enum):
    """What of an answer is sent."""

    BOTH = "both"
    TEXT = "text"
    STRUCTURE = "structure"


def of(caller: Caller) -> Form:
    """What this caller gets."""
    return form(caller.client.name, caller.revision)


def form(client: str | None, revision: str | None = None) -> Form:
    """What a client of this name gets, in this revision of the protocol."""
    name = (client or "").lower()
    if revision in _WITHOUT_STRUCTURE or name in _READ_TEXT or name.endswith(_COPILOT):
        return Form.TEXT
    return Form.STRUCTURE if name in _READ_STRUCTURE else Form.BOTH
