"""Tools that a client is shown directly, under names of their own: beside the meta-tools, or in their place.

A pattern says which: `server:tool` with `*` and `?`, `@NAME` for the tools of a toolset, `equipped` for those of the
toolset in force, `all` for every tool and no meta-tools.
"""

import hashlib
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace as replace_fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mcpctl.base import hints
from mcpctl.base.errors import McpctlError
from mcpctl.base.models import Newest, Tool
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import is_plain, join, split
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Listed
from mcpctl.config.policy_settings import ALLOW, PolicyRule
from mcpctl.config.settings import EQUIPPED, EVERY, OF_TOOLSET
from mcpctl.metatools import offers, own_tool
from mcpctl.policy import decide
from mcpctl.policy.decide import CALL, FIND, REFUSE, Subject
from mcpctl.policy.rules import Matcher
from mcpctl.policy.view import View
from mcpctl.toolsets import toolset_files
from mcpctl.toolsets.toolset import Toolset

if TYPE_CHECKING:
    import asyncio

_LONGEST = 64
_DIGITS = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_ENDS_HASHED = re.compile(rf"_[0-9A-Fa-f]{{{_DIGITS}}}\Z")
_MOST_KEPT = 64  # views whose tools are kept
_LONGEST_OWN = 128  # characters of a name that a page calls: the protocol has no longer ones
_TOLD = 3  # names that are equal of which is told
_NOBODY = ""  # in place of a key, for a name that is of no tool


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

    @classmethod
    def of(cls, view: View) -> "DirectChoice":
        return cls(tuple(view.config.serve.direct), view.direct_toolsets)

    @property
    def replaces(self) -> bool:
        """Whether the tools stand in place of the meta-tools."""
        return EVERY in self.patterns

    def has(self, tool: Tool, view: View) -> bool:
        if self.replaces or any(each.has(tool.server, tool.name) for each in _matchers(self.patterns)):
            return True
        return any(toolset.holds(tool) for toolset in self._all(view))

    def reaches(self, server: str, view: View) -> bool:
        """Whether it may have a tool of this server."""
        return self.replaces or any(each.reaches(server) for each in _matchers(self.patterns)) or bool(self._all(view))

    def key_said(self, name: str, view: View) -> str | None:
        """The key that a plain name says itself, whether or not its server has listed the tool; empty where that tool
        is not chosen, or nothing has such a name; None where only lists can tell."""
        if len(name) > _LONGEST_OWN:
            return _NOBODY
        if "__" not in name or _ENDS_HASHED.search(name):
            return None
        server, _, tool = name.partition("__")
        is_plain_name = bool(server and tool) and direct_name(server, tool) == name
        is_chosen = is_plain_name and self.has(Tool(server, tool, {}, "{}"), view)
        return join(server, tool) if is_chosen else _NOBODY

    def _all(self, view: View) -> Sequence[Toolset]:
        return (*self.toolsets, *([view.toolset] if view.toolset and EQUIPPED in self.patterns else ()))

    def unmatched(self, catalog: Catalog) -> Iterator[str]:
        """The patterns that name no tool that is known, and none that a server may have that has not listed."""
        tools, unlisted = catalog.known(), catalog.unlisted()
        for each in _matchers(self.patterns):
            if not any(map(each.reaches, unlisted)) and not any(each.has(tool.server, tool.name) for tool in tools):
                yield each.pattern


@lru_cache(maxsize=16)
def _matchers(patterns: tuple[str, ...]) -> tuple[Matcher, ...]:
    globs = (pattern for pattern in patterns if pattern not in (EVERY, EQUIPPED) and not pattern.startswith(OF_TOOLSET))
    return tuple(Matcher(PolicyRule(ALLOW, pattern, ("serve",), "direct")) for pattern in globs)


class _Part(Struct, frozen=True):
    """The chosen tools of one server."""

    listed: Listed | None
    chosen: Mapping[str, Tool]  # by their direct names
    shown: Mapping[str, Tool]  # of these, those that may be called, with the notes of a toolset
    equal: Sequence[tuple[str, str]]  # names that two of them have, with the keys of both


class DirectTools(Struct, frozen=True, eq=False, dict=True):
    """The tools that one client is shown, by their names, in the order of servers and of their lists; immutable."""

    tools: Mapping[str, Tool]
    chosen: Mapping[str, Tool]  # the same, and those that may not be called now
    equal: str = ""  # why some are not shown
    generation: str = ""  # changes whenever any of them does: cursors are of one generation

    @cached_property
    def named(self) -> Sequence[tuple[str, Tool]]:
        return list(self.tools.items())

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of each tool that is shown, by its key."""
        return {tool.key: name for name, tool in self.tools.items()}

    def key(self, name: str) -> str:
        """The key of the tool that is called by this name of ours; empty where there is none."""
        tool = self.chosen.get(name)
        return tool.key if tool else _NOBODY

    def key_for_page(self, name: str) -> str:
        """The key of the only tool that is shown whose server has this name for it, where pages may call it."""
        return _NOBODY if "__" in name or _ENDS_HASHED.search(name) or name == offers.READ else self._own.get(name, "")

    @cached_property
    def _own(self) -> Mapping[str, str]:
        named: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            named.setdefault(tool.name, []).append(tool)
        return {name: tools[0].key for name, tools in named.items() if len(tools) == 1 and tools[0].is_for_pages}

    @cached_property
    def pages(self) -> Mapping[str, Mapping[str, bool]]:
        """The servers of each page that a chosen tool comes with; whether a tool of it is shown."""
        found: dict[str, dict[str, bool]] = {}
        for name, tool in self.chosen.items():
            if tool.page:
                servers = found.setdefault(tool.page, {})
                servers[tool.server] = servers.get(tool.server, False) or name in self.tools
        return found

    def is_like(self, other: "DirectTools") -> bool:
        """Whether a client is shown the same: most tools are the same objects, and are not looked into."""
        if self.tools.keys() != other.tools.keys() or self.equal != other.equal:
            return False
        pairs = zip(self.named, other.named, strict=True)
        return all(mine[0] == theirs[0] and _are_same(mine[1], theirs[1]) for mine, theirs in pairs)


def _are_same(one: Tool, other: Tool) -> bool:
    return one is other or (one.text, one.overrides, one.definition) == (other.text, other.overrides, other.definition)


def _part(catalog: Catalog, choice: DirectChoice, server: str, listed: Listed | None) -> _Part:
    view, chosen, equal = catalog.view, dict[str, Tool](), list[tuple[str, str]]()
    for tool in listed.tools if listed else ():
        if choice.has(tool, view):
            name = direct_name(tool.server, tool.name)
            if name in chosen:
                equal.append((name, f"{_told(chosen[name])} and {_told(tool)}"))
            chosen[name] = tool
    shown = {name: _shown(tool, view) for name, tool in chosen.items() if _may_be_shown(tool, view)}
    return _Part(listed, chosen, shown, equal)


def _told(tool: Tool) -> str:
    return tool.key if is_plain(tool.key) else f"a tool of {tool.server}"


def _merged(catalog: Catalog, choice: DirectChoice, parts: Sequence[_Part], generation: str) -> DirectTools:
    shown: dict[str, Tool] = {}
    chosen: dict[str, Tool] = {}
    equal = {name: told for part in parts for name, told in part.equal}
    for part in parts:
        for name in chosen.keys() & part.chosen.keys():
            equal.setdefault(name, f"{_told(chosen[name])} and {_told(part.chosen[name])}")
        chosen |= part.chosen
        shown |= part.shown
    for name in equal:
        chosen.pop(name, None)
        shown.pop(name, None)
    if choice.replaces and catalog.config.shortens:
        chosen[offers.READ] = own_tool.TOOL
        subject = Subject(CALL, own_tool.TOOL.server, own_tool.TOOL.name, own_tool.TOOL, catalog.view)
        if decide.decide(subject).outcome != REFUSE:
            shown[offers.READ] = own_tool.TOOL
    told = f"{', '.join(list(equal.values())[:_TOLD])} would have one name, and are not shown" if equal else ""
    return DirectTools(shown, chosen, told, generation)


def of_command(
    paths: Paths, catalog: Catalog, patterns: Sequence[str] | None = None
) -> tuple[DirectTools, Sequence[str]]:
    """The direct tools of the catalog of a command, and why some that are chosen are not among them. `patterns` stand
    in place of those in the configuration."""
    patterns = catalog.config.serve.direct if patterns is None else patterns
    toolsets, problems = [], []
    for reference in (each.removeprefix(OF_TOOLSET) for each in patterns if each.startswith(OF_TOOLSET)):
        try:
            toolsets.append(toolset_files.read(toolset_files.place_of(paths, reference)))
        except McpctlError as error:
            problems.append(error.message)
    choice = DirectChoice(tuple(patterns), tuple(toolsets))
    parts = [_part(catalog, choice, server, catalog.listed(server)) for server in catalog.config.enabled]
    tools = _merged(catalog, choice, parts, "")
    problems += [f"'{pattern}' names no tool" for pattern in choice.unmatched(catalog)]
    return tools, [*([tools.equal] if tools.equal else ()), *problems]


def _may_be_shown(tool: Tool, view: View) -> bool:
    """A client tells its models from pages, so that it is shown what is for either."""
    subject = Subject(FIND, tool.server, tool.name, tool, view, is_direct=True)
    return decide.decide(subject).outcome == decide.ALLOW


def _shown(tool: Tool, view: View) -> Tool:
    shown = view.toolset.shown(tool) if view.toolset else tool
    if tool.inferred and not view.rules.may_infer(tool.server):
        # A client lets its user's models call by these hints: it is told no more than counts here.
        return replace_fields(shown, inferred=hints.tightening(tool.inferred))
    return shown


class _Kept(NamedTuple):
    changes: int
    parts: Mapping[str, _Part]  # by server
    tools: DirectTools


class KnownDirectTools:
    """The direct tools of each view that asks. They are made aside, once for all that wait for them, and of each list
    once for as long as it stays."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], _Kept] = Newest(_MOST_KEPT)
        self._making: dict[tuple[Any, ...], asyncio.Future[DirectTools]] = {}
        self._count = 0
        self._keeping = threading.Lock()

    def known(self, catalog: Catalog) -> DirectTools | None:
        """None where they have to be made first."""
        found, changes = catalog.view.shown_directly, catalog.lists.changes
        if changes not in found:
            kept = self._kept.get(_seen(catalog.view))
            if kept is None or kept.changes != changes:
                return None
            found.clear()
            found[changes] = kept.tools
        tools: DirectTools = found[changes]
        return tools

    def latest(self, catalog: Catalog) -> DirectTools | None:
        """The last ones that were made of what the catalog's view sees, though lists may have changed since."""
        kept = self._kept.get(_seen(catalog.view))
        return kept.tools if kept else None

    async def made(self, catalog: Catalog) -> DirectTools:
        """Those of the catalog at this moment; the same object as before where they are as before."""
        import asyncio  # commands have no event loop

        from mcpctl.wire.threads import beside

        if known := self.known(catalog):
            return known
        key = (*_seen(catalog.view), catalog.lists.changes)
        if key not in self._making:
            self._count += 1
            generation = f"{time.time_ns():x}.{self._count}"  # no cursor of an earlier process is one of these
            self._making[key] = making = beside(self._made, catalog.snapshot(), catalog.lists.changes, generation)
            making.add_done_callback(lambda _: self._making.pop(key))
        return await asyncio.shield(self._making[key])

    def _made(self, catalog: Catalog, changes: int, generation: str) -> DirectTools:
        seen, choice = _seen(catalog.view), DirectChoice.of(catalog.view)
        before = self._kept.get(seen)
        known = before.parts if before else {}
        lists = {server: catalog.listed(server) for server in catalog.config.enabled}
        parts = {
            server: part if (part := known.get(server)) and part.listed is listed
            else _part(catalog, choice, server, listed)
            for server, listed in lists.items()
        }  # fmt: skip
        tools = _merged(catalog, choice, list(parts.values()), generation)
        with self._keeping:  # others may have been made meanwhile, of which a client has a cursor
            before = self._kept.get(seen)
            if before and before.tools.is_like(tools):
                tools = replace(tools, generation=before.tools.generation)
            self._kept[seen] = _Kept(changes, parts, tools)
        return tools


def _seen(view: View) -> tuple[Any, ...]:
    access = view.access
    return (
        view.config, view.toolset, view.direct_toolsets, view.capability_sets, access.is_barred, access.only_reads,
        view.is_locked,
    )  # fmt: skip
