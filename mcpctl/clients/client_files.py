"""The servers in a client's file, exactly as the file has them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpctl import jsonc
from mcpctl.base import files as disk
from mcpctl.base.errors import McpctlError, NotFound, Unusable, warn
from mcpctl.base.near_names import did_you_mean
from mcpctl.clients import client_kinds
from mcpctl.clients.client_kinds import CLIENTS, ClientKind
from mcpctl.config import toml


@dataclass(frozen=True)
class ClientFile:
    path: Path
    client: ClientKind | None

    @property
    def source(self) -> str:
        return self.client.name if self.client else str(self.path)


@dataclass(frozen=True)
class ClientEntry:
    """One server of a client's file. It is untrusted: its value may be anything."""

    file: ClientFile
    name: str
    value: Any
    project: Path | None
    inputs: Mapping[str, Any] = field(default_factory=dict)  # the values that VS Code would ask for, by id
    place: tuple[str, ...] = ()
    approval: str = ""  # for a server of a project's .mcp.json, a person's decision in Claude Code: see `_approvals`
    switches: Mapping[str, Any] = field(default_factory=dict)  # tools or patterns that opencode switches on or off


def files(source: str | None) -> list[ClientFile]:
    """The files that `--from` names, else the user's own of all clients; one of the current folder must be named."""
    if source is None:
        own = [path for client in CLIENTS.values() for path in client_kinds.own_places(client)]
        existing = [file for client in CLIENTS.values() for file in _existing(client)]
        for file in existing:
            if file.path not in own:
                warn(f"{file.path} belongs to a project and is left out; import it with: --from {file.path}")
        return [file for file in existing if file.path in own]
    if source in CLIENTS:
        client = CLIENTS[source]
        existing = list(_existing(client))
        if not existing:
            places = ", ".join(map(str, client_kinds.places(client)))
            hint = f"looked for {places}; if it is elsewhere: mcpctl servers import --from FILE"
            raise NotFound(f"{client.title} has no configuration here", hint, "client_not_found")
        return existing
    path = Path(source).expanduser()
    if not path.exists():
        hint = did_you_mean(source, CLIENTS, f"give a file, or one of {', '.join(CLIENTS)}")
        raise NotFound(f"there is no file {path}", hint, "file_not_found")
    return [ClientFile(path, client_kinds.owner(path))]


def entries(file: ClientFile, document: dict[str, Any] | None = None) -> list[ClientEntry] | None:
    """The servers of a file, or of a document that it was; None if it has no section for servers. Raises `Unusable` if
    it cannot be read."""
    document = document_in(file.path) if document is None else document
    # A TOML file is read as Codex's: from a config.toml of mcpctl half of the keys would be lost.
    toml = [(("mcp_servers",), document["mcp_servers"], None)] if "mcp_servers" in document else []
    sections = toml if file.path.suffix == ".toml" else list(_sections(document))
    if not sections:
        return None
    project = client_kinds.project_of(file.path)
    asked_for = document.get("inputs") or members(document.get("mcp")).get("inputs")
    inputs = {str(item.get("id")): item.get("default")
              for item in (asked_for if isinstance(asked_for, list) else []) if isinstance(item, dict)}  # fmt: skip
    switches = members(document.get("tools")) if file.client is CLIENTS["opencode"] else {}
    approval = _approvals(project) if project and file.path.name == ".mcp.json" else lambda _: ""
    entries = []
    for place, servers, folder in sections:
        if servers is not None and not isinstance(servers, dict):
            why = f"{file.path}: its servers must be an object of entries by name"
            raise Unusable(why, "fix it there", "client_config")
        for raw, value in (servers or {}).items():
            name = raw.encode("utf-8", "replace").decode()  # JSON can hold half a surrogate pair, no other text can
            where = folder or project, inputs, (*place, raw)
            entries.append(ClientEntry(file, name, value, *where, approval(name), switches))
    return entries


def _existing(client: ClientKind) -> Iterator[ClientFile]:
    return (ClientFile(path, client) for path in client_kinds.places(client) if path.is_file())


def document_in(path: Path) -> dict[str, Any]:
    return decoded(path, disk.read(path, disk.MAX_LARGE_BYTES, "client_config"))


def decoded(path: Path, data: bytes) -> dict[str, Any]:
    """The object in the bytes of a client's file at `path`; raises `Unusable`."""
    kind = "TOML" if path.suffix == ".toml" else "JSON"
    try:
        if kind == "TOML":
            return toml.loads(data.decode("utf-8-sig"))
        document = jsonc.decoded(data) if data.strip() else {}
    except UnicodeDecodeError as error:
        raise Unusable(f"cannot read {path}: it is not UTF-8", "save it as UTF-8", "client_config") from error
    except (ValueError, RecursionError) as error:
        problem, hint = str(error), f"fix the {kind} there"
        if kind == "TOML" and data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            problem = "this is JSON, in a file that ends in .toml"
            hint = f"name it .json, such as: mcpctl servers import --from {path.with_suffix('.json')}"
        elif isinstance(error, RecursionError):
            problem = "nested too deeply"
        raise Unusable(f"{path}: {problem}", hint, "client_config_syntax") from error
    if not isinstance(document, dict):
        raise Unusable(f"{path}: must be an object", "see the client's own documentation", "client_config")
    return document


def members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _sections(document: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Any, Path | None]]:
    """Each section of a document that holds servers: its place, and the project's folder if it is a project's."""
    for key in ("mcpServers", "servers", "context_servers"):
        if key in document:
            yield (key,), document[key], None
    mcp = members(document.get("mcp"))
    # VS Code's settings and a newer opencode have mcp.servers; an older opencode has the servers in mcp itself.
    if mcp.get("servers") is not None:
        yield ("mcp", "servers"), mcp["servers"], None
    elif "servers" not in mcp and any(map(_is_server, mcp.values())):
        yield ("mcp",), mcp, None
    for folder, project in members(document.get("projects")).items():
        if "mcpServers" in members(project):
            yield ("projects", folder, "mcpServers"), project["mcpServers"], Path(folder)
    if document and all(map(_is_server, document.values())):
        yield (), document, None


def _is_server(value: Any) -> bool:
    return not members(value).keys().isdisjoint(("command", "url", "serverUrl", "httpUrl"))


def _approvals(project: Path) -> Callable[[str], str]:
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
    state = next(client_kinds.places(CLIENTS["claude-code"]))
    yield members(members(_read(state).get("projects")).get(str(project)))
    yield _read(project / ".claude" / "settings.local.json")
    yield _read(client_kinds.claude_folder() / "settings.json")


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return members(jsonc.decoded(disk.read(path, disk.MAX_LARGE_BYTES)))
    except (McpctlError, ValueError):
        return {}


def _names(settings: Mapping[str, Any], key: str) -> list[str]:
    names = settings.get(key)
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
