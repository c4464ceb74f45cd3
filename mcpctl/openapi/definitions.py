"""Definitions of tools, each with all schemas that it refers to, made smaller until it fits."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec
from msgspec import Raw

from mcpctl.base import bounds
from mcpctl.openapi.faults import OperationFault
from mcpctl.openapi.schemas import Key, Schemas, Shared, Used, references_in, trimmed

NOT_SHOWN = {"description": "not shown: see tools show --schema"}
_STUB = msgspec.json.encode(NOT_SHOWN)
_SHORT, _NONE, _WHOLE = 200, 0, 1 << 30  # characters that descriptions may have
_DEEP = 1 << 20
_LEVELS = (12, 8, 6, 5, 4, 3, 2, 1, 0)
_BEFORE, _AFTER = b',"$defs":{', b"}"


class Definitions:
    """Makes the definitions of one document. Operations that refer to the same schemas share their `$defs`."""

    def __init__(self, schemas: Schemas, room: int = bounds.OPENAPI_DEFINITION) -> None:
        self._schemas, self._room = schemas, room
        self._reachable: dict[tuple[Key, ...], _Reachable] = {}

    def made(self, head: Mapping[str, Any], schema: dict[str, Any], used: Used, tail: Mapping[str, Any]) -> Raw:
        """The JSON of a tool with this input schema between other members; raises `OperationFault`."""
        reachable = self._of(tuple(used))
        room = self._room - len(_joined(head, schema, b"", tail))
        defs = reachable.fitted(room) if room > 0 else None
        if defs is not None:
            return Raw(_joined(head, schema, defs, tail))
        return self._smaller(head, schema, tail)

    def _smaller(self, head: Mapping[str, Any], schema: dict[str, Any], tail: Mapping[str, Any]) -> Raw:
        """The same where the schema is too large by itself: with shorter descriptions, then with fewer levels."""
        by_name = {each.name: key for key, each in self._schemas.known()}
        for most, deep in ((_SHORT, _DEEP), (_NONE, _DEEP), *((_NONE, level) for level in _LEVELS)):
            less = trimmed(schema, most, deep, NOT_SHOWN)
            keys = dict.fromkeys(by_name[each.removeprefix("#/$defs/")] for each in references_in(less))
            room = self._room - len(_joined(head, less, b"", tail))
            defs = self._of(tuple(keys)).fitted(room) if room > 0 else None
            if defs is not None:
                return Raw(_joined(head, less, defs, tail))
        raise OperationFault(f"its definition is larger than {self._room >> 10} KB, however it is cut")

    def _of(self, roots: tuple[Key, ...]) -> "_Reachable":
        if roots not in self._reachable:
            self._reachable[roots] = _Reachable(self._schemas, roots)
        return self._reachable[roots]


def _joined(head: Mapping[str, Any], schema: Mapping[str, Any], defs: bytes, tail: Mapping[str, Any]) -> bytes:
    text = msgspec.json.encode(schema)
    return msgspec.json.encode({**head, "inputSchema": Raw(text[:-1] + defs + b"}"), **tail})


class _Reachable:
    """The schemas that some lead to, the nearest first."""

    def __init__(self, schemas: Schemas, roots: Sequence[Key]) -> None:
        self._roots = roots
        self._all: dict[Key, Shared] = {}
        waiting = list(roots)
        for key in waiting:  # it grows meanwhile
            if key not in self._all:
                self._all[key] = schemas.shared(key)
                waiting.extend(self._all[key].used)
        self._sizes: dict[int, int] = {}  # of all of them, by the characters that descriptions may have
        self._whole: dict[int, bytes] = {}  # their JSON, likewise
        self._cut: dict[int, bytes] = {}  # the same by how many are not shown

    def fitted(self, room: int) -> bytes | None:
        """The `$defs` in their JSON, of at most so many bytes: as they are, else with shorter descriptions, else
        without the deepest ones; None where not even that helps."""
        if not self._all:
            return b""
        for most in (_WHOLE, _SHORT, _NONE):
            if self._size(most) <= room:
                if most not in self._whole:
                    self._whole[most] = _text({each.name: _json(each, most) for each in self._all.values()})
                return self._whole[most]
        return self._without_deepest(room)

    def _size(self, most: int) -> int:
        if most not in self._sizes:
            self._sizes[most] = _size({each.name: _json(each, most) for each in self._all.values()})
        return self._sizes[most]

    def _without_deepest(self, room: int) -> bytes | None:
        """Halves between none and all of them; each one less is smaller, or as large."""
        least, most = 1, len(self._all)
        if len(self._with_stubs(most)) > room:
            return None
        while least < most:
            middle = (least + most) // 2
            if len(self._with_stubs(middle)) <= room:
                most = middle
            else:
                least = middle + 1
        return self._with_stubs(most)

    def _with_stubs(self, number: int) -> bytes:
        """The `$defs` with the last so many as stubs, and without those to which nothing leads any more."""
        if number not in self._cut:
            stubs = set(list(self._all)[len(self._all) - number :])
            self._cut[number] = _text(self._left(stubs))
        return self._cut[number]

    def _left(self, stubs: Set[Key]) -> dict[str, bytes]:
        left: dict[Key, bytes] = {}
        waiting = list(self._roots)
        for key in waiting:  # it grows meanwhile
            if key in left:
                continue
            each = self._all[key]
            text = _json(each, _NONE)
            is_stub = key in stubs and (len(text) > len(_STUB) or bool(each.used))
            left[key] = _STUB if is_stub else text
            waiting.extend(() if is_stub else each.used)
        return {self._all[key].name: text for key, text in left.items()}


def _json(shared: Shared, most: int) -> bytes:
    if most == _WHOLE:
        return shared.json
    if most not in shared.cut:
        shared.cut[most] = msgspec.json.encode(trimmed(shared.schema, most, _DEEP, None))
    return shared.cut[most]


def _text(defs: Mapping[str, bytes]) -> bytes:
    return _BEFORE + b",".join(b'"%b":%b' % (name.encode(), text) for name, text in defs.items()) + _AFTER


def _size(defs: Mapping[str, bytes]) -> int:
    return len(_BEFORE) + len(_AFTER) + sum(len(name) + len(text) + 4 for name, text in defs.items()) - 1
