"""Where the rules of a policy are written: the file, and the line and column in it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import McpctlError
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import PolicyRule
from mcpctl.jsonc.positions import Positions


class RulePlace(NamedTuple):
    """One place; the line is None where it cannot be told, as for a value that is not written but the default."""

    file: str
    line: int | None
    column: int = 1


@dataclass(frozen=True)
class RulePlaces:
    """The places of the rules of one configuration and of its toolset."""

    config: Config
    _positions: dict[str, Positions | None] = field(default_factory=dict)

    def of(self, rule: PolicyRule) -> RulePlace:
        """The place of a rule."""
        if not rule.file:
            return RulePlace(str(self.config.path), self.config.line_of(rule.table, rule.key, rule.item))
        positions = self._in(rule.file)
        if positions is None:
            return RulePlace(rule.file, None)
        item = () if rule.item is None else (rule.item,)
        return RulePlace(rule.file, *positions.of((*rule.table, rule.key, *item)))

    def _in(self, file: str) -> Positions | None:
        if file not in self._positions:
            self._positions[file] = _read(file)
        return self._positions[file]


def _read(file: str) -> Positions | None:
    try:
        text = files.read_text(Path(file)).removeprefix(files.BOM)
        msgspec.json.decode(text)
    except (McpctlError, msgspec.MsgspecError, RecursionError):
        return None  # it has changed since its rules were read
    return Positions(text)
