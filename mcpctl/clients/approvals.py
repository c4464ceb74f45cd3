"""Which servers of a project's .mcp.json a person has approved in Claude Code, which asks before it starts one.

Its settings have `enabledMcpjsonServers`, `disabledMcpjsonServers` and `enableAllProjectMcpServers`; see
https://code.claude.com/docs/en/settings.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mcpctl import jsonc
from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.clients import client_kinds


def lookup(project: Path) -> Callable[[str], str]:
    """A function from a server's name to its approval: `refused`, `none` if nobody decided, empty if approved."""
    own, shared = list(_own(project)), _read(project / ".claude" / "settings.json")
    # A repository's own file can refuse its servers, but it cannot approve them: only a person can.
    refused = {name for settings in (*own, shared) for name in _names(settings, "disabledMcpjsonServers")}
    approved = {name for settings in own for name in _names(settings, "enabledMcpjsonServers")}
    all_approved = any(settings.get("enableAllProjectMcpServers") is True for settings in own)

    def approval(name: str) -> str:
        return "refused" if name in refused else "" if all_approved or name in approved else "none"

    return approval


def _own(project: Path) -> Iterator[Mapping[str, Any]]:
    """The settings that a person, and not the repository, has made for the project."""
    state = next(client_kinds.places(client_kinds.CLIENTS["claude-code"]))
    projects = _read(state).get("projects")
    settings = projects.get(str(project)) if isinstance(projects, dict) else None
    yield settings if isinstance(settings, dict) else {}
    yield _read(project / ".claude" / "settings.local.json")
    yield _read(client_kinds.claude_folder() / "settings.json")


def _read(path: Path) -> Mapping[str, Any]:
    try:
        settings = jsonc.decoded(files.read(path, files.MAX_LARGE_BYTES))
    except (McpctlError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _names(settings: Mapping[str, Any], key: str) -> list[str]:
    names = settings.get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
