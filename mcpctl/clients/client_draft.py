"""A client's file while entries are taken out of it and put into it: every other byte stays as it is."""

import copy
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from mcpctl.base import files
from mcpctl.base.errors import Unusable
from mcpctl.clients import client_files
from mcpctl.config import toml
from mcpctl.jsonc import edit as json_edit

Place = tuple[str, ...]  # the names of the members that lead to a section or to an entry
_NOTHING = object()


class ClientDraft:
    """A client's file as text and as value, changed alike. `data` compares the two, so that a form that is not known
    here (names that occur twice, or an inline table in TOML) ends in an error and not in a broken file."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path = path
        self.value: Any = client_files.decoded(path, data)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise Unusable(f"{path} is not UTF-8", "save it as UTF-8", "client_config") from error
        self._mark = files.BOM if text.startswith(files.BOM) else ""
        self.text = text.removeprefix(files.BOM)
        self.is_toml = path.suffix == ".toml"
        if not self.is_toml and self.text.strip() in ("", "{}"):
            self.text = "{\n}\n"

    @property
    def data(self) -> bytes:
        """The bytes of the file; raises `Unusable` if they differ from the value."""
        try:
            data = (self._mark + self.text).encode()
            says = client_files.decoded(self._path, data)
        except (UnicodeEncodeError, Unusable):
            says = None
        if _canonical(says) != _canonical(self.value):
            hint = "write each server in the usual form and only once there, or change the file by hand"
            raise Unusable(f"{self._path} has its servers in a form that cannot be edited safely", hint, "client_form")
        return data

    def at(self, place: Place, default: Any = None) -> Any:
        value = self.value
        for name in place:
            if not isinstance(value, dict) or name not in value:
                return default
            value = value[name]
        return value

    def servers(self, section: Place) -> dict[str, Any]:
        return client_files.members(self.at(section))

    def has(self, place: Place) -> bool:
        return self.at(place, _NOTHING) is not _NOTHING

    def drop(self, places: Iterable[Place]) -> None:
        places = list(places)
        for place in places:
            del self.at(place[:-1])[place[-1]]
        if not places:
            return
        try:
            if self.is_toml:
                self.text = _without_tables(self.text, [place[:2] for place in places])
                for section in {place[0] for place in places if not self.value[place[0]]}:
                    if section not in client_files.decoded(self._path, self.text.encode()):
                        del self.value[section]  # nor does the text have its header any more
            else:
                self.text = json_edit.drop(self.text, *places)
        except (RecursionError, IndexError) as error:
            raise _too_odd(self._path) from error

    def put(self, place: Place, entry: dict[str, Any]) -> None:
        if not isinstance(self.at(place[:-1], {}), dict):  # such as null
            raise _too_odd(self._path)
        if self.is_toml:
            import tomli_w

            table = tomli_w.dumps({place[0]: {place[1]: entry}})
            self.text = _with_table(self.text, place[:2], table)
        else:
            depth = next(n for n in range(1, len(place) + 1) if n == len(place) or not self.has(place[:n]))
            value: Any = entry
            for name in reversed(place[depth:]):
                value = {name: value}
            self.text = json_edit.put(self.text, place[:depth], value)
        self._set(place, entry)

    def copy(self, older: "ClientDraft", place: Place, before: str | None) -> None:
        """Put back the entry of `older` at a place, in its own words, before the entry of that name or at the end."""
        if self.is_toml:
            lines = older.text.split("\n")
            tables = ("\n".join(lines[start:end]) for at, start, end in _tables(older.text) if at == place[:2])
            table = "\n\n".join(tables)
            self.text = _with_text(self.text, place[:2], table, before)
        elif self.has(place[:-1]):
            text = json_edit.text_at(older.text, place)
            self.text = json_edit.put_text(self.text, place, text, before)
        else:
            self.put(place, older.at(place))
            return
        self._set(place, copy.deepcopy(older.at(place)))

    def prefer(self, text: str) -> None:
        """Take this text instead if it says the same."""
        try:
            says = client_files.decoded(self._path, text.encode()) if text else None
        except Unusable:
            return
        if _canonical(says) == _canonical(self.value):
            self.text = text

    def _set(self, place: Place, value: Any) -> None:
        inside = self.value
        for name in place[:-1]:
            inside = inside.setdefault(name, {})
        inside[place[-1]] = value


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _too_odd(path: Path) -> Unusable:
    hint = "write the servers as an object of entries by name there"
    return Unusable(f"{path} has its servers in a form that cannot be edited", hint, "client_form")


# An entry of TOML is moved as whole lines. One in another form, such as an inline table, has none of its own, and
# `data` finds that.


def _without_tables(text: str, places: Collection[Place]) -> str:
    lines = text.split("\n")
    removed = {n for place, start, end in _tables(text) if place in places for n in range(start, end)}
    kept: list[str] = []
    for number, line in enumerate(lines):
        # The blank line after a table goes with it if there is one before it, or nothing.
        is_double = number - 1 in removed and not line.strip() and (not kept or not kept[-1].strip())
        if is_double and number < len(lines) - 1:
            removed.add(number)
        if number not in removed:
            kept.append(line)
    return "\n".join(kept)


def _with_table(text: str, place: Place, table: str) -> str:
    own = [(start, end) for at, start, end in _tables(text) if at == place]
    if not own:
        return _with_text(text, place, table, None)
    lines = text.split("\n")
    for start, end in reversed(own[1:]):
        del lines[start:end]
    return "\n".join([*lines[: own[0][0]], *_lines(text, table), *lines[own[0][1] :]])


def _with_text(text: str, place: Place, table: str, before: str | None) -> str:
    """The text with these lines before the entry `before` of the same section, or behind the section's last table."""
    lines = text.split("\n")
    tables = [one for one in _tables(text) if one[0][0] == place[0]]
    at = next((start for (_, name), start, _ in tables if name == before), None)
    if at is not None:
        return "\n".join([*lines[:at], *_lines(text, f"{table}\n\n-")[:-1], *lines[at:]])
    if not tables:
        while lines and not lines[-1].strip():
            lines.pop()
    at = max((end for _, _, end in tables), default=len(lines))
    new = [*([""] if at else []), *_lines(text, table)]
    rest = lines[at:] or [""]
    return "\n".join([*lines[:at], *(line + ("\r" if _is_crlf(text) and not line else "") for line in new), *rest])


def _tables(text: str) -> Iterator[tuple[Place, int, int]]:
    place: Place | None = None
    start = end = 0
    for statement in toml.statements(text):
        if statement.is_header:
            if place:
                yield place, start, end
            place = (statement.table[0], statement.table[1]) if len(statement.table) > 1 else None
            start = statement.line - 1
        end = statement.last_line
    if place:
        yield place, start, end


def _lines(text: str, table: str) -> list[str]:
    end = "\r" if _is_crlf(text) else ""
    return [line.removesuffix("\r") + end for line in table.rstrip("\r\n").split("\n")]


def _is_crlf(text: str) -> bool:
    return "\r\n" in text
