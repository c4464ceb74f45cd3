"""The text of a document as a value of JSON: decoded, bounded, and of a version that can be read."""

import re
from typing import Any

import msgspec

from mcpctl.base import bounds
from mcpctl.openapi.faults import WrongDocument

_BOM = b"\xef\xbb\xbf"
_VERSION = re.compile(r"3\.[0-2](?:\.|\Z)")
_YAML = re.compile(rb"\s*(?:---|%YAML|#|[\"']?[A-Za-z_$][\w.$-]*[\"']?[ \t]*:(?:\s|\Z))")  # how a text in YAML begins
_FIX = "correct it there, or get another document"


class Text(msgspec.Struct, frozen=True):
    """The bytes of a document or of a file that it refers to."""

    content: bytes
    name: str  # for messages


def value_of(text: Text) -> Any:
    """The value that a text is, in JSON or YAML; raises `WrongDocument`."""
    content = text.content.removeprefix(_BOM)
    is_named_yaml = text.name.endswith((".yaml", ".yml"))
    try:
        value = _of_json(content, text.name)
    except WrongDocument:
        begins_as_json = content.lstrip()[:1] in (b"{", b"[")
        if not is_named_yaml and (begins_as_json or not _YAML.match(content)):
            raise
        from mcpctl.openapi.yaml_text import decoded

        value = decoded(content, text.name)
    _check_depth(value, text.name)
    return value


def _of_json(content: bytes, name: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except RecursionError:
        raise _too_deep(name) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise WrongDocument(f"{name} is not JSON: {why}", _FIX) from None


def _check_depth(value: Any, name: str) -> None:
    """Level by level, since each is then a few steps of the interpreter. Aliases of YAML count each time."""
    level = [value]
    for _ in range(bounds.OPENAPI_NESTING + 1):
        level = [
            child
            for each in level
            for child in (each.values() if type(each) is dict else each if type(each) is list else ())
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return
    raise _too_deep(name)


def _too_deep(name: str) -> WrongDocument:
    return WrongDocument(f"{name} is nested deeper than {bounds.OPENAPI_NESTING} levels", _FIX)


def checked(document: Any, name: str) -> dict[str, Any]:
    """The document, which is one of OpenAPI 3; raises `WrongDocument`."""
    if not isinstance(document, dict):
        raise WrongDocument(f"{name} is not an OpenAPI document: it is no object", "name an OpenAPI document")
    if "swagger" in document:
        raise WrongDocument(
            f"{name}#/swagger: Swagger {str(document['swagger'])[:20]} is not read",
            "convert it with: npx swagger2openapi FILE -o openapi.json",
        )
    version = document.get("openapi")
    if not isinstance(version, str):
        raise WrongDocument(f"{name}#/openapi is missing: it is not an OpenAPI document", "name an OpenAPI document")
    if not _VERSION.match(version):
        raise WrongDocument(f"{name}#/openapi: version {version[:20]!r} is not read", "get one of 3.0, 3.1 or 3.2")
    for key, kind in (("paths", dict), ("components", dict), ("info", dict)):
        if not isinstance(document.get(key, {}), kind):
            raise WrongDocument(f"{name}#/{key} is not an object", _FIX)
    return document
