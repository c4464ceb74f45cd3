"""The clients that mcpctl knows, where each keeps its configuration, and how they differ."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mcpctl.base.errors import WrongUsage


@dataclass(frozen=True)
class ClientKind:
    name: str
    title: str
    places: tuple[str, ...]  # its files, the user's own first; `{apps}` is the folder of desktop programs' files
    section: str = "mcpServers"
    from_shell: bool = False  # whether a person starts it in a shell, so that it has its PATH
    fills_in: bool = False  # whether it replaces `${VAR}` with the variable's value, as mcpctl does
    timeout_unit_s: float | None = None  # the unit of its `timeout`, if that limits a call; else None
    restart: str = "start a new session of it"
    condition: str = ""  # when it starts a server of a repository's file, in words
    link: str = ""  # the address that adds a server: its `{name}` and entry as `{base64}`, or both as `{json}`


_CODE = ("Code", "Code - Insiders", "VSCodium")
_CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

_FOLLOWS = "nothing needs to restart: it follows its"
CLIENTS = {client.name: client for client in (
    ClientKind(
        "claude-desktop", "Claude Desktop", ("{apps}/Claude/claude_desktop_config.json",),
        restart="quit it completely and start it again",
    ),
    ClientKind(
        "claude-code", "Claude Code", ("{claude}/.claude.json", "{project}/.mcp.json"),
        from_shell=True, fills_in=True, condition="it asks each person before it starts it there",
    ),
    ClientKind(
        "cursor", "Cursor", ("{home}/.cursor/mcp.json", "{project}/.cursor/mcp.json"), restart="restart it",
        link="cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={base64}",
    ),
    ClientKind(
        "vscode", "VS Code", (
            *(f"{{apps}}/{code}/User/{file}.json" for code in _CODE for file in ("mcp", "settings")),
            "{project}/.vscode/mcp.json", "{project}/.vscode/settings.json",
        ),
        "servers", restart="restart it, or its servers under 'MCP: List Servers'", link="vscode:mcp/install?{json}",
    ),
    ClientKind("windsurf", "Windsurf", ("{home}/.codeium/windsurf/mcp_config.json",), restart="restart it"),
    ClientKind(
        "codex", "Codex", ("{codex}/config.toml", "{project}/.codex/config.toml"), "mcp_servers", from_shell=True,
        condition="it reads it once its user trusts the repository",
    ),
    ClientKind(
        "gemini-cli", "Gemini CLI", ("{home}/.gemini/settings.json", "{project}/.gemini/settings.json"),
        from_shell=True, fills_in=True, timeout_unit_s=0.001,
        condition="it reads it when it starts in that folder and its user trusts it",
    ),
    ClientKind(
        "zed", "Zed", ("{config}/zed/settings.json", "{project}/.zed/settings.json"), "context_servers",
        restart=f"{_FOLLOWS} settings",
    ),
    ClientKind(
        "cline", "Cline", (f"{{apps}}/Code/User/{_CLINE}", "{home}/.cline/data/settings/cline_mcp_settings.json"),
        timeout_unit_s=1, restart=f"{_FOLLOWS} file",
    ),
    ClientKind(
        "opencode", "opencode", tuple(
            f"{folder}/opencode.{ext}" for folder in ("{config}/opencode", "{project}") for ext in ("json", "jsonc")
        ),
        "mcp", from_shell=True,
    ),
)}  # fmt: skip
_COMMON_NAMES = {"mcp.json", "settings.json", "config.toml"}
_PROJECT_FOLDERS = {".vscode", ".cursor", ".codex", ".gemini", ".zed", ".roo"}


def places(client: ClientKind) -> Iterator[Path]:
    """The files in which `client` may keep servers on this machine: this user's and those of the current folder."""
    yield from dict.fromkeys(_filled(client.places))


def own_places(client: ClientKind) -> list[Path]:
    return _filled(place for place in client.places if not place.startswith("{project}"))


def is_here(client: ClientKind, place: Path) -> bool:
    """Whether the program that has its own file at `place` seems to be installed: that, or its folder, exists."""
    folder = {"claude-code": claude_folder(), "cline": place.parent.parent}.get(client.name, place.parent)
    return place.exists() or folder.is_dir()


def home_of(client: ClientKind, places: list[Path]) -> Path:
    """The one of these places into which mcpctl goes: the one that is there, else the first."""
    # VS Code's settings are its older place.
    possible = [path for path in places if client.name != "vscode" or path.name != "settings.json"]
    return next((path for path in possible if path.exists()), possible[0])


def place_in_repository(client: ClientKind) -> tuple[Path, Path]:
    """The repository of the current folder, and the file in it that `client` reads; raises `WrongUsage` where there is
    none, or where it is the user's own, as in the home folder."""
    from mcpctl.toolsets.toolset_files import repository_of

    templates = [place for place in client.places if place.startswith("{project}")]
    if not templates:
        others = ", ".join(name for name, kind in CLIENTS.items() if "{project}" in "".join(kind.places))
        hint = f"clients that do: {others}; for all of your projects: mcpctl install {client.name}"
        raise WrongUsage(f"{client.title} reads no file of a repository", hint, "no_project_file")
    repository = repository_of(Path.cwd())
    path = home_of(client, _filled(templates, repository))
    if path in own_places(client):
        hint = f"change into a repository, or leave --project out: mcpctl install {client.name}"
        raise WrongUsage(f"{path} is your own file, not one of a repository", hint, "not_a_repository")
    return repository, path


def _filled(templates: Iterable[str], project: Path | None = None) -> list[Path]:
    home = Path.home()
    config = _named("XDG_CONFIG_HOME") or home / ".config"
    folders = {
        "home": home,
        "config": config,
        "apps": home / "Library" / "Application Support" if sys.platform == "darwin" else config,
        "claude": _named("CLAUDE_CONFIG_DIR") or home,
        "codex": codex_folder(),
        "project": project or Path.cwd(),
    }
    return [Path(template.format_map(folders)) for template in templates]


def owner(path: Path) -> ClientKind | None:
    """The client that keeps its servers in this file, judged by its name; None if the name does not say."""
    for client in CLIENTS.values():
        for place in map(Path, client.places):
            if path.name == place.name and (path.name not in _COMMON_NAMES or path.parent.name == place.parent.name):
                return client
    return None


def project_of(path: Path) -> Path | None:
    folder = path.absolute().parent
    if path.name == ".mcp.json":
        return folder
    return folder.parent if folder.name in _PROJECT_FOLDERS and folder.parent != Path.home() else None


def claude_folder() -> Path:
    return _named("CLAUDE_CONFIG_DIR") or Path.home() / ".claude"


def codex_folder() -> Path:
    return _named("CODEX_HOME") or Path.home() / ".codex"


def _named(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None
