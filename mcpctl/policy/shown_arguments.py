"""A call's arguments for a person: texts with their lines, edits as a diff, and of what is long the beginning and end.

They come from a model: invisible characters are escaped, and a line is never longer than there is room for it.
"""

import difflib
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple, TypeVar

from mcpctl.base.texts import counted, escaped
from mcpctl.policy.consent import Number

TEXT, ADDED, REMOVED, CUT = "text", "added", "removed", "cut"
_DEEPEST = 30
_MOST_COMPARED = 1000  # lines in all edits together: comparing takes up to the product of both sides
_AROUND = 3  # unchanged lines that are shown before and after a change
_TAB = 4
_T = TypeVar("_T")
_LIKE_OTHERS = re.compile(
    r'|true|false|null|\{\}|\[\]|[-+]?[\d.]+(?:[eE][-+]?\d+)?|".*"|[\d,]+ (?:items?|lines?, .*)', re.DOTALL
)  # texts that could be other values, or what is said of them
_NO_BREAK = "\\ no line break at its end"


class Room(NamedTuple):
    """How much of the arguments is shown at once."""

    lines: int
    of_one: int  # lines of one text
    width: int  # characters of a line


class Block(NamedTuple):
    """Lines of one kind; those of the kind `CUT` are ours, and say how much is not shown there."""

    kind: str
    text: str


def shown(text: str, room: Room | None) -> tuple[Sequence[Block], bool]:
    """The JSON of the arguments in blocks, and whether anything is cut; without `room`, nothing is."""
    arguments, most = _Arguments(room), room.lines if room else 0
    try:
        value = json.loads(text, object_pairs_hook=_Object, parse_int=Number, parse_float=Number, parse_constant=Number)
        lines = list(_cut(arguments.of_object(value, 0), most))
    except (ValueError, RecursionError):  # damaged, cut, not an object, or nested too deep
        lines = list(_cut(arguments.of_text(text, ""), most))
    groups = groupby(lines, key=lambda line: line.kind)
    blocks = [Block(kind, "\n".join(line.text for line in of_kind)) for kind, of_kind in groups]
    return blocks, any(line.is_cut for line in lines)


class _Line(NamedTuple):
    kind: str
    text: str
    is_cut: bool = False


class _Object(list[tuple[str, Any]]):
    """An object with all of its members: servers differ in which of two equal ones they take."""


def _some(items: Iterable[_T], most: int) -> Iterator[_T | int]:
    """The beginning and the end of more than the `most` items, and between them how many are left out; 0: all."""
    rest = iter(items)
    if most:
        yield from islice(rest, most * 2 // 3)
        end: deque[_T] = deque(maxlen=most // 3)
        number = 0
        for item in rest:
            end.append(item)
            number += 1
        if number > len(end):
            yield number - len(end)
        rest = iter(end)
    yield from rest


def _cut(lines: Iterable[_Line], most: int) -> Iterator[_Line]:
    return (_left_out(line, "line") if isinstance(line, int) else line for line in _some(lines, most))


def _left_out(number: int, noun: str) -> _Line:
    return _Line(CUT, f"{counted(number, noun)} not shown", is_cut=True)


class _Arguments:
    def __init__(self, room: Room | None) -> None:
        self._room = room
        self._may_compare = _MOST_COMPARED

    def of_object(self, members: Any, depth: int) -> Iterator[_Line]:
        if depth > _DEEPEST or not isinstance(members, _Object):
            raise RecursionError
        edits = self._edits(members)
        for name, value in members:
            if new := edits.get(name):
                yield self._line(f"{'  ' * depth}{name} → {new[0]}:")
                yield from self._of_edit(value, new[1], "  " * (depth + 1))
            elif not any(name == new for new, _ in edits.values()):
                yield from self._of_value(name, value, depth)

    def _edits(self, members: _Object) -> Mapping[str, tuple[str, str]]:
        """By the names of old texts, such as `oldText`, the new ones: the name `newText`, and the text."""
        texts = {name: value for name, value in members if type(value) is str}
        edits: dict[str, tuple[str, str]] = {}
        for old in texts if len(dict(members)) == len(members) else ():
            new = next((name for name in texts if name.lower() == f"new{old[3:].lower()}"), None)
            if new is None or old[:3].lower() != "old":
                continue
            lines = texts[old].count("\n") + texts[new].count("\n") + 2
            if lines <= self._may_compare:
                self._may_compare -= lines
                edits[old] = new, texts[new]
        return edits

    def _of_value(self, name: str, value: Any, depth: int) -> Iterator[_Line]:
        begin = f"{'  ' * depth}{name}:"
        if isinstance(value, _Object) and value:
            yield self._line(begin)
            yield from self.of_object(value, depth + 1)
        elif isinstance(value, list) and value:
            if depth > _DEEPEST:
                raise RecursionError
            yield self._line(f"{begin} {counted(len(value), 'item')}")
            for number, item in enumerate(value, 1):
                yield from self._of_value(str(number), item, depth + 1)
        elif isinstance(value, str) and "\n" in value:
            lines = value.count("\n") + (not value.endswith("\n"))
            yield self._line(f"{begin} {counted(lines, 'line')}, {counted(len(value), 'character')}")
            yield from self.of_text(value, "  " * (depth + 1))
        else:
            yield self._line(f"{begin} {_plain(value)}")

    def of_text(self, text: str, indent: str) -> Iterator[_Line]:
        for line in _some(text.removesuffix("\n").split("\n"), self._room.of_one if self._room else 0):
            yield _left_out(line, "line") if isinstance(line, int) else self._line(line, begin=f"{indent}| ")

    def _of_edit(self, old: str, new: str, indent: str) -> Iterator[_Line]:
        before, after = _lines(old), _lines(new)
        if before and after and not old.endswith("\n") and not new.endswith("\n"):  # in which they are the same
            before[-1], after[-1] = f"{before[-1]}\n", f"{after[-1]}\n"
        return _cut(self._differences(before, after, indent), 2 * self._room.of_one if self._room else 0)

    def _differences(self, before: Sequence[str], after: Sequence[str], indent: str) -> Iterator[_Line]:
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        for tag, start, end, new_start, new_end in matcher.get_opcodes():
            if tag != "equal":
                old, new = before[start:end], after[new_start:new_end]
                yield from self._changed(old, new, REMOVED, f"{indent}- ")
                yield from self._changed(new, old, ADDED, f"{indent}+ ")
                continue
            same = [self._line(line.removesuffix("\n"), begin=f"{indent}  ") for line in before[start:end]]
            first, last = _AROUND * (start + new_start > 0), _AROUND * (end < len(before) or new_end < len(after))
            if self._room and (number := len(same) - first - last) > 0:
                same[first : len(same) - last] = [_left_out(number, "unchanged line")]
            yield from same

    def _changed(self, lines: Sequence[str], others: Sequence[str], kind: str, begin: str) -> Iterator[_Line]:
        """Lines of one side; those that look like one of the other side are in quotes, with their tabs escaped."""
        texts = {other.removesuffix("\n") for other in others}
        looks = set(map(_look, texts))
        for line in lines:
            text = line.removesuffix("\n")
            is_alike = text not in texts and _look(text) in looks
            yield self._line(f'"{text}"'.replace("\t", "\\t") if is_alike else text, kind, begin)
            if not line.endswith("\n"):
                yield _Line(kind, f"{begin[:-2]}{_NO_BREAK}")

    def _line(self, text: str, kind: str = TEXT, begin: str = "") -> _Line:
        room = self._room
        is_cut = room is not None and len(text) > room.width
        if room and is_cut:
            first, last = room.width * 2 // 3, room.width // 4
            text = f"{text[:first]} … {len(text) - first - last:,} characters not shown … {text[-last:]}"
        return _Line(kind, begin + escaped(text.expandtabs(_TAB)), is_cut)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        is_clear = isinstance(value, Number) or (value == value.strip() and not _LIKE_OTHERS.fullmatch(value))
        return value if is_clear else f'"{value}"'
    return "{}" if isinstance(value, _Object) else json.dumps(value)


def _look(line: str) -> str:
    return line.expandtabs(_TAB).rstrip(" ")


def _lines(text: str) -> list[str]:
    """The lines with their ends, which only the last one may lack: `splitlines` also parts at other characters."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]
