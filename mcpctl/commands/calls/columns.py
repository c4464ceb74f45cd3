"""How calls and searches are listed."""

import json
from typing import Any

from mcpctl.base import hints
from mcpctl.base.fields import CALL_FIELDS, DISCOVERY_FIELDS
from mcpctl.output import Columns


def _hints(recorded: Any) -> str:
    return hints.compact(json.loads(recorded) if recorded else None)


def _queries(recorded: Any) -> str:
    queries = json.loads(recorded) if recorded else []
    return " | ".join(map(str, queries)) if isinstance(queries, list) else str(queries)


def _keys(recorded: Any) -> str:
    return " ".join(str(hit.get("key")) for hit in json.loads(recorded)[:3]) if recorded else ""


CALLS = Columns(
    fields=CALL_FIELDS,
    shown=("id", "started_at", "server", "tool", "annotations", "status", "duration_ms"),
    also=("key",),
    cut=frozenset(("server", "tool", "arguments", "response", "error")),
    keeps={"server": 12, "tool": 24},
    goes=("annotations", "duration_ms", "server", "started_at"),
    ids=frozenset(("id", "session_id", "parent_id")),
    render={"annotations": _hints},
    labels={"started_at": "WHEN", "annotations": "HINTS", "duration_ms": "MS"},
    noun="calls",
    empty="no call is on record; connect a client to: mcpctl serve",
)
DISCOVERIES = Columns(
    fields=DISCOVERY_FIELDS,
    shown=("id", "started_at", "query", "results", "duration_ms"),
    cut=frozenset(("query", "context", "results")),
    goes=("duration_ms", "started_at"),
    ids=frozenset(("id", "session_id")),
    render={"query": _queries, "results": _keys},
    labels={"started_at": "WHEN", "duration_ms": "MS"},
    noun="searches",
    empty="no search is on record; connect a client to: mcpctl serve",
)
