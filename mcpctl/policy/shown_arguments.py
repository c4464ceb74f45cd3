"""A call's arguments as a person is shown them who is asked: whole, or beginning and end, and what is in them."""

from mcpctl.base.plurals import counted
from mcpctl.base.visible_text import escaped

_SHORT = 2000
"""Characters that are shown whole."""
_END = 1000


def is_cut(arguments: bytes) -> bool:
    """Whether a form shows only the beginning and the end of them."""
    return len(arguments) > _SHORT


def in_form(arguments: bytes) -> str:
    """The arguments as the client that sent them shows them: nothing is hidden, what nobody would see is escaped."""
    text = arguments.decode("utf-8", "replace")
    if len(text) <= _SHORT:
        return f"Arguments: {escaped(text)}"
    from mcpctl.checks import arguments as checks  # hundreds of expressions, which few calls need

    found = checks.found_in(text)
    said = f"In all of them there is: {escaped(', '.join(found))}." if found else "The checks find nothing in them."
    return "\n".join((
        f"Arguments: {len(text):,} characters, of which these are the first {_END:,}:", escaped(text[:_END]),
        f"… {len(text) - 2 * _END:,} characters are not shown; the last {_END:,} are:", escaped(text[-_END:]),
        said,
        "Since not all is shown, a yes holds for this call alone.",
    ))  # fmt: skip


def hidden_words(hidden: int, left_out: int) -> str:
    """The words for a person who does not see all; empty where all is seen."""
    parts = [f"{counted(hidden, 'value')} {'is' if hidden == 1 else 'are'} hidden"] if hidden else []
    parts += [f"{left_out:,} bytes are left out"] if left_out else []
    return f"{' and '.join(parts)}: a yes holds for this call alone" if parts else ""
