"""REST's names for the fields of `--json`, and rows under those names. The manual's table is made from this one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from mcpctl.base import fields, hints
from mcpctl.base.fields import CALL_FIELDS, TOTAL_FIELDS
from mcpctl.base.models import Row


class Name(NamedTuple):
    rest: str  # as REST has it; with a dot it is a member of a member
    field: str  # as `--json`, SQL and journals have it
    is_optional: bool = False  # whether it is left out where it would be null
    made: Callable[[Any], Any] | None = None  # makes its value of the field's, where that is not the same
    note: str = ""

    @property
    def member(self) -> str:
        return self.rest.partition(".")[0]


def _flat(recorded: str | None) -> Mapping[str, bool] | None:
    """The hints that were known, without their sources."""
    try:
        known = hints.recorded(msgspec.json.decode((recorded or "null").encode()))
    except (ValueError, RecursionError):
        return None
    return {name: hint.value for name, hint in known.items()} or None


def _same(names: Sequence[str]) -> tuple[Name, ...]:
    return tuple(Name(name, name) for name in names)


_OPTIONAL_OF_SESSION = ("client_name", "client_version", "end_time")
_STORED = tuple(Name(field, field, True) for field in fields.names(fields.Stored))
SESSION = (
    *(Name(field, field, field in _OPTIONAL_OF_SESSION) for field in fields.names(fields.Session)), *_STORED,
)  # fmt: skip
_CALL = (
    Name("id", "id"),
    Name("server_name", "server"),
    Name("server_id", "server", note="The server's name, too: it has no other id."),
    Name("tool_name", "tool"),
    *_same(("arguments", "response", "error")),
    Name(
        "duration",
        "duration_ms",
        made=lambda ms: None if ms is None else ms * 1_000_000,
        note="In nanoseconds, null until the end; see duration_ms.",
    ),
    Name("duration_ms", "duration_ms"),
    Name("timestamp", "started_at"),
    *_same(("config_path", "request_id")),
    *(Name(f"metrics.{field}", field) for field in ("input_tokens", "output_tokens", "total_tokens", "encoding")),
    Name("parent_call_id", "parent_id", True),
    Name("execution_type", "via", True),
    Name("mcp_session_id", "session_id", True),
    Name("mcp_client_name", "client_name", True),
    Name("mcp_client_version", "client_version", True),
    Name("annotations", "annotations", True, _flat, "The hints that were declared or overridden then: {hint: value}."),
    Name("hints", "annotations", note="The same as {hint: {value, source}}, or null."),
)
CALL = (*_CALL, *_same([field for field in CALL_FIELDS if field not in {name.field for name in _CALL}]), *_STORED)
EXPORTED = {name.field: name.rest.rpartition(".")[2] for name in reversed(CALL) if not name.made}  # each field once
CALLED_TOOL = (
    Name("server_name", "server"), Name("tool_name", "tool"),
    *_same(("calls", "done", "errors", "refused", "failed", "denied", "total_tokens", "duration_ms")),
)  # fmt: skip
ERROR_GROUP = (*CALLED_TOOL[:2], *_same(fields.ERROR_GROUP_FIELDS[2:]))
_IN_EFFECT = "The four hints in effect, as {hint: {value, source, file}}; the source may be default."
TOOL = (
    Name("name", "tool"),
    Name("server_name", "server"),
    Name("description", "description", made=lambda text: text or "", note="Empty where there is none."),
    Name("schema", "schema", True, note="The inputSchema of its definition."),
    Name("usage", "usage"),
    Name("last_used", "last_used", True),
    Name("annotations", "annotations", True, note="The title, and the hints that are declared or overridden."),
    Name("hints", "hints", note=_IN_EFFECT),
    *_same(("key", "title", "risk", "label", "signature", "listed_at", "held")),
    Name("relevance", "relevance", True, note="How well it fits the words of the search."),
)
TOOL_SHOWN = (*TOOL, *_same(fields.names(fields.ToolShown)[len(fields.names(fields.ToolRow)) :]))
DISCOVERY, READ, DECISION = (
    (*_same(fields.names(row)), *_STORED) for row in (fields.Discovery, fields.Read, fields.Decision)
)
DECISION_LISTED = (*DECISION, *_same(("client_name",)))
HELD = _same(fields.names(fields.Held))
APPROVAL = _same(fields.names(fields.Approval))
HEALTH_FIELDS = ("calls", "done", "errors", "refused", "p95_ms", "last_done")
SERVER = (
    *_same(fields.names(fields.ServerRow)),
    Name("health", "health", note="Its calls in the last 24 hours; last_done is the last that was done, at any time."),
)


def total(groups: Sequence[str]) -> tuple[Name, ...]:
    renamed = {name.field: name.rest for name in CALLED_TOOL}
    return tuple(Name(renamed.get(field, field), field) for field in (*groups, *TOTAL_FIELDS))


def renamed(row: Row, names: Sequence[Name]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for name in names:
        value = row.get(name.field)
        if name.made:
            value = name.made(value)
        if value is None and name.is_optional:
            continue
        outer, _, inner = name.rest.partition(".")
        if inner:
            answer.setdefault(outer, {})[inner] = value
        else:
            answer[outer] = value
    return answer
