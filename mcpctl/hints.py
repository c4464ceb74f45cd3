"""What a tool says about its own behaviour: the one place that decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from mcpctl.models import HINTS, Tool

DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""The protocol's own: https://modelcontextprotocol.io/specification, ToolAnnotations."""

RISKS = ("read-only", "changing", "destructive", "not-declared")
"""What a tool may do at worst, in the order in which lists group by it."""

PERMISSIONS = ("read", "write", "destructive")
"""What one may permit at a time, the least first."""

MARK = "*"
"""What an overridden hint is marked with where there is little room."""

_LOOSE = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
"""The value of each hint that makes a tool look harmless."""

_MEANINGLESS_IF_READ_ONLY = ("destructiveHint", "idempotentHint")


@dataclass(frozen=True)
class Hint:
    """A hint's effective value and where it comes from: `override`, `declared` or `default`."""

    value: bool
    source: str

    @property
    def is_known(self) -> bool:
        """Whether somebody said so; a default is the protocol's guess."""
        return self.source != "default"


def effective(tool: Tool) -> dict[str, Hint]:
    """The four hints in effect, by name: what a toolset overrides, else what the server declares, else the default.

    Of a read-only tool, `destructiveHint` and `idempotentHint` mean nothing: it counts as neither destructive nor
    unsafe to repeat unless it says otherwise itself.
    """
    return _decided(tool, tool.overrides.hints if tool.overrides else {})


def deciding(tool: Tool) -> dict[str, Hint]:
    """The four hints that count where something is permitted because of them, such as a call by `tool_execute_read`.

    They are those in effect, but what a toolset loosens (it calls a tool read-only, not destructive, idempotent or
    closed, which would not be so without it) counts only from the user's own data directory: a file that comes with a
    repository is as trustworthy as the repository. What it tightens counts wherever it is.
    """
    overrides = tool.overrides
    if overrides is None or overrides.own:
        return effective(tool)
    without = _decided(tool, {})
    tighter = {n: v for n, v in overrides.hints.items() if v != _LOOSE[n] or without[n].value == v}
    return _decided(tool, tighter)


def _decided(tool: Tool, overrides: Mapping[str, bool]) -> dict[str, Hint]:
    hints: dict[str, Hint] = {}
    for name in HINTS:
        declared = tool.annotations.get(name)
        if name in overrides:
            hints[name] = Hint(overrides[name], "override")
        elif isinstance(declared, bool):
            hints[name] = Hint(declared, "declared")
        else:
            hints[name] = Hint(DEFAULTS[name], "default")
    if hints["readOnlyHint"].value:
        for name in _MEANINGLESS_IF_READ_ONLY:
            if not hints[name].is_known:
                hints[name] = Hint(name == "idempotentHint", "default")
    return hints


def permission(tool: Tool) -> str:
    """What a person who permits the call permits, one of `PERMISSIONS`: what nobody declared counts as destructive."""
    return {"read-only": "read", "changing": "write"}.get(risk(deciding(tool)), "destructive")


def risk(hints: Mapping[str, Hint]) -> str:
    """What a tool with these hints in effect may do at worst, one of `RISKS`.

    `read-only`: it is declared (or overridden to be) read-only, whatever it says of destruction, which then means
    nothing. `not-declared`: nobody said whether it is read-only, nor whether it is destructive. `changing`: it is not
    read-only, and somebody said that it is not destructive. `destructive`: all others, so also one that says no more
    than that it is not read-only: the protocol has it count as destructive; and one that is declared read-only where
    a toolset says that it destroys.
    """
    read_only, destructive = hints["readOnlyHint"], hints["destructiveHint"]
    if destructive == Hint(True, "override") and read_only.source != "override":
        return "destructive"
    if read_only.value:
        return "read-only"
    if not read_only.is_known and not destructive.is_known:
        return "not-declared"
    return "destructive" if destructive.value else "changing"


def declared(tool: Tool) -> dict[str, bool]:
    """The hints somebody set, to be sent or shown as declared; a default is never among them."""
    return {name: hint.value for name, hint in effective(tool).items() if hint.is_known}


@lru_cache(maxsize=4096)
def snapshot(tool: Tool | None) -> bytes:
    """The declared hints as a call's record keeps them: JSON `{hint: {value, source}}`, null when none is."""
    known = (
        {n: {"value": h.value, "source": h.source} for n, h in effective(tool).items() if h.is_known} if tool else {}
    )
    return msgspec.json.encode(known) if known else b"null"


def cell(hint: Hint) -> str:
    """A hint in one narrow column: `yes`, `no`, with `*` when overridden; `-` when nobody said."""
    if not hint.is_known:
        return "-"
    return ("yes" if hint.value else "no") + (MARK if hint.source == "override" else "")


_LETTERS = (("readOnlyHint", "R"), ("destructiveHint", "D"), ("idempotentHint", "I"), ("openWorldHint", "O"))


def compact(recorded: Mapping[str, Any] | None) -> str:
    """Four hints in one column, as `RdI-`: a capital for true, small for false, `-` not declared, `*` overridden."""
    out = []
    for name, letter in _LETTERS:
        entry = (recorded or {}).get(name)
        value = entry.get("value") if isinstance(entry, dict) else None
        mark = MARK if isinstance(entry, dict) and entry.get("source") == "override" else ""
        out.append("-" if value is None else (letter if value else letter.lower()) + mark)
    return "".join(out)
