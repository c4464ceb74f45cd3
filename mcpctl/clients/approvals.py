"""What a person told Claude Code of the servers in a project's .mcp.json: it asks before it starts one.

Its settings have `enabledMcpjsonServers`, `disabledMcpjsonServers` and `enableAllProjectMcpServers`; see
https://code.claude.com/docs/en/settings.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mcpctl import files, jsonc
from mcpctl.clients import client_kinds
from mcpctl.errors import McpctlError


def of(project: Path) -> Callable[[str], str]:
    """What is known of a server of this project, by its name: `refused`, `none` when nothing is, else empty."""
    own, shared = list(_own(project)), _read(project / ".claude" / "settings.json")
    # What a repository brings along may refuse its servers, and approves none of them.
    refused = {name for settings in (*own, shared) for name in _names(settings, "disabledMcpjsonServers")}
    approved = {name for settings in own for name in _names(settings, "enabledMcpjsonServers")}
    all_approved = any(settings.get("enableAllProjectMcpServers") is True for settings in own)

    def approval(name: str) -> str:
        return "refused" if name in refused else "" if all_approved or name in approved else "none"

    return approval


def _own(project: Path) -> Iterator[Mapping[str, Any]]:
    """The settings that a person has made for the project."""
    state = next(client_kinds.places(client_kinds.CLIENTS["claude-code"]))
    projects = _read(state).get("projects")
    mine = projects.get(str(project)) if isinstance(projects, dict) else None
    yield mine if isinstance(mine, dict) else {}
    yield _read(project / ".claude" / "settings.local.json")
    yield _read(client_kinds.claude_folder() / "settings.json")


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = jsonc.decoded(files.read(path, files.MAX_LARGE_BYTES))
    except (McpctlError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _names(settings: Mapping[str, Any], key: str) -> list[str]:
    found = settings.get(key)
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
