"""mcpctl-records(5): the lines of journals and the tables of the index, generated from the code."""

from collections.abc import Iterator

from mcpctl.base import fields
from mcpctl.dashboard import rest_names
from mcpctl.docgen import roff
from mcpctl.docgen.texts import TEXTS
from mcpctl.store import schema

NAME = "mcpctl-records"
_RENAMED = {
    "REST of a call": rest_names.CALL, "REST of a session": rest_names.SESSION,
    "REST of a tool in a session, and of totals": rest_names.CALLED_TOOL, "REST of a tool": rest_names.TOOL,
}  # fmt: skip


def page() -> str:
    return roff.joined([
        *roff.head(NAME, 5, "The records that mcpctl keeps."),
        *roff.section("DESCRIPTION", roff.paragraphs(TEXTS["records"])),
        *roff.section("JOURNAL LINES", _lines()),
        *roff.section("VIEWS", [*roff.paragraphs(TEXTS["views"]), *_tables("view")]),
        *roff.section("INDEX", [*roff.paragraphs(TEXTS["index"]), *_tables("table")]),
        *roff.section("REST", [*roff.paragraphs(TEXTS["rest"]), *_rest()]),
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
    meanings = {"type": "The type of the line.", **fields.meanings(line)}
    return {name: meanings[name] for name in ("type", *fields.names(line), *fields.names(fields.Line))}


def tables(kind: str = "table") -> dict[str, dict[str, tuple[str, str]]]:
    described = {}
    for table, columns in schema.columns(kind).items():
        meanings = fields.meanings(fields.TABLES.get(table.removeprefix("v_"), fields.Index))
        described[table] = {name: (type_, meanings[name]) for name, type_ in columns}
    return described


def _lines() -> Iterator[str]:
    for line in fields.LINES:
        entries = roff.entries((roff.bold(name), meaning) for name, meaning in members(line).items())
        about = roff.prose((line.__doc__ or "").replace("`", ""))
        yield from roff.subsection(vars(line)["config"]["tag"], [*about, *entries])


def _rest() -> Iterator[str]:
    for title, table in _RENAMED.items():
        noted = [name for name in table if name.note or name.is_optional or name.rest != name.field]
        yield from roff.subsection(title, roff.entries((roff.bold(name.rest), _meaning(name)) for name in noted))


def _meaning(name: rest_names.Name) -> str:
    field = f"{name.field}." if name.field != name.rest else ""
    return " ".join(part for part in (field, "Optional." * name.is_optional, name.note) if part)


def _tables(kind: str) -> Iterator[str]:
    for table, columns in tables(kind).items():
        tags = {f"{roff.bold(name)} {roff.escaped(type_)}".rstrip(): text for name, (type_, text) in columns.items()}
        yield from roff.subsection(f"{kind.capitalize()} {table}", roff.entries(tags.items()))
