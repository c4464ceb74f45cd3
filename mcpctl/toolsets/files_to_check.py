"""The files that `annotate check` looks at: those that are named, and in folders any that may be meant as a toolset."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpctl import jsonc
from mcpctl.base import files
from mcpctl.base.errors import Refused, Unusable, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.base.texts import counted
from mcpctl.toolsets import toolset_files
from mcpctl.toolsets.schema import MEMBERS

_SKIPPED = frozenset(("node_modules",))
_NAMED = 5
_TELLING = re.compile(r'"(?:namespacedName|toolRef|toolNotes|toolOverrides|toolsets)"')
_SCHEMA = "json-schema.org/"
_LIKE = {"tool", "tools", "toolset", "toolsets", "toolnote", "toolnotes", "tooloverride", "tooloverrides"}


@dataclass(frozen=True)
class Candidate:
    path: Path
    text: str  # empty where it has a problem
    problem: str = ""


@dataclass
class Chosen:
    candidates: dict[str, Candidate] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)  # files that are clearly something else
    links: list[str] = field(default_factory=list)  # links to folders are not followed

    @property
    def told(self) -> str:
        parts = [counted(len(self.candidates), "file")]
        if self.skipped:
            parts.append(f"{len(self.skipped)} skipped as no toolset: {_first(self.skipped)}")
        if self.links:
            parts.append(f"links to folders are not followed: {_first(self.links)}")
        return "; ".join(parts)


def chosen(paths: Paths, named: Iterable[str]) -> Chosen:
    """The files that names, paths and folders stand for, else the user's own; an unreadable one with its problem.
    Raises `WrongUsage` for a folder without any toolset, `NotFound` for a name without a file."""
    choice = Chosen()
    for name in list(named) or sorted(map(str, paths.toolsets.glob("*.json"))):
        path = Path(name)
        if path.is_dir():
            _choose_within(path, choice)
        elif os.path.lexists(path) or toolset_files.is_path(name):
            choice.candidates[_label(name)] = _candidate(path)
        else:
            place = toolset_files.place_of(paths, name)
            if not os.path.lexists(place.path):
                raise toolset_files.not_found(place)
            choice.candidates[_label(place.path)] = _candidate(place.path)
    return choice


def _choose_within(folder: Path, choice: Chosen) -> None:
    unlisted: list[OSError] = []
    files_there: list[Path] = []
    for at, folders, names in os.walk(folder, onerror=unlisted.append):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        choice.links += [_label(Path(at, name)) for name in folders if Path(at, name).is_symlink()]
        files_there += [Path(at, name) for name in names if name.endswith(".json") and not name.startswith(".")]
    within, before, skipped = toolset_files.repository_of(folder.absolute()), len(choice.candidates), 0
    for error in unlisted:
        path = Path(error.filename)
        choice.candidates[_label(path)] = Candidate(path, "", f"the folder cannot be listed: {error.strerror}")
    for path in sorted(files_there):
        candidate = _candidate(path, within)
        if _is_something_else(candidate):
            choice.skipped.append(_label(path))
            skipped += 1
        else:
            choice.candidates[_label(path)] = candidate
    if len(choice.candidates) == before:
        others = "no file ends in .json"
        if skipped:
            others = f"{skipped} other file{' ends' if skipped == 1 else 's end'} in .json"
        hint = f"{others}; name a file to have it checked whatever it is"
        raise WrongUsage(f"no toolset in the folder {folder}", hint, "nothing_to_check")


def _candidate(path: Path, within: Path | None = None) -> Candidate:
    """A link that leads out of the folder `within` is not followed: a stranger's repository may not have it read."""
    try:
        if within and path.is_symlink():
            files.target(path, within)
        return Candidate(path, files.read(path).decode())
    except UnicodeDecodeError:
        return Candidate(path, "", "it is not UTF-8")
    except (Unusable, Refused) as error:
        return Candidate(path, "", error.message)
    except OSError as error:
        return Candidate(path, "", f"cannot read {path}: {error.strerror}")


def _label(path: str | Path) -> str:
    return os.fsencode(path).decode(errors="backslashreplace")


def _first(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + ", …" * (len(names) > _NAMED)


def _is_something_else(candidate: Candidate) -> bool:
    """Whether a file is clearly not a toolset: it is JSON, perhaps with comments, without a toolset's members."""
    if candidate.problem:
        return candidate.path.lstat().st_size > files.MAX_BYTES  # larger than any toolset may be
    try:
        root = jsonc.decoded(candidate.text.encode())
    except ValueError:
        return False
    if isinstance(root, dict) and _SCHEMA in str(root.get("$schema")) and "tools" not in root:
        return True  # such as what annotate schema prints
    if _TELLING.search(candidate.text):
        return False
    if isinstance(root, dict):
        return bool(root) and _is_other_object(root)
    return isinstance(root, list) and bool(root)


def _is_other_object(root: Mapping[str, Any]) -> bool:
    tools = root.get("tools")
    if isinstance(tools, list) and tools and all(map(_is_definition, tools)):
        return True  # tools as servers list them, or as a model is given them
    if "tools" in root and "name" in root:
        return False
    foreign = {key for key in root if key not in MEMBERS and re.sub(r"[^a-z]", "", key.lower()) not in _LIKE}
    return bool(foreign)


def _is_definition(tool: Any) -> bool:
    return isinstance(tool, dict) and bool({"name", "function", "type"} & tool.keys()) and "refId" not in tool
