"""The arguments of a call that needs a yes: the digest that the yes is bound to, and what a person does not see."""

import hashlib
import json
from typing import Any

from mcpctl.base.texts import counted

BY_ITSELF_MS = 1000  # a form that is declined sooner was declined by the client, and not by a person
NOT_ALL = "Not all of them is shown, and a yes is for all of it. All of it is shown by:"
WHOLE = "mcpctl approvals show --full"
_LONG = 1 << 20


def digest_of(arguments: bytes) -> str:
    """The digest that tells one call's arguments from another's, whatever the order of their members and the spaces
    between. Numbers count as they are written. Servers differ in which of two equal members they take, so both count.
    Very long arguments count byte for byte: to parse them would hold up other requests."""
    if len(arguments) > _LONG:
        return hashlib.sha256(b"as it came: " + arguments).hexdigest()
    try:
        members = json.loads(
            arguments or b"{}",
            object_pairs_hook=_members,
            parse_int=Number,
            parse_float=Number,
            parse_constant=Number,
        )
        text = json.dumps(_told_apart(members), sort_keys=True).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        text = b"as it came: " + arguments
    return hashlib.sha256(text).hexdigest()


class Number(str):
    """A number as it is written."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is there twice")
    return members


def _told_apart(value: Any) -> Any:
    """The value with its kind beside it, so that no text or object passes for a number."""
    if isinstance(value, dict):
        return {name: _told_apart(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_told_apart(item) for item in value]
    if isinstance(value, Number):
        return f"number {value}"
    return f"text {value}" if isinstance(value, str) else value


def hidden_words(hidden: int, left_out: int) -> str:
    """Empty where a person sees all."""
    parts = [f"{counted(hidden, 'value')} {'is' if hidden == 1 else 'are'} hidden"] if hidden else []
    parts += [f"{left_out:,} bytes are left out"] if left_out else []
    return f"{' and '.join(parts)}: a yes applies to this call alone" if parts else ""
