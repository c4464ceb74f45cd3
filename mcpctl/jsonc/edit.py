"""Changes of JSON text in one place: every other byte stays, and new text is indented like its surroundings.

The text may have comments and trailing commas, and must have been decoded before. A place is a path of member names and
item numbers. A comment outside of what is removed stays.
"""

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from mcpctl import jsonc
from mcpctl.jsonc import Member, Place, members, space

_UNIT = re.compile(r"[{\[][ \t]*\r?\n(?:[ \t]*\r?\n)*([ \t]+)\S")


@dataclass(frozen=True)
class _Source:
    """A text, and the same with spaces in place of its comments, and of its trailing commas too."""

    text: str
    bare: str
    plain: str

    @classmethod
    def of(cls, text: str) -> "_Source":
        with contextlib.suppress(ValueError):
            json.loads(text)  # most texts are plain JSON, and some are large
            return cls(text, text, text)
        bare = jsonc.without_comments(text)
        return cls(text, bare, jsonc.without_commas(bare))

    @cached_property
    def unit(self) -> str:
        match = _UNIT.search(self.plain)
        return match[1] if match else ""

    @cached_property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @cached_property
    def colon(self) -> str:
        return ": " if '": ' in self.text or '"' not in self.text else ":"

    @property
    def comma(self) -> str:
        return "," + self.colon[1:]


def append(text: str, place: Place, *values: Any) -> str:
    return insert(text, place, *((sys.maxsize, value) for value in values))


def insert(text: str, place: Place, *items: tuple[int, Any]) -> str:
    """The text with items in the array at `place`, each before the item with its number now, or at the end."""
    source = _Source.of(text)
    at = _start(source, place)
    siblings = members(source.plain, at)
    items = tuple(sorted(items, key=lambda item: item[0]))
    if last := [partial(_dumped, source, value) for number, value in items if number >= len(siblings)]:
        text = _inserted(source, at, "", last)
    if not siblings:
        return text
    lead, inner = _beside(source, at, siblings)
    new = ((siblings[number].start, value) for number, value in items if number < len(siblings))
    return _spliced(text, [(start, start, _dumped(source, value, inner) + "," + lead) for start, value in new])


def put(text: str, place: Place, value: Any) -> str:
    """The text with this value for the member at `place`, which is replaced, or added at the end of its object."""
    source = _Source.of(text)
    at = _start(source, place[:-1])
    same = [member for member in members(source.plain, at) if member.name == place[-1]]
    if not same:
        return _inserted(source, at, _label(source, place[-1]), [partial(_dumped, source, value)])
    old = same[-1]
    inner = _indent(text, old.value) if source.unit else None
    return text[: old.value] + _dumped(source, value, inner) + text[old.end :]


def put_text(text: str, place: Place, value: str, before: str | int | None) -> str:
    """The text with this JSON text as a new member, before the member of that name or at the end of its object."""
    source = _Source.of(text)
    at = _start(source, place[:-1])
    label = _label(source, place[-1])
    siblings = members(source.plain, at)
    following = next((member for member in siblings if member.name == before), None)
    if following is None:
        return _inserted(source, at, label, [lambda _: value])
    start = following.start
    between = "," + (_lead(text, at, following) or " ")
    return text[:start] + label + value + between + text[start:]


def text_at(text: str, place: Place) -> str:
    """The JSON text of the value at `place`, which must exist."""
    source = _Source.of(text)
    *outer, name = place
    same = [member for member in members(source.plain, _start(source, outer)) if member.name == name]
    return text[same[-1].value : same[-1].end]


def replaced(text: str, values: Mapping[tuple[str | int, ...], Any]) -> str:
    """The text with other values at these places, of which none is in another; those that do not exist are ignored."""
    source = _Source.of(text)
    spans = _replacements(source, space(source.plain, 0), values)
    return _spliced(text, [(start, end, _dumped(source, value, None)) for start, end, value in spans])


def _replacements(
    source: _Source, at: int, values: Mapping[tuple[str | int, ...], Any]
) -> Iterator[tuple[int, int, Any]]:
    inner: dict[str | int, dict[tuple[str | int, ...], Any]] = {}
    for (name, *rest), value in values.items():
        inner.setdefault(name, {})[tuple(rest)] = value
    for member in members(source.plain, at):
        if () in (values_here := inner.get(member.name, {})):
            yield member.value, member.end, values_here[()]
        elif values_here:
            yield from _replacements(source, member.value, values_here)


def drop(text: str, *places: Place) -> str:
    """The text without the members or items at `places`, which must exist; of members with one name the last goes."""
    source = _Source.of(text)
    return _spliced(text, [(*cut, "") for cut in sorted(_cuts(source, space(source.plain, 0), places))])


def _spliced(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    parts, at = list[str](), 0
    for start, end, new in spans:
        parts += text[at:start], new
        at = end
    return "".join((*parts, text[at:]))


def _cuts(source: _Source, at: int, places: Iterable[Place]) -> Iterator[tuple[int, int]]:
    inner: dict[str | int, list[Place]] = {}
    for name, *rest in places:
        inner.setdefault(name, []).append(rest)
    siblings = members(source.plain, at)
    last = {member.name: number for number, member in enumerate(siblings)}
    removed = {last[name] for name, rests in inner.items() if [] in rests}
    for number, member in enumerate(siblings):
        if number not in removed and number == last[member.name] and member.name in inner:
            yield from _cuts(source, member.value, inner[member.name])
    if removed:
        has_comments = any(source.text[a:b] != source.bare[a:b] for a, b in _gaps(source, at, siblings))
        yield from (_beside_comments if has_comments else _with_space)(source, at, siblings, removed)


def _with_space(source: _Source, at: int, siblings: list[Member], removed: set[int]) -> Iterator[tuple[int, int]]:
    """Each removed member up to the next one; the last ones with the comma before them."""
    last_kept = max((number for number in range(len(siblings)) if number not in removed), default=-1)
    for number in removed:
        if number < last_kept:
            yield siblings[number].start, siblings[number + 1].start
    if last_kept + 1 < len(siblings):
        start, end = siblings[last_kept].end, siblings[-1].end
        yield (start, end) if last_kept >= 0 else (at + 1, space(source.plain, end))


def _beside_comments(source: _Source, at: int, siblings: list[Member], removed: set[int]) -> Iterator[tuple[int, int]]:
    """Each removed member with its comma, and its lines if nothing else is on them."""
    gaps = _gaps(source, at, siblings)[1:]
    commas = [source.bare.find(",", *gap) for gap in gaps]
    for number in removed:
        start, end, comma = siblings[number].start, siblings[number].end, commas[number]
        if comma >= 0 and source.text[end:comma].strip():
            yield comma, comma + 1  # a comment is between them
        elif comma >= 0:
            end = comma + 1
        line = source.text.rfind("\n", 0, start) + 1
        next_line = source.text.find("\n", end) + 1
        if next_line and not source.text[line:start].strip() and not source.text[end:next_line].strip():
            yield line, next_line
        else:
            yield start, end
    kept = [number for number in range(len(siblings)) if number not in removed]
    if kept and kept[-1] + 1 < len(siblings) and commas[-1] < 0:
        yield commas[kept[-1]], commas[kept[-1]] + 1


def _gaps(source: _Source, at: int, siblings: list[Member]) -> list[tuple[int, int]]:
    starts = [at + 1, *(member.end for member in siblings)]
    return list(zip(starts, [*(member.start for member in siblings), space(source.plain, starts[-1])], strict=True))


def _start(source: _Source, place: Place) -> int:
    """The start of the value at `place`; of members with one name the last counts, as in any JSON reader."""
    at = space(source.plain, 0)
    for name in place:
        at = [member.value for member in members(source.plain, at) if member.name == name][-1]
    return at


def _inserted(source: _Source, at: int, label: str, dumps: Sequence[Callable[[str | None], str]]) -> str:
    """The text with these values, each made on one line for None, or indented by the argument from the second on."""
    text, siblings = source.text, members(source.plain, at)
    start, end = _gaps(source, at, siblings)[-1]
    inside = text[start:end]
    after = start + len(inside.rstrip(" \t\r\n"))
    is_in_comment = "//" in text[start:after].rpartition("\n")[2]
    if not siblings:
        unit, outer = source.unit or "  " * ("\n" in inside), _indent(text, at)
        inner = outer + unit if unit else None
        lead, tail = (f"{source.newline}{inner}", f"{source.newline}{outer}") if inner is not None else ("", "")
        between = f",{lead}" if unit else source.comma
        return text[:after] + lead + between.join(label + dump(inner) for dump in dumps) + tail + text[end:]
    comma = source.bare.find(",", start, end)
    lead, inner = _beside(source, at, siblings)
    if is_in_comment and inner is None:
        lead = source.newline
    new = lead + f",{lead}".join(label + dump(inner) for dump in dumps)
    if comma >= 0:  # what is last has one here
        return text[:after] + new + "," + text[after:]
    return text[:start] + "," + text[start:after] + new + text[after:]


def _beside(source: _Source, at: int, siblings: list[Member]) -> tuple[str, str | None]:
    lead = _lead(source.text, at, siblings[-1])
    if "\n" in lead:
        return lead, lead.rpartition("\n")[2]
    return lead if len(siblings) > 1 else source.comma[1:], None


def _lead(text: str, at: int, member: Member) -> str:
    """The white space before a member, line breaks included."""
    before = text[at + 1 : member.start]
    return before[len(before.rstrip(" \t\r\n")) :]


def _label(source: _Source, name: str | int) -> str:
    return json.dumps(name, ensure_ascii=False) + source.colon


def _dumped(source: _Source, value: Any, inner: str | None) -> str:
    """The value's JSON: on one line, or over several lines indented by `inner` from the second on."""
    if inner is None:
        return json.dumps(value, ensure_ascii=False, separators=(source.comma, source.colon))
    lines = json.dumps(value, ensure_ascii=False, indent=source.unit or "  ")
    return lines.replace("\n", source.newline + inner)


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
