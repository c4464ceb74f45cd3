"""The tools that a change lets be called without a yes. Pure: all that is compared has been read before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import join, split
from mcpctl.config.policy_settings import PolicyRule
from mcpctl.policy.decide import ALLOW, CALL, COUNT, CURRENT, Subject, decide
from mcpctl.policy.rules import Matcher
from mcpctl.policy.same_program import CommandReading, is_same_program, is_wider, reading, surroundings
from mcpctl.policy.view import View

ListedTools = Mapping[str, Mapping[str, Tool]]  # by server, under its name before the change, and tool
ANY = "any-other"  # the name of a tool that nothing mentions
_AGAIN = "-again"
_CLOSED = {"openWorldHint": False}
_DECLARED: tuple[dict[str, bool], ...] = (  # the hints that a tool may declare that is not listed yet
    {}, {"readOnlyHint": True, **_CLOSED}, {"readOnlyHint": True},
    {"destructiveHint": False, **_CLOSED}, {"destructiveHint": False},
    {"destructiveHint": True, **_CLOSED}, {"destructiveHint": True},
)  # fmt: skip


def loosened(before: Sequence[View], after: Sequence[View], known: ListedTools) -> list[str]:
    """The keys of tools that need no yes after a change, and did before, and of those whose limits allow more, whatever
    else decides on them; `server:*` of a new server, and `server` where prompts or resources are newly exposed. The
    views are of the same projects, in the same order."""
    keys: dict[str, None] = {}
    for old, new in zip(before, after, strict=True):
        keys.update(dict.fromkeys(_loosened(old, _with_removed(old, new), known)))
    return list(keys)


def still_free(keys: Sequence[str], views: Sequence[View], known: ListedTools) -> Iterator[str]:
    """Those of the keys from `loosened` that need no yes in one of these views, with the tools of a new server."""
    for key in keys:
        server, name = split(key)
        listed, there = known.get(server, {}), [view for view in views if server in view.config.enabled]
        if not name:
            yield from [key] if any(view.config.exposes(server) for view in there) else []
        elif listed and (name == "*" or ANY in name):  # samples of tools that were not known
            free = (tool.name for tool in listed.values() if any(_is_free(view, tool) for view in there))
            yield from (join(server, tool) for tool in free)
        else:
            tools = [listed[name]] if name in listed else list(_samples(server, ANY if name == "*" else name))
            yield from [key] if any(_is_free(view, tool) for view in there for tool in tools) else []


def _loosened(before: View, after: View, known: ListedTools) -> Iterator[str]:
    read = {name: reading(entry) for name, entry in before.config.servers.items()}
    for name, server in after.config.servers.items():
        old = before.config.servers.get(name)
        is_same = old is not None and is_same_program(old, server)
        others = [other for other, entry in before.config.servers.items() if is_same_program(entry, server)]
        former = [name] if is_same else others
        hidden = _hidden(read, reading(server), former)
        # Another program, or the same where it may run something else.
        is_other = old is not None and (surroundings(old) != surroundings(server) or is_wider(server, old))
        is_new = not former or is_other
        if is_new and after.config.policy.enforces and any(_is_free(after, tool) for tool in _samples(name, ANY)):
            yield join(name.removesuffix(_AGAIN), "*")
        # Rules on a name apply whatever runs under it.
        for old_name in dict.fromkeys([*former, *hidden, *([name] if old else [])]):
            shown = name.removesuffix(_AGAIN)
            freed = _freed(before, after, old_name, name, former or [old_name], known)
            yield from (join(shown, tool) for tool in freed)
        if is_same and set(after.config.exposes(name)).difference(before.config.exposes(name)):
            yield name


def _hidden(read: Mapping[str, CommandReading], server: CommandReading, former: Sequence[str]) -> Iterator[str]:
    """The entries whose program a server may start by words in it, and by none of those that it had before."""
    for name, entry in read.items():
        if name not in former and server.meets(entry) and not any(read[each].meets(entry) for each in former):
            yield name


def _freed(before: View, after: View, old: str, new: str, former: Sequence[str], known: ListedTools) -> Iterator[str]:
    """The names of the tools of `old` that are free under its new name, or limited less, and were so under none of the
    former ones."""
    for tool in _tools(before, after, old, new, known):
        # Under another name nothing is pinned: only what is there decides, and not that it was another before.
        renamed = replace(tool, server=new, held="") if old != new else tool
        is_free = _is_free(after, renamed)
        # An unrestricted entry of another name counts only where it starts the restricted program itself.
        entries = before.config.servers
        alike = [other for other in former if is_same_program(entries[other], entries[old])]
        former_tools = (replace(tool, server=other) for other in dict.fromkeys((*alike, old)))
        # Limits by themselves: a tool that is asked about, held or off is limited again once it is called.
        limits = _limits(after, renamed)
        if not any(
            _keep_limits(before, each, limits) and (not is_free or _is_free(before, each)) for each in former_tools
        ):
            yield tool.name.replace(ANY, "*")


def _tools(before: View, after: View, old: str, new: str, known: ListedTools) -> Iterator[Tool]:
    listed = known.get(old, {})
    yield from listed.values()
    written = {ANY: None, **dict.fromkeys(_written(before, old)), **dict.fromkeys(_written(after, new))}
    for name in written:
        if name not in listed:
            yield from _samples(old, name)


def _written(view: View, name: str) -> Iterator[str]:
    entry = view.config.servers[name]
    yield from entry.tools
    rules = (*view.rules.ordered, *view.config.policy.limits)
    named = (rule for rule in rules if not rule.pattern.startswith("@") and Matcher(rule).reaches(name))
    patterns = (*(entry.only or ()), *(split(rule.pattern)[1] for rule in named))
    yield from (pattern.replace("*", ANY).replace("?", "x") for pattern in patterns if pattern)
    for reference in view.toolset.tools if view.toolset else ():
        server, tool = split(reference.key or "")
        if server == name and tool:
            yield tool


def _samples(server: str, name: str) -> Iterator[Tool]:
    return (Tool(server, name, {"annotations": declared}, "{}") for declared in _DECLARED)


def _is_free(view: View, tool: Tool) -> bool:
    shown = view.toolset.shown(tool) if view.toolset else tool
    return decide(Subject(CALL, tool.server, tool.name, shown, view, listing=CURRENT)).outcome in (ALLOW, COUNT)


def _limits(view: View, tool: Tool) -> Sequence[PolicyRule]:
    """The limits that a call of it keeps: none where a policy is only recorded."""
    return view.rules.limits(tool.server, tool.name, tool) if view.config.policy.enforces else ()


def _keep_limits(before: View, tool: Tool, limits: Sequence[PolicyRule]) -> bool:
    """Whether each of its limits of before has one among these that allows no more, of all tools that it was for."""
    olds = [rule for rule in _limits(before, tool) if rule.rate]
    return all(
        any(
            new.rate and new.rate.most <= old.rate.most and new.rate.window_s >= old.rate.window_s
            and new.scope in ("", old.scope) and new.pattern in (old.pattern, "*", "*:*")
            for new in limits
        )
        for old in olds if old.rate
    )  # fmt: skip


def _with_removed(before: View, after: View) -> View:
    """The new view with each removed program as an unrestricted entry, as which it may be added again."""
    kept = after.config.servers
    gone = {
        f"{name}{_AGAIN}": msgspec.structs.replace(
            entry, enabled=True, tools={}, only=None, projects=[], trust_hints="yes", expose=None
        )
        for name, entry in before.config.servers.items()
        if not any(is_same_program(entry, other) for other in ([kept[name]] if name in kept else kept.values()))
    }  # fmt: skip
    if not gone:
        return after
    config = msgspec.structs.replace(after.config, servers={**kept, **gone})
    return msgspec.structs.replace(after, config=config)
