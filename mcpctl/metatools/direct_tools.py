"""Tools that a client is shown directly, under names of their own: beside the meta-tools, or in their place.

A pattern says which: `server:tool` with `*` and `?`, `@NAME` for the tools of a toolset, `equipped` for those of the
toolset in force, `all` for every tool and no meta-tools. Definitions are the servers', member for member.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from mcpctl.base import hints
from mcpctl.base.errors import McpctlError, warn
from mcpctl.base.models import Newest, Tool
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import is_plain, join, split
from mcpctl.catalog.cache import Catalog
from mcpctl.config.policy_settings import ALLOW, PolicyRule
from mcpctl.config.settings import EQUIPPED, EVERY, OF_TOOLSET
from mcpctl.metatools import offers, own_tool
from mcpctl.policy import decide
from mcpctl.policy.decide import FIND, Subject
from mcpctl.policy.rules import Matcher
from mcpctl.policy.view import View
from mcpctl.toolsets import toolset_files
from mcpctl.toolsets.toolset import Toolset
from mcpctl.wire import jsonrpc

KEY = "mcpctl/key"  # the member of a definition's `_meta` that has the tool's key
_LONGEST = 64
_DIGITS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_ENDS_HASHED = re.compile(rf"_[0-9A-Fa-f]{{{_DIGITS}}}\Z")
_MOST_KEPT = 16


@lru_cache(maxsize=8192)
def direct_name(server: str, name: str) -> str:
    """The name that clients call a tool by, a function of its key alone: `server__tool`, of at most 64 characters. It
    ends in `_` and 8 digits of the key's SHA-256 where another key could have the same name, or where characters were
    replaced or cut."""
    plain = f"{server}__{name}"
    fitted = _NOT_IN_NAMES.sub("_", plain)
    is_own = not ("__" in server or server.endswith("_") or name.startswith("_") or _ENDS_HASHED.search(name))
    if is_own and fitted == plain and len(plain) <= _LONGEST:
        return plain
    digest = hashlib.sha256(join(server, name).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{fitted[: _LONGEST - _DIGITS - 1]}_{digest}"


def key_named(catalog: Catalog, name: str) -> str:
    """The key of the tool that clients call by this name, shown or not; a key of no tool where there is none."""
    lists = (catalog.listed(server) for server in catalog.config.enabled)
    keys = [tool.key for listed in lists if listed for tool in listed.tools if direct_name(*split(tool.key)) == name]
    server, _, tool = name.partition("__")
    return keys[0] if len(keys) == 1 else join(server, tool)


class DirectChoice(Struct, frozen=True):
    """The patterns that are in force, with the toolsets that they name."""

    patterns: tuple[str, ...]
    toolsets: tuple[Toolset, ...] = ()

    @property
    def replaces(self) -> bool:
        """Whether the tools stand in place of the meta-tools."""
        return EVERY in self.patterns

    def has(self, tool: Tool, view: View) -> bool:
        return self._names(tool.server, tool.name) or any(toolset.holds(tool) for toolset in self._all(view))

    def unmatched(self, tools: Sequence[Tool], unlisted: Sequence[str]) -> list[str]:
        """The patterns that name none of these tools, and none that an `unlisted` server may have, or a toolset that is
        not there."""
        may_be_there = [each for each in _matchers(self.patterns) if any(map(each.reaches, unlisted))]
        matched = [each for each in _matchers(self.patterns) if any(each.has(it.server, it.name) for it in tools)]
        lost = [each.pattern for each in _matchers(self.patterns) if each not in (*may_be_there, *matched)]
        names = {f"{OF_TOOLSET}{toolset.name}" for toolset in self.toolsets}
        return lost + [each for each in self.patterns if each.startswith(OF_TOOLSET) and each not in names]

    def written(self, name: str, view: View) -> str | None:
        """The key that a name says, of a tool that is chosen whether or not its server has listed it."""
        server, _, tool = name.partition("__")
        is_named = bool(server and tool) and direct_name(server, tool) == name
        return join(server, tool) if is_named and self.has(Tool(server, tool, {}, "{}"), view) else None

    def _names(self, server: str, name: str) -> bool:
        return self.replaces or any(matcher.has(server, name) for matcher in _matchers(self.patterns))

    def _all(self, view: View) -> Iterator[Toolset]:
        yield from self.toolsets
        if view.toolset and EQUIPPED in self.patterns:
            yield view.toolset


@lru_cache(maxsize=16)
def _matchers(patterns: tuple[str, ...]) -> tuple[Matcher, ...]:
    globs = (pattern for pattern in patterns if pattern not in (EVERY, EQUIPPED) and not pattern.startswith(OF_TOOLSET))
    return tuple(Matcher(PolicyRule(ALLOW, pattern, ("serve",), "direct")) for pattern in globs)


class DirectTools(Struct, frozen=True, eq=False, dict=True):
    """The tools that one client is shown, by their names, in the order of servers and of their lists; immutable."""

    tools: Mapping[str, Tool]
    keys: Mapping[str, str]  # by name, the keys of all that are chosen, shown or not
    equal: Mapping[str, Sequence[str]]  # keys of the tools that are not shown, since their names would be equal
    generation: str = ""  # changes whenever any of them does: cursors are of one generation

    @cached_property
    def definitions(self) -> Sequence[bytes]:
        return [_definition(name, tool) for name, tool in self.tools.items()]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The names, by key."""
        return {tool.key: name for name, tool in self.tools.items()}

    @property
    def problems(self) -> Sequence[str]:
        """Why tools that are chosen are not shown, in sentences."""
        alike = (" and ".join(key if is_plain(key) else "a tool" for key in keys) for keys in self.equal.values())
        return [f"{keys} would have one name, and are not shown" for keys in alike]

    @cached_property
    def of_pages(self) -> Mapping[str, str]:
        """The keys of the tools that a page may call, by the names that their servers have for them; names that
        several of the tools have are left out."""
        named: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            named.setdefault(tool.name, []).append(tool)
        return {name: tools[0].key for name, tools in named.items() if len(tools) == 1 and tools[0].is_for_pages}

    @cached_property
    def page_owners(self) -> Mapping[str, str]:
        """The server of each page that one of the tools comes with; pages that several servers have are left out."""
        owners: dict[str, set[str]] = {}
        for tool in self.tools.values():
            if tool.page:
                owners.setdefault(tool.page, set()).add(tool.server)
        return {page: min(servers) for page, servers in owners.items() if len(servers) == 1}


def made(catalog: Catalog, choice: DirectChoice, generation: str = "") -> DirectTools:
    """Takes time where there are many tools."""
    view, named = catalog.view, dict[str, list[Tool]]()
    for server in catalog.config.enabled:
        listed = catalog.listed(server)
        for tool in listed.tools if listed else ():
            if choice.has(tool, view):
                named.setdefault(direct_name(tool.server, tool.name), []).append(tool)
    equal = {name: [tool.key for tool in tools] for name, tools in named.items() if len(tools) > 1}
    alone = {name: tools[0] for name, tools in named.items() if name not in equal}
    shown = {name: _shown(tool, view) for name, tool in alone.items() if _may_be_shown(tool, view)}
    keys = {name: tool.key for name, tool in alone.items()}
    if choice.replaces and catalog.config.shortens:
        shown[offers.READ], keys[offers.READ] = own_tool.TOOL, own_tool.TOOL.key
    return DirectTools(shown, keys, equal, generation)


def of_command(
    paths: Paths, catalog: Catalog, patterns: Sequence[str] | None = None
) -> tuple[DirectTools, Sequence[str]]:
    """Those of the catalog of a command, and the patterns that name none; warns of toolsets that cannot be read.
    `patterns` stand in place of those in the configuration."""

    def read(name: str) -> Toolset | None:
        try:
            return toolset_files.read(toolset_files.place_of(paths, name))
        except McpctlError as error:
            warn(error.message)
            return None

    choice = chosen(catalog.config.serve.direct if patterns is None else patterns, read)
    return made(catalog, choice), choice.unmatched(catalog.known(), catalog.unlisted())


def chosen(patterns: Sequence[str], toolset: Callable[[str], Toolset | None]) -> DirectChoice:
    """The choice that these patterns make; `toolset` gives the toolset of a name."""
    named = (toolset(each.removeprefix(OF_TOOLSET)) for each in patterns if each.startswith(OF_TOOLSET))
    return DirectChoice(tuple(patterns), tuple(each for each in named if each))


def _may_be_shown(tool: Tool, view: View) -> bool:
    return decide.decide(Subject(FIND, tool.server, tool.name, tool, view)).outcome == decide.ALLOW


def _shown(tool: Tool, view: View) -> Tool:
    return view.toolset.shown(tool) if view.toolset else tool


def _definition(name: str, tool: Tool) -> bytes:
    """A definition as its server sent it, but for its name and key, and for what a toolset says of it."""
    members = jsonrpc.members(tool.text.encode("utf-8", "replace"))
    members["name"] = msgspec.json.encode(name)
    for text in ("title", "description"):
        if (now := tool.definition.get(text)) != _value(members.get(text)):
            members[text] = msgspec.json.encode(now)
    overridden = {hint: value for hint, (value, source) in hints.deciding(tool).items() if source == "override"}
    if overridden:
        declared = jsonrpc.members_or_empty(members.get("annotations", b""))
        encoded = {hint: msgspec.json.encode(value) for hint, value in overridden.items()}
        members["annotations"] = jsonrpc.object_of({**declared, **encoded})
    meta = jsonrpc.members_or_empty(members.get("_meta", b""))
    members["_meta"] = jsonrpc.object_of({**meta, KEY: msgspec.json.encode(tool.key)})
    return jsonrpc.object_of(members)


def _value(text: bytes | None) -> Any:
    return None if text is None else jsonrpc.value(text, object)


class _Kept(NamedTuple):
    changes: int
    tools: DirectTools


class KnownDirectTools:
    """The direct tools of each view that asks, made once for as long as nothing of it changes."""

    def __init__(self, toolset: Callable[[str], Toolset | None]) -> None:
        """`toolset` gives the toolset of a name."""
        self._toolset = toolset
        self._kept: dict[tuple[Any, ...], _Kept] = Newest(_MOST_KEPT)
        self._count = 0

    def choice(self, view: View) -> DirectChoice:
        return chosen(view.config.serve.direct, self._toolset)

    def known(self, catalog: Catalog) -> DirectTools | None:
        """None where they have to be made first."""
        found, changes = catalog.view.shown_directly, catalog.lists.changes
        if changes not in found:
            kept = self._kept.get(_seen(catalog.view, self.choice(catalog.view)))
            if kept is None or kept.changes != changes:
                return None
            found.clear()
            found[changes] = kept.tools
        tools: DirectTools = found[changes]
        return tools

    def latest(self, catalog: Catalog) -> DirectTools | None:
        """The last ones that were made of what the catalog's view sees, though lists may have changed since."""
        kept = self._kept.get(_seen(catalog.view, self.choice(catalog.view)))
        return kept.tools if kept else None

    async def made(self, catalog: Catalog) -> DirectTools:
        """Those of the catalog at this moment, made aside; the same object as before where they are as before."""
        from mcpctl.wire.threads import beside  # commands have no event loop

        if known := self.known(catalog):
            return known
        choice, changes = self.choice(catalog.view), catalog.lists.changes
        seen = _seen(catalog.view, choice)
        before = self._kept.get(seen)
        self._count += 1
        generation = f"{time.time_ns():x}.{self._count}"  # no cursor of an earlier process is one of these
        now = await beside(_made_ready, catalog.snapshot(), choice, generation)
        if before and before.tools.keys == now.keys and before.tools.definitions == now.definitions:
            now = before.tools
        self._kept[seen] = _Kept(changes, now)
        return now


def _made_ready(catalog: Catalog, choice: DirectChoice, generation: str) -> DirectTools:
    tools = made(catalog, choice, generation)
    tools.definitions  # noqa: B018 - made here, aside
    return tools


def _seen(view: View, choice: DirectChoice) -> tuple[Any, ...]:
    access = view.access
    return (
        view.config, view.toolset, view.capability_sets, access.is_barred, access.only_reads, view.is_locked,
        choice,
    )  # fmt: skip
