"""The tools that are held until a person has looked at them, and why. Pure: pins and lock files were read before."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import Struct

from mcpctl.base import definitions
from mcpctl.base.feature_names import is_feature
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import join
from mcpctl.config.policy_settings import ALLOW, HOLD
from mcpctl.policy.pins import CHANGED, Pins, ServerPins
from mcpctl.store.state import ListKey

UNCHECKED = "off"
NOT_LOCKED, SUSPICIOUS = "not_locked", "suspicious"
Locked = Mapping[tuple[str, str], str]  # the pin by server and tool; without a tool's name, of its instructions
_NO_PINS = ServerPins()


class Drift(NamedTuple):
    """A tool, or a server's instructions, that changed or is held for another reason."""

    server: str
    key: str  # the server's name for its instructions
    pin: str
    why: str  # one of `models.HOLDS`
    is_held: bool


class Holding(Struct, frozen=True):
    on_change: str = ALLOW
    pins: Pins = {}
    locked: Locked | None = None
    checks: str = UNCHECKED  # for definitions that look like an attack: `hold`, `warn` or `off`

    def judged(
        self, of: ListKey, tools: Sequence[Tool], suspicious: Collection[str] = ()
    ) -> tuple[tuple[Tool, ...], tuple[Drift, ...]]:
        pins = self.pins.get((of.server, of.fingerprint), _NO_PINS)
        judged, drifts = [], []
        for tool in tools:
            is_approved = pins.is_approved(tool)
            drift = "" if self.on_change == ALLOW else pins.drift(tool, of.capabilities)
            looks_bad = tool.name in suspicious and not is_approved
            # Where there is a lock file nothing is seen of what it cannot have: that is not decided of each.
            is_locked = self.locked is None or is_feature(tool.name)
            is_locked = is_locked or definitions.is_pin_of((self.locked or {}).get((tool.server, tool.name), ""), tool)
            held = self._why(drift, is_locked=is_locked, is_approved=is_approved, looks_bad=looks_bad)
            if held != tool.held or is_approved != tool.is_approved:
                tool = replace(tool, held=held, is_approved=is_approved)
            judged.append(tool)
            if why := held or drift or (SUSPICIOUS if looks_bad else ""):
                drifts.append(Drift(tool.server, tool.key, definitions.pin_of(tool), why, bool(held)))
        return tuple(judged), tuple(drifts)

    def of_instructions(self, of: ListKey, instructions: str, *, looks_bad: bool) -> Drift | None:
        """The drift of a server's instructions, where they changed or are held."""
        if not instructions:
            return None
        pins, pin = self.pins.get((of.server, of.fingerprint), _NO_PINS), definitions.hashed(instructions)
        is_approved = pin in pins.approved_words
        drift = CHANGED if self.on_change != ALLOW and pins.words and pin not in pins.words else ""
        is_locked = self.locked is None or self.locked.get((of.server, "")) == pin
        looks_bad = looks_bad and not is_approved
        held = self._why(drift, is_locked=is_locked, is_approved=is_approved, looks_bad=looks_bad)
        why = held or drift or (SUSPICIOUS if looks_bad else "")
        return Drift(of.server, join(of.server, ""), pin, why, bool(held)) if why else None

    def _why(self, drift: str, *, is_locked: bool, is_approved: bool, looks_bad: bool) -> str:
        if not is_locked:
            return NOT_LOCKED
        if is_approved:
            return ""
        if looks_bad and self.checks == HOLD:
            return SUSPICIOUS
        return drift if self.on_change == HOLD else ""


NOTHING = Holding()
