"""Every answer of the REST interface as a pydantic model, for its OpenAPI document and for tests alone.

Answers are not made by these models: they come as they are on record. A member that is left out where there is nothing
to say is one with a default; all others are there, null or not.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_LEFT_OUT: Any = Field(default_factory=lambda: None)
"""A member that need not be there, and is never null."""
Status = Literal["running", "ok", "tool_error", "denied", "failed", "cancelled", "input_required", "interrupted"]


class Model(BaseModel):
    """What has no members but these."""

    model_config = ConfigDict(extra="forbid")


class MCPSession(Model):
    """One session of a client."""

    id: str
    client_name: str = _LEFT_OUT
    client_version: str = _LEFT_OUT
    protocol_version: str | None
    status: Literal["active", "closed"]
    start_time: str
    last_activity: str
    end_time: str = _LEFT_OUT
    tool_call_count: int
    total_tokens: int
    discovery_count: int
    discovery_tokens: int
    capabilities: Any
    project: str | None
    toolset: str | None


class SessionList(Model):
    """Some of the sessions, and how many there are."""

    sessions: list[MCPSession]
    total: int


class CalledTool(Model):
    """What was called in a session, and how it went."""

    server_name: str
    tool_name: str
    calls: int
    failed: int
    denied: int
    total_tokens: int | None
    duration_ms: int | None


class Decision(Model):
    """What was decided of a call."""

    id: str
    session_id: str
    call_id: str | None
    key: str
    decision: str
    rule: str
    rule_place: str | None
    channel: str
    scope: str | None
    arguments_hash: str | None
    pin: str | None
    token_id: str | None
    project: str | None
    waited_ms: int | None
    enforced: bool
    made_at: str


class SessionShown(MCPSession):
    """One session with its aggregates."""

    tools: list[CalledTool]
    decisions: list[Decision]


class ToolAnnotation(Model):
    """What was declared, or overridden by a toolset; what was not is not there."""

    title: str = _LEFT_OUT
    readOnlyHint: bool = _LEFT_OUT
    destructiveHint: bool = _LEFT_OUT
    idempotentHint: bool = _LEFT_OUT
    openWorldHint: bool = _LEFT_OUT


class Hint(Model):
    """A hint, where it comes from, and the toolset's file that overrides it."""

    value: bool
    source: Literal["declared", "override", "default"]
    file: str = _LEFT_OUT


class Hints(Model):
    """The hints of a tool that are known."""

    readOnlyHint: Hint = _LEFT_OUT
    destructiveHint: Hint = _LEFT_OUT
    idempotentHint: Hint = _LEFT_OUT
    openWorldHint: Hint = _LEFT_OUT


class Metrics(Model):
    """The tokens of a call, estimated as `encoding` says."""

    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    encoding: str | None


class ToolCallRecord(Model):
    """One call; arguments, response and error are left out where payloads=false."""

    id: str
    server_name: str
    server_id: str
    tool_name: str
    arguments: Any = _LEFT_OUT
    response: Any = _LEFT_OUT
    error: Any = _LEFT_OUT
    duration: int | None = Field(description="In nanoseconds; null until the end.")
    duration_ms: int | None
    timestamp: str
    config_path: None
    request_id: Any
    metrics: Metrics
    parent_call_id: str = _LEFT_OUT
    execution_type: str = _LEFT_OUT
    mcp_session_id: str = _LEFT_OUT
    mcp_client_name: str = _LEFT_OUT
    mcp_client_version: str = _LEFT_OUT
    annotations: ToolAnnotation = _LEFT_OUT
    hints: Hints | None
    status: Status
    project: str | None
    toolset: str | None
    response_bytes: int | None
    response_truncated: bool | None
    delivered_bytes: int | None
    shortened: bool | None
    response_file: bool | None
    decision_id: str | None


class ToolCallList(Model):
    """Some of the calls, and how many there are."""

    tool_calls: list[ToolCallRecord]
    total: int


class ToolCallShown(ToolCallRecord):
    """One call with what was decided of it."""

    decisions: list[Decision]


class Tool(Model):
    """One tool as its server last listed it, with the changes of the toolset in force."""

    name: str
    server_name: str
    description: str
    schema_: Any = Field(default_factory=lambda: None, alias="schema", description="Its JSON Schema.")
    usage: int
    last_used: str = _LEFT_OUT
    annotations: ToolAnnotation = _LEFT_OUT
    hints: Hints
    key: str
    title: str | None
    risk: Literal["read-only", "changing", "destructive", "not-declared"]
    label: str | None
    signature: str
    listed_at: str | None
    held: str | None
    relevance: float = _LEFT_OUT


class ToolList(Model):
    """Some of the tools, and how many there are."""

    tools: list[Tool]
    total: int


class ToolShown(Tool):
    """One tool with its whole definition."""

    permitted: bool
    toolset: str | None
    in_toolset: bool | None
    definition: dict[str, Any]


class Server(Model):
    """One entry of the configuration, its secrets masked."""

    name: str
    enabled: bool | None
    transport: str | None
    runs: str | None
    command: str | None
    args: list[str] | None
    url: str | None
    headers: dict[str, str] | None
    oauth: dict[str, Any] | None
    env: dict[str, str] | None
    env_file: str | None
    inherit_env: list[str] | str | None
    cwd: str | None
    start_timeout_s: float | None
    call_timeout_s: float | None
    projects: list[str] | None
    permissions: Any
    only: Any
    may_ask: list[str] | None
    expose: list[str] | None
    tools: int | None
    prompts: int | None
    resources: int | None
    listed_at: str | None
    login: str | None
    login_expires_at: str | None
    problem: str | None
    failed_at: str | None


class ServerList(Model):
    """Some of the servers, and how many there are."""

    servers: list[Server]
    total: int


class Discovery(Model):
    """One search."""

    id: str
    session_id: str
    query: Any
    context: str | None
    provider: str | None
    fallback: str | None
    results: Any
    started_at: str
    duration_ms: int | None
    tokens: int | None
    project: str | None


class DiscoveryList(Model):
    """Some of the searches, and how many there are."""

    discoveries: list[Discovery]
    total: int


class Stat(Model):
    """The calls of one group: what it is grouped by, then its totals."""

    server_name: str = _LEFT_OUT
    tool_name: str = _LEFT_OUT
    client_name: str | None = None
    project: str | None = None
    status: Status = _LEFT_OUT
    day: str = _LEFT_OUT
    hour: str = _LEFT_OUT
    calls: int
    failed: int
    denied: int
    p50_ms: int | None
    p95_ms: int | None
    longest_ms: int | None
    duration_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    last_used: str | None


class StatList(Model):
    """Some of the groups, and how many there are."""

    stats: list[Stat]
    total: int


class Approval(Model):
    """A call that needed consent, and what became of it."""

    id: str
    state: Literal["pending", "allowed", "denied", "used", "expired"]
    scope: Literal["once", "session", "always"] | None
    key: str
    risk: str
    hints: str
    arguments: str
    hidden: int
    left_out: int
    rule: str
    rule_place: str | None
    project: str | None
    token_id: str | None
    session_id: str
    arguments_hash: str
    pin: str
    channel: str | None
    created_at: str
    expires_at: str
    answered_at: str | None


class ApprovalList(Model):
    """Some of the approvals, and how many there are."""

    approvals: list[Approval]
    total: int


class ApprovalAnswer(Model):
    """What a person says of a call that waits."""

    decision: Literal["allow", "deny"]
    scope: Literal["once", "session", "always"] = "once"


class Failure(Model):
    """What is wrong, and what to do about it."""

    code: str
    message: str
    hint: str


class Error(Model):
    """An answer that is none."""

    error: Failure
