"""JSON text changed in one place: every byte besides is left as it is, and what is new is indented as its surroundings.

A place is the path to it: member names and numbers of items. The text must be JSON that has been read already.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mcpctl.toolsets.json_positions import members, space
from mcpctl.toolsets.toolset import Place

_UNIT = re.compile(r"[{\[]\r?\n([ \t]+)")


def append(text: str, place: Place, *values: Any) -> str:
    """The text with more items at the end of the array there."""
    return _inserted(text, _start(text, place), "", values)


def put(text: str, place: Place, value: Any) -> str:
    """The text with this value for the member there: in place of what it was, or at the end of its object."""
    at = _start(text, place[:-1])
    named = [member for member in members(text, at) if member.name == place[-1]]
    if not named:
        return _inserted(text, at, f"{_dumped(place[-1], text, None)}{_colon(text)}", [value])
    old = named[-1]
    inner = _indent(text, old.value) if _unit(text) else None
    return text[: old.value] + _dumped(value, text, inner) + text[old.end :]


def drop(text: str, *places: Place) -> str:
    """The text without the members or items there, each of which is there; of one name the last goes."""
    kept, at = [], 0
    for start, end in _cuts(text, space(text, 0), places):
        kept.append(text[at:start])
        at = end
    return "".join((*kept, text[at:]))


def _cuts(text: str, at: int, places: Iterable[Place]) -> Iterator[tuple[int, int]]:
    """What of the text goes with the places in the value at `at`: from where to where, in order."""
    inner: dict[str | int, list[Place]] = {}
    for name, *rest in places:
        inner.setdefault(name, []).append(rest)
    found = members(text, at)
    last = {member.name: number for number, member in enumerate(found)}
    gone = {last[name] for name, rests in inner.items() if [] in rests}
    stay = max((number for number in range(len(found)) if number not in gone), default=-1)
    for number, member in enumerate(found[: stay + 1]):
        if number in gone:
            yield member.start, found[number + 1].start
        elif number == last[member.name] and member.name in inner:
            yield from _cuts(text, member.value, inner[member.name])
    if stay + 1 < len(found):
        yield (found[stay].end, found[-1].end) if stay >= 0 else (at + 1, space(text, found[-1].end))


def _start(text: str, place: Place) -> int:
    """Where the value there begins; of members with one name the last counts, as everywhere."""
    at = space(text, 0)
    for name in place:
        at = [member.value for member in members(text, at) if member.name == name][-1]
    return at


def _inserted(text: str, at: int, label: str, values: Sequence[Any]) -> str:
    there = members(text, at)
    if not there:
        unit, outer = _unit(text), _indent(text, at)
        end = space(text, at + 1)
        inner = outer + unit if unit else None
        around = (f"{_newline(text)}{inner}", f"{_newline(text)}{outer}") if unit else ("", "")
        between = f",{around[0]}" if unit else _comma(text)
        return text[: at + 1] + around[0] + label + _joined(values, text, inner, between) + around[1] + text[end:]
    last = there[-1]
    before = text[at + 1 : last.start]
    lead = before[len(before.rstrip(" \t\r\n")) :]
    if "\n" in lead:
        inner = lead.rpartition("\n")[2]
    else:
        inner, lead = None, lead if len(there) > 1 else _comma(text)[1:]
    return text[: last.end] + "," + lead + label + _joined(values, text, inner, f",{lead}") + text[last.end :]


def _joined(values: Sequence[Any], text: str, inner: str | None, between: str) -> str:
    return between.join(_dumped(value, text, inner) for value in values)


def _dumped(value: Any, text: str, inner: str | None) -> str:
    """The value's JSON: over several lines, those after the first indented by `inner` and more; or on one line."""
    if inner is None:
        return json.dumps(value, ensure_ascii=False, separators=(_comma(text), _colon(text)))
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text) or "  ")
    return lines.replace("\n", _newline(text) + inner)


def _unit(text: str) -> str:
    """One step of the text's indentation; empty where it is not indented."""
    found = _UNIT.search(text)
    return found[1] if found else ""


def _indent(text: str, at: int) -> str:
    """The white space that begins the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _colon(text: str) -> str:
    return ": " if '": ' in text else ":"


def _comma(text: str) -> str:
    return ", " if '": ' in text else ","
