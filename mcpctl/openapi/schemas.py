"""Schemas of a document as JSON Schema 2020-12: https://spec.openapis.org/oas/v3.1.1#schema-object.

Each schema that is referred to is converted once, and stays a reference into `$defs`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mcpctl.openapi.faults import OperationFault
from mcpctl.openapi.naming import name_of_schema
from mcpctl.openapi.references import References, Target

Key = tuple[str, str]  # the place and the pointer of a schema that is referred to
Used = dict[Key, None]  # those that a schema refers to itself, in its order
Properties = Mapping[str, tuple[Any, str]]  # schemas by the names of their properties, with the place of each

ONE = frozenset((
    "not", "if", "then", "else", "additionalProperties", "propertyNames", "contains", "unevaluatedItems",
    "unevaluatedProperties", "contentSchema", "items",
))  # fmt: skip
SEVERAL = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_OF_ONE_VALUE = ("allOf", "anyOf", "oneOf")  # whose schemas are for the same value
NAMED = frozenset(("properties", "patternProperties", "dependentSchemas"))
_ANY, _TEXT, _FLAG, _NUMBER, _LIST = (), (str,), (bool,), (int, float), (list,)
_VALUES: dict[str, tuple[type, ...]] = {  # the types that each may have
    "title": _TEXT, "description": _TEXT, "format": _TEXT, "pattern": _TEXT, "contentEncoding": _TEXT,
    "contentMediaType": _TEXT, "$comment": _TEXT, "default": _ANY, "const": _ANY, "type": (str, list), "enum": _LIST,
    "required": _LIST, "dependentRequired": (dict,), "deprecated": _FLAG, "readOnly": _FLAG, "writeOnly": _FLAG,
    "uniqueItems": _FLAG,
    "minimum": _NUMBER, "maximum": _NUMBER, "exclusiveMinimum": (*_NUMBER, bool), "exclusiveMaximum": (*_NUMBER, bool),
}  # fmt: skip
_COUNTS = frozenset((  # which are numbers of things
    "multipleOf", "maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains", "maxProperties",
    "minProperties",
))  # fmt: skip
_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
_OUTSIDE = ("title", "description", "default", "deprecated", "readOnly", "writeOnly")
_BY_NAME = frozenset(("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"))
_NO_PROPERTIES: Properties = {}


class Shared:
    """A schema that is referred to, and those that it refers to itself."""

    __slots__ = ("cut", "json", "name", "schema", "used")

    def __init__(self, name: str, schema: Any, used: Used) -> None:
        self.name, self.schema, self.used = name, schema, used
        self.json = msgspec.json.encode(schema)
        self.cut: dict[int, bytes] = {}  # its JSON by the characters that its descriptions may have


class Schemas:
    def __init__(self, references: References, *, is_3_0: bool) -> None:
        self._references = references
        self._is_3_0 = is_3_0
        self._shared: dict[Key, Shared | OperationFault] = {}

    def shared(self, key: Key) -> Shared:
        """The schema to which references lead; raises `OperationFault` where it has one, each time."""
        known = self._shared.get(key)
        if known is None:
            known = self._shared[key] = self._convert_shared(key)
        if isinstance(known, OperationFault):
            raise known
        return known

    def known(self) -> Iterator[tuple[Key, Shared]]:
        """The shared schemas that were converted, with their places."""
        return ((key, each) for key, each in self._shared.items() if isinstance(each, Shared))

    def _convert_shared(self, key: Key) -> Shared | OperationFault:
        place, pointer = key
        used: Used = {}
        try:
            target = self._references.target(f"#{pointer}", place)
            self._check_chain(target)
            schema = self.converted(target.value, target.place, used)
        except OperationFault as fault:
            return fault
        return Shared(self._name(key), schema, used)

    def _name(self, key: Key) -> str:
        place, pointer = key
        return name_of_schema("" if place == self._references.place else place, pointer)

    def _check_chain(self, target: Target) -> None:
        """Raises `WrongDocument` for references in a circle, which have no schema anywhere."""
        passed: dict[Key, None] = {}
        self._references.check_circle(target, passed)
        while isinstance(target.value, dict) and "$ref" in target.value:
            target = self._references.target(target.value["$ref"], target.place)
            self._references.check_circle(target, passed)

    def converted(self, schema: Any, place: str, used: Used, outer: Properties = _NO_PROPERTIES) -> Any:
        """A schema that stands in the file at `place`; notes what it refers to in `used`. `outer` are the properties of
        the schema of which it is a part, by `allOf`."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise OperationFault("a schema is no object")
        if "$ref" in schema:
            return self._converted_reference(schema, place, used, outer)
        return self._converted_keywords(schema, place, used, outer)

    def _converted_reference(self, schema: Mapping[str, Any], place: str, used: Used, outer: Properties) -> Any:
        target = self._references.target(schema["$ref"], place)
        key = (target.place, target.pointer)
        used[key] = None
        reference = {"$ref": f"#/$defs/{self._name(key)}"}
        if self._is_3_0:
            description = schema.get("description")
            return {**reference, "description": description} if isinstance(description, str) else reference
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        if "required" in beside:
            outer = self._properties_around(schema, place, outer)
        return {**reference, **self._converted_keywords(beside, place, used, outer)} if beside else reference

    def _converted_keywords(self, schema: Mapping[str, Any], place: str, used: Used, outer: Properties) -> Any:
        result: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in _BY_NAME:
                raise OperationFault(f"a schema has {keyword}")
            if _fits(keyword, value):
                result[keyword] = value
            elif keyword in ONE:
                self._convert_one(keyword, value, place, used, result)
            elif keyword in NAMED and isinstance(value, dict):
                result[keyword] = {name: self.converted(each, place, used) for name, each in value.items()}
            elif keyword in SEVERAL and isinstance(value, list) and value:
                around = self._properties_around(schema, place, outer) if keyword in _OF_ONE_VALUE else _NO_PROPERTIES
                result[keyword] = [self.converted(each, place, used, around) for each in value]
        self._correct(result)
        if "required" in result:
            self._require(result, schema, place, outer)
        return self._nullable(result) if self._is_3_0 and schema.get("nullable") is True else result

    def _convert_one(self, keyword: str, value: Any, place: str, used: Used, result: dict[str, Any]) -> None:
        if keyword == "items" and isinstance(value, list):  # as older drafts write it
            if value:
                result["prefixItems"] = [self.converted(each, place, used) for each in value]
        elif isinstance(value, dict | bool):
            result[keyword] = self.converted(value, place, used)

    def _correct(self, result: dict[str, Any]) -> None:
        """Leave out values that no validator takes, and write bounds as newer drafts do."""
        kinds = result.get("type")
        if kinds is not None and not (kinds in _TYPES if isinstance(kinds, str) else _are_types(kinds)):
            del result["type"]
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and bound in result:
                result[exclusive] = result.pop(bound)

    def _require(self, result: dict[str, Any], schema: Mapping[str, Any], place: str, outer: Properties) -> None:
        """Leave out of `required` what only the API writes."""
        required = result.pop("required")
        own = schema.get("properties")
        around = outer
        if "allOf" in schema:
            around = self._properties_around(schema, place, outer)
        names = [
            name
            for name in required
            if isinstance(name, str)
            and not self._is_read_only(
                *((own[name], place) if isinstance(own, dict) and name in own else around.get(name, (None, "")))
            )
        ]
        if names:
            result["required"] = list(dict.fromkeys(names))

    def _is_read_only(self, schema: Any, place: str) -> bool:
        if not isinstance(schema, dict):
            return False
        if "$ref" in schema and (self._is_3_0 or "readOnly" not in schema):
            schema = self._references.followed(schema, place).value
        return isinstance(schema, dict) and schema.get("readOnly") is True

    def _properties_around(self, schema: Mapping[str, Any], place: str, outer: Properties) -> Properties:
        return {**outer, **self.properties_of(schema, place, ("allOf",))}

    def properties_of(self, schema: Any, place: str, through: tuple[str, ...]) -> dict[str, tuple[Any, str]]:
        """The properties of a schema, of those that it refers to, and of the parts that the keywords `through` name."""
        properties: dict[str, tuple[Any, str]] = {}
        for each, there in self.parts(schema, place, through):
            if isinstance(own := each.get("properties"), dict):
                for name, value in own.items():
                    properties.setdefault(name, (value, there))
        return properties

    def required_of(self, schema: Any, place: str) -> list[str]:
        """The properties that a schema and those that it is made of require, but for those that the API writes."""
        required: dict[str, Any] = {}
        for each, _ in self.parts(schema, place, ("allOf",)):
            if isinstance(each.get("required"), list):
                required["required"] = [*required.get("required", []), *each["required"]]
        if required:
            self._require(required, {"allOf": [schema]}, place, _NO_PROPERTIES)
        return list(required.get("required", []))

    def parts(self, schema: Any, place: str, through: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], str]]:
        """A schema, those that it refers to, and the parts that the keywords `through` name; each once."""
        seen: set[int] = set()
        waiting = [(schema, place)]
        while waiting:
            each, there = waiting.pop()
            if not isinstance(each, dict) or id(each) in seen:
                continue
            seen.add(id(each))
            yield each, there
            if "$ref" in each:
                target = self._references.target(each["$ref"], there)
                waiting.append((target.value, target.place))
            for keyword in through:
                parts = each.get(keyword)
                waiting.extend((part, there) for part in reversed(parts if isinstance(parts, list) else []))

    def _nullable(self, result: dict[str, Any]) -> dict[str, Any]:
        """https://spec.openapis.org/oas/v3.0.4#schema-object: `nullable` adds null to a type, and to nothing else."""
        if isinstance(result.get("enum"), list) and None not in result["enum"]:
            result["enum"] = [*result["enum"], None]
        kinds = result.get("type")
        if not any(keyword in result for keyword in ("allOf", "anyOf", "oneOf", "not", "const")):
            if kinds is not None:
                listed = [kinds] if isinstance(kinds, str) else kinds
                result["type"] = [*listed, "null"] if "null" not in listed else listed
            return result
        outside = {name: result.pop(name) for name in _OUTSIDE if name in result}
        return {"anyOf": [result, {"type": "null"}], **outside}


def _fits(keyword: str, value: Any) -> bool:
    """Whether it is a keyword with a value, and that is one that it may have."""
    if keyword in _COUNTS:
        return type(value) in _NUMBER and (value > 0 or (value == 0 and keyword != "multipleOf"))
    types = _VALUES.get(keyword)
    return types is not None and (not types or type(value) in types)


def _are_types(kinds: Any) -> bool:
    return isinstance(kinds, list) and bool(kinds) and all(isinstance(each, str) and each in _TYPES for each in kinds)


def trimmed(schema: Any, most: int, deep: int, instead: Any) -> Any:
    """A converted schema whose descriptions have at most so many characters, with something `instead` of the schemas
    that are nested deeper and are larger than that."""
    if not isinstance(schema, dict):
        return schema
    if deep < 0:
        return instead if len(msgspec.json.encode(schema)) > len(msgspec.json.encode(instead)) else schema
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "description":
            if most:
                result[keyword] = value if len(value) <= most else f"{value[: most - 1]}…"
        elif keyword in ONE:
            result[keyword] = trimmed(value, most, deep - 1, instead)
        elif keyword in NAMED:
            result[keyword] = {name: trimmed(each, most, deep - 1, instead) for name, each in value.items()}
        elif keyword in SEVERAL:
            result[keyword] = [trimmed(each, most, deep - 1, instead) for each in value]
        else:
            result[keyword] = value
    return result


def references_in(schema: Any) -> Iterator[str]:
    """The references of a converted schema."""
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("$ref"), str):
        yield schema["$ref"]
    for keyword, value in schema.items():
        if keyword in ONE:
            yield from references_in(value)
        elif keyword in NAMED or keyword in SEVERAL:
            for each in value.values() if keyword in NAMED else value:
                yield from references_in(each)
