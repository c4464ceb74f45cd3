"""Texts of strangers without the characters that nobody sees, a model reads and a terminal obeys; numbers of things."""

import unicodedata
from collections.abc import Sequence

_HIDDEN = ("Cc", "Cf", "Cn", "Co", "Cs")  # controls, marks of format and direction, tags, unassigned characters
_KEPT = "\n\t"
_LONG = (("min", "s", 1, 60, 60), ("h", "min", 60, 60, 24), ("d", "h", 3600, 24, float("inf")))  # units of durations
_LONGEST_NAME = 60
_SHAPELESS = frozenset(  # letters, marks and signs without shape
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00013441\U00013442\U00016fe4\U0001d159"
)
_WIDE_SPACE = "\u3000"  # with which Japanese paragraphs begin


def visible(text: str) -> str:
    """The text without hidden characters; line breaks and tabs stay."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():  # nearly every text
        return text
    hidden = {ord(c) for c in set(text) if c not in _KEPT and unicodedata.category(c) in _HIDDEN}
    return text.translate(dict.fromkeys(hidden)) if hidden else text


def printable(text: str) -> str:
    """The text with U+FFFD for each character that a terminal does not print, or takes for a command."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def escaped(text: str) -> str:
    """The text on one line, with escapes such as `\\u202e` for characters that a person would not see as they are."""
    if text.isascii() and text.isprintable():
        return text
    unseen = [c for c in set(text) if _is_unseen(c)]
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in unseen})


def _is_unseen(character: str) -> bool:
    if character.isascii() or not character.isprintable():  # controls, other spaces and breaks, unassigned ones
        return not character.isprintable() and character != _WIDE_SPACE
    return character in _SHAPELESS or "VARIATION SELECTOR" in unicodedata.name(character, "")


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as `1 tool`, `2 tools` or `1,000 tools`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration(milliseconds: int) -> str:
    """A time as people read it, such as `85 ms`, `1.1 s`, `2 min 5 s` or `3 h 10 min`."""
    seconds = milliseconds / 1000
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    unit, smaller, size, ratio = next(each[:4] for each in _LONG if round(seconds / each[2]) < each[3] * each[4])
    large, small = divmod(round(seconds / size), ratio)
    return f"{large:,} {unit} {small} {smaller}" if small else f"{large:,} {unit}"


def beginning(names: Sequence[str], most: int) -> str:
    """The first of these names, and how many more there are."""
    shown = [name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…" for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")
