"""A client's file while entries are taken out of it and put into it: every other byte stays as it is."""

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mcpctl.base import files
from mcpctl.base.errors import Unusable
from mcpctl.clients import client_files, toml_entries
from mcpctl.jsonc import edit as json_edit

Place = tuple[str, ...]
"""The names of the members that lead to a section or to an entry."""
_NOTHING = object()


class Draft:
    """The text of a client's file and what it says.

    Both are changed alike. `data` compares them, so that a form that this does not know ends in an error and not in a
    broken file: names that occur twice, or an inline table in TOML.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self._path = path
        self.value: Any = client_files.decoded(path, data)
        if not isinstance(self.value, dict):
            raise Unusable(f"{path}: must be an object", "see the client's own documentation", "client_config")
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
        """The bytes of the file; raises `Unusable` if they do not say what they should."""
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
        """The value at a place, or the default if there is none."""
        value = self.value
        for name in place:
            if not isinstance(value, dict) or name not in value:
                return default
            value = value[name]
        return value

    def has(self, place: Place) -> bool:
        """Whether there is anything at a place."""
        return self.at(place, _NOTHING) is not _NOTHING

    def drop(self, places: Iterable[Place]) -> None:
        """Remove entries, or whole sections, that exist."""
        places = list(places)
        for place in places:
            del self.at(place[:-1])[place[-1]]
        if not places:
            return
        try:
            if self.is_toml:
                self.text = toml_entries.drop(self.text, [_pair(place) for place in places])
                for section in {place[0] for place in places if not self.value[place[0]]}:
                    self._settle(section)
            else:
                self.text = json_edit.drop(self.text, *places)
        except (RecursionError, IndexError) as error:
            raise _too_odd(self._path) from error

    def put(self, place: Place, entry: dict[str, Any]) -> None:
        """Set an entry; its section is made if there is none."""
        if not isinstance(self.at(place[:-1], {}), dict):  # such as null
            raise _too_odd(self._path)
        if self.is_toml:
            import tomli_w

            table = tomli_w.dumps({place[0]: {place[1]: entry}})
            self.text = toml_entries.put(self.text, _pair(place), table)
        else:
            depth = next(n for n in range(1, len(place) + 1) if n == len(place) or not self.has(place[:n]))
            value: Any = entry
            for name in reversed(place[depth:]):
                value = {name: value}
            self.text = json_edit.put(self.text, place[:depth], value)
        self._set(place, entry)

    def copy(self, older: "Draft", place: Place, before: str | None) -> None:
        """Put back what `older` has at a place, in its own words, before the entry of that name or at the end."""
        if self.is_toml:
            table = toml_entries.text_at(older.text, _pair(place))
            self.text = toml_entries.put_text(self.text, _pair(place), table, before)
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

    def _settle(self, section: str) -> None:
        """Forget a TOML section without entries, unless the text still has its header."""
        if section not in client_files.decoded(self._path, self.text.encode()):
            del self.value[section]


def _pair(place: Place) -> toml_entries.Place:
    return place[0], place[1]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _too_odd(path: Path) -> Unusable:
    hint = "write the servers as an object of entries by name there"
    return Unusable(f"{path} has its servers in a form that cannot be edited", hint, "client_form")
