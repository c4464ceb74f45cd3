"""Changes of JSON text in one place: every other byte stays, and new text is indented like its surroundings.

A place is a path of member names and item numbers. The text must be JSON that was decoded before.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from mcpctl.toolsets.json_positions import Member, members, space
from mcpctl.toolsets.toolset import Place

_UNIT = re.compile(r"[{\[]\r?\n([ \t]+)")


def append(text: str, place: Place, *values: Any) -> str:
    """The text with more items at the end of the array at `place`."""
    return _inserted(text, _start(text, place), "", values)


def insert(text: str, place: Place, *items: tuple[int, Any]) -> str:
    """The text with more items in the array at `place`, each before the item that has its number now.

    An item whose number is that of the items so far, or more, goes to the end.
    """
    at = _start(text, place)
    siblings = members(text, at)
    items = tuple(sorted(items, key=lambda item: item[0]))
    if last := [value for number, value in items if number >= len(siblings)]:
        text = _inserted(text, at, "", last)
    before = [item for item in items if item[0] < len(siblings)]
    if not before:
        return text
    style = _style(text)
    lead, inner = _lead(text, at, siblings, style)
    parts, end = [], 0
    for number, value in before:
        start = siblings[number].start
        parts += [text[end:start], _dumped(value, style, inner), ",", lead]
        end = start
    return "".join((*parts, text[end:]))


def put(text: str, place: Place, value: Any) -> str:
    """The text with this value for the member at `place`, which is replaced, or added at the end of its object."""
    at, style = _start(text, place[:-1]), _style(text)
    same = [member for member in members(text, at) if member.name == place[-1]]
    if not same:
        return _inserted(text, at, f"{_dumped(place[-1], style, None)}{style.colon}", [value])
    old = same[-1]
    inner = _indent(text, old.value) if style.unit else None
    return text[: old.value] + _dumped(value, style, inner) + text[old.end :]


def drop(text: str, *places: Place) -> str:
    """The text without the members or items at `places`, which must exist; of members with one name the last goes."""
    parts, at = [], 0
    for start, end in _cuts(text, space(text, 0), places):
        parts.append(text[at:start])
        at = end
    return "".join((*parts, text[at:]))


def _cuts(text: str, at: int, places: Iterable[Place]) -> Iterator[tuple[int, int]]:
    """The parts of the text to remove for the places in the value at `at`: start and end of each, in order."""
    inner: dict[str | int, list[Place]] = {}
    for name, *rest in places:
        inner.setdefault(name, []).append(rest)
    siblings = members(text, at)
    last = {member.name: number for number, member in enumerate(siblings)}
    removed = {last[name] for name, rests in inner.items() if [] in rests}
    last_kept = max((number for number in range(len(siblings)) if number not in removed), default=-1)
    for number, member in enumerate(siblings[: last_kept + 1]):
        if number in removed:
            yield member.start, siblings[number + 1].start
        elif number == last[member.name] and member.name in inner:
            yield from _cuts(text, member.value, inner[member.name])
    if last_kept + 1 < len(siblings):
        start, end = siblings[last_kept].end, siblings[-1].end
        yield (start, end) if last_kept >= 0 else (at + 1, space(text, end))


def _start(text: str, place: Place) -> int:
    """The start of the value at `place`; of members with one name the last counts, as in any JSON reader."""
    at = space(text, 0)
    for name in place:
        at = [member.value for member in members(text, at) if member.name == name][-1]
    return at


def _inserted(text: str, at: int, label: str, values: Sequence[Any]) -> str:
    siblings, style = members(text, at), _style(text)
    if not siblings:
        unit, outer = style.unit, _indent(text, at)
        end = space(text, at + 1)
        inner = outer + unit if unit else None
        around = (f"{style.newline}{inner}", f"{style.newline}{outer}") if unit else ("", "")
        between = f",{around[0]}" if unit else style.comma
        return text[: at + 1] + around[0] + label + _joined(values, style, inner, between) + around[1] + text[end:]
    end = siblings[-1].end
    lead, inner = _lead(text, at, siblings, style)
    return text[:end] + "," + lead + label + _joined(values, style, inner, f",{lead}") + text[end:]


def _lead(text: str, at: int, siblings: Sequence[Member], style: "_Style") -> tuple[str, str | None]:
    """The white space before an item or member beside these, and its indentation if it has a line of its own."""
    before = text[at + 1 : siblings[-1].start]
    lead = before[len(before.rstrip(" \t\r\n")) :]
    if "\n" in lead:
        return lead, lead.rpartition("\n")[2]
    return lead if len(siblings) > 1 else style.comma[1:], None


def _joined(values: Sequence[Any], style: "_Style", inner: str | None, between: str) -> str:
    return between.join(_dumped(value, style, inner) for value in values)


def _dumped(value: Any, style: "_Style", inner: str | None) -> str:
    """The value's JSON: on one line, or over several lines indented by `inner` from the second on."""
    if inner is None:
        return json.dumps(value, ensure_ascii=False, separators=(style.comma, style.colon))
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit or "  ")
    return lines.replace("\n", style.newline + inner)


class _Style(NamedTuple):
    """How a text is written, found once for all that is put into it."""

    unit: str
    """One step of the indentation; empty if the text is not indented."""
    newline: str
    comma: str
    colon: str


def _style(text: str) -> _Style:
    match, is_spaced = _UNIT.search(text), '": ' in text
    newline = "\r\n" if "\r\n" in text else "\n"
    return _Style(match[1] if match else "", newline, ", " if is_spaced else ",", ": " if is_spaced else ":")


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of a position's line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
