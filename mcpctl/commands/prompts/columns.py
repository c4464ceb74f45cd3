"""The columns of prompts."""

from typing import Any

from mcpctl.base.models import PROMPT_FIELDS
from mcpctl.output import Columns


def _names(arguments: Any) -> str:
    """The names of arguments, required ones marked as in signatures."""
    named = [each for each in arguments if isinstance(each, dict) and isinstance(each.get("name"), str)]
    return ", ".join(f"{each['name']}{'*' if each.get('required') is True else ''}" for each in named)


COLUMNS = Columns(
    fields=PROMPT_FIELDS,
    shown=("name", "arguments", "label"),
    cut=frozenset(("label", "description", "title", "arguments")),
    keeps={"label": 30},
    goes=("label", "arguments"),
    render={"arguments": _names},
    noun="prompts",
    empty="no prompts are known yet; list what servers have with: mcpctl tools refresh",
)
