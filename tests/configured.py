"""Servers for tests: a config.toml that names real ones, and what they listed, put where `tools refresh` puts it."""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import tomli_w

from mcpctl.base.paths import Paths, find, private_dir
from mcpctl.catalog import cache
from mcpctl.config import config
from mcpctl.demo import notes, weather
from mcpctl.policy import pins
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import sqlite
from mcpctl.store.state import ListKey, State

DEMO = {name: {"command": sys.executable, "args": ["-m", f"mcpctl.demo.{name}"]} for name in ("notes", "weather")}

READ: dict[str, Any] = {
    "name": "read", "description": "Reads a file.\nOne at a time.", "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": False},
}  # fmt: skip
WRITE: dict[str, Any] = {"name": "write", "description": "Writes a file.", "inputSchema": {"type": "object"}}
CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "the description": ({"description": "Reads a file.\nAnd mails it."}, ["W801"]),
    "a schema": ({"inputSchema": {"type": "object", "properties": {"sidenote": {}}}}, ["W802"]),
    "the output": ({"outputSchema": {"type": "object"}}, ["W802"]),
    "the title": ({"title": "Read!"}, ["I903"]),
    "the older title": ({"annotations": {"readOnlyHint": False, "title": "Read!"}}, ["I903"]),
    "a looser hint": ({"annotations": {"readOnlyHint": True}}, ["E701"]),
    "a hint left out": ({"annotations": {}}, ["I902"]),
    "a default that is declared": ({"annotations": {"readOnlyHint": False, "openWorldHint": True}}, ["I902"]),
    "the icons": ({"icons": [{"src": "https://example.com/lock.png"}]}, ["W806"]),
    "the page": ({"_meta": {"ui": {"resourceUri": "ui://pay"}}}, ["W806"]),
    "what may change by itself": ({"_meta": {"requested": 2}}, []),
    "much": ({"description": "x", "annotations": {"destructiveHint": False}}, ["E701", "I902", "W801"]),
}
"""What may change of READ, and the rules that say so."""


def configure(paths: Paths, servers: Mapping[str, Any] = DEMO, **sections: Any) -> None:
    """Write config.toml."""
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(tomli_w.dumps({"servers": servers, **sections}), encoding="utf-8")


def stub(*args: str) -> dict[str, Any]:
    """A server's table, for tests that never start it."""
    return {"command": "true", "args": list(args)}


def listed(
    paths: Paths, server: str, definitions: Sequence[Mapping[str, Any]], capabilities: str = "", instructions: str = ""
) -> None:
    """Keep these as what a configured server lists, for clients that can do this, and what it says of itself."""
    fingerprint = config.load(paths.config).servers[server].fingerprint
    with State.connect(paths) as state:
        of = ListKey(server, fingerprint, capabilities)
        cache.replace(state, of, [json.dumps(definition).encode() for definition in definitions], instructions)


def pinned(paths: Paths, server: str, capabilities: str = "") -> None:
    """What a gateway does with what a server has just listed, where there is a policy."""
    of = ListKey(server, config.load(paths.config).servers[server].fingerprint, capabilities)
    with State.opened(paths) as state, PolicyFile.connect(paths) as file:
        listed = cache.load(state, of)
        assert listed
        pins.see(file, of, listed.tools, listed.instructions)


def toolset(paths: Paths, name: str, *keys: str, path: Path | None = None, **members: Any) -> Path:
    """A toolset's file, in the data directory or at `path`, with these tools and whatever members."""
    path = path or paths.toolsets / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    tools = [reference(key) for key in keys]
    path.write_text(json.dumps({"name": name, "tools": tools, **members}, indent=2), encoding="utf-8")
    return path


def reference(key: str) -> dict[str, str]:
    """How a toolset names the tool of this key."""
    return {"namespacedName": key.replace(":", ".", 1)}


def noted(key: str, **notes: str) -> dict[str, Any]:
    """An entry of `toolNotes`."""
    return {"toolRef": reference(key), "notes": [{"name": name, "note": text} for name, text in notes.items()]}


def overridden(key: str, title: str | None = None, **hints: bool) -> dict[str, Any]:
    """An entry of `toolOverrides`."""
    return {"toolRef": reference(key), "annotations": hints, **({"title": title} if title else {})}


def demo_tools(paths: Paths, servers: Mapping[str, Any] = DEMO, **sections: Any) -> None:
    """The two bundled servers, configured and listed."""
    configure(paths, servers, **sections)
    if servers is DEMO and not paths.state.exists():
        private_dir(paths.data)
        sqlite.create(paths.state)
        paths.state.write_bytes(_listed_demo())
    else:
        _list_demo(paths)


def _list_demo(paths: Paths) -> None:
    for name, server in (("notes", notes.server), ("weather", weather.server)):
        listed(paths, name, [definition for definition, _ in server.tools.values()])


@lru_cache
def _listed_demo() -> bytes:
    """The state of a home in which nothing but the bundled servers has listed its tools: hundreds of tests begin so."""
    with tempfile.TemporaryDirectory() as folder:
        paths = find(env={"MCPCTL_HOME": folder})
        configure(paths)
        _list_demo(paths)
        return paths.state.read_bytes()
