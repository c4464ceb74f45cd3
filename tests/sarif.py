"""What SARIF 2.1.0 says of the objects that mcpctl writes, as strict as its published schema: no other members."""

from typing import Any


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_TEXT = _object(["text"], text={"type": "string", "minLength": 1})
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_RULE = _object(
    ["id"], id={"type": "string"}, shortDescription=_TEXT, fullDescription=_TEXT, help=_TEXT,
    defaultConfiguration=_object([], level=_LEVEL),
)  # fmt: skip
_DRIVER = _object(
    ["name"], name={"type": "string"}, version={"type": "string"},
    rules={"type": "array", "uniqueItems": True, "items": _RULE},
)  # fmt: skip
_PLACE = _object(
    [],
    artifactLocation=_object([], uri={"type": "string", "format": "uri-reference", "pattern": "^[!-~]+$"}),
    region=_object([], startLine={"type": "integer", "minimum": 1}, startColumn={"type": "integer", "minimum": 1}),
)
_LOGICAL = _object([], name={"type": "string"}, fullyQualifiedName={"type": "string"}, kind={"type": "string"})
_RESULT = _object(
    ["message"], ruleId={"type": "string"}, ruleIndex={"type": "integer", "minimum": -1}, level=_LEVEL, message=_TEXT,
    locations={"type": "array", "items": _object(
        [], physicalLocation=_PLACE, logicalLocations={"type": "array", "uniqueItems": True, "items": _LOGICAL},
    )},
)  # fmt: skip
_RUN = _object(
    ["tool"], tool=_object(["driver"], driver=_DRIVER), columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": _RESULT},
)  # fmt: skip
SARIF = _object(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"enum": ["2.1.0"]},
    runs={"type": "array", "items": _RUN},
)
