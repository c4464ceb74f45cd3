"""The catalog cache in `state.db`: every server's tools as it last listed them."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cached_property
from typing import Any

import msgspec

from mcpctl import bounds
from mcpctl.config import Config
from mcpctl.errors import warn
from mcpctl.models import Tool
from mcpctl.policy.decide import ALLOW, FIND, Subject, decide
from mcpctl.policy.view import View
from mcpctl.store.redact import mask
from mcpctl.store.state import State
from mcpctl.toolsets.toolset import Toolset

STALE_S = 24 * 3600
HELD = 0
"""The generation of a list that is in no database."""
_MOST_TOLD = 500
"""Characters that are kept of a failure."""


@dataclass(frozen=True)
class Listed:
    """What one server last listed: `generation` changes whenever its tools do."""

    generation: int
    fetched_at: float
    tools: tuple[Tool, ...]

    @cached_property
    def by_name(self) -> dict[str, Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self.tools}

    @property
    def is_stale(self) -> bool:
        """Whether it is time to ask the server again."""
        return not 0 <= time.time() - self.fetched_at < STALE_S


Lists = dict[tuple[str, str], Listed]
"""What is known of servers' tools, by name and fingerprint; shared by all who look at them."""


class Catalog:
    """The tools of the enabled servers, as one request sees them.

    Belongs to the thread that made it, but for `lists`, which others may read and fill too. One without a database
    knows only what is put there, and never waits.
    """

    def __init__(self, view: View, state: State | None, lists: Lists | None = None) -> None:
        self.view = view
        self._state = state
        self._lists = {} if lists is None else lists

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.view.config

    @property
    def toolset(self) -> Toolset | None:
        """The toolset in force."""
        return self.view.toolset

    @property
    def state(self) -> State:
        """What is kept, of a catalog that reads it."""
        assert self._state is not None
        return self._state

    def snapshot(self) -> "Catalog":
        """What is known at this moment, for another thread."""
        return Catalog(self.view, None, dict(self._lists))

    def listed(self, server: str) -> Listed | None:
        """What an enabled server last listed; None when it has never been asked."""
        fingerprint = self.config.fingerprints.get(server)
        if fingerprint is None:
            return None
        key = server, fingerprint
        listed = self._lists.get(key)
        if listed is None and self._state is not None:
            listed = load(self._state, *key)
            if listed is not None:
                self._lists[key] = listed
        return listed

    def find(self, server: str, name: str) -> Tool | None:
        """A tool by its server and name, permitted or not, in the toolset or not."""
        listed = self.listed(server)
        tool = listed.by_name.get(name) if listed else None
        return self.toolset.shown(tool) if self.toolset and tool else tool

    def visible(self) -> list[Tool]:
        """Every tool that may be found, by server and then as listed."""
        tools = self._found(self.view)
        return [self.toolset.shown(tool) for tool in tools] if self.toolset else tools

    def permitted(self) -> list[Tool]:
        """Every tool that the configuration permits, as its server defines it, in the toolset or not."""
        return self._found(replace_fields(self.view, toolset=None))

    def _found(self, view: View) -> list[Tool]:
        listed = (self.listed(server) for server in view.config.enabled)
        tools = (tool for each in listed if each for tool in each.tools)
        return [tool for tool in tools if decide(Subject(FIND, tool.server, tool.name, tool, view)).outcome == ALLOW]

    def keys(self) -> list[str]:
        """The keys of all tools that may be found."""
        return [tool.key for tool in self.visible()]

    def unlisted(self) -> list[str]:
        """The enabled servers that have never listed their tools."""
        return [name for name in self.config.enabled if self.listed(name) is None]

    def due(self) -> list[str]:
        """The enabled servers whose list is missing or stale."""
        return [name for name in self.config.enabled if (listed := self.listed(name)) is None or listed.is_stale]

    def generations(self) -> dict[str, int]:
        """A number per listed server that grows whenever its tools change; what has grown is loaded anew."""
        kept = self.state.generations()
        generations: dict[str, int] = {}
        for key in self.config.fingerprints.items():
            name, _ = key
            listed, generation = self._lists.get(key), kept.get(key)
            if listed and listed.generation == HELD:
                generations[name] = -round(listed.fetched_at * 1000)  # told from every other, kept or held
                continue
            if generation is not None:
                generations[name] = generation
            if listed and listed.generation != generation:
                self._lists.pop(key, None)
        return generations


def replace(state: State, server: str, fingerprint: str, definitions: Sequence[bytes], *, asked: bool = False) -> bool:
    """Put what can be used of what a server lists in place of what it listed before; True when that changed anything.

    An empty list from a server that had tools is taken for a blip unless a person `asked` for it.
    """
    return state.replace(server, fingerprint, _usable(server, definitions), asked=asked)


def held(server: str, definitions: Sequence[bytes]) -> Listed:
    """A server's list for as long as this process runs: where it could not be kept."""
    return Listed(HELD, time.time(), tuple(tool(server, name, text) for name, text in _usable(server, definitions)))


def remember_failure(state: State, server: str, fingerprint: str, message: str | None) -> None:
    """Keep why a server failed just now, without secrets and cut; None: it works."""
    told = None if message is None else mask(message[: 4 * _MOST_TOLD])[:_MOST_TOLD]
    state.remember_failure(server, fingerprint, told)


def load(state: State, server: str, fingerprint: str) -> Listed | None:
    """What a server last listed; None when it has never been asked."""
    kept = state.listed(server, fingerprint)
    if kept is None:
        return None
    return Listed(kept.generation, kept.fetched_at, tuple(tool(server, name, text) for name, text in kept.tools))


def tool(server: str, name: str, text: str) -> Tool:
    """The tool that a stored definition describes."""
    return Tool(server, name, msgspec.json.decode(text), text)


def _usable(server: str, definitions: Sequence[bytes]) -> list[tuple[str, str]]:
    """Names and definitions; of two with one name the first."""
    named: dict[str, str] = {}
    for name, text in map(_named, definitions):
        if name:
            named.setdefault(name, text)
    if lost := len(definitions) - len(named):
        tools = "a tool" if lost == 1 else f"{lost} tools"
        warn(f"server '{server}' lists {tools} without a usable name of its own, or too long: left out")
    return list(named.items())


def _named(definition: bytes) -> tuple[str, str]:
    """A definition's name, empty when it has none that could be called, and its text."""
    if len(definition) > bounds.DEFINITION:
        return "", ""
    try:
        decoded = msgspec.json.decode(definition)
        text = definition.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decoded, text = _repaired(definition)
    name = decoded.get("name") if isinstance(decoded, dict) else None
    return (name, text) if isinstance(name, str) and name.strip() and len(name) <= bounds.NAME else ("", "")


def _repaired(definition: bytes) -> tuple[Any, str]:
    """What can be kept of a definition that is not strict JSON: NaN becomes null, half characters U+FFFD."""
    try:
        loose = json.loads(definition.decode("utf-8", "replace"), parse_constant=lambda _: None, strict=False)
        text = json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(text), text.decode()
    except (ValueError, RecursionError):
        return None, ""
