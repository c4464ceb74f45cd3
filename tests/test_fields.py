"""The table of fields: what users of --json, of SQL and of REST may rely on."""

from typing import Annotated, get_args, get_origin, get_type_hints

import msgspec
import pytest

from mcpctl.base import fields
from mcpctl.store import journal_lines

CONTRACT = {
    fields.Session: (
        "id", "client_name", "client_version", "protocol_version", "status", "start_time", "last_activity", "end_time",
        "tool_call_count", "total_tokens", "discovery_count", "discovery_tokens", "capabilities", "project", "toolset",
        "config_path", "direct", "token_id",
    ),
    fields.Call: (
        "id", "session_id", "request_id", "parent_id", "via", "server", "tool", "arguments", "response", "status",
        "outcome", "error", "started_at", "duration_ms", "input_tokens", "output_tokens", "total_tokens", "encoding",
        "annotations", "client_name", "client_version", "project", "toolset", "response_bytes", "response_truncated",
        "delivered_bytes", "shortened", "response_file", "decision_id", "error_message", "error_code",
        "error_line", "error_group", "arguments_redacted", "response_redacted", "config_path", "http", "http_status",
        "transport", "token_id", "trace",
    ),
    fields.Discovery: (
        "id", "session_id", "query", "context", "provider", "fallback", "results", "started_at", "duration_ms",
        "tokens", "project", "token_id",
    ),
    fields.Read: (
        "id", "session_id", "via", "kind", "server", "name", "status", "error", "started_at", "duration_ms",
        "response_bytes", "client_name", "client_version", "project", "toolset", "token_id",
    ),
    fields.Decision: (
        "id", "session_id", "call_id", "key", "decision", "rule", "rule_place", "channel", "scope", "arguments_hash",
        "pin", "token_id", "project", "waited_ms", "enforced", "person", "made_at",
    ),
    fields.Approval: (
        "id", "state", "scope", "key", "title", "client_name", "risk", "effect", "hints", "arguments", "hidden",
        "left_out", "found", "rule", "rule_place", "project", "token_id", "session_id", "arguments_hash", "pin",
        "channel", "created_at", "expires_at", "answered_at", "person",
    ),
    fields.Total: (
        "calls", "done", "errors", "refused", "error_percent", "failed", "denied", "p50_ms", "p95_ms", "longest_ms",
        "duration_ms", "input_tokens", "output_tokens", "total_tokens", "last_used",
    ),
    fields.ErrorGroup: (
        "server", "tool", "error", "outcome", "calls", "sessions", "first_used", "last_used", "example",
    ),
    fields.ToolRow: (
        "key", "server", "tool", "title", "description", "read_only", "destructive", "idempotent", "open_world",
        "risk", "label", "signature", "usage", "last_used", "listed_at", "held",
    ),
    fields.ServerRow: (
        "name", "enabled", "transport", "runs", "command", "args", "url", "headers", "oauth", "env", "env_file",
        "inherit_env", "cwd", "start_timeout_s", "call_timeout_s", "projects", "permissions", "only", "may_ask",
        "expose", "tools", "prompts", "resources", "listed_at", "login", "login_expires_at", "problem", "failed_at",
        "openapi", "document", "base", "destinations", "skipped", "schemes", "unset", "include", "exclude",
        "parameters", "slash_in", "origins", "upload_root", "deprecated", "auth",
    ),
}  # fmt: skip
"""The fields of each row in their order. A new one is added at the end; none goes, and none gets another name."""


@pytest.mark.parametrize("row", CONTRACT, ids=lambda row: row.__name__)
def test_fields_stay(row: type) -> None:
    assert fields.names(row) == CONTRACT[row]


@pytest.mark.parametrize("kind", [fields.Line, *fields.LINES, *CONTRACT, fields.Index], ids=lambda kind: kind.__name__)
def test_types_are_read_as_python_reads_them_and_every_field_has_a_meaning(kind: type) -> None:
    read = {name: eval(text, vars(fields)) for name, text in fields.types(kind).items()}
    hints = get_type_hints(kind, include_extras=True)
    told = fields.meanings(kind)
    for name, type_ in read.items():
        hint = hints[name]
        assert type_ == (get_args(hint)[0] if get_origin(hint) is Annotated else hint)
        assert told[name].endswith(".")


def test_lines_have_the_members_that_are_declared() -> None:
    for declared in fields.LINES:
        line = getattr(journal_lines, declared.__name__)
        assert [each.name for each in msgspec.structs.fields(line)] == [*fields.names(declared), "timestamp", "v"]
        assert line.__doc__ == declared.__doc__
    assert get_args(journal_lines.AnyLine) == tuple(getattr(journal_lines, each.__name__) for each in fields.LINES)
