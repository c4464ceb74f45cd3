"""The types that all modules share: tools, hints, rows of records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

Row = Mapping[str, Any]  # one session, call, discovery, tool or server, under the names that users see

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")  # in the order of the MCP schema

SAVING_FIELDS = (
    "id", "client_name", "project", "last_activity", "servers", "unlisted", "tools", "definitions_tokens",
    "metatools_tokens", "discovery_tokens", "query_tokens", "key_tokens", "saved_tokens", "saved_percent", "encoding",
    "direct_tokens",
)  # fmt: skip
STANDING_FIELDS = ("id", "key", "scope", "since", "until", "project", "token_id", "session_id", "pin")
CHECK_FIELDS = (
    "server", "status", "transport", "implementation", "revision", "tools", "prompts", "resources", "connect_ms",
    "list_ms", "environment", "problems",
)  # fmt: skip
TOOLSET_FIELDS = (
    "name", "equipped", "tools", "notes", "overrides", "description", "last_modified", "path", "problem",
)  # fmt: skip
ANNOTATION_FIELDS = ("key", "kind", "name", "value", "toolset", "path")
FINDING_FIELDS = ("path", "line", "column", "rule", "severity", "message", "why", "fix", "toolset", "counts")
TOOL_FINDING_FIELDS = ("key", "rule", "severity", "message", "why", "fix", "place", "path", "line", "counts")
HISTORY_FIELDS = ("key", "decision", "times", "sessions", "rule", "rule_place", "listed")
CHANGE_FIELDS = (*TOOL_FINDING_FIELDS, "old", "new")
DOCTOR_FIELDS = ("area", "status", "code", "subject", "message", "fix", "fixable")
IMPORT_FIELDS = ("name", "action", "source", "source_name", "path", "why", "notes")
PUBLISHED_FIELDS = (
    "name", "version", "kinds", "status", "title", "description", "status_message", "repository", "website",
    "published_at", "updated_at",
)  # fmt: skip
CLIENT_FIELDS = ("client", "installed", "servers", "names", "path", "command", "problem")
INSTALL_FIELDS = ("client", "path", "action", "servers", "entry", "backup", "restart", "command")
POLICY_IMPORT_FIELDS = ("rule", "action", "effect", "patterns", "into", "client", "path", "why")
PERMISSION_FIELDS = ("key", "action", "listed", "near", "decision", "decided_by", "file", "line", "reason", "hint")
API_FIELDS = ("http", "security", "unset")  # of one tool, null where it is none of an HTTP API
REFRESH_FIELDS = ("server", "tools", "prompts", "resources", "revision", "duration_ms")
REREAD_FIELDS = ("added", "removed", "changed")  # of an HTTP API, whose document was read again
PROMPT_FIELDS = ("name", "server", "prompt", "title", "description", "arguments", "label", "listed_at")
RESOURCE_FIELDS = (
    "uri", "server", "name", "title", "description", "mime_type", "size", "is_template", "label", "listed_at",
)  # fmt: skip
TOKEN_FIELDS = ("id", "projects", "servers", "read_only", "created", "expires", "state", "name")
NOT_FAILED = ("ok", "running", "input_required")  # the statuses of calls that did what was asked, or may still do it
OUTCOMES = {  # of calls by their statuses; one that goes on has none
    "done": ("ok",), "error": ("tool_error", "failed", "cancelled", "interrupted"), "refused": ("denied",),
}  # fmt: skip
NOT_THERE = ("unknown_tool", "unknown_meta_tool", "unknown_prompt", "unknown_resource", "ambiguous_resource")
"""The codes where a name is of nothing, or not of one thing: no rule decided on it, and it has reached no server."""


HOLDS = ("changed", "new", "suspicious", "not_locked")
"""Why a tool may be held: it, or its server's text about itself, has changed since it was pinned; it is new on a server
that is pinned; its definition looks like an attack; the lock file does not have it."""

Usage = Mapping[tuple[str, str], tuple[int, str | None]]  # calls by server and tool, and the start of the newest

Progress = Callable[[int, int], None]  # it is called with the amount done and the total, at the end too


def unseen(done: int, total: int) -> None:
    """A `Progress` that shows nothing."""


OLDER_PAGE = "ui/resourceUri"  # the member of `_meta` that had the URI of a page at first, and that hosts still read
HTTP, REQUEST, TAGS = "mcpctl/http", "mcpctl/request", "mcpctl/tags"
"""The members of `_meta` of the tools that are made of an HTTP API: the method and the path, a hash of all by which the
request is made, and the tags. That of its answers has the first, too: among others the status."""
PAGES = "ui://"  # begins the URIs of the pages of MCP Apps

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Newest(dict[_Key, _Value]):
    """A dictionary that keeps so many of the keys that were added last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


class RawJson(str):
    """JSON text that is passed on unchanged, so that numbers and spacing survive."""

    __slots__ = ()


class Overrides(NamedTuple):
    hints: Mapping[str, bool]
    file: str
    own: bool  # whether the file is in the user's own data directory; a repository's file may only tighten permissions


@dataclass(frozen=True, eq=False)
class Tool:
    """Definitions are untrusted: any member may have any type."""

    server: str
    name: str
    definition: Mapping[str, Any]
    text: str  # the definition's JSON exactly as the server sent it
    notes: str = ""
    overrides: Overrides | None = None
    held: str = ""  # one of `HOLDS`; empty where no person has to approve it first
    is_approved: bool = False  # a person has approved exactly this definition
    inferred: Mapping[str, bool] | None = None  # the hints that the HTTP method implies, of the tools of APIs alone

    @property
    def key(self) -> str:
        return f"{self.server}:{self.name}"

    @cached_property
    def title(self) -> str | None:
        for title in (self.definition.get("title"), self.annotations.get("title")):
            if isinstance(title, str) and title.strip():
                return title
        return None

    @cached_property
    def description(self) -> str:
        text = self.definition.get("description")
        return text if isinstance(text, str) else ""

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        schema = self.definition.get("inputSchema")
        return schema if isinstance(schema, dict) else {}

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        declared = self.definition.get("annotations")
        return declared if isinstance(declared, dict) else {}

    @property
    def request(self) -> tuple[str, str]:
        """The method and the path of a tool of an HTTP API, as its document has them; of other tools, whatever they
        say, empty."""
        made = self._of_api(HTTP)
        method, path = (made.get("method"), made.get("path")) if isinstance(made, dict) else ("", "")
        return (method, path) if isinstance(method, str) and isinstance(path, str) else ("", "")

    @property
    def request_hash(self) -> str:
        """A hash of all by which the request of a tool of an HTTP API is made: its place, parameters, body, schemes."""
        made = self._of_api(REQUEST)
        return made if isinstance(made, str) else ""

    @property
    def tags(self) -> Sequence[str]:
        tags = self._of_api(TAGS)
        return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []

    def _of_api(self, member: str) -> Any:
        meta = self.definition.get("_meta")
        return meta.get(member) if self.inferred is not None and isinstance(meta, dict) else None

    @property
    def page(self) -> str:
        """The URI of the page of an MCP App that shows its results; empty where it has none."""
        meta = self.definition.get("_meta")
        older = meta.get(OLDER_PAGE) if isinstance(meta, dict) else None
        uri = self._ui.get("resourceUri", older)
        return uri if isinstance(uri, str) and uri.startswith(PAGES) else ""

    @property
    def is_for_pages(self) -> bool:
        """Whether the pages of its server may call it."""
        return self._is_seen_by("app")

    @property
    def is_for_models(self) -> bool:
        """Whether a model may know of it and call it: some tools are there for the clicks on a page alone."""
        return self._is_seen_by("model")

    def _is_seen_by(self, who: str) -> bool:
        visibility = self._ui.get("visibility")
        return who in visibility if isinstance(visibility, list) else True

    @property
    def _ui(self) -> Mapping[str, Any]:
        """The part of a definition that is for MCP Apps: the extension `io.modelcontextprotocol/ui`, 2026-01-26."""
        meta = self.definition.get("_meta")
        ui = meta.get("ui") if isinstance(meta, dict) else None
        return ui if isinstance(ui, dict) else {}


@dataclass(frozen=True)
class Found:
    count: Callable[[], int]
    rows: Callable[[int | None, int], Iterator[Row]]  # `rows(limit, offset)`; a limit of None is no limit
    filtered: bool = False

    @classmethod
    def of(cls, rows: Sequence[Row], *, filtered: bool = False) -> "Found":
        return cls(
            filtered=filtered,
            count=lambda: len(rows),
            rows=lambda limit, offset: iter(rows[offset : None if limit is None else offset + limit]),
        )
