"""One session from its beginning: its calls with the decisions about them, its searches and reads, in their order."""

from collections.abc import Iterator, Mapping, Sequence

from mcpctl.base.models import Found, Row
from mcpctl.store import arguments, query, schema
from mcpctl.store.query import Conditions, Database

_TABLES = {"call": "calls", "search": "discoveries", "read": "reads", "decision": "decisions"}


def of_session(db: Database, session: str, calls: Mapping[str, str]) -> Found:
    """Rows of `{event, decisions}` and all that a search, a read or a decision has; of a call, these columns."""
    sql = db.dialect
    # A decision about a call or a read stands with it; the others are of attempts that became neither.
    events = " UNION ALL ".join(
        f"SELECT '{kind}' AS kind, {sql.number}, position FROM {table} WHERE session_id = ?"
        + (" AND call_id IS NULL" if kind == "decision" else "")
        for kind, table in _TABLES.items()
    )
    sessions = (session,) * len(_TABLES)

    def rows(limit: int | None, offset: int) -> Iterator[Row]:
        window = sql.every if limit is None else limit, offset
        chosen = db.execute(f"{events} ORDER BY 3 LIMIT ? OFFSET ?", (*sessions, *window)).fetchall()
        selections = {**schema.selections(sql), "calls": calls}
        found = {
            kind: _with_numbers(db, table, selections[table], [number for of, number, _ in chosen if of == kind])
            for kind, table in _TABLES.items()
        }
        shown = [(kind, found[kind][number]) for kind, number, _ in chosen]
        made = _decisions(db, session, [row["id"] for kind, row in shown if kind != "decision"])
        for kind, row in shown:
            yield {"event": kind, **row, "decisions": made.get(row["id"], [])}

    def count() -> int:
        return int(db.execute(f"SELECT count(*) FROM ({events}) AS events", sessions).fetchone()[0])

    return Found(count, rows)


def _with_numbers(db: Database, table: str, columns: Mapping[str, str], numbers: Sequence[object]) -> dict[object, Row]:
    conditions = Conditions(db.dialect).when(*db.dialect.among(db.dialect.number, numbers))
    found = query.select(db, table, {**columns, "number": db.dialect.number}, conditions, "position").rows(None, 0)
    return {row["number"]: _told(row) for row in found}


def _told(row: Row) -> Row:
    told = {name: value for name, value in row.items() if name != "number"}
    return told | {"arguments_line": arguments.line(row["arguments_line"])} if "arguments_line" in row else told


def _decisions(db: Database, session: str, ids: Sequence[str]) -> dict[str, list[Row]]:
    conditions = Conditions(db.dialect).equal(db.dialect.by_order("session_id"), session)
    conditions.when(*db.dialect.among("call_id", ids))
    made: dict[str, list[Row]] = {}
    columns = schema.selections(db.dialect)["decisions"]
    for row in query.select(db, "decisions", columns, conditions, "position").rows(None, 0):
        made.setdefault(row["call_id"], []).append(row)
    return made
