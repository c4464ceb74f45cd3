"""What becomes callable without a yes by a change: one comparison of all that may be called before it and after.

Pure: both configurations, the toolsets and the lists of tools have been read before.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from urllib.parse import urlsplit

import msgspec

from mcpctl.models import Tool
from mcpctl.policy.decide import ALLOW, CALL, CURRENT, Subject, decide
from mcpctl.policy.view import View
from mcpctl.server_settings import Server
from mcpctl.tool_keys import join, split

Known = Mapping[str, Mapping[str, Tool]]
"""The tools of each server by name, as it last listed them, under the name that it has before the change."""
_LAUNCHER = re.compile(
    r"npx|npm|exec|bunx?|x|pnpm|pnpx|yarn|dlx|uvx?|tool|run|pipx|node|deno|py|python[\d.]*|ruby|docker|podman|env|nice|timeout"
    r"|\w*sh"
)
"""A word before what a command line is about."""
ANY = "any-other"
"""The name of a tool of which nothing is written anywhere."""
_CLOSED = {"openWorldHint": False}
_DECLARED: tuple[dict[str, bool], ...] = (
    {}, {"readOnlyHint": True, **_CLOSED}, {"readOnlyHint": True},
    {"destructiveHint": False, **_CLOSED}, {"destructiveHint": False},
    {"destructiveHint": True, **_CLOSED}, {"destructiveHint": True},
)  # fmt: skip
"""What a tool that is not listed yet may declare."""


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
            yield join(name, "*")
        # What is said of a name holds whatever runs under it.
        for each in dict.fromkeys([*former, *([name] if old else [])]):
            yield from (join(name, tool) for tool in _freed(before, after, each, name, former or [name], known))
        if is_same and set(after.config.exposes(name)).difference(before.config.exposes(name)):
            yield name


def _freed(before: View, after: View, old: str, new: str, former: Sequence[str], known: Known) -> Iterator[str]:
    """The names of the tools of `old` that are free under its new name, and were so under none of the former ones."""
    for tool in _tools(before, after, old, new, known):
        renamed = replace(tool, server=new) if old != new else tool
        if not _is_free(after, renamed):
            continue
        if not any(_is_free(before, replace(tool, server=each)) for each in dict.fromkeys((*former, old))):
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
    """The names that an entry and the toolset in force have."""
    entry = view.config.servers[name]
    yield from entry.tools
    yield from (pattern.replace("*", ANY).replace("?", "x") for pattern in entry.only or ())
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
    """The view after a change, with each entry that it takes away as one that restricts nothing: whoever removes it
    may add it again so."""
    gone = {
        name: msgspec.structs.replace(entry, enabled=True, tools={}, only=None, projects=[], trust_hints="yes")
        for name, entry in before.config.servers.items()
        if name not in after.config.servers and name not in after.config.problems
    }
    if not gone:
        return after
    servers, elsewhere = {**after.config.servers, **gone}, after.config.elsewhere.difference(gone)
    return replace(after, config=replace(after.config, servers=servers, elsewhere=elsewhere))


def is_same_program(one: Server, other: Server) -> bool:
    """Whether two entries start the same program, or lead to the same address. Of commands: the package, script or
    program that they name first is the same, or one command line has all words of the other, in their order."""
    if one.url or other.url:
        return bool(one.url and other.url) and _address(one.url) == _address(other.url)
    shorter, longer = sorted((_words(one), _words(other)), key=len)
    rest = iter(longer)
    return bool(shorter) and (_named(shorter) == _named(longer) or all(word in rest for word in shorter))


def _named(words: Sequence[str]) -> str:
    """What a command line names first beside what starts it, without a version; the whole where it names nothing."""
    named = (word for word in words if not _LAUNCHER.fullmatch(word) and not word.startswith("-") and "=" not in word)
    return re.sub(r"(?<=.)@[^/]*\Z", "", next(named, " ".join(words)))


def _address(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", url
    return parts.netloc.casefold(), parts.path.rstrip("/")


def _words(server: Server) -> list[str]:
    """The words of a command line, a shell's own included; of a path of a program its name."""
    words: list[str] = []
    for word in (server.command, *server.args):
        try:
            words += shlex.split(word) if any(map(str.isspace, word)) else [word]
        except ValueError:  # a quote that is not closed
            words += word.split()
    return [PurePath(word).name or word for word in words]
