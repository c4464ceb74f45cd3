"""Which files `annotate check` looks at: those that are named, and in folders whatever may be meant as a toolset."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpctl import files, jsonc
from mcpctl.errors import NotFound
from mcpctl.paths import Paths
from mcpctl.toolsets import toolset_files
from mcpctl.toolsets.schema import MEMBERS

_SKIPPED = frozenset(("node_modules",))
_NAMED = 5
"""How many of the files that are passed over are named."""
_TELLING = re.compile(r'"(?:namespacedName|toolRef|toolNotes|toolOverrides|toolsets)"')
_LIKE = {"tool", "tools", "toolset", "toolsets", "toolnote", "toolnotes", "tooloverride", "tooloverrides"}


@dataclass(frozen=True)
class Candidate:
    """A file to be checked: where it is, and its text, or why it has none."""

    path: Path
    text: str
    problem: str = ""


@dataclass(frozen=True)
class Chosen:
    """The files to be checked, by how they were named, and those in folders that are clearly something else."""

    candidates: Mapping[str, Candidate]
    skipped: list[str]

    @property
    def told(self) -> str:
        """How many there are, and which were passed over."""
        count = len(self.candidates)
        told = f"{count} file{'s' * (count != 1)}"
        if not self.skipped:
            return told
        more = ", …" if len(self.skipped) > _NAMED else ""
        return f"{told}; {len(self.skipped)} skipped as no toolset: {', '.join(self.skipped[:_NAMED])}{more}"


def chosen(paths: Paths, named: Iterable[str]) -> Chosen:
    """The files that names, paths and folders stand for; the user's own toolsets where nothing is named.

    Raises `NotFound` for a folder without any, `Unusable` for a file that cannot be read.
    """
    named = list(named) or sorted(map(str, paths.toolsets.glob("*.json")))
    found: dict[str, Candidate] = {}
    skipped: list[str] = []
    for name in named:
        path = Path(name)
        if path.is_dir():
            inside = dict(_within(path))
            meant = {place: each for place, each in inside.items() if each and not _is_something_else(each)}
            skipped += inside.keys() - meant.keys()
            if not meant:
                hint = f"{len(inside)} other files end in .json; name a file to have it checked whatever it is"
                raise NotFound(f"no toolset in the folder {name}", hint, "nothing_to_check")
            found |= meant
        elif path.exists() or toolset_files.is_path(name):
            found[name] = Candidate(path, files.read_text(path))
        else:
            place = toolset_files.place_of(paths, name)
            found[str(place.path)] = Candidate(place.path, toolset_files.read_text(place))
    return Chosen(found, sorted(skipped))


def _within(folder: Path) -> Iterator[tuple[str, Candidate | None]]:
    """The JSON files of a folder, by their paths; None for one that is larger than any toolset."""
    for path in sorted(folder.rglob("*.json")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") or part in _SKIPPED for part in parts) or not path.is_file():
            continue
        if path.stat().st_size > files.MAX_BYTES:
            yield str(path), None
            continue
        data = files.read(path)
        try:
            yield str(path), Candidate(path, data.decode())
        except UnicodeDecodeError:
            yield str(path), Candidate(path, "", "it is not UTF-8")


def _is_something_else(candidate: Candidate) -> bool:
    """Whether a file is clearly no toolset: it can be read, at least with comments, and says what no toolset says."""
    if candidate.problem or _TELLING.search(candidate.text):
        return False
    try:
        root = jsonc.decoded(candidate.text.encode())
    except ValueError:
        return False
    if isinstance(root, dict):
        return bool(root) and _is_other_object(root)
    return isinstance(root, list) and bool(root)


def _is_other_object(root: Mapping[str, Any]) -> bool:
    tools = root.get("tools")
    if isinstance(tools, list) and tools and all(isinstance(tool, dict) and _defines(tool) for tool in tools):
        return True  # what servers list, or what a model is given
    if "tools" in root and "name" in root:
        return False
    foreign = {key for key in root if key not in MEMBERS and re.sub(r"[^a-z]", "", key.lower()) not in _LIKE}
    return bool(foreign)


def _defines(tool: Mapping[str, Any]) -> bool:
    return bool({"name", "function", "type"} & tool.keys()) and "refId" not in tool
