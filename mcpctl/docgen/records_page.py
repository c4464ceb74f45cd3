"""mcpctl-records(5): the journals, line by line, and the tables of the index, as the code names them."""

import typing
from collections.abc import Iterator

import msgspec

from mcpctl.docgen import roff
from mcpctl.models import CALL_STATUSES
from mcpctl.paths import INDEX_VERSION
from mcpctl.store import journal_lines, schema

NAME = "mcpctl-records"
LINES: tuple[type[msgspec.Struct], ...] = typing.get_args(journal_lines.AnyLine)

FIELDS = {
    "v": "The version of the format, 1.",
    "type": "What the line says.",
    "timestamp": "When it was written.",
    "id": "Its id, a UUID.",
    "session_id": "The session it belongs to.",
    "via": "client, or cli for what commands such as tools call did; they share one session a day.",
    "client_name": "What the client calls itself.",
    "client_version": "The client's version.",
    "protocol_version": "The revision of the protocol that the client speaks.",
    "capabilities": "JSON: what the client declared that it can do.",
    "project": "The project in force, or null.",
    "toolset": "The toolset in force, or null.",
    "query": "JSON: the texts that were searched for.",
    "context": "What the client said of its task, or null.",
    "provider": "What ranked the tools.",
    "fallback": "Why another than the configured one ranked them, or null.",
    "results": "JSON: the tools that were found, best first, as objects of key and relevance.",
    "started_at": "When it began.",
    "duration_ms": "How long it took, a whole number of milliseconds; null until it has ended.",
    "tokens": "The tokens of the answer, estimated.",
    "request_id": "JSON: the id of the client's request, cut like a name.",
    "parent_id": "The call that this one goes on with, after its tool had asked for input, or null. Together they are"
    " one call, in rounds: it began with the first, and its outcome is that of the last.",
    "server": "The server that was called.",
    "tool": "The tool, by the server's own name for it.",
    "arguments": "JSON: what was sent, secrets redacted; where that is more than max_response_kb, a string of its"
    " beginning.",
    "annotations": "JSON: the hints that were declared or overridden then, as {hint: {value, source}}.",
    "input_tokens": "The tokens of the arguments, estimated.",
    "output_tokens": "The tokens of the response, estimated.",
    "total_tokens": "Input and output tokens together.",
    "encoding": "How tokens were counted.",
    "status": f"Of a call: {', '.join(CALL_STATUSES[:-1])} or {CALL_STATUSES[-1]}. Of a session: active or closed.",
    "response": "JSON: the server's result, cut to max_response_kb, secrets redacted; null where there is none.",
    "error": "JSON: the error of the server or of mcpctl, or null. Of a tool_error it is null in the journal; in the"
    " index and under --json it has the beginning of the tool's first text, as its message.",
    "response_bytes": "The true size of the response.",
    "response_truncated": "Whether the recorded response was cut; 0 or 1 in SQL.",
    "end_time": "When the session ended; null while it goes on.",
    "start_time": "When the session began.",
    "last_activity": "When something last happened in it.",
    "tool_call_count": "How many calls it made. One that went on in rounds counts once.",
    "discovery_count": "How many searches it made.",
    "discovery_tokens": "The tokens of the answers to its searches.",
    "journal": "The name of its journal.",
    "position": "Where its line begins in the journal, in bytes.",
    "name": "The journal's file name.",
    "offset": "How far it has been read, in bytes.",
    "calls": "How many calls of the tool are on record, whatever became of them. One that went on in rounds counts"
    " once.",
    "last_used": "When the newest of them, or its last round, began.",
}
"""What each member of a line and each column says; a name means the same wherever it stands."""

_ABOUT = (
    "mcpctl keeps one journal a session, in sessions/ of its data directory: {start_ns}_{session_id}.jsonl, JSON lines"
    " in UTF-8, append only. Journals are the truth; the index is derived from them alone.",
    "A call's line is written before the call is sent, and its outcome before the answer leaves. A last line that was"
    " never finished is skipped; it costs nothing before it. A reader skips types and members that it does not know.",
    "Times are ISO 8601 in UTC with milliseconds, such as 2026-07-28T12:00:00.000Z. Names are the same in journals,"
    " in SQL and under --json. A value that was redacted reads [redacted:HASH]; equal values have equal hashes. A name"
    " that is longer than 512 bytes is cut and ends with [cut: N characters].",
    "Each round of a call is a line, and a row of calls ls, of its own; counts of calls are of those without a"
    " parent_id.",
)
_INDEX = (
    f"index-v{INDEX_VERSION}.db is an SQLite database in WAL mode. mcpctl db path brings it up to date and prints where"
    " it is. Reading it is safe while mcpctl runs; deleting it loses nothing. Another layout has another number in its"
    " name. What is marked JSON above is JSON text here, NULL where it is null.",
    "The index takes the word of the journals: a session whose process was killed is active there, and its last calls"
    " running, until it is closed on record. Commands show such a session as closed, and such calls as interrupted;"
    " also today's session of commands while none of them runs.",
)


def page() -> str:
    """The page."""
    return roff.joined([
        *roff.head(NAME, 5, "What mcpctl keeps on record."),
        *roff.section("DESCRIPTION", roff.paragraphs(_ABOUT)),
        *roff.section("JOURNAL LINES", _lines()),
        *roff.section("INDEX", [*roff.paragraphs(_INDEX), *_tables()]),
        *roff.section("EXAMPLES", roff.verbatim([
            "sqlite3 \"$(mcpctl db path)\" 'select tool, count(*) from calls group by tool'",
            "jq -c 'select(.type == \"calls.started\") | [.server, .tool]' sessions/*.jsonl",
        ])),
        *roff.section("SEE ALSO", roff.references(
            [("mcpctl", 1), ("mcpctl-calls", 1), ("mcpctl-db", 1), ("mcpctl-sessions", 1), ("mcpctl-config", 5)]
        )),
    ])  # fmt: skip


def members(line: type[msgspec.Struct]) -> list[str]:
    """The members of a journal line."""
    return ["type", *line.__struct_fields__]


def tables() -> dict[str, list[tuple[str, str]]]:
    """The index's tables, each with its columns and their types."""
    return schema.columns()


def _lines() -> Iterator[str]:
    for line in LINES:
        yield from roff.subsection(str(line.__struct_config__.tag), _members(line))


def _members(line: type[msgspec.Struct]) -> Iterator[str]:
    yield from roff.prose((line.__doc__ or "").replace("`", ""))
    for name in members(line):
        yield from roff.entry(roff.bold(name), FIELDS[name])


def _tables() -> Iterator[str]:
    for table, columns in tables().items():
        entries = (
            line
            for name, kind in columns
            for line in roff.entry(f"{roff.bold(name)} {roff.escaped(kind)}", FIELDS[name])
        )
        yield from roff.subsection(f"Table {table}", entries)
