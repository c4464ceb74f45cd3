"""The columns of each list: for completions, and for what help says of narrow terminals."""

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpctl.output import Columns

_COLUMNS = {
    ("calls", "ls"): "CALLS",
    ("calls", "ls", "discovery"): "DISCOVERIES",
    ("calls", "show"): "CALLS",
    ("calls", "replay"): "replaying.COLUMNS",
    ("sessions", "stats"): "SAVED",
    ("policy", "explain"): "EXPLAINED",
    ("servers", "check"): "CHECKED",
    ("policy", "import"): "IMPORTED",
    ("servers", "import"): "IMPORTED",
    ("tools", "search"): "FOUND",
    ("tools", "eval"): "measuring.COLUMNS",
    ("tools", "refresh"): "REFRESHED",
    ("tools", "deny"): "PERMITTED",
    ("tools", "allow"): "PERMITTED",
}
"""What a command's columns are called in its noun's columns.py, or in another module there, where not COLUMNS."""

_MORE = {
    ("calls", "show"): ("decisions",),
    ("sessions", "show"): ("tools", "calls", "reads", "decisions"),
    ("tools", "show"): ("permitted", "toolset", "in_toolset", "definition"),
    ("toolsets", "show"): ("own",),
}
"""What one thing has beside what it has in a list."""


def columns(noun: str, verb: str, kind: str = "") -> "Columns":
    """The columns of a list command, or of one kind of its rows; of totals the kind is what they are grouped by."""
    if (noun, verb) == ("calls", "stats"):
        from mcpctl.commands.calls import totals

        return totals.columns(kind.split(",") if kind else [], [], "table")
    place = _COLUMNS.get((noun, verb, kind)) or _COLUMNS.get((noun, verb), "COLUMNS")
    module, _, name = place.rpartition(".")
    found: Columns = getattr(importlib.import_module(f"mcpctl.commands.{noun}.{module or 'columns'}"), name)
    return found


def fields(noun: str, verb: str, kind: str = "") -> Sequence[str]:
    """What `--fields` of a command takes."""
    found = columns(noun, verb, kind)
    return (*found.fields, *(found.also if verb == "ls" else ()), *_MORE.get((noun, verb), ()))


def leaving(path: Sequence[str], options: Sequence[str]) -> str:
    """A sentence on the order in which the columns of this command go; empty for one that prints no list."""
    if "format" not in options or "fields" not in options:
        return ""
    _, noun, verb = path
    return " ".join(_sentences(noun, verb))


def _sentences(noun: str, verb: str) -> Iterator[str]:
    for kind in ["", *(key[2] for key in _COLUMNS if key[:2] == (noun, verb) and len(key) > 2)]:
        found = columns(noun, verb, kind)
        lead = f"With --kind {kind}" if kind else "In a terminal too narrow for all columns"
        yield f"{lead}, these go first: {', '.join(map(found.heading, found.leaving))}."
