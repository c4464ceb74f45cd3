"""The hints of a tool as badges: text and a symbol each, so that nobody has to see their colours."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mcpctl.base import hints
from mcpctl.base.models import HINTS, Row
from mcpctl.catalog.rows import HINT_FIELDS


class Badge(NamedTuple):
    kind: str  # its class in the style sheet
    symbol: str
    text: str
    title: str  # its meaning, and where it comes from


_WORDS = {
    ("readOnlyHint", True): Badge("read-only", "R", "Read-only", "This tool only reads data"),
    ("destructiveHint", True): Badge("destructive", "!", "Destructive", "This tool may make destructive changes"),
    ("idempotentHint", True): Badge("idempotent", "=", "Idempotent", "Calling it again in the same way adds nothing"),
    ("openWorldHint", True): Badge("open-world", "↗", "Open world", "This tool reaches things outside"),
    ("readOnlyHint", False): Badge("no", "✎", "Not read-only", "This tool changes things"),
    ("destructiveHint", False): Badge(
        "no", "+", "Not destructive", "This tool only adds, or changes what can be undone"
    ),
    ("idempotentHint", False): Badge("no", "≠", "Not idempotent", "Calling it again does it again"),
    ("openWorldHint", False): Badge("no", "⌂", "Closed world", "This tool stays within its own domain"),
}
RISKS = {  # the meaning of each of `hints.RISKS` for a person who has to decide
    "read-only": "This tool only reads data.",
    "changing": "This tool changes data; it is declared to destroy nothing.",
    "destructive": "This tool may make destructive changes.",
    "not-declared": "Nobody has declared what this tool does; it counts as destructive.",
}
_SOURCES = {
    "declared": "as its server declares", "inferred": "if it does as its HTTP method says",
    "override": "as a toolset says instead of its server",
}  # fmt: skip
_UNDECLARED = Badge("undeclared", "?", "Not declared", "Nobody said whether this tool only reads or destroys")
_SILENCES = {  # where only one of the two that make a risk is declared, the other is not a no
    "readOnlyHint": Badge("undeclared", "R?", "Read-only: not declared", "Nobody said whether this tool only reads"),
    "destructiveHint": Badge(
        "undeclared",
        "!?",
        "Destructive: not declared",
        "Nobody said whether this tool destroys: it counts as if it did",
    ),
}
_SILENT = ("destructiveHint", False, "inferred")  # a method does not say that nothing is destroyed
MARKS = {  # the badge of each filter by hints
    "read-only": _WORDS["readOnlyHint", True], "destructive": _WORDS["destructiveHint", True],
    "idempotent": _WORDS["idempotentHint", True], "open-world": _WORDS["openWorldHint", True],
    "undeclared": _UNDECLARED,
}  # fmt: skip


def badges(known: Mapping[str, Any] | None) -> list[Badge]:
    """The badges of a tool's hints, which are `{hint: {value, source}}`, as records of calls and REST have them.
    Whether a tool destroys or may be repeated is shown only where its risk, as `hints.risk` has it, is more than to
    read. `Not declared` is not a no: a hint of the risk that nobody set has a badge of its own."""
    of_tool = {name: hint for name, hint in hints.recorded(known).items() if hint.is_known}
    risk = hints.risk(of_tool)
    shown = [_UNDECLARED] if risk == "not-declared" else []
    for name in HINTS:
        if risk == "read-only" and name in hints.MEANINGLESS_IF_READ_ONLY:
            continue
        if (hint := of_tool.get(name)) and (name, *hint) != _SILENT:
            badge, source = _WORDS[name, hint.value], _SOURCES.get(hint.source)
            shown.append(badge._replace(title=f"{badge.title}, {source}") if source else badge)
        elif name in _SILENCES and risk != "not-declared":
            shown.append(_SILENCES[name])
    return shown


def hints_of(row: Row) -> dict[str, Row]:
    fields = {name: row[field] for field, name in HINT_FIELDS.items()}
    return {
        name: {"value": hint["effective"], "source": hint["source"], **({"file": hint["file"]} if hint["file"] else {})}
        for name, hint in fields.items()
    }
