"""How what is asked of records is answered: in the order of the list, without sorting the rows."""

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import filters, index, query, statistics
from mcpctl.store.filters import FAILED, MOST_VALUES, CallFilter
from mcpctl.store.records import LocalRecords
from mcpctl.store.sqlite import SQLITE
from tests.recorded import CLAUDE, CURSOR, call, call_id, session, two_sessions

NEWEST_FIRST = [
    CallFilter(),
    CallFilter(servers=("notes",)),
    CallFilter(servers=("notes", "weather")),
    CallFilter(tools=("add_note", "notes:list_notes")),
    CallFilter(tools=("notes:*",)),
    CallFilter(tools=("*_note", "weather.get_*")),
    CallFilter(statuses=("ok",)),
    CallFilter(statuses=FAILED),
    CallFilter(statuses=FAILED, servers=("notes", "weather"), clients=("cursor",), since="2100", until="2101"),
    CallFilter(sessions=(CLAUDE, CURSOR)),
    CallFilter(projects=("acme", "zoo"), hints=("destructive", "undeclared"), min_duration_ms=5),
    CallFilter(grep="oslo", clients=("cursor", "claude-code")),
    CallFilter(grep="ö"),
    CallFilter(before=call_id(5)),
    CallFilter(before=call_id(5), servers=("notes",)),
    CallFilter(before=call_id(5), statuses=FAILED),
]


@pytest.mark.parametrize("wanted", NEWEST_FIRST, ids=str)
def test_rows_come_in_the_order_of_an_index(paths: Paths, wanted: CallFilter) -> None:
    two_sessions(paths)
    with LocalRecords(paths) as records:
        asked: list[str] = []
        records._db.set_trace_callback(asked.append)
        list(records.calls(wanted).rows(2, 0))
        records._db.set_trace_callback(None)
        plan = records._db.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    finding = [step for _, parent, _, step in plan if parent]  # only the rows found are sorted once more
    assert "INDEX calls_" in finding[0]
    assert not any("TEMP B-TREE" in step for step in finding)


def test_calls_of_a_session_are_sorted_without_their_responses(paths: Paths) -> None:
    two_sessions(paths)
    with LocalRecords(paths) as records:
        asked: list[str] = []
        records._db.set_trace_callback(asked.append)
        assert len(list(records.calls(CallFilter(sessions=(CLAUDE,))).rows(2, 0))) == 2
        records._db.set_trace_callback(None)
        plan = records._db.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    finding = [step for _, parent, _, step in plan if parent]
    assert "INDEX calls_by_session" in finding[0]
    assert "response" not in asked[0].partition("(SELECT rowid")[2]


def test_a_glob_of_all_tools_of_a_server_asks_only_for_the_server() -> None:
    assert query.on_calls(CallFilter(tools=("notes:*",)), SQLITE).where == " WHERE server = ?"


def test_as_many_values_as_an_option_takes_can_be_asked_for(paths: Paths) -> None:
    two_sessions(paths)
    names = tuple(f"{number}*.n" for number in range(MOST_VALUES))
    wanted = CallFilter(names, names, names, FAILED, names, names, filters.HINTS, grep='o\u00f6"')
    with LocalRecords(paths) as records:
        assert records.calls(wanted).count() == 0
        assert records.calls(CallFilter(tools=(*names, "add_note"))).count() == 1


def test_what_failed_is_found_by_the_index_of_what_was_not_ok(paths: Paths) -> None:
    two_sessions(paths)
    with index.opened(paths) as db:
        conditions = query.on_calls(CallFilter(statuses=FAILED, since="2100"), SQLITE)
        ask = f"EXPLAIN QUERY PLAN SELECT id FROM calls{conditions.where} ORDER BY started_at DESC"
        assert "calls_not_ok" in db.execute(ask, conditions.values).fetchone()[3]


@pytest.mark.parametrize("by", [(), ("server",), ("server", "tool"), ("client_name", "status"), ("day",), ("hour",)])
def test_totals_are_told_without_the_rows(paths: Paths, by: tuple[str, ...]) -> None:
    two_sessions(paths)
    with index.opened(paths) as db:
        query.add_functions(db)
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        statistics.totals(db, by, CallFilter(hints=("destructive",), clients=("cursor",), min_duration_ms=1))
        db.set_trace_callback(None)
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    assert plan[0] == "SCAN calls USING COVERING INDEX calls_by_time"


def test_a_list_goes_on_where_another_one_ended(paths: Paths) -> None:
    session(paths, rest=[line for number in range(1, 6) for line in call(number, 2)])  # all of one moment
    with LocalRecords(paths) as records:
        listed = [row["id"] for row in records.calls().rows(None, 0)]
        for place, last in enumerate(listed):
            assert [row["id"] for row in records.calls(CallFilter(before=last)).rows(None, 0)] == listed[place + 1 :]
