"""The tools that a change lets be called without a yes: one comparison of all that may be called before it and after.

Pure: both configurations, the toolsets and the lists of tools have been read before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import join, split
from mcpctl.policy.decide import ALLOW, CALL, CURRENT, Subject, decide
from mcpctl.policy.programs import is_same_program
from mcpctl.policy.rules import Matcher
from mcpctl.policy.view import View

Known = Mapping[str, Mapping[str, Tool]]
"""The tools of each server by name, as it last listed them, under the name that it has before the change."""
ANY = "any-other"
"""The name of a tool of which nothing is written anywhere."""
_AGAIN = "-again"
_CLOSED = {"openWorldHint": False}
_DECLARED: tuple[dict[str, bool], ...] = (
    {}, {"readOnlyHint": True, **_CLOSED}, {"readOnlyHint": True},
    {"destructiveHint": False, **_CLOSED}, {"destructiveHint": False},
    {"destructiveHint": True, **_CLOSED}, {"destructiveHint": True},
)  # fmt: skip
"""The hints that a tool may declare that is not listed yet."""


def loosened(before: Sequence[View], after: Sequence[View], known: Known) -> list[str]:
    """The keys of the tools that may be called without a yes after a change, and not before it; `server:*` of a server
    that is new, and `server` of one whose prompts or resources are seen now.

    The views are of the same projects, in the same order.
    """
    found: dict[str, None] = {}
    for old, new in zip(before, after, strict=True):
        found.update(dict.fromkeys(_loosened(old, _with_removed(old, new), known)))
    return list(found)


def _loosened(before: View, after: View, known: Known) -> Iterator[str]:
    for name, server in after.config.enabled.items():
        old = before.config.servers.get(name)
        is_same = old is not None and is_same_program(old, server)
        others = [each for each, entry in before.config.servers.items() if is_same_program(entry, server)]
        former = [name] if is_same else others
        if not former and after.config.policy.enforces and any(_is_free(after, tool) for tool in _samples(name, ANY)):
            yield join(name.removesuffix(_AGAIN), "*")
        # What is said of a name holds whatever runs under it.
        for each in dict.fromkeys([*former, *([name] if old else [])]):
            shown = name.removesuffix(_AGAIN)
            yield from (join(shown, tool) for tool in _freed(before, after, each, name, former or [name], known))
        if is_same and set(after.config.exposes(name)).difference(before.config.exposes(name)):
            yield name


def _freed(before: View, after: View, old: str, new: str, former: Sequence[str], known: Known) -> Iterator[str]:
    """The names of the tools of `old` that are free under its new name, and were so under none of the former ones."""
    for tool in _tools(before, after, old, new, known):
        # Under another name nothing is pinned: only what is there decides, and not that it was another before.
        renamed = replace(tool, server=new, held="") if old != new else tool
        if not _is_free(after, renamed):
            continue
        # What runs without restrictions under yet another name counts only where it is the restricted program itself.
        entries = before.config.servers
        alike = [each for each in former if is_same_program(entries[each], entries[old])]
        if not any(_is_free(before, replace(tool, server=each)) for each in dict.fromkeys((*alike, old))):
            yield tool.name if tool.name != ANY else "*"


def _tools(before: View, after: View, old: str, new: str, known: Known) -> Iterator[Tool]:
    """The tools that are compared: those that are listed, and of those that are not what the change names."""
    listed = known.get(old, {})
    yield from listed.values()
    written = {ANY: None, **dict.fromkeys(_written(before, old)), **dict.fromkeys(_written(after, new))}
    for name in written:
        if name not in listed:
            yield from _samples(old, name)


def _written(view: View, name: str) -> Iterator[str]:
    """The names that an entry, the rules and the toolset in force have, also such as their globs match."""
    entry = view.config.servers[name]
    yield from entry.tools
    named = (rule for rule in view.rules.ordered if not rule.pattern.startswith("@") and Matcher(rule).reaches(name))
    patterns = (*(entry.only or ()), *(split(rule.pattern)[1] for rule in named))
    yield from (pattern.replace("*", ANY).replace("?", "x") for pattern in patterns if pattern)
    for reference in view.toolset.tools if view.toolset else ():
        server, tool = split(reference.key or "")
        if server == name and tool:
            yield tool


def _samples(server: str, name: str) -> Iterator[Tool]:
    return (Tool(server, name, {"annotations": declared}, "{}") for declared in _DECLARED)


def _is_free(view: View, tool: Tool) -> bool:
    """Whether a call of the tool needs nobody's yes."""
    shown = view.toolset.shown(tool) if view.toolset else tool
    return decide(Subject(CALL, tool.server, tool.name, shown, view, listing=CURRENT)).outcome == ALLOW


def _with_removed(before: View, after: View) -> View:
    """The view after a change, with each program that no entry starts any more as one that restricts nothing: whoever
    takes it away may add it again so."""
    kept = after.config.servers
    gone = {
        f"{name}{_AGAIN}": msgspec.structs.replace(
            entry, enabled=True, tools={}, only=None, projects=[], trust_hints="yes", expose=None
        )
        for name, entry in before.config.servers.items()
        if not any(is_same_program(entry, each) for each in ([kept[name]] if name in kept else kept.values()))
    }  # fmt: skip
    return replace(after, config=replace(after.config, servers={**kept, **gone})) if gone else after
