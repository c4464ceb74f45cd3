"""JSON text changed in one place: every byte besides is left as it is, and what is new is indented as its surroundings.

A place is the path to it: member names and numbers of items. The text must be JSON that has been read already.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from mcpctl.toolsets.toolset import Place

_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_UNIT = re.compile(r"[{\[]\r?\n([ \t]+)")


def append(text: str, place: Place, value: Any) -> str:
    """The text with one more item at the end of the array there."""
    return _inserted(text, _start(text, place), "", value)


def put(text: str, place: Place, value: Any) -> str:
    """The text with this value for the member there: in place of what it was, or at the end of its object."""
    at = _start(text, place[:-1])
    named = [member for member in _members(text, at) if member.name == place[-1]]
    if not named:
        return _inserted(text, at, f"{_dumped(place[-1], text, None)}{_colon(text)}", value)
    old = named[-1]
    inner = _indent(text, old.value) if _unit(text) else None
    return text[: old.value] + _dumped(value, text, inner) + text[old.end :]


def drop(text: str, place: Place) -> str:
    """The text without the member or item there."""
    at = _start(text, place[:-1])
    members = _members(text, at)
    number = max(n for n, member in enumerate(members) if member.name == place[-1])
    if number + 1 < len(members):
        return text[: members[number].start] + text[members[number + 1].start :]
    before = members[number - 1].end if number else at + 1
    after = members[number].end if number else _space(text, members[number].end)
    return text[:before] + text[after:]


@dataclass(frozen=True, slots=True)
class _Member:
    name: str | int
    start: int
    value: int
    end: int


def _members(text: str, at: int) -> list[_Member]:
    """The members of the object, or the items of the array, that begins at `at`."""
    is_object = text[at] == "{"
    found: list[_Member] = []
    at = _space(text, at + 1)
    while text[at] not in "}]":
        start, name = at, len(found)
        key: str | int = name
        if is_object:
            key, at = _decoder.raw_decode(text, at)
            at = _space(text, _space(text, at) + 1)
        _, end = _decoder.raw_decode(text, at)
        found.append(_Member(key, start, at, end))
        at = _space(text, end)
        if text[at] == ",":
            at = _space(text, at + 1)
    return found


def _start(text: str, place: Place) -> int:
    """Where the value there begins; of members with one name the last counts, as everywhere."""
    at = _space(text, 0)
    for name in place:
        at = [member.value for member in _members(text, at) if member.name == name][-1]
    return at


def _inserted(text: str, at: int, label: str, value: Any) -> str:
    members = _members(text, at)
    if not members:
        unit, outer = _unit(text), _indent(text, at)
        end = _space(text, at + 1)
        inner = outer + unit if unit else None
        around = (f"{_newline(text)}{inner}", f"{_newline(text)}{outer}") if unit else ("", "")
        return text[: at + 1] + around[0] + label + _dumped(value, text, inner) + around[1] + text[end:]
    last = members[-1]
    before = text[at + 1 : last.start]
    lead = before[len(before.rstrip(" \t\r\n")) :]
    if "\n" in lead:
        inner = lead.rpartition("\n")[2]
    else:
        inner, lead = None, lead if len(members) > 1 else _comma(text)[1:]
    return text[: last.end] + "," + lead + label + _dumped(value, text, inner) + text[last.end :]


def _dumped(value: Any, text: str, inner: str | None) -> str:
    """The value's JSON: over several lines, those after the first indented by `inner` and more; or on one line."""
    if inner is None:
        return json.dumps(value, ensure_ascii=False, separators=(_comma(text), _colon(text)))
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text) or "  ")
    return lines.replace("\n", _newline(text) + inner)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


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
