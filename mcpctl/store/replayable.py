"""Whether a call on record can be called again: what was redacted or cut is not there to be sent."""

import json
import re
from typing import Any

from mcpctl.base.models import Row
from mcpctl.base.tool_keys import OWN
from mcpctl.secrets.redact import MARK
from mcpctl.store.journal_lines import REPLAY

_CUT = re.compile(r"… \[cut: [0-9,]+ characters\]$")
OWN_READ = "it read a resource for the model of that session"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_PATH = 200


def obstacle(row: Row) -> str:
    """Why the call cannot be called again, empty if it can."""
    if row["server"] == OWN:
        return "it read a stored answer, which only that session can read" if row["parent_id"] else OWN_READ
    if row["parent_id"] and row["via"] != REPLAY:
        return f"it is a later round of the call {row['parent_id']}"
    if any(MARK.search(row[name]) or _CUT.search(row[name]) for name in ("server", "tool")):
        return "its name was redacted or cut"
    try:
        arguments = json.loads(row["arguments"] or "{}")
    except (ValueError, RecursionError):
        return "its arguments cannot be read"
    if not isinstance(arguments, dict):
        return "its arguments were cut, or are not a JSON object"
    path = redacted_at(arguments)
    return f"redacted at {path}" if path else ""


def redacted_at(value: Any) -> str:
    """The path of the first value or name that was redacted, such as `$.auth.token`; empty if there is none."""
    waiting: list[tuple[str, Any]] = [("$", value)]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, str):
            if MARK.search(each):
                return path
        elif isinstance(each, dict):
            if any(map(MARK.search, each)):
                return f"{path} (a name in it)"
            waiting += [(_member(path, name), member) for name, member in reversed(each.items())]
        elif isinstance(each, list):
            waiting += [(_shortened(f"{path}[{number}]"), item) for number, item in reversed([*enumerate(each)])]
    return ""


def _member(path: str, name: str) -> str:
    return _shortened(f"{path}.{name}" if _PLAIN.fullmatch(name) else f"{path}[{json.dumps(name)}]")


def _shortened(path: str) -> str:
    """Paths are made for each value, and so have a length."""
    return path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 1]}…"
