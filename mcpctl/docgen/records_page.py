"""mcpctl-records(5): the lines of journals and the tables of the index, generated from the code."""

from collections.abc import Iterator

from mcpctl.base import fields
from mcpctl.base.paths import INDEX_VERSION
from mcpctl.dashboard import rest_names
from mcpctl.docgen import roff
from mcpctl.store import schema

NAME = "mcpctl-records"
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


def members(line: type) -> dict[str, str]:
    """The members of a journal line, each with its meaning."""
    told = {"type": "The type of the line.", **fields.meanings(line)}
    return {name: told[name] for name in ("type", *fields.names(line), *fields.names(fields.Line))}


def tables(kind: str = "table") -> dict[str, dict[str, tuple[str, str]]]:
    """The index's tables or views, each with its columns: their types and meanings."""
    found = {}
    for table, columns in schema.columns(kind).items():
        told = fields.meanings(fields.TABLES.get(table.removeprefix("v_"), fields.Index))
        found[table] = {name: (type_, told[name]) for name, type_ in columns}
    return found


def _lines() -> Iterator[str]:
    for line in fields.LINES:
        entries = (each for name, meaning in members(line).items() for each in roff.entry(roff.bold(name), meaning))
        about = roff.prose((line.__doc__ or "").replace("`", ""))
        yield from roff.subsection(vars(line)["config"]["tag"], [*about, *entries])


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
    field = f"{name.field}." if name.field != name.rest else ""
    return " ".join(part for part in (field, "Optional." * name.is_optional, name.note) if part)


def _tables(kind: str) -> Iterator[str]:
    for table, columns in tables(kind).items():
        entries = (
            line
            for name, (type_, meaning) in columns.items()
            for line in roff.entry(f"{roff.bold(name)} {roff.escaped(type_)}".rstrip(), meaning)
        )
        yield from roff.subsection(f"{kind.capitalize()} {table}", entries)
