"""What a check says of a tool, safe to be shown to people."""

from dataclasses import dataclass

from mcpctl.base.visible_text import one_line
from mcpctl.checks.definition_rules import RULES

_SHOWN = 100
ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """A rule that a tool's definition breaks.

    `message` repeats a little of the definition, on one line and without control characters. It is for people; never
    give it to a model.
    """

    key: str
    rule: str
    place: str
    """Where in the definition: `description`, `inputSchema.properties.city.description`."""
    message: str

    @property
    def severity(self) -> str:
        """`error`, `warning` or `info`."""
        return RULES[self.rule].severity

    @property
    def why(self) -> str:
        """Why the rule exists."""
        return RULES[self.rule].why

    @property
    def fix(self) -> str:
        """What to do."""
        return RULES[self.rule].fix


def quoted(text: str) -> str:
    """A little of a definition, to be shown: one line of printable characters, cut."""
    line = one_line(text[: 4 * _SHOWN])
    return f"'{line[:_SHOWN]}{'…' if len(line) > _SHOWN else ''}'"
