"""How calls and searches are selected and listed."""

import json
from dataclasses import dataclass
from typing import Any

from mcpctl import hints
from mcpctl.commands import options as opt
from mcpctl.errors import WrongUsage
from mcpctl.models import CALL_FIELDS, CALL_STATUSES, DISCOVERY_FIELDS, Found
from mcpctl.output import Columns
from mcpctl.store.records import Records


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


@dataclass(frozen=True)
class Selection:
    """What `calls ls` was asked for."""

    kind: str
    session: str | None
    server: str | None
    tool: str | None
    status: str | None
    project: str | None
    since: str | None

    def __post_init__(self) -> None:
        opt.one_of("kind", self.kind, ("call", "discovery"))
        opt.one_of("status", self.status, CALL_STATUSES)
        if self.kind == "discovery" and (self.server or self.tool or self.status):
            raise WrongUsage("searches have no --server, --tool or --status", "leave them out, or --kind discovery")

    @property
    def columns(self) -> Columns:
        """How its rows are shown."""
        return CALLS if self.kind == "call" else DISCOVERIES

    def rows(self, records: Records) -> Found:
        """Its rows."""
        session = records.session_id(self.session) if self.session else None
        if self.kind == "discovery":
            return records.discoveries(session=session, project=self.project, since=self.since)
        return records.calls(
            session=session, server=self.server, tool=self.tool, status=self.status, project=self.project,
            since=self.since,
        )  # fmt: skip
