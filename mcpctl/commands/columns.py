"""The columns of each list: for the commands that print them, for completions, and for what help says of them."""

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mcpctl.base import fields, hints, models
from mcpctl.output import Columns, ListOptions

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths


def _joined(names: Any) -> str:
    return names if isinstance(names, str) else ",".join(names or ())


def _queries(recorded: Any) -> str:
    queries = json.loads(recorded) if recorded else []
    return " | ".join(map(str, queries)) if isinstance(queries, list) else str(queries)


def _keys(recorded: Any) -> str:
    hits = json.loads(recorded) if recorded else []
    return " ".join(str(hit.get("key")) for hit in hits[:3] if isinstance(hit, dict)) if isinstance(hits, list) else ""


def _arguments(arguments: Any) -> str:
    named = [each for each in arguments if isinstance(each, dict) and isinstance(each.get("name"), str)]
    return ", ".join(f"{each['name']}{'*' if each.get('required') is True else ''}" for each in named)


NO_SERVER = (
    "there is no server yet; add one with: mcpctl servers add NAME -- COMMAND ARGS; or move those of your clients here"
    " with: mcpctl init; or look at: mcpctl demo"
)
ANNOTATIONS = Columns(
    fields=models.ANNOTATION_FIELDS,
    shown=("key", "kind", "name", "value"),
    cut=frozenset(("name", "value", "path")),
    keeps={"key": 28, "name": 10},
    goes=("kind", "name"),
    noun="notes and overrides",
    empty="no notes or overrides yet; add a note with: mcpctl annotate add KEY NAME TEXT",
)
APPROVALS = Columns(
    fields=fields.APPROVAL_FIELDS,
    shown=("id", "created_at", "state", "scope", "key", "risk", "arguments"),
    table=("id", "created_at", "state", "person", "scope", "key", "risk", "arguments"),
    cut=frozenset(("key", "arguments", "hints", "rule", "person")),
    keeps={"key": 30, "person": 12},
    goes=("risk", "created_at", "scope", "person", "arguments"),
    labels={"created_at": "ASKED", "person": "ANSWERED BY"},
    noun="approvals",
    empty="nothing waits for your consent",
)
STANDING = Columns(
    fields=models.STANDING_FIELDS,
    shown=("id", "key", "scope", "since", "until", "project", "token_id"),
    cut=frozenset(("key",)),
    keeps={"key": 30},
    goes=("token_id", "project", "since"),
    labels={"token_id": "TOKEN"},
    noun="standing yeses",
    empty="no yes holds for more than one call",
)
CALLS = Columns(
    fields=fields.CALL_FIELDS,
    shown=("id", "started_at", "server", "tool", "annotations", "status", "duration_ms"),
    table=("id", "started_at", "client_name", "server", "tool", "annotations", "status", "duration_ms"),
    also=("key", "consent", "arguments_line"),
    cut=frozenset(("client_name", "server", "tool", "arguments", "response", "error", "error_line", "arguments_line")),
    keeps={"client_name": 11, "server": 12, "tool": 24},
    goes=("annotations", "duration_ms", "client_name", "server", "started_at"),
    ids=frozenset(("id", "session_id", "parent_id")),
    render={"annotations": lambda recorded: hints.compact(json.loads(recorded) if recorded else None)},
    labels={"started_at": "WHEN", "client_name": "CLIENT", "annotations": "HINTS", "duration_ms": "MS"},
    noun="calls",
    empty="no call is on record; connect a client to: mcpctl serve",
)
DECISIONS = Columns(
    fields=(*fields.DECISION_FIELDS, "client_name"),
    shown=("made_at", "client_name", "key", "decision", "channel", "person", "scope", "waited_ms", "call_id"),
    cut=frozenset(("client_name", "key", "person", "rule", "rule_place")),
    keeps={"client_name": 11, "key": 24, "person": 20},
    goes=("waited_ms", "call_id", "scope", "client_name"),
    ids=frozenset(("call_id", "session_id", "id")),
    labels={"made_at": "WHEN", "client_name": "CLIENT", "call_id": "CALL", "person": "WHO", "waited_ms": "MS"},
    noun="decisions",
    empty="no decision is on record: nothing was asked about or refused",
)
READS = Columns(
    fields=fields.READ_FIELDS,
    shown=("id", "started_at", "kind", "server", "name", "status", "duration_ms"),
    cut=frozenset(("server", "name", "error")),
    keeps={"server": 12, "name": 24},
    goes=("duration_ms", "kind", "server", "started_at"),
    ids=frozenset(("id", "session_id")),
    labels={"started_at": "WHEN", "duration_ms": "MS"},
    noun="reads",
    empty="no prompt or resource was read yet",
)
FAILURES = Columns(
    fields=fields.ERROR_GROUP_FIELDS,
    shown=("calls", "server", "tool", "error", "outcome", "sessions", "last_used"),
    cut=frozenset(("server", "tool", "error")),
    keeps={"server": 12, "tool": 16, "error": 30},
    goes=("sessions", "outcome", "last_used", "server"),
    ids=frozenset(("example",)),
    labels={"last_used": "LAST", "first_used": "FIRST"},
    noun="groups",
    empty="no call has failed",
)
SEARCHES = Columns(
    fields=fields.DISCOVERY_FIELDS,
    shown=("id", "started_at", "query", "results", "duration_ms"),
    cut=frozenset(("query", "context", "results")),
    goes=("duration_ms", "started_at"),
    ids=frozenset(("id", "session_id")),
    render={"query": _queries, "results": _keys},
    labels={"started_at": "WHEN", "duration_ms": "MS"},
    noun="searches",
    empty="no search is on record; connect a client to: mcpctl serve",
)
REPLAYS = Columns(
    fields=(
        "id", "key", "arguments", "hints", "plan", "why", "replayed_as", "recorded_status", "status",
        "recorded_duration_ms", "duration_ms", "same", "recorded_result", "result",
    ),
    shown=("id", "key", "arguments", "hints", "plan", "why", "status", "same"),
    cut=frozenset(("arguments", "why", "recorded_result", "result")),
    goes=("hints", "arguments", "why"),
    ids=frozenset(("id", "replayed_as")),
    render={"plan": lambda plan: {"would_run": "would run", "needs_execute": "needs --execute"}.get(plan, plan)},
    noun="calls",
)  # fmt: skip
CLIENTS_HERE = Columns(
    fields=models.CLIENT_FIELDS,
    shown=("client", "installed", "servers", "path", "command"),
    goes=("command",),
    more="--json",
    labels={"installed": "MCPCTL"},
    render={"installed": lambda installed: "yes" if installed else "no"},
    noun="clients",
    empty="no client was found here",
)
CLIENT_FILES = Columns(
    fields=models.INSTALL_FIELDS,
    shown=("client", "action", "path", "servers"),
    cut=frozenset({"servers"}),
    goes=("path",),
    more="--json",
    render={"servers": _joined},
    noun="files",
    empty="nothing to do",
)
IMPORTED_RULES = Columns(
    fields=models.POLICY_IMPORT_FIELDS,
    shown=("rule", "action", "effect", "patterns", "why"),
    cut=frozenset(("rule", "why", "path")),
    goes=("effect", "patterns"),
    render={"patterns": ", ".join},
    noun="rules",
    empty="no permission rules to import",
)
HISTORY = Columns(
    fields=models.HISTORY_FIELDS,
    shown=("decision", "times", "key", "rule", "rule_place"),
    cut=frozenset(("key", "rule", "rule_place")),
    goes=("rule_place",),
    noun="tools",
    empty="nothing was called in that time",
)
EXPLANATION = Columns(
    fields=(
        "key", "server", "tool", "project", "toolset", "mode", "listed", "near", "decision", "enforced", "code",
        "reason", "hint", "decided_by", "rules", "risk", "classes", "limits", "hints", "trust_hints", "grants",
        "arguments_hash",
    ),
    shown=("key", "decision"),
)  # fmt: skip
PROMPTS = Columns(
    fields=models.PROMPT_FIELDS,
    shown=("name", "arguments", "label"),
    cut=frozenset(("label", "description", "title", "arguments")),
    keeps={"label": 30},
    goes=("label", "arguments"),
    render={"arguments": _arguments},
    noun="prompts",
    empty="no prompts are known yet; list what servers have with: mcpctl tools refresh",
)
RESOURCES = Columns(
    fields=models.RESOURCE_FIELDS,
    shown=("uri", "server", "mime_type", "size", "label"),
    cut=frozenset(("label", "description", "title", "name")),
    keeps={"label": 30},
    goes=("size", "mime_type", "label", "server"),
    labels={"mime_type": "TYPE"},
    noun="resources",
    empty="no resources are known yet; list what servers have with: mcpctl tools refresh",
)
SERVERS = Columns(
    fields=fields.names(fields.ServerRow),
    shown=("name", "enabled", "transport", "tools", "runs", "failed_at", "problem"),
    cut=frozenset(("runs", "command", "args", "url", "env", "problem")),
    keeps={"runs": 15},
    goes=("tools", "transport", "failed_at", "enabled", "runs"),
    render={
        "args": lambda args: shlex.join(args or ()),
        **dict.fromkeys(("projects", "inherit_env", "may_ask", "expose"), _joined),
    },
    labels={"enabled": "ON", "transport": "HOW", "failed_at": "FAILED"},
    noun="servers",
    empty=NO_SERVER,
)
SERVERS_WITH_LOGINS = SERVERS._replace(shown=(*SERVERS.shown[:4], "login", *SERVERS.shown[4:]))
IMPORTED_SERVERS = Columns(
    fields=models.IMPORT_FIELDS,
    shown=("name", "action", "source", "source_name", "why"),
    cut=frozenset(("why", "path")),
    goes=("source_name", "source"),
    render={"notes": "; ".join},
    noun="servers",
    empty="no servers to import",
)
PUBLISHED_SERVERS = Columns(
    fields=models.PUBLISHED_FIELDS,
    shown=("name", "version", "kinds", "status", "description"),
    cut=frozenset(("description", "title", "status_message", "website", "repository")),
    keeps={"description": 30},
    goes=("status", "kinds"),
    render={"kinds": _joined},
    noun="servers",
    empty="no server of the registry has these words",
)
CHECKED_SERVERS = Columns(
    fields=models.CHECK_FIELDS,
    shown=("server", "status", "revision", "tools", "connect_ms", "environment", "problems"),
    cut=frozenset(("environment", "problems")),
    goes=("revision", "connect_ms", "tools"),
    render={"problems": "; ".join},
    labels={"connect_ms": "MS"},
    noun="servers",
    empty=NO_SERVER,
)
SESSIONS = Columns(
    fields=fields.SESSION_FIELDS,
    shown=("id", "client_name", "status", "last_activity", "tool_call_count", "discovery_count", "tokens"),
    also=("tokens",),
    cut=frozenset(("client_name", "client_version", "capabilities")),
    goes=("discovery_count", "tokens", "status"),
    ids=frozenset(("id",)),
    labels={
        "client_name": "CLIENT", "last_activity": "ACTIVE", "tool_call_count": "CALLS", "discovery_count": "SEARCHES",
    },
    noun="sessions",
    empty="no session is on record yet; connect a client to: mcpctl serve",
)  # fmt: skip
SAVINGS = Columns(
    fields=models.SAVING_FIELDS,
    shown=("id", "client_name", "tools", "definitions_tokens", "metatools_tokens", "discovery_tokens", "saved_tokens"),
    cut=frozenset(("client_name",)),
    goes=("metatools_tokens", "discovery_tokens", "tools", "definitions_tokens", "client_name"),
    ids=frozenset(("id",)),
    labels={
        "client_name": "CLIENT", "definitions_tokens": "DEFINITIONS", "metatools_tokens": "META-TOOLS",
        "discovery_tokens": "SEARCHES", "saved_tokens": "SAVED",
    },
    noun="sessions",
    empty="no session is on record yet; connect a client to: mcpctl serve",
)  # fmt: skip
TOKENS = Columns(
    fields=models.TOKEN_FIELDS,
    shown=("id", "name", "state", "projects", "servers", "read_only", "created", "expires"),
    cut=frozenset(("projects", "servers")),
    keeps={"projects": 10, "servers": 10},
    goes=("created", "read_only"),
    render={"projects": _joined, "servers": _joined},
    noun="tokens",
    empty="no tokens; make one with: mcpctl tokens create",
)
_HINTS = {"read_only": "READ", "destructive": "DESTR", "idempotent": "IDEMP", "open_world": "OPEN"}
_TEXTS = {**dict.fromkeys(("title", "description", "signature"), 30), "label": 16}
TOOLS = Columns(
    fields=fields.names(fields.ToolRow),
    shown=("key", *_HINTS, "label"),
    cut=frozenset(_TEXTS),
    keeps=_TEXTS,
    goes=("open_world", "idempotent", "read_only", "relevance", "label", "destructive"),
    render=dict.fromkeys(_HINTS, lambda hint: hints.cell(hints.Hint(hint["effective"], hint["source"]))),
    labels={**_HINTS, "relevance": "REL"},
    noun="tools",
    empty="no tools are known yet; list them with: mcpctl tools refresh",
)
FOUND_TOOLS = TOOLS._replace(
    fields=("relevance", *TOOLS.fields),
    shown=("key", "relevance", *TOOLS.shown[1:]),
    newest=10,
    empty="no tool matches",
)
DIRECT_TOOLS = TOOLS._replace(
    fields=("direct", *TOOLS.fields),
    shown=("direct", *TOOLS.shown),
    empty='no tool is shown directly; choose some with direct in [serve], such as direct = ["github:create_issue"]',
)
PERMISSIONS = Columns(
    fields=models.PERMISSION_FIELDS,
    shown=("key", "action", "decision", "decided_by"),
    cut=frozenset(("decided_by",)),
    labels={"decided_by": "BY"},
    noun="tools",
)
REFRESHED = Columns(
    (*models.REFRESH_FIELDS, *models.REREAD_FIELDS), models.REFRESH_FIELDS, noun="servers", empty=NO_SERVER
)
TOOLSETS = Columns(
    fields=models.TOOLSET_FIELDS,
    shown=("name", "equipped", "tools", "notes", "overrides", "description", "problem"),
    cut=frozenset(("description", "problem", "path")),
    goes=("overrides", "notes", "tools", "description"),
    noun="toolsets",
    empty="no toolsets yet; create one with: mcpctl toolsets build NAME KEY...",
)


def of_servers(listed: Columns, servers: object) -> Columns:
    """The columns of what servers have, with what to say where there are none."""
    return listed if servers else listed._replace(empty=NO_SERVER)


LISTS = {  # the columns by command, and by --kind after it; those of two commands are made when they are asked for
    "annotate ls": ANNOTATIONS, "approvals ls": APPROVALS, "approvals show": APPROVALS, "calls ls": CALLS,
    "calls ls discovery": SEARCHES, "calls ls read": READS, "calls show": CALLS, "calls replay": REPLAYS,
    "policy decisions": DECISIONS, "policy explain": EXPLANATION,
    "policy import": IMPORTED_RULES, "prompts ls": PROMPTS, "resources ls": RESOURCES, "servers ls": SERVERS,
    "servers show": SERVERS, "servers check": CHECKED_SERVERS, "servers import": IMPORTED_SERVERS,
    "servers search": PUBLISHED_SERVERS,
    "sessions ls": SESSIONS, "sessions show": SESSIONS, "sessions stats": SAVINGS, "tokens ls": TOKENS,
    "tools ls": TOOLS, "tools show": TOOLS, "tools search": FOUND_TOOLS, "tools refresh": REFRESHED,
    "tools deny": PERMISSIONS, "tools allow": PERMISSIONS, "toolsets ls": TOOLSETS, "toolsets show": TOOLSETS,
}  # fmt: skip
_LONGEST_BAR = 10
_MORE = {  # the fields that one thing has beside those it has in a list
    "calls show": ("decisions",),
    "sessions show": ("tools", "calls", "reads", "decisions"),
    "tools show": ("permitted", "toolset", "in_toolset", "definition", *models.API_FIELDS),
    "toolsets show": ("own",),
}


def with_names(listed: Columns, paths: "Paths", options: ListOptions) -> Columns:
    """The columns with one of the names of tokens, where it is a table and any token has a name."""
    if options.effective != "table":
        return listed
    from mcpctl.policy import tokens

    names = tokens.names(paths)
    if not names:
        return listed
    first, second, *rest = [name for name in listed.table or listed.shown if name != "token_id"]
    return listed._replace(
        table=(first, second, "token_id", *rest),
        render={**listed.render, "token_id": lambda id_: names.get(id_, id_ or "")},
        labels={**listed.labels, "token_id": "TOKEN"},
    )


def named(row: models.Row, paths: "Paths") -> models.Row:
    """The row with the name of its token beside the id."""
    if not row.get("token_id"):
        return row
    from mcpctl.policy import tokens

    name = tokens.names(paths).get(row["token_id"])
    return {**row, "token_id": f"{row['token_id']} ({name})"} if name else row


def columns(command: str, kind: str = "") -> Columns:
    """The columns of a list command, or of one kind of its rows; of totals the kind is what they are grouped by."""
    if command == "calls stats" and kind == "error":
        return FAILURES
    if command == "calls stats":
        return totals(kind.split(",") if kind else [], [], "table")
    if command == "tools eval":
        return measures()
    return LISTS.get(f"{command} {kind}") or LISTS[command]


def totals(groups: Sequence[str], rows: Sequence[models.Row], format: str, sort: str | None = None) -> Columns:
    from mcpctl.store.filters import grouping

    grouped, largest = grouping(groups), max((row["bar"] for row in rows), default=0)
    bars = ("bar",) if format == "table" and groups else ()
    counts = ("calls", "failed", "p50_ms", "p95_ms", "longest_ms", "total_tokens")
    of_table = (*counts[:2], *(("refused",) if any(row["refused"] for row in rows) else ()), *counts[2:])
    sorted_by = (sort,) if sort and sort not in of_table else ()
    return Columns(
        fields=(*grouped, *fields.TOTAL_FIELDS, *bars),
        shown=(*grouped, *counts),
        table=(*grouped, *of_table, *sorted_by, *(bars if largest else ())),
        cut=frozenset(("server", "tool", "client_name", "bar")),
        keeps={"bar": _LONGEST_BAR},
        goes=("longest_ms", "p50_ms", "bar"),
        labels={
            "client_name": "CLIENT", "p50_ms": "P50", "p95_ms": "P95", "longest_ms": "MAX", "total_tokens": "TOKENS",
            "error_percent": "ERRORS %",
        },
        render={"bar": lambda value: _bar(value / (largest or 1))},
        newest=10_000 if {"day", "hour"}.intersection(groups) else 50,
        noun="groups",
    )  # fmt: skip


def _bar(share: float) -> str:
    whole, eighths = divmod(max(round(share * _LONGEST_BAR * 8), share > 0), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[eighths].strip()


def measures() -> Columns:
    from mcpctl.search.evaluate import FIELDS, METRICS

    labels = {name: name.upper().replace("RECALL", "R") for name in METRICS}
    return Columns(
        fields=FIELDS,
        shown=(
            "provider", "queries", "recall@1", "recall@5", "recall@5_ci", "recall@10", "ndcg@10", "ndcg@10_ci", "mrr",
            "latency_p50_ms", "latency_p95_ms", "learning", "learning_calls", "learning_gain",
        ),
        render={
            "learning_gain": lambda gain: "" if gain is None else f"{gain:+.3f}",
            **dict.fromkeys(METRICS, "{:.3f}".format),
            **dict.fromkeys((f"{name}_ci" for name in METRICS), lambda ends: f"{ends[0]:.2f}-{ends[1]:.2f}"),
        },
        labels={
            **labels, **{f"{name}_ci": f"{label}_CI" for name, label in labels.items()},
            "latency_p50_ms": "P50", "latency_p95_ms": "P95", "learning_calls": "CALLS", "learning_gain": "GAIN",
        },
        goes=("ndcg@10_ci", "recall@5_ci", "latency_p95_ms", "recall@1", "queries"),
        noun="providers",
    )  # fmt: skip


def named_by_fields(command: str, kind: str = "") -> Sequence[str]:
    """The names that `--fields` of a command takes."""
    of_list = columns(command, kind)
    return (*of_list.fields, *(of_list.also if command.endswith(" ls") else ()), *_MORE.get(command, ()))


def leaving(path: Sequence[str], options: Sequence[str]) -> str:
    """A sentence on the order in which the columns of this command go; empty for one that prints no list."""
    return " ".join(_sentences_on(" ".join(path[1:]))) if {"format", "fields"} <= {*options} else ""


def _sentences_on(command: str) -> Iterator[str]:
    for kind in ("", *(name.split()[2] for name in LISTS if name.startswith(f"{command} "))):
        of_kind = columns(command, kind)
        lead = f"With --kind {kind}" if kind else "In a terminal too narrow for all columns"
        yield f"{lead}, empty ones go first, then: {', '.join(map(of_kind.heading, of_kind.leaving))}."
