"""The catalog cache in `state.db`: every server's tools, prompts and resources as it last listed them."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as replace_fields
from typing import Any

import msgspec
from msgspec import structs

from mcpctl.base import bounds, feature_names, hints
from mcpctl.base.errors import warn
from mcpctl.base.models import Tool
from mcpctl.catalog.lists_in_memory import HELD, Listed, Lists
from mcpctl.config import server_settings
from mcpctl.policy.decide import ALLOW, FIND, Subject, decide
from mcpctl.policy.holding import Holding
from mcpctl.policy.view import View
from mcpctl.store.state import ListKey, State

_MOST_TOLD = 500
_SPARE = 300  # how many levels deeper a definition could be nested and still be read


class Catalog:
    """The tools of the enabled servers, as one request sees them; for one thread. Without a database it never waits."""

    def __init__(self, view: View, state: State | None, lists: Lists | None = None) -> None:
        self.view, self.config, self.toolset = view, view.config, view.toolset
        self.lists = lists or Lists()
        self._state = state
        self._owned: dict[str, Listed | None] = {}  # the results of `own`, as long as no list changes
        self._owned_at = -1

    @property
    def state(self) -> State:
        assert self._state is not None
        return self._state

    def snapshot(self) -> "Catalog":
        return Catalog(self.view, None, self.lists.snapshot())

    def listed(self, server: str) -> Listed | None:
        """The list of an enabled server for a client like this one, else for the last one that asked."""
        fingerprint = self.config.fingerprints.get(server)
        if fingerprint is None:
            return None
        return self._own(server, fingerprint) or self._others(server, fingerprint)

    def own(self, server: str) -> Listed | None:
        """The list of an enabled server for a client like this one alone."""
        if self._owned_at != self.lists.changes:
            self._owned_at, self._owned = self.lists.changes, {}
        if server not in self._owned:
            fingerprint = self.config.fingerprints.get(server)
            if fingerprint is None:
                return None
            self._owned[server] = self._own(server, fingerprint)
        return self._owned[server]

    def _own(self, server: str, fingerprint: str) -> Listed | None:
        sets = self.lists.sets(server, fingerprint, self.view)
        return self._first(ListKey(server, fingerprint, capabilities) for capabilities in sets)

    def _others(self, server: str, fingerprint: str) -> Listed | None:
        if self._state is None:
            lists = self.lists.all(server, fingerprint).values()
            return max(lists, key=lambda listed: listed.fetched_at, default=None)
        sets = self._state.capability_sets(server, fingerprint)
        return self._first(ListKey(server, fingerprint, capabilities) for capabilities in sets)

    def _first(self, keys: Iterable[ListKey]) -> Listed | None:
        return next((listed for key in keys if (listed := self._loaded(key))), None)

    def _loaded(self, of: ListKey) -> Listed | None:
        listed = self.lists.get(of)
        kept = load(self._state, of) if listed is None and self._state is not None else None
        return self.lists.put(of, kept) if kept else listed

    def check_together(self) -> None:
        for server in self.config.enabled:
            self.listed(server)
        self.lists.check_together()

    def every(self, server: str) -> list[Listed]:
        """All lists of an enabled server: first those for a client like this one."""
        fingerprint = self.config.fingerprints.get(server)
        if fingerprint is None:
            return []
        sets = [*self.lists.sets(server, fingerprint, self.view)]
        sets += self.state.capability_sets(server, fingerprint)
        lists = [self._loaded(ListKey(server, fingerprint, capabilities)) for capabilities in dict.fromkeys(sets)]
        return [listed for listed in lists if listed]

    def features(self, server: str) -> list[Listed]:
        fingerprint = self.config.fingerprints.get(server)
        if fingerprint is None:
            return []
        keys = [ListKey(server, fingerprint, feature_names.list_of(kind)) for kind in feature_names.KINDS]
        return [listed for key in keys if (listed := self._loaded(key))]

    def feature_counts(self, server: str) -> dict[str, int | None]:
        known = {feature_names.kind_of_list(listed.capabilities): len(listed.tools) for listed in self.features(server)}
        return {kind: known.get(kind) for kind in feature_names.EXPOSABLE}

    def find(self, server: str, name: str) -> Tool | None:
        """A tool, permitted or not, in the toolset or not. A person also finds tools of other clients' lists."""
        listed = self.listed(server)
        tool = listed.by_name.get(name) if listed else None
        if tool is None and listed and self.view.caller is None and self._state is not None:
            tools = (listed.by_name.get(name) for listed in self.every(server))
            tool = next((tool for tool in tools if tool), None)
        return self.toolset.shown(tool) if self.toolset and tool else tool

    def to_call(self, server: str, name: str) -> Tool | None:
        """A tool as it is listed for a client like this one: only that list decides on a call."""
        listed = self.own(server)
        tool = listed.by_name.get(name) if listed else None
        return self.toolset.shown(tool) if self.toolset and tool else tool

    def visible(self, *, with_held: bool = False) -> list[Tool]:
        """Every tool that may be found, by server and then as listed; for people with those that are held."""
        tools = self._found(self.view, with_held=with_held)
        return [self.toolset.shown(tool) for tool in tools] if self.toolset else tools

    def permitted(self) -> list[Tool]:
        return self._found(structs.replace(self.view, toolset=None))

    def _found(self, view: View, *, with_held: bool = False) -> list[Tool]:
        listed = (self.listed(server) for server in view.config.enabled)
        tools = (tool for each in listed if each for tool in each.tools)
        # Other reasons to keep a held tool back apply to it as to any tool.
        return [tool for tool in tools if _may_be_found(_let_go(tool) if with_held else tool, view)]

    @property
    def has_held(self) -> bool:
        listed = (self.listed(server) for server in self.config.enabled if self.config.policy.enforces)
        return any(tool.held for each in listed if each for tool in each.tools)

    def known(self) -> list[Tool]:
        """Every tool that the configuration permits, from the newest lists, whatever client they are for."""
        view = structs.replace(self.view, toolset=None)
        every = (tool for name in view.config.enabled for tool in self.newest(name).values())
        return [tool for tool in every if _may_be_found(_let_go(tool), view)]

    def newest(self, server: str) -> dict[str, Tool]:
        lists = sorted(self.every(server), key=lambda listed: listed.fetched_at)
        return {tool.name: tool for listed in lists for tool in listed.tools}

    def keys(self) -> list[str]:
        return [tool.key for tool in self.visible()]

    def unlisted(self) -> list[str]:
        return [name for name in self.config.enabled if self.listed(name) is None]

    def due(self) -> list[str]:
        return [name for name in self.config.enabled if (listed := self.own(name)) is None or listed.is_stale]

    def renew(self, holding: Holding) -> None:
        self.lists.keep_only(self.config.fingerprints.items())
        if self.lists.holding != holding:
            self.lists.hold_by(holding)
        self.generations()

    def generations(self) -> dict[str, tuple[str, int, int]]:
        """A value by listed server that changes when its tools do, or why they are held. Loads changed lists."""
        kept = self.state.generations()
        generations: dict[str, tuple[str, int, int]] = {}
        for name, fingerprint in self.config.fingerprints.items():
            for capabilities, listed in self.lists.all(name, fingerprint).items():
                key = ListKey(name, fingerprint, capabilities)
                if listed.generation not in (HELD, kept.get(key)):
                    self.lists.drop(key)
            self._renew_features(name, fingerprint, kept)
            if chosen := self.listed(name):
                # Its time tells a list in memory alone from every other.
                number = chosen.generation or -round(chosen.fetched_at * 1000)
                generations[name] = (chosen.capabilities, number, self.lists.judged)
        return generations

    def _renew_features(self, server: str, fingerprint: str, kept: Mapping[ListKey, int]) -> None:
        for kind, listed in self.lists.features(server, fingerprint).items():
            key = ListKey(server, fingerprint, feature_names.list_of(kind))
            if listed.generation not in (HELD, kept.get(key)) and (changed := load(self.state, key)):
                self.lists.put(key, changed)


def _let_go(tool: Tool) -> Tool:
    return replace_fields(tool, held="") if tool.held else tool


def _may_be_found(tool: Tool, view: View) -> bool:
    return decide(Subject(FIND, tool.server, tool.name, tool, view)).outcome == ALLOW


def replace(
    state: State, of: ListKey, definitions: Sequence[bytes], instructions: str = "", *, asked: bool = False
) -> bool:
    """Returns whether that changed anything. An empty list where tools were is a blip, unless a person `asked`."""
    return state.replace(of, _usable(of, definitions), instructions, asked=asked)


def held(of: ListKey, definitions: Sequence[bytes], instructions: str = "") -> Listed:
    """A list that could not be kept in the database, for as long as this process runs."""
    tools = _tools(of, _usable(of, definitions))
    return Listed(HELD, time.time(), tools, of.capabilities, instructions)


def remember_failures(state: State, outcomes: Iterable[tuple[str, str, str | None, str]]) -> None:
    """Keep why servers failed, cut and without secrets, or None for success: name, fingerprint, message, code."""
    from mcpctl.secrets.redact import mask

    for server, fingerprint, message, code in outcomes:
        told = None if message is None else mask(message[: 4 * _MOST_TOLD])[:_MOST_TOLD]
        state.remember_failure(server, fingerprint, told, code)


def load(state: State, of: ListKey) -> Listed | None:
    kept = state.listed(of)
    if kept is None:
        return None
    tools = _tools(of, kept.tools)
    return Listed(kept.generation, kept.fetched_at, tools, of.capabilities, kept.instructions)


def _tools(of: ListKey, named: Iterable[tuple[str, str]]) -> tuple[Tool, ...]:
    if not server_settings.is_of_api(of.fingerprint):
        return tuple(tool(of.server, name, text) for name, text in named)
    from mcpctl.catalog.common_parts import CommonParts

    decode = CommonParts().definition
    return tuple(tool(of.server, name, text, is_of_api=True, decode=decode) for name, text in named)


def tool(
    server: str, name: str, text: str, *, is_of_api: bool = False,
    decode: Callable[[str], Mapping[str, Any]] = msgspec.json.decode,
) -> Tool:  # fmt: skip
    """A tool as it is kept; only of one of an HTTP API, whose definition is made here, a method is believed."""
    definition = decode(text)
    return Tool(server, name, definition, text, inferred=hints.inferred(definition) if is_of_api else None)


def _usable(of: ListKey, definitions: Sequence[bytes]) -> list[tuple[str, str]]:
    """Names and definitions; of two with one name the first."""
    kind = feature_names.kind_of_list(of.capabilities)
    named: dict[str, str] = {}
    for name, text in (_named(definition, kind) for definition in definitions):
        named.setdefault(name, text)
    named.pop("", None)
    if lost := len(definitions) - len(named):
        of_kind = kind or "tools"
        what = f"one of its {of_kind}" if lost == 1 else f"{lost} {of_kind}"
        warn(f"server '{of.server}' lists {what} without a usable name of its own, or too long: left out")
    return list(named.items())


def _named(definition: bytes, kind: str) -> tuple[str, str]:
    if len(definition) > bounds.DEFINITION:
        return "", ""
    try:
        decoded = _decoded(definition)
        text = definition.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        decoded, text = _repaired(definition)
    name = decoded.get(feature_names.NAMED_BY.get(kind, "name")) if isinstance(decoded, dict) else None
    if not isinstance(name, str) or not name.strip():
        return "", ""
    longest = bounds.NAME if kind in ("", feature_names.PROMPTS) else bounds.URI
    is_taken = feature_names.is_reserved(kind, name) if kind else feature_names.is_feature(name)
    if is_taken or len(name) > longest:
        return "", ""
    return feature_names.join(kind, name) if kind else name, text


def _repaired(definition: bytes) -> tuple[Any, str]:
    """A definition that is not strict JSON, repaired: NaN becomes null, half characters U+FFFD."""
    try:
        loose = json.loads(definition.decode("utf-8", "replace"), parse_constant=lambda _: None, strict=False)
        text = json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace")
        return _decoded(text), text.decode()
    except (ValueError, RecursionError):
        return None, ""


def _decoded(text: bytes) -> Any:
    """Raises `RecursionError` where decoding it deeper on the stack, or writing it into an answer, might fail."""
    value = msgspec.json.decode(text)
    if text.count(b"{") + text.count(b"[") > _SPARE:
        msgspec.json.decode(b"[" * _SPARE + text + b"]" * _SPARE)
    return value
