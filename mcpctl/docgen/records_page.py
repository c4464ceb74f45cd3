"""mcpctl-records(5): the lines of journals and the tables of the index, generated from the code."""

import typing
from collections.abc import Iterator

import msgspec

from mcpctl.dashboard import rest_names
from mcpctl.docgen import roff
from mcpctl.models import CALL_STATUSES, DECISIONS
from mcpctl.paths import INDEX_VERSION
from mcpctl.store import journal_lines, schema

NAME = "mcpctl-records"
LINES: tuple[type[msgspec.Struct], ...] = typing.get_args(journal_lines.AnyLine)

FIELDS = {
    "v": "The version of the format, 1.",
    "type": "The type of the line.",
    "timestamp": "The time when the line was written.",
    "id": "The id, a UUID.",
    "session_id": "The session it belongs to.",
    "via": "client, or cli for commands such as tools call, which share one session a day. Of a call also replay: it is"
    " the one of parent_id called again by calls replay.",
    "client_name": "The client's name for itself.",
    "client_version": "The client's version.",
    "protocol_version": "The revision of the protocol that the client speaks.",
    "capabilities": "JSON: the capabilities that the client declared.",
    "project": "The project in force, or null.",
    "toolset": "The toolset in force, or null.",
    "query": "JSON: the queries of the search.",
    "context": "The client's description of its task, or null.",
    "provider": "The provider that ranked the tools.",
    "fallback": "The reason why another provider than the configured one ranked them, or null.",
    "results": "JSON: the tools that the search found, best first, as objects of key and relevance.",
    "started_at": "The start time.",
    "duration_ms": "The duration, a whole number of milliseconds; null until the end.",
    "tokens": "The tokens of the answer, estimated.",
    "request_id": "JSON: the id of the client's request, cut like a name.",
    "parent_id": "The earlier round of this call, or null. A tool that asks for input is called again with it: all"
    " these rounds are one call, which begins with the first round and ends with the outcome of the last. Where via is"
    " replay, the call that was called again; where the server is @mcpctl, the call whose answer is read.",
    "server": "The server that was called; null where what was to be read is of none.",
    "tool": "The tool's name on its server.",
    "arguments": "JSON: the arguments that were sent, with secrets redacted; if they are longer than max_response_kb,"
    " a string with their beginning.",
    "annotations": "JSON: the hints that were declared or overridden at that time, as {hint: {value, source}}.",
    "hints": "The same as four letters, for read-only, destructive, idempotent and open world: a capital for true, a"
    " small letter for false, - for not declared.",
    "input_tokens": "The tokens of the arguments, estimated.",
    "output_tokens": "The tokens of what the client got of the response, estimated.",
    "total_tokens": "Input and output tokens together.",
    "encoding": "The way in which tokens were counted.",
    "status": f"Of a call: {', '.join(CALL_STATUSES[:-1])} or {CALL_STATUSES[-1]}; of what was read one of these, too."
    " Of a session: active or closed.",
    "response": "JSON: the server's result, cut to max_response_kb, with secrets redacted; null if there is none.",
    "error": "JSON: the error of the server or of mcpctl, or null. For a tool_error it is null in the journal; in the"
    " index and under --json its message is the beginning of the tool's first text.",
    "response_bytes": "The size of the whole response in bytes.",
    "response_truncated": "Whether the recorded response was cut; 0 or 1 in SQL.",
    "delivered_bytes": "The size of what the client got of the response. A journal has it only where that is not all of"
    " it, as it has the next two.",
    "shortened": "Whether the client got a part of the response; 0 or 1 in SQL.",
    "response_file": "Whether the whole response was kept in responses/, where it may have made room since; 0 or 1.",
    "call_id": "The call that it is about, or what was read; null for an attempt that never became one, and for what"
    " was refused outside of any call.",
    "kind": "What was read: prompt or resource.",
    "key": "The tool's key, as it was asked for; of a prompt or resource server:@prompts/NAME or server:@resources/URI,"
    " without a server where it is of none.",
    "decision_id": "The last decision of the call, or null.",
    "decision": f"{', '.join(DECISIONS[:-1])} or {DECISIONS[-1]}. asked: somebody is asked; unanswerable: nobody could"
    " be.",
    "rule": "The rule that decided, or the code of the refusal.",
    "rule_place": "The place of the rule, such as config.toml:14, or null.",
    "channel": "Who decided: rule, grant (an earlier yes), client, hook, terminal or dashboard.",
    "scope": "How long a yes holds: once, session or always; or null.",
    "arguments_hash": "A hash of the arguments, the same whatever the order of their members; or null.",
    "pin": "A hash of the tool's definition, and its declared hints; or null.",
    "token_id": "The token of the request, or null.",
    "enforced": "false where the policy only records.",
    "made_at": "The time of the decision.",
    "method": "What was asked: elicitation/create, sampling/createMessage or roots/list.",
    "message": "The question to the user, or the beginning of what the client's model was asked, redacted and cut like"
    " a name; null if there is none.",
    "outcome": "accept, decline or cancel: the user's answer, accept also of any answer of the client's own. error: the"
    " client answered with an error. refused: the client was not asked. unanswered: it never answered.",
    "waited_ms": "The time that the answer took, a whole number of milliseconds, or null.",
    "end_time": "The end of the session; null while it is active.",
    "start_time": "The start of the session.",
    "last_activity": "The time of the session's last activity.",
    "tool_call_count": "The number of calls of the session. A call in several rounds counts once.",
    "discovery_count": "The number of searches of the session.",
    "discovery_tokens": "The tokens of the answers to the session's searches.",
    "journal": "The file name of the journal.",
    "position": "The start of the line in the journal, in bytes.",
    "name": "The journal's file name. Of what was read: the name of the prompt, or the URI of the resource, on its"
    " server; where it is of none, as it was asked for.",
    "offset": "How far the journal has been read, in bytes.",
    "calls": "The number of the tool's calls on record, failed ones included. A call in several rounds counts once.",
    "failed": "Whether it did not do what was asked, as --failed has it; 0 or 1.",
    "last_used": "The start of the newest call, or of its last round.",
}
"""The meaning of each member of a line and of each column; a name means the same everywhere."""

_ABOUT = (
    "mcpctl keeps one journal a session, in sessions/ of its data directory: {start_ns}_{session_id}.jsonl, JSON lines"
    " in UTF-8, append only. The index is derived from the journals alone.",
    "A call's line is written before the call is sent, and its outcome before the answer is sent. An unfinished last"
    " line is skipped; the lines before it count. A reader skips types and members that it does not know.",
    "Times are ISO 8601 in UTC with milliseconds, such as 2026-07-28T12:00:00.000Z. Names are the same in journals,"
    " in SQL and under --json. A name longer than 512 bytes is cut and ends with [cut: N characters].",
    "Secrets are redacted before a line is written, in every text that comes from a client, a model or a server, names"
    " and ids included: tokens of known services, JSON web tokens, private keys, credentials in URLs and headers, and"
    " values under names such as password, api_key or Authorization, in JSON at any depth, in assignments, headers,"
    " YAML, addresses, options of commands and netrc. Under names such as key, auth, pass or session_id only what looks"
    " like a secret is redacted; ids, hashes, counts, paths, plain words under token, and ${VARIABLES} stay. A redacted"
    " value is [redacted:HASH]; equal values have equal hashes. What has neither a known shape nor a telling name is"
    " not recognised: redact_keys in mcpctl-config(5) adds names.",
    "Sessions that exceed the limits of [records] in mcpctl-config(5) are removed. evicted.jsonl in the data directory"
    " has a line for each time and limit, the last hundred: timestamp, limit, value (what it was set to), sessions and"
    " calls (how many were removed), oldest and newest (from when to when they were).",
    "Where limit_tokens of mcpctl-config(5) shortens an answer, the whole of it is kept in responses/SESSION/CALL.json"
    " of the data directory: one line of JSON that says whose it is, then the server's result, byte for byte. It is"
    " written before the outcome of the call, secrets are not redacted in it, and it goes when keep_mb is exceeded or"
    " its session is removed. mcpctl calls response prints it.",
    "Each round of a call has a line and a row of calls ls of its own; only the rounds without a parent_id are counted"
    " as calls, calls whose via is replay, and reads of answers, @mcpctl:read, of which only the"
    " size is on record. What servers asked the client is in the journals alone.",
)
_VIEWS = (
    "Your own SQL should ask the views v_calls, v_sessions, v_discoveries, v_reads and v_decisions. They are read-only,"
    " their columns are the fields of --json, and they stay when a table changes. New columns may come. A session whose"
    " process was killed is closed in them, and its last calls are interrupted, as far as mcpctl db path last saw."
    " Times are UTC; strftime('%Y-%m-%d', started_at, 'localtime') is the day here. examples/datasette has queries.",
)
_INDEX = (
    f"index-v{INDEX_VERSION}.db is an SQLite database in WAL mode. mcpctl db path brings it up to date and prints its"
    " path. Reading it is safe while mcpctl runs; deleting it loses nothing. Another layout has another number in its"
    " name. Members marked JSON above are JSON text here, and NULL if they are null.",
    "The index has the state of the journals: a session whose process was killed is active there, and its last calls"
    " are running, until serve or db rebuild closes it on record. Commands show such a session as closed and such calls"
    " as interrupted; they also show today's session of commands as closed while no command runs.",
)
_REST = (
    "The REST interface of mcpctl dashboard, below /api/v1, gives sessions, calls, searches, totals, tools, servers and"
    " approvals, each with the fields of --json. What it calls otherwise is here; every other name is the same. What is"
    " optional is left out where it would be null. /export has the same names, each field once and as it is.",
    "Lists are objects of the rows and total, the number of all that are asked for. limit, offset and fields choose"
    " rows and members; the filters are those of mcpctl calls ls and sessions ls without dashes, with _ for -, and"
    " session_id for --session. /api/v1/openapi.json describes all of it.",
)
_RENAMED = {
    "REST of a call": rest_names.CALL, "REST of a session": rest_names.SESSION,
    "REST of a tool in a session, and of totals": rest_names.CALLED_TOOL, "REST of a tool": rest_names.TOOL,
}  # fmt: skip


def page() -> str:
    """The text of the page."""
    return roff.joined([
        *roff.head(NAME, 5, "The records that mcpctl keeps."),
        *roff.section("DESCRIPTION", roff.paragraphs(_ABOUT)),
        *roff.section("JOURNAL LINES", _lines()),
        *roff.section("VIEWS", [*roff.paragraphs(_VIEWS), *_tables("view")]),
        *roff.section("INDEX", [*roff.paragraphs(_INDEX), *_tables("table")]),
        *roff.section("REST", [*roff.paragraphs(_REST), *_rest()]),
        *roff.section("EXAMPLES", roff.verbatim([
            "sqlite3 \"$(mcpctl db path)\" 'select key, count(*), sum(failed) from v_calls group by key'",
            "jq -c 'select(.type == \"calls.started\") | [.server, .tool]' sessions/*.jsonl",
            "jq -c 'select(.type == \"questions.asked\") | [.server, .message, .outcome]' sessions/*.jsonl",
        ])),
        *roff.section("SEE ALSO", roff.references(
            [("mcpctl", 1), ("mcpctl-calls", 1), ("mcpctl-db", 1), ("mcpctl-sessions", 1), ("mcpctl-config", 5)]
        )),
    ])  # fmt: skip


def members(line: type[msgspec.Struct]) -> list[str]:
    """The members of a journal line."""
    return ["type", *line.__struct_fields__]


def tables(kind: str = "table") -> dict[str, list[tuple[str, str]]]:
    """The index's tables or views, each with its columns and their types."""
    return schema.columns(kind)


def _lines() -> Iterator[str]:
    for line in LINES:
        yield from roff.subsection(str(line.__struct_config__.tag), _members(line))


def _members(line: type[msgspec.Struct]) -> Iterator[str]:
    yield from roff.prose((line.__doc__ or "").replace("`", ""))
    for name in members(line):
        yield from roff.entry(roff.bold(name), FIELDS[name])


def _rest() -> Iterator[str]:
    for title, table in _RENAMED.items():
        entries = (
            line
            for name in table
            if name.note or name.is_optional or name.rest != name.field
            for line in roff.entry(roff.bold(name.rest), _meaning(name))
        )
        yield from roff.subsection(title, entries)


def _meaning(name: rest_names.Name) -> str:
    field = f"{name.field}." if name.field not in ("", name.rest) else ""
    return " ".join(part for part in (field, "Optional." * name.is_optional, name.note) if part)


def _tables(kind: str) -> Iterator[str]:
    for table, columns in tables(kind).items():
        entries = (
            line
            for name, kind in columns
            for line in roff.entry(f"{roff.bold(name)} {roff.escaped(kind)}".rstrip(), FIELDS[name])
        )
        yield from roff.subsection(f"{kind.capitalize()} {table}", entries)
