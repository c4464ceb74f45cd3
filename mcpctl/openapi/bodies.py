"""Bodies of requests: in which ways one can be sent, and how its properties are written in forms and in parts."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mcpctl.openapi import media_types
from mcpctl.openapi.faults import OperationFault
from mcpctl.openapi.parameters import STYLES, style_of
from mcpctl.openapi.references import References
from mcpctl.openapi.schemas import Schemas, Used
from mcpctl.openapi.snapshot import Body, Content, Encoding

FILE: dict[str, Any] = {
    "type": "object",
    "description": "A file: its bytes as base64, its text, or its path below the folder that may be uploaded from.",
    "properties": {name: {"type": "string"} for name in ("base64", "text", "file", "filename", "contentType")},
    "additionalProperties": False,
}
_ANY = ("allOf", "anyOf", "oneOf")
_NO_BODY = ("GET", "HEAD")
_STYLE_KEYS = ("style", "explode", "allowReserved")
_LONGEST = 100
_PLACE = "\0place"  # beside the keywords of a schema, the file in which it stands


class DescribedBody(msgspec.Struct, frozen=True):
    """A body as it is sent, and the schema of its argument."""

    body: Body
    schema: Any
    description: str = ""


class _Way(msgspec.Struct, frozen=True):
    """One media type of a body."""

    content: Content
    schema: Any
    has_file: bool


class _BodyKind(msgspec.Struct, frozen=True):
    """The kind of values of a property, as far as its schema says."""

    type: str
    is_file: bool = False
    encoding: str = ""  # of bytes as a string


class Bodies:
    def __init__(self, references: References, schemas: Schemas, *, is_3_0: bool) -> None:
        self._references, self._schemas, self._is_3_0 = references, schemas, is_3_0

    def read(self, value: Any, place: str, method: str, used: Used) -> DescribedBody | None:
        """The body of an operation of the file at `place`; None where nothing can be sent. Raises `OperationFault`."""
        target = self._references.followed(value, place)
        if not isinstance(target.value, dict):
            raise OperationFault("its body is no object")
        is_required = target.value.get("required") is True
        if method in _NO_BODY:
            if is_required:
                raise OperationFault(f"a body is required, which {method} has not")
            return None
        content = target.value.get("content")
        if not isinstance(content, dict) or not content:
            return None
        ways = self._ways(content, target.place, used)
        written = target.value.get("description")
        description = written if isinstance(written, str) else ""
        body = Body([way.content for way in ways], is_required=is_required)
        schema = _one_of(ways)
        return (
            DescribedBody(body, _file(description), "") if schema is FILE else DescribedBody(body, schema, description)
        )

    def _ways(self, content: Mapping[str, Any], place: str, used: Used) -> list[_Way]:
        """All ways that can be sent, the default first."""
        ranked = [(rank, written) for written in content if (rank := media_types.rank(written)) is not None]
        if not ranked:
            shown = ", ".join(content)[:_LONGEST]
            raise OperationFault(f"its body has a type that cannot be sent: {shown}")
        ranked.sort(key=lambda each: each[0])  # which keeps the order of those that are alike
        by_type = {media_types.sent(written): written for _, written in reversed(ranked)}  # the first of those alike
        ways = [
            self._way(written, content[written], place, used) for _, written in ranked if written in by_type.values()
        ]
        with_file = [way for way in ways if way.has_file]
        if with_file and all(way.content.kind == media_types.MULTIPART for way in with_file):
            ways = with_file + [way for way in ways if not way.has_file]
        return ways

    def _way(self, written: str, media: Any, place: str, used: Used) -> _Way:
        kind = media_types.kind(written)
        target = self._references.followed(media, place)
        if not isinstance(target.value, dict):
            raise OperationFault("a media type is no object")
        schema = target.value.get("schema", {})
        content = Content(media_types.sent(written), kind)
        if kind == media_types.TEXT:
            return _Way(content, {"type": "string"}, has_file=False)
        if kind == media_types.BINARY:
            return _Way(content, FILE, has_file=True)
        if kind == media_types.JSON:
            converted = self._schemas.converted(schema, target.place, used)
            return _Way(content, converted, self._has_file(schema, target.place))
        return self._form(content, schema, target.value.get("encoding"), target.place, used)

    def _has_file(self, schema: Any, place: str) -> bool:
        properties = self._schemas.properties_of(schema, place, _ANY)
        return any(self._kind(value, there).is_file for value, there in properties.values())

    def _form(self, content: Content, schema: Any, encoding: Any, place: str, used: Used) -> _Way:
        written = encoding if isinstance(encoding, dict) else {}
        properties = self._schemas.properties_of(schema, place, _ANY)
        is_multipart = content.kind == media_types.MULTIPART
        encodings: dict[str, Encoding] = {}
        for name in dict.fromkeys((*properties, *written)):
            value, there = properties.get(name, ({}, place))
            own = self._references.followed(written.get(name, {}), place)
            described = own.value if isinstance(own.value, dict) else {}
            made = self._encoding(described, self._kind(value, there), is_multipart, own.place)
            if made != Encoding():
                encodings[name] = made
        files = {name for name, each in encodings.items() if each.is_binary}
        content = msgspec.structs.replace(content, encodings=encodings)
        if not files:
            return _Way(content, self._schemas.converted(schema, place, used), has_file=False)
        return _Way(content, self._with_files(schema, place, files, used), has_file=True)

    def _with_files(self, schema: Any, place: str, files: set[str], used: Used) -> dict[str, Any]:
        """The schema of a multipart body by itself, so that those that refer to the same one elsewhere keep theirs."""
        properties = self._schemas.properties_of(schema, place, _ANY)
        made: dict[str, Any] = {}
        for name, (value, there) in properties.items():
            made[name] = self._file_of(value, there) if name in files else self._schemas.converted(value, there, used)
        made |= {name: FILE for name in files if name not in made}
        required = [name for name in self._schemas.required_of(schema, place) if name in made]
        return {"type": "object", "properties": made, **({"required": required} if required else {})}

    def _file_of(self, schema: Any, place: str) -> dict[str, Any]:
        described = self._references.followed(schema, place).value
        written = described.get("description") if isinstance(described, dict) else None
        description = written if isinstance(written, str) else ""
        if self._first(schema, place).get("type") != "array":
            return _file(description)
        return {"type": "array", "items": FILE, **({"description": description} if description else {})}

    def _encoding(self, written: Mapping[str, Any], kind: _BodyKind, is_multipart: bool, place: str) -> Encoding:
        """https://spec.openapis.org/oas/v3.1.1#encoding-object, and v3.0.4, which has styles for forms alone."""
        given = written.get("contentType")
        media_type = given if isinstance(given, str) else ""
        if media_type and not media_types.is_usual(media_type):
            raise OperationFault(f"a property of its body has the contentType {media_type[:_LONGEST]!r}")
        is_json = kind.type == "object"
        if any(key in written for key in _STYLE_KEYS) and not kind.is_file and not (is_multipart and self._is_3_0):
            return Encoding(is_json=is_json, **style_of(written, STYLES["query"], "a property of its body"))
        if not is_multipart:
            return Encoding(media_type, is_json=is_json)
        headers = self._headers(written.get("headers"), place)
        if kind.encoding:
            headers = {"Content-Transfer-Encoding": kind.encoding, **headers}
            media_type = media_type or "application/octet-stream"
        return Encoding(media_type, headers=headers, is_binary=self._is_file(kind, media_type), is_json=is_json)

    def _is_file(self, kind: _BodyKind, media_type: str) -> bool:
        """In 3.1 a value without a type is bytes, unless another media type is given."""
        if kind.is_file or kind.type:
            return kind.is_file
        first = media_type.partition(",")[0]
        return not media_types.is_text(first) if first else not self._is_3_0

    def _headers(self, written: Any, place: str) -> dict[str, str]:
        """The headers that have one value alone."""
        headers: dict[str, str] = {}
        for name, each in written.items() if isinstance(written, dict) else ():
            target = self._references.followed(each, place)
            header = target.value if isinstance(target.value, dict) else {}
            schema = self._references.followed(header.get("schema", {}), target.place).value
            known = _only_value(schema) if isinstance(schema, dict) else None
            if isinstance(known, str) and name.lower() != "content-type":
                headers[name] = known
        return headers

    def _kind(self, schema: Any, place: str) -> _BodyKind:
        """The kind of a property's values, or of the items of arrays, which are parts of their own."""
        first = self._first(schema, place)
        if first.get("type") == "array":
            first = self._first(first.get("items", {}), first.get(_PLACE, place))
        encoding = "base64" if self._is_3_0 and first.get("format") == "byte" else first.get("contentEncoding")
        is_encoded = isinstance(encoding, str) and _type(first) == "string"
        return _BodyKind(_type(first), self._is_bytes(first), str(encoding) if is_encoded else "")

    def _first(self, schema: Any, place: str) -> dict[str, Any]:
        """The keywords of a schema that say what it is, from it, what it refers to, and its first part that says so."""
        for each, there in self._schemas.parts(schema, place, _ANY):
            if _type(each) or "contentMediaType" in each:
                return {**each, _PLACE: there}
        return {}

    def _is_bytes(self, schema: Mapping[str, Any]) -> bool:
        if _type(schema) not in ("string", ""):
            return False
        if schema.get("format") == "binary":
            return True
        media_type = schema.get("contentMediaType")
        has_bytes = isinstance(media_type, str) and "contentEncoding" not in schema
        return has_bytes and not self._is_3_0 and not media_types.is_text(str(media_type))


def _file(description: str) -> dict[str, Any]:
    return {**FILE, "description": f"{description} ({FILE['description']})"} if description else FILE


def _one_of(ways: list[_Way]) -> Any:
    schemas: list[Any] = []
    for way in ways:
        if way.schema not in schemas:
            schemas.append(way.schema)
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _type(schema: Mapping[str, Any]) -> str:
    """Its type, the first that is not null; that of its values, of its properties or of its items where it has none."""
    kinds = schema.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    for each in listed:
        if isinstance(each, str) and each != "null":
            return each
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "enum" in schema or "const" in schema:
        return "string"
    return "array" if "items" in schema else ""


def _only_value(schema: Mapping[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    enum = schema.get("enum")
    return enum[0] if isinstance(enum, list) and len(enum) == 1 else None
