"""Tables of TOML as the structs that they stand for, with problems in the words of a user."""

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from mcpctl.base.errors import Unusable
from mcpctl.base.near_names import did_you_mean

_Struct = TypeVar("_Struct", bound=msgspec.Struct)

MAX_S = 1e7
_AT = re.compile(r"(.*?)(?: - at `\$(.*)`)?\Z", re.DOTALL)
_TYPES = {"str": "text", "array": "a list", "object": "a table", "bool": "true or false", "int": "a whole number"}


def converted(table: Any, kind: type[_Struct]) -> _Struct:
    """`table` as a `kind`; raises ValueError in the words of a user, such as `.args: must be a list`."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        match = _AT.match(str(error))
        what, where = match.groups() if match else (str(error), None)
    where = (where or "").replace("[...]", "")
    if expected := re.match(r"Expected `([^`]*)`", what):
        kinds = [_TYPES.get(name, name) for name in expected[1].split(" | ") if name != "null"]
        raise ValueError(f"{where}: must be {' or '.join(dict.fromkeys(kinds)).replace('float', 'a number')}")
    if unknown := re.search(r"unknown field `([^`]*)`", what):
        names = [f.name for f in msgspec.structs.fields(_kind_at(where, kind))]
        hint = did_you_mean(unknown[1], names, f"known are {', '.join(names)}")
        raise ValueError(f"{where}.{unknown[1]}: unknown key; {hint}")
    if missing := re.search(r"missing required field `([^`]*)`", what):
        raise ValueError(f"{where}.{missing[1]}: is missing")
    raise ValueError(f"{where}: {what}")


def _kind_at(where: str, kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """The kind of the table in a `kind` that is at a place such as `.oauth`."""
    for name in where.split(".")[1:]:
        annotation: Any = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
        kind = next(
            part for part in get_args(annotation) if isinstance(part, type) and issubclass(part, msgspec.Struct)
        )
    return kind


def tables(path: Path, section: str, document: dict[str, Any]) -> dict[str, Any]:
    found = document.get(section, {})
    if not isinstance(found, dict):
        raise Unusable(f"{path}: {section} must be tables, [{section}.NAME]", "fix it there", code="config_key")
    return found


def section(
    path: Path, name: str, table: Any, kind: type[_Struct], check: Callable[[_Struct], None] = lambda _: None,
    may_be_0: Collection[str] = (),
) -> _Struct:  # fmt: skip
    """A section as a `kind` whose numbers are positive, or 0 where they may be; raises `Unusable`."""
    try:
        values = converted(table, kind)
        check(values)
        for key, value in msgspec.structs.asdict(values).items():
            least = 0 if key in may_be_0 else 1
            if isinstance(value, int) and not isinstance(value, bool) and value < least:
                raise ValueError(f".{key}: must be {least} or more")
            if isinstance(value, float) and not 0 < value < MAX_S:
                raise ValueError(f".{key}: must be a number of seconds, more than 0")
    except ValueError as error:
        raise Unusable(f"{path}: {name}{error}", f"fix [{name}] there", code="config_key") from error
    return values
