"""Toolset files: their places and their content. They come from strangers: any member may have any type. A file is one
toolset, or hypertool-mcp's configuration with several under `toolsets`, by name or in a list."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.base import files
from mcpctl.base.errors import NotFound, Unusable, WrongUsage
from mcpctl.base.models import HINTS
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.paths import Paths
from mcpctl.config import policy_settings
from mcpctl.config.policy_settings import ASK, DENY, PolicyRule
from mcpctl.jsonc import Place, fault_in_words
from mcpctl.toolsets.toolset import HIDDEN, MAX_NOTE, MAX_TITLE, NAME, Note, ToolReference, Toolset, ToolsetEntry

VARIABLE = "MCPCTL_TOOLSET"
NONE = "none"  # in place of a toolset's name: no toolset, even if one is equipped
_LINE_BREAK = re.compile("\r\n?|[\u2028\u2029]")
_MEMBERS = ("name", "tools", "toolNotes", "toolOverrides")
_EFFECTS = (DENY, ASK)
_MOST_RULES, _LONGEST_RULE = 1000, 1100
_ALL_RULES = 1 << 15  # characters of all rules of one list, each of which is compiled


class ToolsetFile(msgspec.Struct, frozen=True):
    path: Path
    inner: str | None
    own: bool  # whether it is in the user's own data directory, and not in a repository
    is_named: bool  # whether it was given by its name, not by a path

    @property
    def reference(self) -> str:
        place = self.path.stem if self.is_named else str(self.path)
        return f"{place}#{self.inner}" if self.inner else place

    @property
    def within(self) -> Path | None:
        """The repository that a change may not leave through a link: both may come from a stranger."""
        if self.is_named:
            return None
        return repository_of(self.path.parent)


def repository_of(folder: Path) -> Path:
    """The repository that a folder is in; the folder itself if it is in none."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def place_of(paths: Paths, reference: str) -> ToolsetFile:
    """The place of a toolset's name or path, with `#NAME` for one of several in a file."""
    if is_path(reference):
        file, mark, inner = reference.rpartition("#")
        if not mark or not NAME.match(inner) or os.path.exists(reference):  # noqa: PTH110 - Path.exists raises for a text too long for a path
            file, inner = reference, ""
        # Without `..`, behind which the repository that one is in would seem to be around the file.
        path = Path(os.path.normpath(Path(file).expanduser().absolute()))
        return ToolsetFile(path, inner or None, _is_own(paths, path), is_named=False)
    name, _, inner = reference.partition("#")
    check_name(name, "toolset")
    path = paths.toolsets / f"{name}.json"
    return ToolsetFile(path, inner or None, _is_own(paths, path), is_named=True)


def is_path(reference: str) -> bool:
    return "/" in reference or ".json#" in reference or reference.endswith(".json")


def absolute_reference(option: str | None) -> str | None:
    """The reference of the option or the environment, valid in any folder."""
    reference = option or os.environ.get(VARIABLE)
    return str(Path(reference).expanduser().absolute()) if reference and is_path(reference) else reference


def check_name(name: str, what: str) -> None:
    """Raises `WrongUsage` for a name that no toolset or note may have; a name that passes is safe in a path."""
    if not NAME.match(name) or (what == "toolset" and name == NONE):
        hint = "names have 2 to 50 of: a to z, 0 to 9, -" + ("; a path has a / or ends in .json" * (what == "toolset"))
        raise WrongUsage(f"'{name[:80]}' cannot name a {what}", hint, "bad_name")


def read(place: ToolsetFile) -> Toolset:
    pointer, content = located(read_text(place), place)
    return parsed(place, pointer, content)


def read_text(place: ToolsetFile) -> str:
    try:
        return files.read_text(place.path, code="toolset_unusable")
    except NotFound:
        raise not_found(place) from None


def located(text: str, place: ToolsetFile) -> tuple[Place, dict[str, Any]]:
    """The toolset's place in a file's JSON and its content; raises `Unusable` or `NotFound`."""
    root = _decoded(text.removeprefix(files.BOM), place)
    if not isinstance(root, dict):
        raise _not_a_toolset(place, "it is not a JSON object")
    if _has_several(root):
        return _one_of(root, place)
    if not toolsets_in(root):
        raise _not_a_toolset(place, "it has neither tools nor toolsets")
    return (), root


def _has_several(root: Any) -> bool:
    return isinstance(root, dict) and "tools" not in root and isinstance(root.get("toolsets"), dict | list)


def toolsets_in(root: Any) -> list[tuple[tuple[str | int, ...], dict[str, Any]]]:
    if _has_several(root):
        several = root["toolsets"]
        members = several.items() if isinstance(several, dict) else enumerate(several)
        return [(("toolsets", key), content) for key, content in members if isinstance(content, dict)]
    return [((), root)] if isinstance(root, dict) and any(member in root for member in _MEMBERS) else []


def _decoded(text: str, place: ToolsetFile) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise _not_a_toolset(place, "its JSON is too deep") from None
    except msgspec.MsgspecError as error:
        problem = fault_in_words(text, f"its JSON is not strict: {error}")
    raise Unusable(f"{place.path}: {problem}", "fix the JSON there", "toolset_unusable")


def _one_of(root: Mapping[str, Any], place: ToolsetFile) -> tuple[Place, dict[str, Any]]:
    """The named toolset of a file of several, else the only one, else the last equipped one."""
    several = {name: (pointer, content) for name, pointer, content in _named(root)}
    last = root.get("lastEquippedToolset")
    name = place.inner or (next(iter(several)) if len(several) == 1 else last if isinstance(last, str) else None)
    if name in several:
        return several[name]
    problem = f"no toolset '{name}'" if name else f"{len(several)} toolsets"
    hint = f"name one of them: {' '.join(f'{place.path}#{member}' for member in several) or 'there is none'}"
    raise NotFound(f"{place.path} has {problem}", hint, "toolset_not_found")


def names(text: str, place: ToolsetFile) -> list[str | None]:
    root = _decoded(text.removeprefix(files.BOM), place)
    return [name for name, _, _ in _named(root)] if _has_several(root) else [None]


def _named(root: Any) -> Iterator[tuple[str, Place, dict[str, Any]]]:
    for pointer, content in toolsets_in(root):
        name = pointer[-1] if isinstance(pointer[-1], str) else content.get("name")
        if isinstance(name, str) and name:
            yield name, pointer, content


def parsed(place: ToolsetFile, pointer: Place, content: dict[str, Any]) -> Toolset:
    written, key = content.get("name"), pointer[-1] if pointer else None
    candidates = (written, place.inner, key, place.path.stem)
    name = next((text for text in candidates if isinstance(text, str) and NAME.match(text)), place.path.stem)
    tools = [reference for item in items(content, "tools") if (reference := reference_of(item)).index]
    entries = list(_entries(content))
    if problem := next(policy_problems(content), None):
        at, what = problem
        where = ".".join(map(str, ("policy", *at)))
        hint = "fix it there: without it, tools that it keeps back could be called"
        raise Unusable(f"{place.path}: {where}: {what}", hint, "toolset_unusable")
    return Toolset(
        name, place.path, place.own, tuple(tools), tuple(entries), content, rules=tuple(_rules(content, place))
    )


def policy_problems(content: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    policy = content.get("policy", {})
    if not isinstance(policy, dict):
        yield (), "must be an object"
        return
    for effect, patterns in policy.items():
        if effect not in _EFFECTS:
            yield (effect,), f"a toolset may only tighten: it has {' and '.join(_EFFECTS)}"
        elif not isinstance(patterns, list) or len(patterns) > _MOST_RULES:
            yield (effect,), f"must be a list of at most {_MOST_RULES} texts"
        elif sum(len(pattern) for pattern in patterns if isinstance(pattern, str)) > _ALL_RULES:
            yield (effect,), f"must have at most {_ALL_RULES:,} characters in all"
        else:
            problems = (((effect, number), _problem_of(pattern)) for number, pattern in enumerate(patterns))
            yield from (problem for problem in problems if problem[1])


def _problem_of(pattern: Any) -> str:
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_RULE:
        return f"must be a text of at most {_LONGEST_RULE} characters"
    return policy_settings.problem_of(pattern)


def _rules(content: Mapping[str, Any], place: ToolsetFile) -> Iterator[PolicyRule]:
    for effect, patterns in content.get("policy", {}).items():
        for index, pattern in enumerate(patterns):
            yield PolicyRule(effect, pattern, ("policy",), effect, index, str(place.path), of_repository=not place.own)


def items(content: Mapping[str, Any], member: str) -> Sequence[Any]:
    value = content.get(member)
    return value if isinstance(value, list) else ()


def reference_of(item: Any) -> ToolReference:
    """A reference that names no tool if the JSON has another shape."""
    members = item if isinstance(item, dict) else {}
    name, hash_ = members.get("namespacedName"), members.get("refId")
    is_dotted = isinstance(name, str) and "." in name
    return ToolReference(name if is_dotted else None, hash_ if isinstance(hash_, str) else None)


def _entries(content: Mapping[str, Any]) -> Iterator[ToolsetEntry]:
    for member in ("toolNotes", "toolOverrides"):
        for item in items(content, member):
            if isinstance(item, dict) and (reference := reference_of(item.get("toolRef"))).index:
                if member == "toolNotes":
                    yield ToolsetEntry(reference, tuple(notes_of(item)))
                else:
                    yield ToolsetEntry(reference, (), hints_of(item), _title(item.get("title")))


def note_names(entry: Mapping[str, Any]) -> Iterator[str]:
    """The names in one entry of `toolNotes`, also of notes that do not count."""
    for note in items(entry, "notes"):
        if isinstance(note, dict) and isinstance(name := note.get("name"), str):
            yield name


def notes_of(entry: Mapping[str, Any]) -> Iterator[Note]:
    """The valid notes of one entry of `toolNotes`, without hidden characters."""
    for note in items(entry, "notes"):
        name, text = (note.get("name"), note.get("note")) if isinstance(note, dict) else (None, None)
        if isinstance(name, str) and NAME.match(name) and isinstance(text, str) and len(text) <= MAX_NOTE:
            if not (
                text.isascii() and text.isprintable()
            ):  # a shortcut that most notes take, and some files have thousands
                text = HIDDEN.sub("", _LINE_BREAK.sub("\n", text))
            if text.strip():
                yield Note(name, text)


def hints_of(entry: Mapping[str, Any]) -> dict[str, bool]:
    annotations = entry.get("annotations")
    values = annotations if isinstance(annotations, dict) else {}
    return {name: values[name] for name in HINTS if isinstance(values.get(name), bool)}


def _title(value: Any) -> str | None:
    """On one line; None if it is empty or too long."""
    if not isinstance(value, str) or len(value) > MAX_TITLE:
        return None
    return HIDDEN.sub("", " ".join(value.split())) or None


def not_found(place: ToolsetFile) -> NotFound:
    if not place.is_named:
        return NotFound(f"there is no toolset file {place.path}", "check the path", "toolset_not_found")
    existing = [path.stem for path in place.path.parent.glob("*.json")]
    hint = did_you_mean(place.path.stem, existing, "list toolsets with: mcpctl toolsets ls")
    return NotFound(f"no toolset '{place.path.stem}'", hint, "toolset_not_found")


def _not_a_toolset(place: ToolsetFile, why: str) -> Unusable:
    return Unusable(f"{place.path} is not a toolset: {why}", "name a toolset file", "toolset_unusable")


def _is_own(paths: Paths, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(paths.data.resolve())
    except (OSError, RuntimeError):
        return False
