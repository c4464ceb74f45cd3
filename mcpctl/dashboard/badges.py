"""The hints of a tool as badges: text and a symbol each, so that no colour has to be seen."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mcpctl.models import HINTS


class Badge(NamedTuple):
    """One hint of a tool."""

    kind: str
    """Its class in the style sheet."""
    symbol: str
    text: str
    title: str
    """What it means, and where it comes from."""


_WORDS = {
    ("readOnlyHint", True): ("read-only", "R", "Read-only", "This tool only reads data"),
    ("destructiveHint", True): ("destructive", "!", "Destructive", "This tool may make destructive changes"),
    ("idempotentHint", True): ("idempotent", "=", "Idempotent", "To call it again in the same way adds nothing"),
    ("openWorldHint", True): ("open-world", "↗", "Open world", "This tool reaches things outside"),
    ("readOnlyHint", False): ("no", "✎", "Not read-only", "This tool changes things"),
    ("destructiveHint", False): ("no", "+", "Not destructive", "What this tool changes can be undone or only adds"),
    ("idempotentHint", False): ("no", "≠", "Not idempotent", "Calling it again does it again"),
    ("openWorldHint", False): ("no", "⌂", "Closed world", "This tool stays within its own domain"),
}
_NOT_IF_READ_ONLY = ("destructiveHint", "idempotentHint")
_SOURCES = {"declared": "as its server declares", "override": "as a toolset says instead of its server"}
_UNDECLARED = Badge("undeclared", "?", "Not declared", "Nobody said whether this tool only reads or destroys")


def badges(known: Mapping[str, Mapping[str, Any]] | None) -> list[Badge]:
    """The badges of a tool, of its hints that are known as `{hint: {value, source}}`.

    Whether a tool destroys or may be repeated is said only where it does more than read. Without a word on reading and
    on destroying, it is `not declared`, which is not a no.
    """
    known = known or {}
    values = {name: known[name]["value"] for name in HINTS if name in known}
    shown = []
    for name, value in values.items():
        if name in _NOT_IF_READ_ONLY and values.get("readOnlyHint"):
            continue
        kind, symbol, text, meaning = _WORDS[name, value]
        source = _SOURCES.get(known[name].get("source", ""), "")
        shown.append(Badge(kind, symbol, text, f"{meaning}, {source}" if source else meaning))
    if "readOnlyHint" not in values and "destructiveHint" not in values:
        shown.insert(0, _UNDECLARED)
    return shown
