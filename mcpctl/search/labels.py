"""Labelled queries: from a file, and from what was searched and then called."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcpctl.base.models import Tool
from mcpctl.catalog.rows import json_lines, wrong_line
from mcpctl.search.evaluate import Label
from mcpctl.store.records import Records

_LABEL = 'a line is {"query": "…", "expect": [["server:tool", …as good], …], "mode": "all" or "any"}'


def from_file(path: Path) -> list[Label]:
    """The labels in a file of JSON lines."""
    return [_label(value, where) for where, value, _ in json_lines(path, _LABEL)]


def from_records(records: Records, known: Iterable[str], project: str | None = None) -> list[Label]:
    """Each search on record that was followed, in its session, by calls of its results: those it should find.

    With a project, those made while it was in force. A call belongs to the latest search before it that had its tool.
    Tools that are not `known` any more are left out.
    """
    keys = set(known)
    followed = (
        (search, dict.fromkeys(key for key in called if key in keys))
        for search, called in records.followed_searches(project)
    )
    return [_of_search(search, wanted) for search, wanted in followed if wanted]


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
        raise wrong_line(where, _LABEL)
    return Label(queries, tuple(groups), mode == "any", context if isinstance(context, str) else None)


def _texts(value: Any) -> tuple[str, ...]:
    """The texts of a list; none if it is not one of texts alone."""
    return tuple(value) if all(isinstance(text, str) for text in _listed(value)) and _listed(value) else ()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def strangers(labels: Sequence[Label], tools: Iterable[Tool]) -> list[str]:
    """Keys that a label expects and no tool has: no ranking can find them."""
    known = {tool.key for tool in tools}
    groups = (group for label in labels for group in label.expect)
    return sorted({group[0] for group in groups if not known.intersection(group)})
