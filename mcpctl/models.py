"""What the rooms pass around: tools, hints, rows of records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Row = Mapping[str, Any]
"""One session, call, discovery, tool or server, its fields under the names users see."""

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
"""The tool annotations that describe behaviour, in the order of the MCP schema."""

SESSION_FIELDS = (
    "id", "client_name", "client_version", "protocol_version", "status", "start_time", "last_activity", "end_time",
    "tool_call_count", "total_tokens", "discovery_count", "discovery_tokens", "capabilities", "project", "toolset",
)  # fmt: skip
CALL_FIELDS = (
    "id", "session_id", "request_id", "parent_id", "via", "server", "tool", "arguments", "response", "status", "error",
    "started_at", "duration_ms", "input_tokens", "output_tokens", "total_tokens", "encoding", "annotations",
    "client_name", "client_version", "project", "toolset", "response_bytes", "response_truncated",
)  # fmt: skip
DISCOVERY_FIELDS = (
    "id", "session_id", "query", "context", "provider", "fallback", "results", "started_at", "duration_ms", "tokens",
    "project",
)  # fmt: skip
CHECK_FIELDS = (
    "server", "status", "transport", "implementation", "revision", "tools", "connect_ms", "list_ms", "problems",
)  # fmt: skip
TOOLSET_FIELDS = (
    "name", "equipped", "tools", "notes", "overrides", "description", "last_modified", "path", "problem",
)  # fmt: skip
ANNOTATION_FIELDS = ("key", "kind", "name", "value", "toolset", "path")
FINDING_FIELDS = ("path", "line", "column", "rule", "severity", "message", "why", "fix", "toolset", "counts")
IMPORT_FIELDS = ("name", "action", "source", "source_name", "path", "why", "notes")
REFRESH_FIELDS = ("server", "tools", "revision", "duration_ms")
CALL_STATUSES = ("running", "ok", "tool_error", "denied", "failed", "cancelled", "input_required", "interrupted")


Usage = Mapping[tuple[str, str], tuple[int, str | None]]
"""By server and tool: how many calls of it are on record, however they ended, and when the newest began."""

Progress = Callable[[int, int], None]
"""Told how far long work is: how much is done, of how much; when all is done, that too."""


def unseen(done: int, total: int) -> None:
    """The `Progress` of work that nobody watches."""


class RawJson(str):
    """JSON text that is passed on as it stands, so that numbers and spacing survive."""

    __slots__ = ()


@dataclass(frozen=True)
class Overrides:
    """The hints that a toolset sets for one tool, whatever its server declares."""

    hints: Mapping[str, bool]
    file: str
    own: bool
    """Whether the file is in the user's own data directory; a repository's may only tighten what decides."""


@dataclass(frozen=True, eq=False)
class Tool:
    """One tool as its server defines it, or as a toolset has it shown.

    Definitions are untrusted: any member may have any type.
    """

    server: str
    name: str
    definition: Mapping[str, Any]
    text: str
    """The definition's JSON exactly as the server sent it."""
    notes: str = ""
    """What a toolset has added to the description."""
    overrides: Overrides | None = None

    @property
    def key(self) -> str:
        """`server:tool`, the name users and models copy."""
        return f"{self.server}:{self.name}"

    @cached_property
    def title(self) -> str | None:
        """The display name: `title`, else the older `annotations.title`."""
        for title in (self.definition.get("title"), self.annotations.get("title")):
            if isinstance(title, str) and title.strip():
                return title
        return None

    @cached_property
    def description(self) -> str:
        """The description, empty where there is none."""
        text = self.definition.get("description")
        return text if isinstance(text, str) else ""

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        """The parameters' JSON Schema, empty where there is none that could be one."""
        schema = self.definition.get("inputSchema")
        return schema if isinstance(schema, dict) else {}

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """The declared annotations as they came."""
        declared = self.definition.get("annotations")
        return declared if isinstance(declared, dict) else {}


@dataclass(frozen=True)
class Found:
    """The answer to a list command: how many rows there are, and any window of them."""

    count: Callable[[], int]
    rows: Callable[[int | None, int], Iterator[Row]]
    """`rows(limit, offset)`; a limit of None is no limit."""
    filtered: bool = False
    """Whether more would be found if less were asked."""

    @classmethod
    def of(cls, rows: Sequence[Row], *, filtered: bool = False) -> "Found":
        """Rows that are in memory already."""
        return cls(
            filtered=filtered,
            count=lambda: len(rows),
            rows=lambda limit, offset: iter(rows[offset : None if limit is None else offset + limit]),
        )
