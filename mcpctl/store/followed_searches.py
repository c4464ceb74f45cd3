"""Searches on record, and the calls of tools that they had found."""

import itertools
from typing import Any, NamedTuple

from mcpctl.base.models import Row
from mcpctl.store import journal_lines, query
from mcpctl.store.query import Database

Followed = list[tuple[Row, list[str]]]
"""Searches as `{query, context, session_id, client, started_at}`, each with the keys that were called after it."""
_SEARCH = (
    "SELECT session_id, started_at, position, NULL AS key, query, context, results,"
    " (SELECT client_name FROM sessions WHERE id = session_id) AS client FROM discoveries"
)
_CALL = (
    "SELECT session_id, started_at, position, server || ':' || tool AS key, NULL AS query, NULL AS context,"
    " NULL AS results, NULL AS client FROM calls"
)
_SESSIONS = 20  # so many at least share the searches that are looked at, and the calls


class Taught(NamedTuple):
    """The newest searches of one project and token, and the newest of their calls that were done."""

    project: str | None
    token: str
    searches: int
    calls: int


def of(db: Database, project: str | None = None, taught: Taught | None = None) -> Followed:
    """The searches with calls of their results; with a project, those made while it was in force."""
    if taught is None:
        conditions = query.Conditions(db.dialect).equal("project", project)
        calls = f"{_CALL} WHERE session_id IN (SELECT session_id FROM discoveries)"
        return _followed(db, f"{_SEARCH}{conditions.where}", calls, conditions.values)
    by = "coalesce(project, '') = ? AND coalesce(token_id, '') = ?"
    newest = "ORDER BY started_at DESC LIMIT ?"
    searches = f"SELECT * FROM ({_SEARCH} WHERE {by} AND position > {_before('discoveries')} {newest}) AS searches"
    sessions = f"SELECT session_id AS id, {_before('calls')} AS before FROM discoveries GROUP BY session_id"
    done = f"status = 'ok' AND via <> '{journal_lines.REPLAY}' AND {by} AND position > before {newest}"
    calls = f"SELECT * FROM ({_CALL} JOIN ({sessions}) AS searched ON session_id = searched.id WHERE {done}) AS done"
    whose = taught.project or "", taught.token
    values = [*whose, taught.searches // _SESSIONS, taught.searches]
    values += [taught.calls // _SESSIONS, *whose, taught.calls]
    return _followed(db, searches, calls, values)


def _before(table: str) -> str:
    """The position before so many that are the newest of a session with searches: none may leave the others no room."""
    later = f"SELECT position FROM {table} AS later WHERE later.session_id = discoveries.session_id"
    return f"coalesce(({later} ORDER BY position DESC LIMIT 1 OFFSET ?), -1)"


def _followed(db: Database, searches: str, calls: str, values: list[Any]) -> Followed:
    """A call belongs to the latest search before it that had its tool."""
    # At one moment a search was before a call.
    rows = db.execute(f"{searches} UNION ALL {calls} ORDER BY session_id, started_at, key NULLS FIRST", values)
    followed: list[tuple[tuple[str, str, int], Row, list[str]]] = []
    for session, events in itertools.groupby(rows, key=lambda row: row[0]):
        latest: dict[str, tuple[tuple[str, str, int], Row, list[str]]] = {}
        for _, started_at, position, key, text, context, results, client in events:
            if key is None:
                about = {"session_id": session, "client": client, "started_at": started_at}
                search = (started_at, session, position), {"query": text, "context": context, **about}, list[str]()
                latest.update(dict.fromkeys(_result_keys(results), search))
            elif key in latest:
                *_, called = latest[key]
                if not called:
                    followed.append(latest[key])
                called.append(key)
    return [(search, called) for _, search, called in sorted(followed, key=lambda each: each[0])]


def _result_keys(results: str | None) -> list[str]:
    import msgspec

    try:
        hits = msgspec.json.decode(str(results or "[]"), type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError):
        return []
    return [hit["key"] for hit in hits if isinstance(hit.get("key"), str)]
