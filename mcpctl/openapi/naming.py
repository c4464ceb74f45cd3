"""Names: of tools, of their arguments, and of the schemas in `$defs`. None depends on what else a tool list has."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from mcpctl.base import bounds

HOLE = re.compile(r"\{([^{}]*)\}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.-]+")
_NOT_IN_DEFS = re.compile(r"[^A-Za-z0-9._-]+")
_COMPONENT = re.compile(r"/components/schemas/([A-Za-z0-9._-]{1,100})\Z")
_LONGEST_DEF = 60
_HASH = 8


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def holes(path: str) -> list[str]:
    """The names of the holes of a path that are sent: a fragment is not."""
    return list(dict.fromkeys(HOLE.findall(path.partition("#")[0])))


def tool_names(operations: Sequence[tuple[str, str, object]], others: Iterable[object] = ()) -> list[str]:
    """The names of all operations of a document, each a method, a path and an `operationId`; `others` are the ids of
    callbacks and webhooks. They are made for the whole document, so that no filter changes them."""
    ids = Counter(each for each in (*(id for _, _, id in operations), *others) if isinstance(each, str))
    made = [id if isinstance(id, str) and ids[id] == 1 and _is_usable(id) else None for _, _, id in operations]
    fallbacks = [
        made_of(method, path) if name is None else name
        for name, (method, path, _) in zip(made, operations, strict=True)
    ]
    times = Counter(fallbacks)
    return [
        name if usable is not None or (times[name] == 1 and len(name) <= bounds.NAME)
        else f"{name[: bounds.NAME - _HASH - 1]}-{_short(f'{method} {path}')}"
        for usable, name, (method, path, _) in zip(made, fallbacks, operations, strict=True)
    ]  # fmt: skip


def _is_usable(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name) <= bounds.NAME


def made_of(method: str, path: str) -> str:
    """Such as `get_users_by_id` of `GET /users/{id}`."""
    return _NOT_IN_NAMES.sub("_", f"{method.lower()} " + HOLE.sub(r"by_\1", path))


def argument_names(places: Sequence[tuple[str, str]]) -> list[str] | None:
    """The names of arguments, each a name and its place: one that occurs twice has its place behind it, each time. None
    where that is taken, too."""
    times = Counter(name for name, _ in places)
    names = [name if times[name] == 1 else f"{name}_{place}" for name, place in places]
    return names if len(set(names)) == len(names) else None


def name_of_schema(place: str, pointer: str) -> str:
    """The name of a schema in `$defs`: its own where it is a component of the document itself, else with a hash of
    where it stands, so that two never have the same."""
    if not place and (own := _COMPONENT.fullmatch(pointer)) and not _MADE.search(own[1]):
        return own[1]
    last = pointer.rpartition("/")[2] or place.rpartition("/")[2].partition(".")[0] or "document"
    return f"{_NOT_IN_DEFS.sub('_', last)[:_LONGEST_DEF]}-{_short(f'{place}#{pointer}')}"


_MADE = re.compile(rf"-[0-9a-f]{{{_HASH}}}\Z")  # ends a name that was made; a component's own that does gets one more
