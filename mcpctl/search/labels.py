"""Labelled queries and catalogs from files, and labels from what was searched and then called."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mcpctl.errors import NotFound, Unusable
from mcpctl.models import Tool
from mcpctl.search.evaluate import Label
from mcpctl.store import calls

_LABEL = 'a line is {"query": "…", "expect": [["server:tool", …as good], …], "mode": "all" or "any"}'
_TOOL = 'a line is {"server": "…", "tool": {"name": "…", …as its server lists it}}'


def from_file(path: Path) -> list[Label]:
    """The labels in a file of JSON lines."""
    return [_label(value, where) for where, value, _ in _lines(path, _LABEL)]


def tools_from_file(path: Path) -> list[Tool]:
    """The catalog in a file of JSON lines; of two tools with one key the first."""
    tools: dict[str, Tool] = {}
    for where, value, text in _lines(path, _TOOL):
        server, definition = value.get("server"), value.get("tool")
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(server, str) or not isinstance(name, str) or not isinstance(definition, dict):
            raise _wrong(where, _TOOL)
        tool = Tool(server, name, definition, text)
        tools.setdefault(tool.key, tool)
    return list(tools.values())


def from_records(db: sqlite3.Connection, known: Iterable[str]) -> list[Label]:
    """Each search on record that was followed, in its session, by calls of its results: those it should find.

    A call belongs to the latest search before it that had its tool. Tools that are not `known` any more are left out.
    """
    keys = set(known)
    called: dict[str, list[tuple[str, str]]] = {}
    for call in calls.find(db).rows(None, 0):
        called.setdefault(call["session_id"], []).append((call["started_at"], f"{call['server']}:{call['tool']}"))
    found: list[tuple[Mapping[str, Any], dict[str, None]]] = []
    later: dict[str, list[tuple[str, str]]] = called
    for search in calls.find_discoveries(db).rows(None, 0):  # the newest first, so that it takes its calls first
        offered = {result["key"] for result in _decoded(search["results"])}
        session = later.get(search["session_id"], [])
        mine = [each for each in session if each[0] >= search["started_at"] and each[1] in offered]
        later[search["session_id"]] = [each for each in session if each not in mine]
        if wanted := dict.fromkeys(key for _, key in sorted(mine) if key in keys):
            found.append((search, wanted))
    return [_of_search(search, wanted) for search, wanted in reversed(found)]


def _of_search(search: Mapping[str, Any], wanted: Iterable[str]) -> Label:
    return Label(tuple(_decoded(search["query"])), tuple((key,) for key in wanted), context=search["context"])


def _decoded(text: str | None) -> list[Any]:
    value = json.loads(text) if text else []
    return value if isinstance(value, list) else [value]


def _label(value: Mapping[str, Any], where: str) -> Label:
    query, mode, context = value.get("query"), value.get("mode", "all"), value.get("context")
    queries = _texts([query] if isinstance(query, str) else query)
    groups = [_texts([group] if isinstance(group, str) else group) for group in _listed(value.get("expect"))]
    if not queries or not groups or not all(groups) or mode not in ("all", "any"):
        raise _wrong(where, _LABEL)
    return Label(queries, tuple(groups), mode == "any", context if isinstance(context, str) else None)


def _texts(value: Any) -> tuple[str, ...]:
    """The texts of a list; none if it is not one of texts alone."""
    return tuple(value) if all(isinstance(text, str) for text in _listed(value)) and _listed(value) else ()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _lines(path: Path, form: str) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    for number, line in enumerate(_read(path).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _wrong(where, form) from error
        if not isinstance(value, dict):
            raise _wrong(where, form)
        yield where, value, line.decode("utf-8", "replace")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", "check the name", "file_not_found") from None
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}", "make it readable", "file_unreadable") from error


def _wrong(where: str, form: str) -> Unusable:
    return Unusable(f"{where}: not as it should be", form, "line_wrong")


def strangers(labels: Sequence[Label], tools: Iterable[Tool]) -> list[str]:
    """Keys that a label expects and no tool has: no ranking can find them."""
    known = {tool.key for tool in tools}
    groups = (group for label in labels for group in label.expect)
    return sorted({group[0] for group in groups if not known.intersection(group)})
