"""`mcpctl.lock.json`: the definitions of tools that a repository has agreed to; it has no secrets and no commands."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import definitions, files
from mcpctl.base.errors import Refused, Unusable, warn
from mcpctl.base.models import HTTP, Tool
from mcpctl.catalog import cache
from mcpctl.catalog.cache import Catalog
from mcpctl.jsonc import Positions, fault_in_words
from mcpctl.policy.holding import Locked
from mcpctl.toolsets.toolset_files import repository_of

DEFAULT = Path("mcpctl.lock.json")
_HASHES = {1: definitions.OLDER, 2: definitions.VERSION}  # the hash of each version of the file; the last is written
_VERSION = max(_HASHES)
_HINT = "write it again with: mcpctl tools lock"


@dataclass(frozen=True)
class Lock:
    path: Path
    tools: Mapping[tuple[str, str], Tool]  # by server and name
    instructions: Mapping[str, str]  # by server, the hash of them
    lines: Mapping[tuple[str, str], int] = field(default_factory=dict)
    version: int = _VERSION

    @property
    def pins(self) -> Locked:
        pin_of = definitions.pin_of if self.version == _VERSION else definitions.older_pin_of
        tools = {key: pin_of(tool) for key, tool in self.tools.items()}
        return tools | {(server, ""): hashed for server, hashed in self.instructions.items()}

    def line(self, server: str, name: str = "") -> int:
        """The line of a tool, or of its server; the first where there is neither."""
        return self.lines.get((server, name)) or self.lines.get((server, "")) or 1


def text(catalog: Catalog) -> str:
    tools: dict[str, list[str]] = {}
    for tool in sorted(catalog.known(), key=lambda tool: tool.key):
        described = definitions.described(tool)
        try:
            definitions.canonical(described)
        except definitions.TooDeep:
            warn(f"a tool of '{tool.server}' is left out: its definition is nested too deep to be read")
            continue
        described = {name: value for name, value in described.items() if name != "name"}
        hints = dict(definitions.declared_hints(tool))
        entry = _json({"hash": definitions.hash_of(tool), **described, "hints": hints})
        tools.setdefault(tool.server, []).append(f"{_json(tool.name)}: {entry}")
    servers = []
    for name, of_server in tools.items():
        listed, lines = catalog.listed(name), ",\n".join(of_server)
        instructions = _json(definitions.hashed(listed.instructions if listed else ""))
        servers.append(f'{_json(name)}: {{"instructions": {instructions}, "tools": {{\n{lines}\n}}}}')
    inside = "\n{}\n".format(",\n".join(servers)) if servers else ""
    return f'{{"version": {_VERSION}, "servers": {{{inside}}}}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def write(path: Path, catalog: Catalog) -> bool:
    """Write the file unless it is up to date; whether it was. Raises `Refused` for a link outside, or another file."""
    content = text(catalog).encode()
    before: list[bytes | None] = []

    def change(old: bytes | None) -> bytes:
        if old and not _is_lock(old):
            raise Refused(f"{path} is not a lock file, so it is not replaced", "name another file", "not_a_lock_file")
        before.append(old)
        return content

    files.edit(path, change, "name another file", private=False, within=repository_of(path.absolute().parent))
    return before[-1] != content


def _is_lock(content: bytes) -> bool:
    try:
        document = msgspec.json.decode(content)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return isinstance(document, dict) and isinstance(document.get("version"), int) and "servers" in document


def read(path: Path) -> Lock:
    """Raises `NotFound` and `Unusable`: the file may come from a stranger."""
    content = files.read_text(path, files.MAX_LARGE_BYTES, "lock_unreadable").removeprefix(files.BOM)
    try:
        document = msgspec.json.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Unusable(f"{path} is not JSON: {fault_in_words(content, error)}", _HINT, "lock_unreadable") from error
    version = document.get("version") if isinstance(document, dict) else None
    if not isinstance(version, int) or version not in _HASHES:
        raise Unusable(f"{path} is not a lock file of version 1 or {_VERSION}", _HINT, "lock_unreadable")
    positions = Positions(content)
    tools: dict[tuple[str, str], Tool] = {}
    instructions: dict[str, str] = {}
    lines: dict[tuple[str, str], int] = {}
    for server, members in _members(document.get("servers")).items():
        instructions[server] = str(_members(members).get("instructions", ""))
        lines[server, ""] = positions.of(("servers", server))[0]
        for name, entry in _members(_members(members).get("tools")).items():
            lines[server, name] = positions.of(("servers", server, "tools", name))[0]
            tools[server, name] = _tool(server, name, entry, version, f"{path}:{lines[server, name]}")
    return Lock(path, tools, instructions, lines, version)


def _tool(server: str, name: str, entry: Any, version: int, where: str) -> Tool:
    members = _members(entry)
    annotations = {**_members(members.get("annotations")), **_members(members.get("hints"))}
    contract = {member: members[member] for member in members if member not in ("hash", "hints", "annotations", "name")}
    definition = {"name": name, **contract, "annotations": annotations}
    is_of_api = HTTP in _members(members.get("_meta"))  # only the tools of an API are locked with it
    tool = cache.tool(server, name, json.dumps(definition, ensure_ascii=False), is_of_api=is_of_api)
    if definitions.hash_of(tool, _HASHES[version]) != members.get("hash"):
        # Who reads the file must be able to rely on what it says.
        raise Unusable(f"{where}: the hash of this tool is not that of its definition", _HINT, "lock_unreadable")
    return tool


def _members(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
