"""Parameters of an operation: where each stands, how it is written there, and which are arguments."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from mcpctl.openapi.faults import OperationFault
from mcpctl.openapi.naming import holes
from mcpctl.openapi.references import References
from mcpctl.openapi.snapshot import NO_ARGUMENTS, OVERRIDES, Parameter

STYLES = {  # https://spec.openapis.org/oas/v3.1.1#style-values, the default first
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),  # the second is of 3.2
}
_LONGEST = 100

Place = tuple[str, str]  # where a parameter stands, and its name there; of a header in small letters


class Described(msgspec.Struct, frozen=True):
    """A parameter as it is sent, and what is said of it."""

    parameter: Parameter
    schema: Any
    place: str  # the file of its schema
    is_required: bool
    description: str = ""
    is_deprecated: bool = False


class NoArguments(msgspec.Struct, frozen=True):
    """The places that are no arguments."""

    set_by_name: Set[str]  # the names that the entry's `parameters` has
    taken: Set[Place]  # those of its headers, and of the document's API keys


def read_parameters(
    references: References, path: str, lists: Sequence[tuple[Any, str]], given: NoArguments
) -> list[Described]:
    """The parameters of an operation, those of the path first: `lists` are that of its path and its own, each with its
    file. Raises `OperationFault`."""
    by_place: dict[Place, Described] = {}
    for listed, there in lists:
        if not isinstance(listed, list):
            raise OperationFault("its parameters are no list")
        for each in listed:
            target = references.followed(each, there)
            described = _described(references, target.value, target.place)
            by_place[place_of_parameter(described.parameter)] = described
    in_path = [by_place.get(("path", hole)) or _of_hole(hole) for hole in holes(path)]
    others = [each for (place, _), each in by_place.items() if place != "path"]
    return [_set(each, given) for each in (*in_path, *others) if not _is_left_out(each.parameter, given)]


def place_of_parameter(parameter: Parameter) -> Place:
    name = parameter.name
    return parameter.place, name.lower() if parameter.place == "header" else name


def _is_left_out(parameter: Parameter, given: NoArguments) -> bool:
    place = place_of_parameter(parameter)
    if parameter.place == "path":
        return False
    return (
        place in given.taken
        or place[1].lower() in OVERRIDES
        or (parameter.place == "header" and place[1] in NO_ARGUMENTS)
    )


def _set(described: Described, given: NoArguments) -> Described:
    if described.parameter.name not in given.set_by_name:
        return described
    return msgspec.structs.replace(described, parameter=msgspec.structs.replace(described.parameter, argument=""))


def _of_hole(name: str) -> Described:
    parameter = Parameter(argument=name, name=name, place="path", style="simple")
    return Described(parameter, {"type": "string"}, "", is_required=True)


def _described(references: References, value: Any, there: str) -> Described:
    if not isinstance(value, dict):
        raise OperationFault("a parameter is no object")
    name, place = value.get("name"), value.get("in")
    if not isinstance(name, str) or not name:
        raise OperationFault("a parameter has no name")
    if not isinstance(place, str) or place not in STYLES:
        raise OperationFault(f"a parameter is in {str(place)[:_LONGEST]!r}")
    description = value.get("description")
    described: dict[str, Any] = {
        "is_required": place == "path" or value.get("required") is True,
        "description": description if isinstance(description, str) else "",
        "is_deprecated": value.get("deprecated") is True,
    }
    content = value.get("content")
    if isinstance(content, dict) and content:
        media_type, media = next(iter(content.items()))
        target = references.followed(media, there)
        schema = target.value.get("schema", {}) if isinstance(target.value, dict) else {}
        parameter = Parameter(argument=name, name=name, place=place, media_type=media_type)
        return Described(parameter, schema, target.place, **described)
    style = style_of(value, STYLES[place], f"a parameter in {place}")
    parameter = Parameter(argument=name, name=name, place=place, **style)
    return Described(parameter, value.get("schema", {}), there, **described)


def style_of(described: Mapping[str, Any], styles: Sequence[str], what: str) -> dict[str, Any]:
    """How the values of something are written: its style, and what comes with it."""
    style = described.get("style") or styles[0]
    if style not in styles:
        raise OperationFault(f"{what} has the style {str(style)[:_LONGEST]!r}")
    explode = described.get("explode")
    if not isinstance(explode, bool):
        explode = style in ("form", "cookie")
    return {
        "style": style,
        "explode": explode or style == "deepObject",
        "allow_reserved": described.get("allowReserved") is True,
    }
