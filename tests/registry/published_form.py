"""The form of a registry's answers and of the requests to it, as mcpctl relies on them.

After the OpenAPI document "MCP Server Registry API" of 2025-12-01 and the schema of server.json of 2025-12-11, both of
the MIT licence, at https://github.com/modelcontextprotocol/registry and https://static.modelcontextprotocol.io: their
members, types, patterns and bounds, in as few words as possible.
"""

from typing import Any

_TEXT: dict[str, Any] = {"type": "string"}
_FLAG: dict[str, Any] = {"type": "boolean"}


def _record(required: str, **members: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": members}


def _list(of: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/definitions/{of}"}}


def _of(*names: str) -> list[dict[str, Any]]:
    return [{"$ref": f"#/definitions/{name}"} for name in names]


_INPUT = {
    "description": _TEXT, "isRequired": _FLAG, "isSecret": _FLAG, "value": _TEXT, "default": _TEXT,
    "placeholder": _TEXT, "choices": {"type": "array", "items": _TEXT},
    "format": {"enum": ["string", "number", "boolean", "filepath"]},
}  # fmt: skip
_WITH_VARIABLES = {
    **_INPUT, "variables": {"type": "object", "additionalProperties": {"$ref": "#/definitions/Input"}},
}  # fmt: skip
_URL = r"^(https?://[^\s]+|\{[a-zA-Z_][a-zA-Z0-9_]*\}[^\s]*)$"
_ADDRESS = {"url": {**_TEXT, "pattern": _URL}, "headers": _list("KeyValueInput")}
_OFFICIAL = {
    "status": {"enum": ["active", "deprecated", "deleted"]}, "statusMessage": {**_TEXT, "maxLength": 500},
    "statusChangedAt": _TEXT, "publishedAt": _TEXT, "updatedAt": _TEXT, "isLatest": _FLAG,
}  # fmt: skip
DEFINITIONS = {
    "Input": _record("", **_INPUT),
    "KeyValueInput": _record("name", name=_TEXT, **_WITH_VARIABLES),
    "PositionalArgument": {
        **_record("type", type={"enum": ["positional"]}, valueHint=_TEXT, isRepeated=_FLAG, **_WITH_VARIABLES),
        "anyOf": [{"required": ["valueHint"]}, {"required": ["value"]}],
    },
    "NamedArgument": _record("type name", type={"enum": ["named"]}, name=_TEXT, isRepeated=_FLAG, **_WITH_VARIABLES),
    "Argument": {"anyOf": _of("PositionalArgument", "NamedArgument")},
    "StdioTransport": _record("type", type={"enum": ["stdio"]}),
    "HttpTransport": _record("type url", type={"enum": ["streamable-http", "sse"]}, **_ADDRESS),
    "RemoteTransport": {
        "allOf": [
            *_of("HttpTransport"),
            _record("", variables={"type": "object", "additionalProperties": {"$ref": "#/definitions/Input"}}),
        ]
    },
    "Package": _record(
        "registryType identifier transport",
        registryType=_TEXT, registryBaseUrl=_TEXT, identifier=_TEXT, runtimeHint=_TEXT,
        version={**_TEXT, "minLength": 1, "not": {"const": "latest"}},
        fileSha256={**_TEXT, "pattern": "^[a-f0-9]{64}$"}, transport={"anyOf": _of("StdioTransport", "HttpTransport")},
        runtimeArguments=_list("Argument"), packageArguments=_list("Argument"),
        environmentVariables=_list("KeyValueInput"),
    ),
    "ServerDetail": _record(
        "name description version",
        name={**_TEXT, "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        description={**_TEXT, "minLength": 1, "maxLength": 100}, title={**_TEXT, "minLength": 1, "maxLength": 100},
        version={**_TEXT, "maxLength": 255}, websiteUrl=_TEXT,
        repository=_record("url source", url=_TEXT, source=_TEXT),
        packages=_list("Package"), remotes=_list("RemoteTransport"), _meta={"type": "object"},
    ),
    "ServerResponse": _record(
        "server",
        server={"$ref": "#/definitions/ServerDetail"},
        _meta={
            "type": "object",
            "properties": {
                "io.modelcontextprotocol.registry/official": {
                    "type": "object", "properties": _OFFICIAL, "additionalProperties": False,
                }
            },
        },
    ),
    "ServerList": _record(
        "servers",
        servers=_list("ServerResponse"), metadata=_record("", nextCursor=_TEXT, count={"type": "integer"}),
    ),
    "NotFound": _record("error", error=_TEXT),
}  # fmt: skip
LIST, VERSIONS, VERSION = "/v0.1/servers", "/v0.1/servers/{}/versions", "/v0.1/servers/{}/versions/{}"
PARAMETERS = {  # of each address that is read
    LIST: {"cursor", "limit", "search", "updated_since", "version", "include_deleted"},
    VERSIONS: {"include_deleted"},
    VERSION: {"include_deleted"},
}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one of these."""
    return {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": DEFINITIONS, **_of(name)[0]}
