"""The words by which a tool says that it acts: those of rule W508, and more for tools of HTTP APIs that only read by
their method."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from mcpctl.base.models import Tool

ACTS = frozenset((
    "delete", "remove", "drop", "destroy", "erase", "purge", "wipe", "truncate", "send", "execute", "exec", "kill",
    "terminate", "transfer", "pay", "overwrite", "upload", "uninstall", "install", "publish", "deploy", "revoke",
    "cancel", "shutdown", "reboot", "write", "nuke", "rm", "sendmail",
))  # fmt: skip
SHELL = frozenset(("command", "shellcommand", "cmd", "script", "shell"))
_ANYWHERE = ACTS | {"command", "cmd", "trigger", "invoke", "restart", "unsubscribe", "regenerate", "eval"}
_FIRST = _ANYWHERE | frozenset((  # as the first word of a title, or of a part of a name or path
    "run", "start", "stop", "reset", "create", "update", "modify", "set", "insert", "add", "disable", "enable", "clear",
    "flush", "rename", "move", "merge", "approve", "reject", "connect", "attach", "rotate", "replace", "put",
    "save", "submit", "apply", "register", "logout", "lock", "unlock", "activate", "deactivate", "confirm",
))  # fmt: skip
_JOINED = re.compile(r"(?:delete|remove|destroy|terminate|uninstall|shutdown|reboot)[a-z]{3,}")  # as in `deleteuser`
_HOLE = re.compile(r"\{[^{}]*\}")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PARTS, _DEEPEST = ("allOf", "anyOf", "oneOf"), 3
_PART = re.compile(r"[/.:?#&=]+")


def words_of(name: str) -> list[str]:
    """The words of an identifier in small letters: of `execInPod`, `exec`, `in` and `pod`."""
    return [word.lower() for word in _WORD.findall(name)]


@lru_cache(maxsize=8192)
def acting_word(tool: Tool) -> str:
    """A word in the name, title, path or parameters of an HTTP API's tool that says that it acts; empty if none does.
    A word too many costs a question; one too few, an act without one."""
    return next(_acting_words(tool), "")


def _values(schema: Any, definitions: Any, deep: int = 0) -> Iterator[str]:
    """The values that a schema names, from its parts and what it refers to, too."""
    if not isinstance(schema, dict) or deep > _DEEPEST:
        return
    listed = schema.get("enum")
    values = (*(listed if isinstance(listed, list) else ()), schema.get("const"))
    yield from (each for each in values if isinstance(each, str))
    parts = [part for key in _PARTS if isinstance(schema.get(key), list) for part in schema[key]]
    if isinstance(reference := schema.get("$ref"), str) and isinstance(definitions, dict):
        parts.append(definitions.get(reference.removeprefix("#/$defs/")))
    for part in (schema.get("items"), *parts):
        yield from _values(part, definitions, deep + 1)


def _acting_words(tool: Tool) -> Iterator[str]:
    path = _HOLE.sub("", tool.request[1])
    for text in (tool.name, tool.title or "", path):
        for word in words_of(text):
            if word in _ANYWHERE or _JOINED.fullmatch(word):
                yield word
    parts = map(words_of, (*_PART.split(tool.name), tool.title or "", *_PART.split(path)))
    yield from (part[0] for part in parts if part and part[0] in _FIRST)
    begins = words_of(tool.title or "")[:1]
    yield from (word for word in begins if word.removesuffix("s") in _ANYWHERE)  # as in `Deletes a user`
    properties = tool.input_schema.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        if (joined := "".join(words_of(name))) in _ANYWHERE | SHELL:
            yield joined
        for value in _values(schema, tool.input_schema.get("$defs")) if name != "body" else ():  # as in `action=delete`
            if (first := next(iter(words_of(value)), "")) in _ANYWHERE:
                yield first
