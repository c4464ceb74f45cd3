"""Toolset files: where they are, and what they say. They come from strangers: any member may have any type.

A file is one toolset, or hypertool-mcp's configuration with several under `toolsets`, by name or in a list.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mcpctl import files
from mcpctl.errors import NotFound, Unusable, WrongUsage
from mcpctl.models import HINTS
from mcpctl.near_names import did_you_mean
from mcpctl.paths import Paths
from mcpctl.toolsets.toolset import HIDDEN, MAX_NOTE, MAX_TITLE, NAME, Note, Place, Reference, Toolset, ToolsetEntry

VARIABLE = "MCPCTL_TOOLSET"
NONE = "none"
"""In place of a toolset's name: no toolset, whatever is equipped."""
_LINE_BREAK = re.compile("\r\n?|[\u2028\u2029]")
_MEMBERS = ("name", "tools", "toolNotes", "toolOverrides")


class ToolsetPlace(msgspec.Struct, frozen=True):
    """Where a toolset is: a file, and in one with several, which."""

    path: Path
    inner: str | None
    own: bool
    """Whether it is in the user's own data directory, and not brought along by a repository."""
    is_named: bool
    """Whether it was given by its name, not by a path."""

    @property
    def reference(self) -> str:
        """What a person writes for it."""
        place = self.path.stem if self.is_named else str(self.path)
        return f"{place}#{self.inner}" if self.inner else place

    @property
    def within(self) -> Path | None:
        """The folder that a change may not lead out of, through whatever link: that of the repository it is in.

        A repository may come from anyone, and so may a link in it. None for a toolset that was given by its name.
        """
        if self.is_named:
            return None
        return next((folder for folder in self.path.parents if (folder / ".git").exists()), self.path.parent)


def place_of(paths: Paths, reference: str) -> ToolsetPlace:
    """Where the toolset is that a person calls `reference`: a name, or a path, each with `#NAME` for one of several."""
    if is_path(reference):
        place, mark, inner = reference.rpartition("#")
        if not mark or not NAME.match(inner) or os.path.exists(reference):  # noqa: PTH110 - one that is too long for a path is none
            place, inner = reference, ""
        path = Path(place).expanduser().absolute()
        return ToolsetPlace(path, inner or None, _is_own(paths, path), is_named=False)
    name, _, inner = reference.partition("#")
    check_name(name, "toolset")
    path = paths.toolsets / f"{name}.json"
    return ToolsetPlace(path, inner or None, _is_own(paths, path), is_named=True)


def is_path(reference: str) -> bool:
    """Whether what a person calls a toolset is a path, not a name."""
    return "/" in reference or ".json#" in reference or reference.endswith(".json")


def spelled(option: str | None) -> str | None:
    """What names the toolset that was chosen, from any folder; None where none was."""
    reference = option or os.environ.get(VARIABLE)
    return str(Path(reference).expanduser().absolute()) if reference and is_path(reference) else reference


def check_name(name: str, what: str) -> None:
    """Raises `WrongUsage` for a name that no toolset or note may have; what passes is safe in a path."""
    if not NAME.match(name) or (what == "toolset" and name == NONE):
        hint = "names have 2 to 50 of: a to z, 0 to 9, -" + ("; a path has a / or ends in .json" * (what == "toolset"))
        raise WrongUsage(f"'{name[:80]}' cannot name a {what}", hint, "bad_name")


def read(place: ToolsetPlace) -> Toolset:
    """The toolset that is there; raises `NotFound` or `Unusable`."""
    text = read_text(place)
    pointer, content = located(text, place)
    return parsed(place, pointer, content)


def read_text(place: ToolsetPlace) -> str:
    """The file's text, a byte order mark included."""
    try:
        return files.read_text(place.path, code="toolset_unusable")
    except NotFound:
        raise not_found(place) from None


def located(text: str, place: ToolsetPlace) -> tuple[Place, dict[str, Any]]:
    """Where in a file's JSON the toolset is, and all that it says there; raises `Unusable` or `NotFound`."""
    root = _decoded(text.removeprefix(files.BOM), place)
    if not isinstance(root, dict):
        raise _no_toolset(place, "it is no JSON object")
    if "tools" not in root and isinstance(root.get("toolsets"), dict | list):
        return _one_of(root, place)
    if not any(member in root for member in _MEMBERS):
        raise _no_toolset(place, "it has neither tools nor toolsets")
    return (), root


def _decoded(text: str, place: ToolsetPlace) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise _no_toolset(place, "its JSON is too deep") from None
    except msgspec.MsgspecError as error:
        what = f"its JSON is not strict: {error}"
    try:
        json.loads(text)  # which knows where the fault is
    except json.JSONDecodeError as error:
        what = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError):
        pass
    raise Unusable(f"{place.path}: {what}", "mend the JSON there", "toolset_unusable")


def _one_of(root: Mapping[str, Any], place: ToolsetPlace) -> tuple[Place, dict[str, Any]]:
    """The toolset that is meant in a file of several: the named one, the only one, or the one that was last in use."""
    several = {name: (pointer, content) for name, pointer, content in _several(root["toolsets"])}
    last = root.get("lastEquippedToolset")
    name = place.inner or (next(iter(several)) if len(several) == 1 else last if isinstance(last, str) else None)
    if name in several:
        return several[name]
    wanted = f"no toolset '{name}'" if name else f"{len(several)} toolsets"
    hint = f"name one of them: {' '.join(f'{place.path}#{known}' for known in several) or 'there is none'}"
    raise NotFound(f"{place.path} has {wanted}", hint, "toolset_not_found")


def names(text: str, place: ToolsetPlace) -> list[str | None]:
    """What the toolsets in a file are called; None for the one of a file that is a toolset itself."""
    root = _decoded(text.removeprefix(files.BOM), place)
    if isinstance(root, dict) and "tools" not in root and isinstance(root.get("toolsets"), dict | list):
        return [name for name, _, _ in _several(root["toolsets"])]
    return [None]


def _several(toolsets: Any) -> Iterator[tuple[str, Place, dict[str, Any]]]:
    members = toolsets.items() if isinstance(toolsets, dict) else enumerate(toolsets)
    for key, content in members:
        if isinstance(content, dict):
            name = key if isinstance(key, str) else content.get("name")
            if isinstance(name, str) and name:
                yield name, ("toolsets", key), content


def parsed(place: ToolsetPlace, pointer: Place, content: dict[str, Any]) -> Toolset:
    """The toolset that decoded JSON is; what has another shape than it should is left out."""
    said, key = content.get("name"), pointer[-1] if pointer else None
    candidates = (said, place.inner, key, place.path.stem)
    name = next((text for text in candidates if isinstance(text, str) and NAME.match(text)), place.path.stem)
    tools = [found for item in items(content, "tools") if (found := reference_of(item)).index]
    entries = [*_noted(content), *_overridden(content)]
    return Toolset(name, place.path, place.own, tuple(tools), tuple(entries), content)


def items(content: Mapping[str, Any], member: str) -> Sequence[Any]:
    """The items of a member that should be a list."""
    found = content.get(member)
    return found if isinstance(found, list) else ()


def reference_of(item: Any) -> Reference:
    """The reference that decoded JSON is; one that names nothing where it is none."""
    found = item if isinstance(item, dict) else {}
    name, hash_ = found.get("namespacedName"), found.get("refId")
    return Reference(name if isinstance(name, str) and "." in name else None, hash_ if isinstance(hash_, str) else None)


def _noted(content: Mapping[str, Any]) -> Iterator[ToolsetEntry]:
    for item in items(content, "toolNotes"):
        if isinstance(item, dict) and (reference := reference_of(item.get("toolRef"))).index:
            yield ToolsetEntry(reference, tuple(notes_of(item)))


def note_names(entry: Mapping[str, Any]) -> Iterator[str]:
    """What the notes of one entry of `toolNotes` are called, those that do not count included."""
    for note in items(entry, "notes"):
        if isinstance(note, dict) and isinstance(name := note.get("name"), str):
            yield name


def notes_of(entry: Mapping[str, Any]) -> Iterator[Note]:
    """The notes of one entry of `toolNotes` that count, without hidden characters: well named, and not too long."""
    for note in items(entry, "notes"):
        name, text = (note.get("name"), note.get("note")) if isinstance(note, dict) else (None, None)
        if isinstance(name, str) and NAME.match(name) and isinstance(text, str) and len(text) <= MAX_NOTE:
            if not (text.isascii() and text.isprintable()):  # most are, and some files have thousands
                text = HIDDEN.sub("", _LINE_BREAK.sub("\n", text))
            if text.strip():
                yield Note(name, text)


def _overridden(content: Mapping[str, Any]) -> Iterator[ToolsetEntry]:
    for item in items(content, "toolOverrides"):
        if isinstance(item, dict) and (reference := reference_of(item.get("toolRef"))).index:
            said, title = item.get("annotations"), item.get("title")
            hints = {name: said[name] for name in HINTS if isinstance(said, dict) and isinstance(said.get(name), bool)}
            yield ToolsetEntry(reference, (), hints, _title(title))


def _title(said: Any) -> str | None:
    """A title on one line; none where it says nothing, or more than a title does."""
    if not isinstance(said, str) or len(said) > MAX_TITLE:
        return None
    return HIDDEN.sub("", " ".join(said.split())) or None


def not_found(place: ToolsetPlace) -> NotFound:
    """The failure for a file that is not there."""
    if not place.is_named:
        return NotFound(f"there is no toolset file {place.path}", "check the path", "toolset_not_found")
    known = [path.stem for path in place.path.parent.glob("*.json")]
    hint = did_you_mean(place.path.stem, known, "list toolsets with: mcpctl toolsets ls")
    return NotFound(f"no toolset '{place.path.stem}'", hint, "toolset_not_found")


def _no_toolset(place: ToolsetPlace, why: str) -> Unusable:
    return Unusable(f"{place.path} is no toolset: {why}", "name a toolset file", "toolset_unusable")


def _is_own(paths: Paths, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(paths.data.resolve())
    except (OSError, RuntimeError):
        return False
