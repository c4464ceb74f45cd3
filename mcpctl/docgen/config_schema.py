"""The JSON Schema of config.toml, made from the Structs that check the file, and the sentences of its manual page."""

import json
import re
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec

from mcpctl.base import bounds
from mcpctl.config.policy_settings import ALLOW, ASK, CLASSES, DENY, GLOB, LIMIT, RATE, RATE_KEY
from mcpctl.config.server_settings import (
    ALL,
    API_ONLY,
    HEADER_NAME,
    LOCAL_ONLY,
    MINIMAL,
    NAME,
    NOT_OF_APIS,
    REMOTE_ONLY,
    Server,
)
from mcpctl.config.settings import EQUIPPED, EVERY, HTTP_HOST, HTTP_ORIGIN, HTTP_PATH, TOOLSET_PATTERN
from mcpctl.config.toml import MAX_S, Section
from mcpctl.docgen.config_page import STRUCTS, UNSET, default_of
from mcpctl.docgen.texts import TEXTS

Schema = dict[str, Any]
_BASIC: Mapping[Any, Schema] = {
    str: {"type": "string"}, bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"}, Any: {},
}  # fmt: skip


def _all_of(pattern: re.Pattern[str]) -> str:
    """The pattern as JSON Schema has it, for all of a text."""
    return f"^(?:{pattern.pattern.removesuffix(chr(92) + 'Z')})$"


_RULE = {"anyOf": [{"enum": list(CLASSES)}, {"type": "string", "pattern": _all_of(GLOB)}]}
_FORMS: Mapping[str, Schema] = {  # of values that no type and no table of allowed values tells
    "command": {"pattern": r"\S"},
    "toolset": {"minLength": 1},
    "tools": {"additionalProperties": {"enum": [True, False, ASK, ALLOW]}},
    "inherit_env": {"anyOf": [{"enum": [ALL, MINIMAL]}, {"type": "array", "items": {"type": "string"}}]},
    "only": {"maxItems": bounds.ONLY},
    "direct": {
        "items": {
            "anyOf": [
                {"enum": [EVERY, EQUIPPED]},
                {"type": "string", "pattern": _all_of(TOOLSET_PATTERN)},
                {"type": "string", "pattern": _all_of(GLOB)},
            ]
        }
    },
    "path": {"pattern": _all_of(HTTP_PATH)},
    "allowed_origins": {"items": {"type": "string", "pattern": _all_of(HTTP_ORIGIN)}},
    "allowed_hosts": {"items": {"type": "string", "pattern": _all_of(HTTP_HOST)}},
    "headers": {"propertyNames": {"pattern": _all_of(HEADER_NAME)}},
    **{key: {"items": _RULE} for key in (ALLOW, ASK, DENY)},
    RATE_KEY: {
        "anyOf": [
            {"type": "string", "pattern": rf"^$|{_all_of(RATE)}"},
            {
                "type": "object",
                "propertyNames": _RULE,
                "additionalProperties": {"type": "string", "pattern": _all_of(RATE)},
            },
        ]
    },
    LIMIT: {"propertyNames": _RULE, "additionalProperties": {"type": "string", "pattern": _all_of(RATE)}},
}


def text() -> str:
    return f"{json.dumps(schema(), indent=1)}\n"


def schema() -> Schema:
    """Draft 7, which editors with Taplo read as well as others."""
    sections: Schema = {}
    for title, struct in STRUCTS.items():
        section, _, name = title.strip("[]").partition(".")
        table = {"$ref": f"#/definitions/{struct.__name__}"}
        if not name:
            sections[section] = table
        elif name.strip('"') == "NAME":
            names = {} if '"' in name else {"propertyNames": {"pattern": _all_of(NAME)}}
            sections[section] = {"type": "object", **names, "additionalProperties": table}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "mcpctl config.toml",
        "description": "The configuration of mcpctl; see mcpctl-config(5).",
        "type": "object",
        "additionalProperties": False,
        "properties": sections,
        "definitions": {struct.__name__: _table(title, struct) for title, struct in STRUCTS.items()},
    }


def _table(title: str, struct: type[Section]) -> Schema:
    texts = {**TEXTS["[policy]"], **TEXTS[title]}
    properties = {field.name: _setting(struct, field, texts[field.name]) for field in msgspec.structs.fields(struct)}
    table = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**table, **_KINDS} if struct is Server else table


def _setting(struct: type[Section], field: msgspec.structs.FieldInfo, text: str) -> Schema:
    made = _type(field.type)
    if field.name in struct.one_of:
        made = {"enum": list(struct.one_of[field.name])}
    elif field.name in struct.some_of:
        made = {"type": "array", "items": {"enum": list(struct.some_of[field.name])}}
    least = 0 if field.name in struct.may_be_0 else 1
    if made.get("type") == "integer":
        made = {**made, "minimum": least}
    elif made.get("type") == "number":
        made = {**made, "exclusiveMinimum" if least else "minimum": 0, "exclusiveMaximum": MAX_S}
    form = _FORMS.get(field.name, {})
    made = form if "anyOf" in form else {**made, **form}
    default = default_of(field)
    about = {"description": " ".join(text.split()), **({} if default in UNSET else {"default": default})}
    # Beside a reference draft 7 reads nothing.
    return {"allOf": [made], **about} if "$ref" in made else {**made, **about}


def _type(annotation: Any) -> Schema:
    if annotation in _BASIC:
        return _BASIC[annotation]
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return {"$ref": f"#/definitions/{annotation.__name__}"}
    kinds = [_type(argument) for argument in get_args(annotation) if argument is not type(None)]
    if get_origin(annotation) is list:
        return {"type": "array", "items": kinds[0]}
    if get_origin(annotation) is dict:
        return {"type": "object", "additionalProperties": kinds[1]}
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def _without(names: tuple[str, ...]) -> Schema:
    return {"not": {"anyOf": [{"required": [name]} for name in names]}}


_KINDS = {  # a server is a command, an address or the document of an API, with the keys for that
    "if": {"required": ["openapi"]},
    "then": _without(NOT_OF_APIS),
    "else": {
        "allOf": [_without(API_ONLY)],
        "if": {"required": ["url"]},
        "then": _without(LOCAL_ONLY),
        "else": {"required": ["command"], **_without(REMOTE_ONLY)},
    },
}
