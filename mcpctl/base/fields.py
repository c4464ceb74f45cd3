"""The one table of fields: the lines of journals and the rows on record, each member with its type and its meaning.

All else is made from it: the structs by which lines are read and written (`store/journal_lines.py`), the tables of the
index, the fields that commands list, the REST interface with its OpenAPI document, and mcpctl-records(5). Names are the
same everywhere. A member without a meaning has that of the same name in a class above it.

Annotations stay texts: every command that lists what is on record loads this module, and `typing` would take longer to
evaluate them than all the rest of it. Types have no quotation marks, so that `types` can read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

if TYPE_CHECKING:
    from msgspec import UNSET as UNSET
    from msgspec import Raw as Json
    from msgspec import Struct, UnsetType

    NULL: Json
else:
    Json, UnsetType, UNSET, NULL = Any, None, object(), object()

    class Struct:
        """A line as it is declared; `journal_lines` makes the struct."""

        def __init_subclass__(cls, **config: Any) -> None:
            cls.config = {"gc": False, **config}


SessionStatus = Literal["active", "closed"]
SESSION_STATUSES = get_args(SessionStatus)
CallStatus = Literal["running", "ok", "tool_error", "denied", "failed", "cancelled", "input_required", "interrupted"]
CALL_STATUSES = get_args(CallStatus)
Outcome = Literal["done", "error", "refused"]
ApprovalState = Literal["pending", "allowed", "denied", "used", "expired"]
Scope = Literal["once", "session", "always"]
Risk = Literal["read-only", "changing", "destructive", "not-declared"]
LOOSENED = "loosened"  # a change of the configuration lets more be called without a yes
PAUSED, RESUMED = "paused", "resumed"  # everything is refused from then on, and no longer
DECISIONS = (
    "allowed", "asked", "approved", "declined", "expired", "denied", "held", "unanswerable", LOOSENED, PAUSED, RESUMED,
)  # fmt: skip

# ---- the lines of journals


class Line(Struct, tag_field="type", kw_only=True, gc=False):
    """The members of every line."""

    timestamp: Annotated[str, "The time when the line was written."]
    v: Annotated[int, "The version of the format, 1."] = 1


class SessionCreated(Line, tag="sessions.created"):
    """The first line: who is connected. `via` is `client`, or `cli` for the day's command-line session."""

    id: Annotated[str, "The id, a UUID."]
    via: Annotated[
        str,
        "client, or cli for commands such as tools call, which share one session a day. Also, of a call, direct: it was"
        " called by a name of its own and not through tool_execute; and replay: it is the one of parent_id called again"
        " by calls replay.",
    ] = "client"
    client_name: Annotated[str | None, "The client's name for itself."] = None
    client_version: Annotated[str | None, "The client's version."] = None
    protocol_version: Annotated[str | None, "The revision of the protocol that the client speaks."] = None
    capabilities: Annotated[Json, "JSON: the capabilities that the client declared."] = NULL
    project: Annotated[str | None, "The project in force, or null."] = None
    toolset: Annotated[str | None, "The toolset in force, or null."] = None
    config_path: Annotated[
        str | None,
        "The path of the configuration file of the session, config.toml; null for the sessions of commands, each of"
        " which may have another, and for those recorded before mcpctl kept it.",
    ] = None
    direct: Annotated[
        Json, "JSON: the patterns of the tools that the client was shown directly, as an array; null for none."
    ] = NULL
    token_id: Annotated[
        str | UnsetType | None, "The token of the request, or null; of a session, that of its first request on record."
    ] = UNSET


class DiscoveryFinished(Line, tag="discoveries.finished"):
    """One search and what it answered."""

    id: str
    session_id: Annotated[str, "The session it belongs to."]
    query: Annotated[Json, "JSON: the queries of the search."]
    context: Annotated[str | None, "The client's description of its task, or null."]
    provider: Annotated[str, "The provider that ranked the tools."]
    fallback: Annotated[str | None, "The reason why another provider than the configured one ranked them, or null."]
    results: Annotated[Json, "JSON: the tools that the search found, best first, as objects of key and relevance."]
    started_at: Annotated[str, "The start time."]
    duration_ms: Annotated[
        int,
        "The duration, a whole number of milliseconds; null until the end. The time in which a person was asked about a"
        " call is part of it.",
    ]
    tokens: Annotated[int, "The tokens of the answer, estimated."]
    project: str | None = None
    token_id: str | UnsetType | None = UNSET


class CallStarted(Line, tag="calls.started"):
    """One call, on record before anything is sent to its server."""

    id: str
    session_id: str
    request_id: Annotated[Json, "JSON: the id of the client's request, cut like a name."]
    via: str
    server: Annotated[str, "The server that was called; null where what was to be read is of none."]
    tool: Annotated[str, "The tool's name on its server."]
    arguments: Annotated[
        Json,
        "JSON: the arguments that were sent, with secrets redacted; if they are longer than max_response_kb, a string"
        " with their beginning.",
    ]
    annotations: Annotated[
        Json, "JSON: the hints declared, overridden or inferred at that time, as {hint: {value, source}}."
    ]
    input_tokens: Annotated[int, "The tokens of the arguments, estimated."]
    encoding: Annotated[str, "The way in which tokens were counted."]
    parent_id: Annotated[
        str | None,
        "The earlier round of this call, or null. A tool that asks for input is called again with it: all these rounds"
        " are one call, which begins with the first round and ends with the outcome of the last. Where via is replay,"
        " the call that was called again; where the server is @mcpctl, the call whose answer is read.",
    ] = None
    client_name: str | None = None
    client_version: str | None = None
    project: str | None = None
    toolset: str | None = None
    transport: Annotated[
        str | UnsetType | None, "stdio or http: how the client speaks to mcpctl; null for calls of commands."
    ] = UNSET
    token_id: str | UnsetType | None = UNSET
    http: Annotated[
        Json | UnsetType,
        "JSON: of a tool of an HTTP API the request, as {method, path}; the path is as the API's document has it, with"
        " its holes. Null, and in no journal, for other tools.",
    ] = UNSET
    trace: Annotated[
        str | UnsetType | None,
        "The traceparent in _meta of the request (W3C Trace Context), by which it is a part of a trace; null, and in no"
        " journal, for a request without one.",
    ] = UNSET


class CallFinished(Line, tag="calls.finished"):
    """How a call ended; on record before its answer leaves."""

    id: str
    session_id: str
    status: Annotated[
        str,
        "The state of a call, prompt or resource: running, ok, tool_error, denied, failed, cancelled, input_required or"
        " interrupted. The state of a session: active or closed.",
    ]
    response: Annotated[Json, "JSON: the server's result, redacted, and cut to max_response_kb; null if there is none."]
    error: Annotated[
        Json,
        "JSON: the error of the server or of mcpctl, or null. For a tool_error it is null in the journal; in the index"
        " and under --json its message is the beginning of the tool's first text.",
    ]
    duration_ms: int
    output_tokens: Annotated[int, "The tokens of what the client got of the response, estimated."]
    response_bytes: Annotated[int, "The size of the whole response in bytes."]
    response_truncated: Annotated[bool, "Whether the recorded response was cut; 0 or 1 in SQL."]
    delivered_bytes: Annotated[
        int | UnsetType,
        "The size of what the client got of the response. A journal has it only where that is not all of it, as it has"
        " the next two.",
    ] = UNSET
    shortened: Annotated[bool | UnsetType, "Whether the client got a part of the response; 0 or 1 in SQL."] = UNSET
    response_file: Annotated[
        bool | UnsetType,
        "Whether the whole response was kept in responses/, where it may have made room since; 0 or 1.",
    ] = UNSET
    http_status: Annotated[
        int | UnsetType, "The status of the HTTP API's answer, such as 404; null where there is none."
    ] = UNSET


class ReadFinished(Line, tag="reads.finished"):
    """One prompt that was got, or one resource that was read, and how that ended; on record before its answer leaves.
    The text that was read is not kept."""

    id: str
    session_id: str
    via: str
    kind: Annotated[str, "The kind that was read: prompt or resource."]
    server: str | None
    name: Annotated[
        str,
        "The journal's file name. For a read: the name of the prompt, or the URI of the resource, on its server;"
        " where it is of none, as it was asked for.",
    ]
    status: str
    error: Json
    started_at: str
    duration_ms: int
    response_bytes: int
    client_name: str | None
    client_version: str | None
    project: str | None
    toolset: str | None
    token_id: str | UnsetType | None = UNSET


class DecisionMade(Line, tag="decisions.made"):
    """Why a call was let through, asked about or kept back; what every rule allows by default leaves no such line."""

    id: str
    session_id: str
    call_id: Annotated[
        str | None,
        "The call that it is about, or what was read; null for an attempt that never became one, and for what was"
        " refused outside of any call.",
    ]
    key: Annotated[
        str,
        "The tool's key, as it was asked for; of a prompt or resource server:@prompts/NAME or server:@resources/URI,"
        " without a server where it is of none. A pause has *; a change of the configuration, all keys that it freed,"
        " with commas between them.",
    ]
    decision: Annotated[
        str,
        "allowed, asked, approved, declined, expired, denied, held, unanswerable, loosened, paused or resumed. asked:"
        " somebody is asked; unanswerable: nobody could be.",
    ]
    rule: Annotated[str, "The rule that decided, or the code of the refusal."]
    rule_place: Annotated[str | None, "The place of the rule, such as config.toml:14, or null."]
    channel: Annotated[str, "Who decided: rule, grant (an earlier yes), client, hook, terminal or dashboard."]
    scope: Annotated[str | None, "How long a yes holds: once, session or always; or null."]
    arguments_hash: Annotated[str | None, "A hash of the arguments, the same for any order of their members; or null."]
    pin: Annotated[str | None, "A hash of the tool's definition, and its declared hints; or null."]
    token_id: str | None
    project: str | None
    waited_ms: Annotated[int | None, "The time that the answer took, a whole number of milliseconds, or null."]
    enforced: Annotated[bool, "false where the policy only records."]
    person: Annotated[
        str | None,
        "Who decided, as exactly as is known: the user and terminal, the user and login of the dashboard, or the client"
        " in which it was asked; of a call that an earlier yes let through, who gave that; null where a rule decided.",
    ] = None


class QuestionAsked(Line, tag="questions.asked"):
    """A question of a server to the client in the middle of a call, once its outcome is known."""

    id: str
    session_id: str
    call_id: str | None
    server: str
    method: Annotated[str, "The question's method: elicitation/create, sampling/createMessage or roots/list."]
    message: Annotated[
        str | None,
        "The question to the user, or the beginning of what the client's model was asked, redacted and cut like a name;"
        " null if there is none.",
    ]
    outcome: Annotated[
        str,
        "accept, decline or cancel: the user's answer, accept also of any answer of the client's own. error: the client"
        " answered with an error. refused: the client was not asked. unanswered: it never answered.",
    ]
    waited_ms: int


class SessionClosed(Line, tag="sessions.closed"):
    """The last line. A session whose `serve` was killed gets it later, with the time of its last activity."""

    id: str
    end_time: Annotated[str, "The end of the session; null while it is active."]


LINES = (
    SessionCreated, DiscoveryFinished, CallStarted, CallFinished, ReadFinished, DecisionMade, QuestionAsked,
    SessionClosed,
)  # fmt: skip

# ---- the rows on record, their fields in the order of --json


class Session:
    """One session of a client."""

    id: str
    client_name: str | None
    client_version: str | None
    protocol_version: str | None
    status: Annotated[SessionStatus, "active or closed."]
    start_time: Annotated[str, "The start of the session."]
    last_activity: Annotated[str, "The time of the session's last activity."]
    end_time: str | None
    tool_call_count: Annotated[int, "The number of calls of the session. A call in several rounds counts once."]
    total_tokens: Annotated[int, "Input and output tokens together."]
    discovery_count: Annotated[int, "The number of searches of the session."]
    discovery_tokens: Annotated[int, "The tokens of the answers to the session's searches."]
    capabilities: Json
    project: str | None
    toolset: str | None
    config_path: str | None
    direct: Json
    token_id: str | None


class Call:
    """One call."""

    id: str
    session_id: str
    request_id: Json
    parent_id: str | None
    via: str
    server: str
    tool: str
    arguments: Json
    response: Json
    status: Annotated[CallStatus, "running, ok, tool_error, denied, failed, cancelled, input_required or interrupted."]
    outcome: Annotated[
        Outcome | None,
        "done; error: something went wrong (tool_error, failed, cancelled, interrupted); refused: a rule, a token or a"
        " person said no, or it waits for a yes (denied); null of one that goes on.",
    ]
    error: Json
    started_at: str
    duration_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    total_tokens: int | None
    encoding: str | None
    annotations: Json
    client_name: str | None
    client_version: str | None
    project: str | None
    toolset: str | None
    response_bytes: int | None
    response_truncated: bool | None
    delivered_bytes: int | None
    shortened: bool | None
    response_file: bool | None
    decision_id: Annotated[str | None, "The last decision of the call, or null."]
    error_message: Annotated[str | None, "The text of error, as far as it is on record; or null."]
    error_code: Annotated[str | None, "The code of error, such as needs_consent or -32602; or null."]
    error_line: Annotated[str | None, "The first line of the text of error, at most 200 characters; or null."]
    error_group: Annotated[
        str | None,
        "The same with # for each number and id: calls of one tool that have the same failed alike; the status where"
        " there is no text, null of one that did not fail.",
    ]
    arguments_redacted: Annotated[bool, "Whether something in arguments was redacted; 0 or 1 in SQL."]
    response_redacted: Annotated[bool, "Whether something in response or error was redacted; 0 or 1 in SQL."]
    config_path: str | None
    http: Json
    http_status: int | None
    transport: str | None
    token_id: str | None
    trace: str | None


class Discovery(DiscoveryFinished):
    """One search."""


class Read(ReadFinished):
    """One prompt or resource that was read."""


class Decision(DecisionMade, kw_only=True):
    """A decision on a call."""

    made_at: Annotated[str, "The time of the decision."]


class Approval:
    """A call that needed consent, and what became of it."""

    id: Annotated[str, "The id, six hexadecimal digits."]
    state: Annotated[ApprovalState, "pending, allowed, denied, used (the call has been made) or expired."]
    scope: Scope | None
    key: Annotated[str, "The tool's key."]
    title: Annotated[str | None, "The tool's title, or null."]
    client_name: str | None
    risk: Annotated[str, "The risk of the tool: read-only, changing, destructive or not-declared."]
    effect: Annotated[str, "One sentence on what the tool may do, and who says so."]
    hints: Annotated[str, "Where each of the tool's hints comes from, in words."]
    arguments: Annotated[str, "The arguments as a person is shown them: without secrets, perhaps cut."]
    hidden: Annotated[int, "The number of values of the arguments that are hidden."]
    left_out: Annotated[int, "The bytes of the arguments that are not shown."]
    found: Annotated[str, "The findings of the checks in all of the arguments; empty if there are none."]
    rule: Annotated[str, "The rule that asks."]
    rule_place: str | None
    project: str | None
    token_id: str | None
    session_id: str
    arguments_hash: Annotated[str, "A hash of the arguments, the same for any order of their members."]
    pin: Annotated[str, "A hash of the tool's definition, and its declared hints."]
    channel: Annotated[str | None, "Where it was answered: client, hook, terminal or dashboard; null before."]
    created_at: Annotated[str, "The time when consent was asked for."]
    expires_at: Annotated[str, "The time until which it can be answered, and a yes to one call waits for it."]
    answered_at: Annotated[str | None, "The time of the answer, or null."]
    person: str | None


class Total:
    """The calls of one group."""

    calls: Annotated[int, "The number of calls. A call in several rounds counts once."]
    done: Annotated[int, "The number of calls whose outcome is done."]
    errors: Annotated[int, "The number of calls whose outcome is error."]
    refused: Annotated[int, "The number of calls whose outcome is refused."]
    error_percent: Annotated[
        float | None,
        "The errors among a hundred calls that have ended, without those that were refused or had the name of nothing.",
    ]
    failed: Annotated[int, "The number of calls that did not do what was asked: errors and refused together."]
    denied: Annotated[int, "The number of calls that were refused, the same as refused."]
    p50_ms: Annotated[int | None, "The duration that half of the calls that were not refused did not exceed."]
    p95_ms: Annotated[int | None, "The duration that 95 of 100 such calls did not exceed."]
    longest_ms: Annotated[int | None, "The longest duration of a call that was not refused."]
    duration_ms: Annotated[int | None, "The durations together."]
    input_tokens: Annotated[int | None, "The tokens of the arguments together, estimated."]
    output_tokens: Annotated[int | None, "The tokens of what clients got of the responses together, estimated."]
    total_tokens: Annotated[int | None, "Input and output tokens together."]
    last_used: Annotated[str | None, "The start of the newest call."]


class ErrorGroup:
    """The calls of one tool that failed alike."""

    server: str
    tool: str
    error: Annotated[str, "The error_group of these calls."]
    outcome: Outcome | None
    calls: Annotated[int, "The number of calls. A call in several rounds counts once."]
    sessions: Annotated[int, "The number of sessions of these calls."]
    first_used: Annotated[str, "The start of the oldest call."]
    last_used: Annotated[str, "The start of the newest call."]
    example: Annotated[str, "The id of the newest call."]


class ToolRow:
    """One tool as its server last listed it, with the changes of the toolset in force."""

    key: Annotated[str, "server:tool, the name by which it is called."]
    server: Annotated[str, "The server's name in the configuration."]
    tool: str
    title: Annotated[str | None, "The title that its server gives it, or null."]
    description: Annotated[str | None, "The description, with the notes of the toolset in force."]
    read_only: Annotated[dict[str, Any], "The hint readOnlyHint: {declared, override, effective, source, file}."]
    destructive: Annotated[dict[str, Any], "The hint destructiveHint, in the same way."]
    idempotent: Annotated[dict[str, Any], "The hint idempotentHint, in the same way."]
    open_world: Annotated[dict[str, Any], "The hint openWorldHint, in the same way."]
    risk: Annotated[Risk, "The risk by the hints in effect."]
    label: Annotated[str | None, "The title, else the first line of the description."]
    signature: Annotated[str, "Its parameters in one line."]
    usage: Annotated[int, "The number of its calls on record."]
    last_used: str | None
    listed_at: Annotated[str | None, "The time when its server was last asked for its tools, or null."]
    held: Annotated[str | None, "The reason why a person has to approve it first, or null."]


class ToolShown(ToolRow):
    """One tool with its whole definition."""

    permitted: Annotated[bool, "Whether it may be found and called."]
    toolset: str | None
    in_toolset: Annotated[bool | None, "Whether the toolset in force has it; null where none is."]
    definition: Annotated[dict[str, Any], "The definition, as its server sent it."]
    http: Annotated[
        dict[str, Any] | None, "The request of a tool of an HTTP API: {method, path, base}; null for others."
    ]
    security: Annotated[
        list[dict[str, bool]] | None,
        "The alternatives of security schemes of such a tool, and whether each scheme has a value.",
    ]
    unset: Annotated[dict[str, str] | None, "By scheme, the variable of its value that is not set, in words."]


class ServerRow:
    """One entry of the configuration, its secrets masked."""

    name: Annotated[str, "The server's name."]
    enabled: Annotated[bool | None, "Whether it is enabled."]
    transport: Annotated[str | None, "stdio, http, sse, or openapi for an HTTP API."]
    runs: Annotated[str | None, "The command line, or the address."]
    command: Annotated[str | None, "The command, or null."]
    args: Annotated[list[str] | None, "The arguments of the command."]
    url: Annotated[str | None, "The address, or null."]
    headers: Annotated[dict[str, str] | None, "The headers that are sent with every request."]
    oauth: Annotated[dict[str, Any] | None, "The settings of the login, or null."]
    env: Annotated[dict[str, str] | None, "The variables that it gets."]
    env_file: Annotated[str | None, "The file with more of them, or null."]
    inherit_env: Annotated[list[str] | str | None, "The variables of mcpctl that it gets, too."]
    cwd: Annotated[str | None, "The folder that it runs in, or null."]
    start_timeout_s: Annotated[float | None, "How many seconds it may take to start."]
    call_timeout_s: Annotated[float | None, "How many seconds a call may take."]
    projects: Annotated[list[str] | None, "The projects that see it; none for all."]
    permissions: Annotated[Any, "The rules of [policy] for its tools alone."]
    only: Annotated[Any, "The names or patterns of what it may offer; null for all."]
    may_ask: Annotated[list[str] | None, "The questions that it may ask clients."]
    expose: Annotated[list[str] | None, "The features that clients see besides tools."]
    tools: Annotated[int | None, "The number of tools that it last listed, or null."]
    prompts: Annotated[int | None, "The number of prompts that it last listed, or null."]
    resources: Annotated[int | None, "The number of resources that it last listed, or null."]
    listed_at: Annotated[str | None, "The time when it was last listed, or null."]
    login: Annotated[str | None, "The state of the login; null where none is needed."]
    login_expires_at: Annotated[str | None, "The time when the login expires, or null."]
    problem: Annotated[str | None, "The reason why it cannot be used, or null."]
    failed_at: Annotated[str | None, "The time when it could last not be used, or null."]
    openapi: Annotated[str | None, "The OpenAPI document, as its entry names it, or null; so are the next ones."]
    document: Annotated[
        dict[str, Any] | None,
        "The document as it was last read: {title, version, openapi, sha256, read_at}.",
    ]
    base: Annotated[str | None, "The address in front of the paths of most of its operations."]
    destinations: Annotated[
        dict[str, list[str]] | None,
        "The origins that requests go to, and those where clients are changed for tokens: {requests, tokens}.",
    ]
    skipped: Annotated[dict[str, int] | None, "The number of operations that are no tools, by the reason."]
    schemes: Annotated[dict[str, bool] | None, "The security schemes, and whether each has a value."]
    unset: Annotated[dict[str, str] | None, "By scheme, the variable of its value that is not set, in words."]
    include: Annotated[list[str] | None, "The operations that are tools; none for all."]
    exclude: Annotated[list[str] | None, "The operations that are not."]
    parameters: Annotated[dict[str, Any] | None, "The parameters that have a fixed value."]
    slash_in: Annotated[list[str] | None, "The parameters of paths in which / is sent as it is."]
    origins: Annotated[list[str] | None, "The other places that requests and credentials may go to."]
    upload_root: Annotated[str | None, "The folder of the files that may be sent, or null."]
    deprecated: Annotated[bool | None, "Whether deprecated operations are tools, too."]
    auth: Annotated[dict[str, Any] | None, "The credentials by scheme, masked."]


class Held:
    """A tool, prompt, resource or a server's instructions, held until a person has looked at it."""

    key: Annotated[str, "Its key; of instructions, the server's name."]
    kind: Annotated[str, "tool, prompt, resource, template or instructions."]
    held: Annotated[str, "Why it is held: suspicious, changed, new or not_locked."]
    findings: Annotated[list[dict[str, str]], "The findings that look like an attack: rule, place, message and why."]
    changes: Annotated[list[dict[str, str | None]], "The changes since it was pinned: rule, message, why, old, new."]
    was: Annotated[str | None, "The decision on its calls as it was pinned, or null."]
    decision: Annotated[
        str | None, "The decision on its calls once it is approved, such as ask; null where there are none."
    ]
    decided_by: Annotated[str | None, "The rule that decides so, or why it is refused, or null."]
    shown: Annotated[str, "A hash of all that is approved, which an approval has to name."]


INDEX_VERSION = 16  # one more whenever a field of these rows comes or goes
TABLES = {"sessions": Session, "calls": Call, "discoveries": Discovery, "reads": Read, "decisions": Decision}


class Stored:
    """The fields that rows of several machines have besides."""

    machine: Annotated[str, "The name of the machine that has it on record; only over --store."]


class Index:
    """The columns of the index that are fields of no row."""

    journal: Annotated[str, "The file name of the journal."]
    position: Annotated[int, "The start of the line in the journal, in bytes."]
    hints: Annotated[
        str,
        "The same as four letters, for read-only, destructive, idempotent and open world: a capital for true, a small"
        " letter for false, - for not declared.",
    ]
    failed: Annotated[int, "Whether it did not do what was asked, as --failed has it; 0 or 1."]
    offset: Annotated[int, "How far the journal has been read, in bytes."]
    calls: Annotated[int, "The number of the tool's calls on record, also failed ones; several rounds count once."]
    last_used: Annotated[str, "The start of the newest call, or of its last round."]


def names(kind: type) -> tuple[str, ...]:
    """The members of a line or row, without those of every line."""
    return tuple(types(kind))


def types(kind: type) -> dict[str, str]:
    """The members of a line or row, each with its type as it is written above."""
    written: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each is not Line or each is kind:
            for name, text in vars(each).get("__annotations__", {}).items():
                written[name] = text.removeprefix("Annotated[").partition(", '")[0].partition(', "')[0]
    return written


def meanings(kind: type) -> dict[str, str]:
    """The meanings of all names: those in this line or row, else those where they come first."""
    from typing import get_type_hints

    known: dict[str, str] = {}
    for each in (kind, *LINES, *TABLES.values(), Stored, Index):
        for name, hint in get_type_hints(each, include_extras=True).items():
            for meaning in getattr(hint, "__metadata__", ()):
                known.setdefault(name, meaning)
    return known


SESSION_FIELDS, CALL_FIELDS, DISCOVERY_FIELDS, READ_FIELDS, DECISION_FIELDS = map(names, TABLES.values())
APPROVAL_FIELDS, TOTAL_FIELDS, ERROR_GROUP_FIELDS = names(Approval), names(Total), names(ErrorGroup)
CALL_PAYLOADS = (  # what was sent and what came back
    "arguments", "response", "error", "error_message", "error_code", "error_line", "error_group",
)  # fmt: skip
CALL_SORTS = ("started_at", "duration_ms", "input_tokens", "output_tokens", "total_tokens", "response_bytes")
