"""Toolsets as a person builds, lists and equips them."""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from mcpctl.base.errors import McpctlError, NotFound, Refused, Unusable, WrongUsage, warn
from mcpctl.base.files import read_stdin
from mcpctl.base.models import TOOLSET_FIELDS, Found, Row, Tool
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import join, split, split_typed
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.config import policy_settings
from mcpctl.config.policy_settings import ALLOW, PolicyRule
from mcpctl.policy.rules import names_any
from mcpctl.store import clock
from mcpctl.store.state import State
from mcpctl.toolsets import edits, in_force
from mcpctl.toolsets.edits import ToolsetDraft
from mcpctl.toolsets.toolset import ToolIndex, Toolset, ref_id
from mcpctl.toolsets.toolset_files import ToolsetFile, names, not_found, place_of, read, read_text

_WILDCARD = re.compile("[*?]")


def build(
    paths: Paths, reference: str, words: Sequence[str], description: str | None, permit: edits.Permit
) -> tuple[str, int]:
    """Make a toolset of the tools that `words` stand for; returns its name, and how many tools it has."""
    place = place_of(paths, reference)
    if place.inner:
        raise WrongUsage(
            f"'{reference}' is one of several in a file", "name a toolset with a file of its own", "bad_name"
        )
    if place.path.suffix != ".json":
        raise WrongUsage(f"'{reference}' is not a path of a toolset", "end it in .json", "bad_name")
    tools = _tools(paths, words)
    if not tools:
        raise WrongUsage("no tool was named", "name tools by their keys, or write them to stdin and give -", "no_tools")
    edits.create(place, tools, description, permit)
    return place.reference, len(tools)


def add(paths: Paths, reference: str, words: Sequence[str], permit: edits.Permit) -> list[str]:
    """Put tools into a toolset; returns the keys of those that were not in it."""
    tools = _tools(paths, words)
    _, added = edits.change(place_of(paths, reference), lambda draft: edits.add_tools(draft, tools), permit)
    return [tool.key for tool in added]


def remove(paths: Paths, reference: str, words: Sequence[str], permit: edits.Permit) -> list[str]:
    """Take tools out of a toolset, listed or not; returns their keys. Raises `NotFound` when one is not in it."""
    place = place_of(paths, reference)
    with rows.catalog(paths, quiet=True) as catalog:
        hint = f"see what is in it with: mcpctl toolsets show {reference}"
        every: list[str] = []
        if has_wildcard(words):  # tools of the toolset, listed or not
            toolset = read(place)
            every += filter(None, (reference.key for reference in toolset.tools))
            every += (tool.key for tool in catalog.known() if toolset.holds(tool))
        wanted = keys(words, every, hint)
        known = {key: catalog.find(*split_typed(key)) for key in wanted}
    indexes = {key: {".".join(split_typed(key)), *([ref_id(tool)] if tool else [])} for key, tool in known.items()}

    def change(draft: ToolsetDraft) -> None:
        removed = edits.remove_tools(draft, set().union(*indexes.values()))
        for key, named in indexes.items():
            if not named & removed:
                raise NotFound(f"tool '{key}' is not in the toolset '{reference}'", hint, "not_in_toolset")

    edits.change(place, change, permit)
    return wanted


def delete(paths: Paths, reference: str) -> None:
    """Delete a toolset of the data directory, but not the equipped one: without it, all tools would be there."""
    place = place_of(paths, reference)
    if not place.is_named or place.inner:
        raise WrongUsage(f"{place.reference} is a file of yours", "delete it as any file", "not_deletable")
    with State.opened(paths) as state:
        equipped = state.equipped()
    if equipped and place_of(paths, equipped).path == place.path:
        raise Refused(f"toolset '{reference}' is equipped", "unequip it first: mcpctl toolsets unequip", "equipped")
    try:
        place.path.unlink()
    except FileNotFoundError:
        raise not_found(place) from None


def equip(paths: Paths, reference: str, permit: Callable[[str | None], None]) -> str:
    """Put a readable toolset in force for every client that names none; `permit` may raise `Refused`."""
    place = place_of(paths, reference)
    if problem := read(place).lacks_tools:
        warn(f"{place.reference}: {problem}; see: {shlex.join(['mcpctl', 'annotate', 'check', str(place.path)])}")
    permit(place.reference)
    with State.connect(paths) as state:
        state.equip(place.reference)
    return place.reference


def unequip(paths: Paths, permit: Callable[[str | None], None]) -> None:
    permit(None)
    with State.connect(paths) as state:
        state.equip(None)


def ls(paths: Paths) -> Found:
    """The toolsets of the data directory, and the equipped one wherever it is, also broken ones."""
    with State.opened(paths) as state:
        equipped = state.equipped()
    places = [place for path in sorted(paths.toolsets.glob("*.json")) for place in _places(paths, path.stem)]
    if equipped and equipped not in [place.reference for place in places]:
        places.append(place_of(paths, equipped))
    return Found.of([_row(place, equipped) for place in places])


def show(paths: Paths, option: str | None, project: str | None = None) -> Row:
    with rows.catalog(paths, project=project, quiet=True) as catalog:
        place, toolset = in_force.required(paths, catalog.config, option, catalog.state)
        equipped = catalog.state.equipped()
        return {**_row(place, equipped), "own": toolset.own, "tools": _tool_rows(catalog, toolset)}


def has_wildcard(words: Sequence[str]) -> bool:
    return any(_WILDCARD.search(word) for word in words)


def keys(words: Sequence[str], every: Sequence[str], hint: str) -> list[str]:
    """The keys that words stand for, each once: `server:tool`, or with `*` or `?` all of `every` that match; `-` is for
    keys on stdin, without wildcards. Raises `NotFound` with `hint` for a word that matches none."""
    chosen: list[str] = []
    for word in words:
        if word == "-":
            chosen += [line.strip() for line in read_stdin().splitlines() if line.strip()]
        elif _WILDCARD.search(word):
            chosen += _matching(word, every, hint)
        else:
            chosen.append(word)
    return list(dict.fromkeys(chosen))


def _matching(word: str, every: Sequence[str], hint: str) -> list[str]:
    pattern = word if ":" in word or word == "*" else join(*split_typed(word))
    if problem := policy_settings.problem_of(pattern):
        raise WrongUsage(problem, "for example: git:list_*", "bad_pattern")
    rule = PolicyRule(ALLOW, pattern, ("toolsets",), ALLOW)
    matches = [key for key in every if names_any(rule, [split(key)])]
    if not matches:
        raise NotFound(f"no tool matches '{word}'", hint, "tool_not_found")
    return matches


def _tools(paths: Paths, words: Sequence[str]) -> list[Tool]:
    with rows.catalog(paths, quiet=True) as catalog:
        every = [tool.key for tool in catalog.visible(with_held=True)] if has_wildcard(words) else []
        unlisted = catalog.unlisted()
        servers = ", ".join(name for name in catalog.config.enabled if name not in unlisted) or "none"
        more = f"; not listed yet: {', '.join(unlisted)}: mcpctl tools refresh" if unlisted else ""
        tools = [rows.resolve(catalog, key) for key in keys(words, every, f"servers with tools: {servers}{more}")]
    return list(dict.fromkeys(tools))


def _places(paths: Paths, stem: str) -> list[ToolsetFile]:
    place = ToolsetFile(paths.toolsets / f"{stem}.json", None, own=True, is_named=True)
    try:
        in_file = names(read_text(place), place)
    except McpctlError:
        in_file = [None]
    return [ToolsetFile(place.path, name, own=True, is_named=True) for name in in_file]


def _row(place: ToolsetFile, equipped: str | None) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(TOOLSET_FIELDS)
    row.update(name=place.reference, equipped=place.reference == equipped, path=str(place.path))
    try:
        toolset = read(place)
    except (NotFound, Unusable) as error:
        return {**row, "problem": error.message}
    return {
        **row,
        "tools": len(toolset.tools),
        "notes": sum(len(entry.notes) for entry in toolset.entries),
        "overrides": sum(len(entry.hints) + bool(entry.title) for entry in toolset.entries),
        "description": toolset.description,
        "problem": toolset.lacks_tools,
        "last_modified": clock.iso(place.path.stat().st_mtime),
    }


def _tool_rows(catalog: Catalog, toolset: Toolset) -> list[dict[str, Any]]:
    known = ToolIndex(catalog.known())
    table = []
    for reference in toolset.tools:
        tool = known.tool(reference)
        entry = toolset.about(tool) if tool else toolset.said_of(reference)
        changed = bool(tool and reference.ref_id and reference.ref_id != known.hash(tool))
        table.append({
            "key": tool.key if tool else reference.key,
            "ref_id": reference.ref_id,
            "status": "unknown" if tool is None else "changed" if changed else "ok",
            "notes": [{"name": note.name, "note": note.text} for note in entry.notes],
            "overrides": {**entry.hints, **({"title": entry.title} if entry.title else {})},
        })  # fmt: skip
    return table
