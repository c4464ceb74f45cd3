"""`examples/datasette/`, and the views that its queries ask."""

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from mcpctl.base.fields import CALL_FIELDS, DECISION_FIELDS, DISCOVERY_FIELDS, READ_FIELDS, SESSION_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.store import clock, index, journal_lines
from tests.conftest import Mcpctl
from tests.recorded import CURSOR, call_id, created, opened, searched, session, started, two_sessions
from tests.test_readme import ROOT

FOLDER = ROOT / "examples" / "datasette"
QUERIES: dict[str, dict[str, str]] = json.loads((FOLDER / "metadata.json").read_text(encoding="utf-8"))["databases"][
    "mcpctl"
]["queries"]
GIVEN = {"since": "2100-01-01", "until": "2100-01-02", "text": "died"}


@pytest.fixture
def db(mcpctl: Mcpctl, paths: Paths) -> Iterator[sqlite3.Connection]:
    two_sessions(paths)
    idle = "3e551015-0000-4000-8000-000000000000"
    session(paths, idle, 20, [searched(3, 21, idle)])
    killed = "4e551015-0000-4000-8000-000000000000"
    begun = started(7, 0, killed)
    begun.timestamp = clock.iso(time.time() - 86_400)
    opened(paths, created(killed, 30), [begun]).close()
    path = mcpctl("db", "path").out.strip()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        yield db


def rows(db: sqlite3.Connection, query: str) -> list[dict[str, Any]]:
    found = db.execute(QUERIES[query]["sql"], GIVEN)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_runs_and_names_its_parameters(db: sqlite3.Connection, query: str) -> None:
    rows(db, query)
    assert set(re.findall(r":([a-z]+)\b", QUERIES[query]["sql"])) <= set(GIVEN)
    assert QUERIES[query]["title"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("failed_yesterday", [{"tool": "get_forecast", "status": "interrupted"}]),
        ("destructive", [{"key": "weather:convert_temperature"}, {"key": "notes:delete_note"}]),
        ("with_text", [{"client_name": "cursor", "status": "failed"}]),
        ("searches_without_calls", [{"discovery_count": 1}]),
        ("refused", []),
    ],
)
def test_queries_find_what_they_say(db: sqlite3.Connection, query: str, found: list[dict[str, Any]]) -> None:
    got = rows(db, query)
    assert len(got) == len(found)
    for expected in found:
        assert any(expected.items() <= row.items() for row in got)


def test_totals_are_those_of_the_command(mcpctl: Mcpctl, db: sqlite3.Connection) -> None:
    listed = mcpctl("calls", "stats", "--by", "tool", "--json").json
    expected = {(f"{row['server']}:{row['tool']}", row["calls"], row["failed"]) for row in listed}
    assert {(row["key"], row["calls"], row["failed"]) for row in rows(db, "tools")} == expected


@pytest.mark.parametrize(
    ("view", "fields", "lister"),
    [
        ("v_calls", CALL_FIELDS, ["calls", "ls"]),
        ("v_sessions", SESSION_FIELDS, ["sessions", "ls"]),
        ("v_discoveries", DISCOVERY_FIELDS, ["calls", "ls", "--kind", "discovery"]),
        ("v_decisions", DECISION_FIELDS, []),
        ("v_reads", READ_FIELDS, []),
    ],
)
def test_a_view_has_what_json_has(
    mcpctl: Mcpctl, db: sqlite3.Connection, view: str, fields: tuple[str, ...], lister: list[str]
) -> None:
    found = db.execute(f"SELECT {', '.join(fields)} FROM {view} ORDER BY id").fetchall()
    if lister:
        listed = sorted(mcpctl(*lister, "--json").json, key=lambda row: str(row["id"]))
        plain = [n for n, name in enumerate(fields) if name in ("id", "status", "end_time", "duration_ms", "tokens")]
        assert [[row[n] for n in plain] for row in found] == [[row[fields[n]] for n in plain] for row in listed]
    with pytest.raises(sqlite3.OperationalError):
        db.execute(f"DELETE FROM {view}")


def test_a_view_cannot_be_written_even_in_a_writable_file(paths: Paths) -> None:
    two_sessions(paths)
    with (
        closing(sqlite3.connect(index.on_disk(paths))) as db,
        pytest.raises(sqlite3.OperationalError, match="it is a view"),
    ):
        db.execute("UPDATE v_calls SET status = 'ok'")


def test_a_session_that_lives_is_not_gone(mcpctl: Mcpctl, paths: Paths) -> None:
    journal = opened(paths, created(CURSOR), [started(1, 1, CURSOR)])
    ask = "SELECT id, status FROM v_calls"
    with closing(sqlite3.connect(mcpctl("db", "path").out.strip())) as db:
        assert db.execute(ask).fetchall() == [(call_id(1), "running")]
        journal.append(journal_lines.encode(started(2, 2, CURSOR)))
        journal.close()
        mcpctl("db", "path")
        assert set(db.execute(ask)) == {(call_id(1), "interrupted"), (call_id(2), "interrupted")}
        assert db.execute("SELECT status, end_time FROM v_sessions").fetchall() == [
            ("closed", "2100-01-01T12:02:00.000Z")
        ]


def test_its_page_names_the_files_that_are_there() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert "datasette mcpctl.db --metadata metadata.json" in page
    assert "Host" in page
