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


def effective(tool: Tool, overrides: Mapping[str, Any] | None = None) -> dict[str, Hint]:
    """The four hints in effect, by name.

    Of a read-only tool, `destructiveHint` and `idempotentHint` mean nothing: it counts as neither destructive nor
    unsafe to repeat unless it says otherwise itself.
    """
    hints: dict[str, Hint] = {}
    for name in HINTS:
        override, declared = (overrides or {}).get(name), tool.annotations.get(name)
        if isinstance(override, bool):
            hints[name] = Hint(override, "override")
        elif isinstance(declared, bool):
            hints[name] = Hint(declared, "declared")
        else:
            hints[name] = Hint(DEFAULTS[name], "default")
    if hints["readOnlyHint"].value:
        for name in _MEANINGLESS_IF_READ_ONLY:
            if not hints[name].is_known:
                hints[name] = Hint(name == "idempotentHint", "default")
    return hints


def risk(hints: Mapping[str, Hint]) -> str:
    """What a tool with these hints in effect may do at worst, one of `RISKS`.

    `read-only`: it is declared (or overridden to be) read-only, whatever it says of destruction, which then means
    nothing. `not-declared`: nobody said whether it is read-only, nor whether it is destructive. `changing`: it is not
    read-only, and somebody said that it is not destructive. `destructive`: all others, so also one that says no more
    than that it is not read-only: the protocol has it count as destructive.
    """
    read_only, destructive = hints["readOnlyHint"], hints["destructiveHint"]
    if read_only.value:
        return "read-only"
    if not read_only.is_known and not destructive.is_known:
        return "not-declared"
    return "destructive" if destructive.value else "changing"


def declared(tool: Tool, overrides: Mapping[str, Any] | None = None) -> dict[str, bool]:
    """The hints somebody set, to be sent or shown as declared; a default is never among them."""
    return {name: hint.value for name, hint in effective(tool, overrides).items() if hint.is_known}


@lru_cache(maxsize=4096)
def snapshot(tool: Tool | None) -> bytes:
    """The declared hints as a call's record keeps them: JSON `{hint: {value, source}}`, null when none is."""
    known = (
        {n: {"value": h.value, "source": h.source} for n, h in effective(tool).items() if h.is_known} if tool else {}
    )
    return msgspec.json.encode(known) if known else b"null"


def cell(hint: Hint) -> str:
    """A hint in one narrow column: `yes`, `no`, with `!` when overridden; `-` when nobody said."""
    if not hint.is_known:
        return "-"
    return ("yes" if hint.value else "no") + ("!" if hint.source == "override" else "")


_LETTERS = (("readOnlyHint", "R"), ("destructiveHint", "D"), ("idempotentHint", "I"), ("openWorldHint", "O"))


def compact(recorded: Mapping[str, Any] | None) -> str:
    """Four hints in one column, as `RdI-`: a capital for true, small for false, `-` not declared, `!` overridden."""
    out = []
    for name, letter in _LETTERS:
        entry = (recorded or {}).get(name)
        value = entry.get("value") if isinstance(entry, dict) else None
        mark = "!" if isinstance(entry, dict) and entry.get("source") == "override" else ""
        out.append("-" if value is None else (letter if value else letter.lower()) + mark)
    return "".join(out)
