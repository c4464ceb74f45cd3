"""References of a document: to its own parts, and to other files of the same place."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from mcpctl.openapi.document import Text, value_of
from mcpctl.openapi.faults import OperationFault, WrongDocument

Read = Callable[[str], Text]  # the file at a place; raises `OperationFault`

_LONGEST = 200
_MISSING: Any = object()


class Target:
    """The value that a reference leads to, and where it stands."""

    __slots__ = ("place", "pointer", "value")

    def __init__(self, value: Any, place: str, pointer: str) -> None:
        self.value, self.place, self.pointer = value, place, pointer


class References:
    """Every reference is resolved once. Places are addresses, or paths from the folder of the document."""

    def __init__(self, document: Mapping[str, Any], place: str, name: str, read: Read) -> None:
        self.place, self._name = place, name
        self._files: dict[str, Any] = {place: document}
        self._read = read
        self._targets: dict[tuple[str, str], Target] = {}

    def target(self, reference: Any, place: str) -> Target:
        """The value to which a reference in the file at `place` leads; raises `OperationFault`."""
        if not isinstance(reference, str):
            raise OperationFault("a $ref is no text")
        known = self._targets.get((place, reference))
        if known is None:
            known = self._targets[place, reference] = self._resolved(reference, place)
        return known

    def followed(self, value: Any, place: str) -> Target:
        """A value that may be a reference, or the end of a chain of them; raises `OperationFault`, and `WrongDocument`
        for a circle. A description beside a reference replaces that of what it leads to."""
        target = Target(value, place, "")
        passed: dict[tuple[str, str], None] = {}
        description = None
        while isinstance(target.value, dict) and "$ref" in target.value:
            description = description or target.value.get("description")
            target = self.target(target.value["$ref"], target.place)
            self.check_circle(target, passed)
        if description and isinstance(target.value, dict):
            target = Target({**target.value, "description": description}, target.place, target.pointer)
        return target

    def check_circle(self, target: Target, passed: dict[tuple[str, str], None]) -> None:
        """Raises `WrongDocument` where a chain of references comes back to where it was; notes that it was here."""
        key = (target.place, target.pointer)
        if key in passed:
            file = self._name if target.place == self.place else target.place[:_LONGEST]
            raise WrongDocument(
                f"{file}#{target.pointer[:_LONGEST]} is a circle of references without anything in it",
                "correct it there, or leave out the operations that use it with --exclude",
            )
        passed[key] = None

    def _resolved(self, reference: str, place: str) -> Target:
        path, _, fragment = reference.partition("#")
        there = self._joined(path, place) if path else place
        value = self._file(there)
        pointer = unquote(fragment)
        if pointer and not pointer.startswith("/"):
            raise OperationFault(f"a reference by a name: {reference[:_LONGEST]}")
        for part in pointer.split("/")[1:]:
            value = _member(value, part.replace("~1", "/").replace("~0", "~"))
            if value is _MISSING:
                raise OperationFault(f"a reference leads nowhere: {reference[:_LONGEST]}")
        return Target(value, there, pointer)

    def _joined(self, path: str, place: str) -> str:
        try:
            if "://" in place:
                return urljoin(place, path)
            is_elsewhere = bool(urlsplit(path).scheme)
        except ValueError:
            is_elsewhere = True
        if is_elsewhere:
            raise OperationFault(f"a reference leads to another place: {path[:_LONGEST]}")
        return posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(path)))

    def _file(self, place: str) -> Any:
        if place not in self._files:
            self._files[place] = value_of(self._read(place))
        return self._files[place]


def _member(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name, _MISSING)
    if isinstance(value, list) and name.isascii() and name.isdigit() and (name == "0" or name[0] != "0"):
        return value[int(name)] if len(name) < 9 and int(name) < len(value) else _MISSING
    return _MISSING
