"""The JSON Schema of toolset files, for editors and for `annotate check`."""

from typing import Any

from mcpctl.base.models import HINTS
from mcpctl.toolsets.toolset import MAX_NOTE, MAX_TITLE

_NAME = "^[a-z0-9-]{2,50}$"
_REFERENCE = {
    "type": "object",
    "description": "How a tool is named. If there is a namespacedName, it alone decides.",
    "properties": {
        "namespacedName": {
            "type": "string", "pattern": "^[^.]+\\..+$", "description": "server.tool",
            "examples": ["linear.create_issue"],
        },
        "refId": {"type": "string", "description": "A hash of the tool's name, parameters, output and hints."},
    },
    "anyOf": [{"required": ["namespacedName"]}, {"required": ["refId"]}],
}  # fmt: skip
_NOTE = {
    "type": "object",
    "required": ["name", "note"],
    "properties": {
        "name": {"type": "string", "pattern": _NAME},
        "note": {"type": "string", "minLength": 1, "maxLength": MAX_NOTE, "pattern": "\\S"},
    },
}
_NOTES = {
    "type": "object",
    "description": "Guidance that models read in a tool's description.",
    "required": ["toolRef", "notes"],
    "properties": {
        "toolRef": {"$ref": "#/$defs/reference"},
        "notes": {"type": "array", "items": {"$ref": "#/$defs/note"}},
    },
}
_OVERRIDE = {
    "type": "object",
    "description": "Hints and a title in place of the server's.",
    "required": ["toolRef"],
    "properties": {
        "toolRef": {"$ref": "#/$defs/reference"},
        "title": {"type": "string", "minLength": 1, "maxLength": MAX_TITLE},
        "annotations": {"type": "object", "properties": {name: {"type": "boolean"} for name in HINTS}},
    },
}
_RULES = {"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 1100}}
_POLICY = {
    "type": "object",
    "description": "Rules that apply while the toolset is in force, if config.toml has a policy: server:tool, where *"
    " stands for any text, or a class such as @destructive. A toolset may only tighten.",
    "properties": {
        "deny": {**_RULES, "description": "Tools that are neither found nor callable."},
        "ask": {**_RULES, "description": "Tools whose calls need the user's consent."},
    },
    "additionalProperties": False,
}
_TOOLSET: dict[str, Any] = {
    "type": "object",
    "required": ["tools"],
    "properties": {
        "name": {"type": "string", "pattern": _NAME, "not": {"const": "none"}},
        "description": {"type": "string", "description": "Its purpose."},
        "version": {"type": "string"},
        "createdAt": {"type": "string"},
        "lastModified": {"type": "string"},
        "tools": {"type": "array", "items": {"$ref": "#/$defs/reference"}},
        "toolNotes": {"type": "array", "items": {"$ref": "#/$defs/notes"}},
        "toolOverrides": {"type": "array", "items": {"$ref": "#/$defs/override"}},
        "policy": {"$ref": "#/$defs/policy"},
    },
}
MEMBERS = frozenset(_TOOLSET["properties"])
_SEVERAL = {
    "properties": {
        "toolsets": {
            "type": ["object", "array"],
            "additionalProperties": {"$ref": "#/$defs/toolset"},
            "items": {"$ref": "#/$defs/toolset"},
        }
    }
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "mcpctl toolset",
    "description": "A toolset, or a configuration with several of them under toolsets.",
    "type": "object",
    "if": {"required": ["toolsets"], "not": {"required": ["tools"]}},
    "then": _SEVERAL,
    "else": {"$ref": "#/$defs/toolset"},
    "$defs": {
        "toolset": _TOOLSET,
        "reference": _REFERENCE,
        "notes": _NOTES,
        "note": _NOTE,
        "override": _OVERRIDE,
        "policy": _POLICY,
    },
}
