"""The servers in a client's file, as they stand there."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpctl import files as kept
from mcpctl import jsonc
from mcpctl.clients import approvals, client_kinds
from mcpctl.clients.client_kinds import CLIENTS, ClientKind
from mcpctl.errors import NotFound, Unusable, warn
from mcpctl.near_names import did_you_mean


@dataclass(frozen=True)
class ClientFile:
    """A file that may have servers in it."""

    path: Path
    client: ClientKind | None

    @property
    def source(self) -> str:
        """What people call it: the client's name, or the file's."""
        return self.client.name if self.client else str(self.path)


@dataclass(frozen=True)
class ClientEntry:
    """One server of a file: untrusted, it may be anything."""

    file: ClientFile
    name: str
    value: Any
    project: Path | None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """What VS Code would ask for, by its id, with the answer that it would propose."""
    approval: str = ""
    """Of a project's .mcp.json, what Claude Code was told of it: `refused`, or `none`; empty where it is approved."""


def files(source: str | None) -> list[ClientFile]:
    """The files that `--from` names, those that exist; the user's own of all clients without one. Raises `NotFound`.

    What lies in the current folder may be a stranger's, and would be started by the next `serve`: it must be named.
    """
    if source is None:
        found = [file for client in CLIENTS.values() for file in _existing(client)]
        for file in found:
            if client_kinds.project_of(file.path):
                warn(f"{file.path} is a project's and is left out; import it with: --from {file.path}")
        return [file for file in found if not client_kinds.project_of(file.path)]
    if source in CLIENTS:
        client = CLIENTS[source]
        found = list(_existing(client))
        if not found:
            looked = ", ".join(map(str, client_kinds.places(client)))
            hint = f"looked for {looked}; if it is elsewhere: mcpctl servers import --from FILE"
            raise NotFound(f"{client.title} has no configuration here", hint, "client_not_found")
        return found
    path = Path(source).expanduser()
    if not path.exists():
        hint = did_you_mean(source, CLIENTS, f"give a file, or one of {', '.join(CLIENTS)}")
        raise NotFound(f"there is no file {path}", hint, "file_not_found")
    return [ClientFile(path, client_kinds.owner(path))]


def entries(file: ClientFile) -> list[ClientEntry] | None:
    """The servers of a file; None when it has no place for any. Raises `Unusable` when it cannot be read."""
    document = _document(file.path)
    if not isinstance(document, dict):
        raise Unusable(f"{file.path}: must be an object", "see the client's own documentation", "client_config")
    # A TOML file is Codex's: another config.toml of ours would lose half of what it says.
    toml = [(document["mcp_servers"], None)] if "mcp_servers" in document else []
    sections = toml if file.path.suffix == ".toml" else list(_sections(document))
    if not sections:
        return None
    project = client_kinds.project_of(file.path)
    inputs = _inputs(document)
    approval = approvals.of(project) if project and file.path.name == ".mcp.json" else None
    return [
        ClientEntry(file, name, value, folder or project, inputs, approval(name) if approval else "")
        for servers, folder in sections
        for name, value in _named(file.path, servers)
    ]


def _existing(client: ClientKind) -> Iterator[ClientFile]:
    return (ClientFile(path, client) for path in client_kinds.places(client) if path.is_file())


def _document(path: Path) -> Any:
    data = kept.read(path, kept.MAX_LARGE_BYTES, "client_config")
    try:
        if path.suffix == ".toml":
            return tomllib.loads(data.decode("utf-8-sig"))
        return jsonc.decoded(data) if data.strip() else {}
    except UnicodeDecodeError as error:
        raise Unusable(f"cannot read {path}: it is not UTF-8", "save it as UTF-8", "client_config") from error
    except (ValueError, RecursionError) as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        what = "nested too deeply" if isinstance(error, RecursionError) else error
        raise Unusable(f"{path}: {what}", f"mend the {kind} there", "client_config_syntax") from error


def _sections(document: dict[str, Any]) -> Iterator[tuple[Any, Path | None]]:
    """Everything in a document that holds servers, with the project's folder where it is one project's."""
    for key in ("mcpServers", "servers", "context_servers"):
        if key in document:
            yield document[key], None
    mcp = document.get("mcp")
    if isinstance(mcp, dict):
        # VS Code's settings and newer opencode; an older opencode has the servers right there.
        within = mcp.get("servers", mcp if any(map(_starts, mcp.values())) else None)
        if within is not None:
            yield within, None
    projects = document.get("projects")
    for folder, project in projects.items() if isinstance(projects, dict) else ():
        if isinstance(project, dict) and "mcpServers" in project:
            yield project["mcpServers"], Path(folder)
    if document and all(map(_starts, document.values())):
        yield document, None


def _starts(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(("command", "url", "serverUrl", "httpUrl"))


def _named(path: Path, servers: Any) -> Iterator[tuple[str, Any]]:
    if servers is not None and not isinstance(servers, dict):
        raise Unusable(f"{path}: its servers must be an object, by name", "mend it there", "client_config")
    # Half a surrogate pair can be written in JSON, but nowhere else.
    yield from ((name.encode("utf-8", "replace").decode(), value) for name, value in (servers or {}).items())


def _inputs(document: dict[str, Any]) -> dict[str, Any]:
    mcp = document.get("mcp")
    asked = document.get("inputs") or (mcp.get("inputs") if isinstance(mcp, dict) else None)
    listed = asked if isinstance(asked, list) else []
    return {str(one.get("id")): one.get("default") for one in listed if isinstance(one, dict)}
