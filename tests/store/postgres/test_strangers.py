"""Rows that somebody else has put into the database: they are shown, and command no terminal."""

from json import loads

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store.postgres import schema
from tests.conftest import Mcpctl
from tests.postgres import Cluster, shipped
from tests.recorded import CLAUDE, call_id, two_sessions
from tests.table import for_each

pytestmark = [pytest.mark.process, pytest.mark.slow]
execute = Cluster.execute
ODD = "\x1b[31mred\u202e\n\t[/bold]"


NO_JSON = '1, "status": "ok"', "[" * 100_000, ODD
JSON = "{}", "[]", "null", "7", '"text"', "[7]", '{"code": [7], "message": {}}', '[{"key": 7}]', *NO_JSON
LINES = (
    "sessions ls", f"sessions show {CLAUDE}", "sessions stats", "calls ls", f"calls show {call_id(1)}", "calls stats",
    "calls stats --by error", "calls stats --by tool", "calls ls --kind discovery", "calls ls --kind read",
    "calls tail -n 20", "policy decisions", "calls export", "calls ls --grep red", "calls ls --failed",
)  # fmt: skip
TABLES = ["sessions", "calls", "discoveries", "reads", "decisions"]
PLACES = ("id", "session_id", "call_id", "parent_id", *schema.BEGINS.values())  # by which rows are found


@pytest.fixture
def strange(paths: Paths, store: str) -> str:
    """A database in which every text is odd, and the names of machines are long."""
    two_sessions(paths)
    shipped(paths, store)
    texts = "SELECT table_name, column_name FROM information_schema.columns WHERE data_type = 'text'"
    for table, column in execute(store, f"{texts} AND table_name = ANY(%s)", TABLES):
        odd = "left({0}, 7) || %s" if column in schema.BEGINS.values() else "%s"
        if column not in PLACES or "left" in odd:
            execute(store, f"UPDATE {table} SET {column} = {odd.format(column)}", ODD)
    execute(store, "UPDATE machines SET name = %s", ODD * 10_000)
    return store


@for_each("line", LINES)
def test_rows_of_strangers_are_shown_and_command_no_terminal(mcpctl: Mcpctl, strange: str, line: str) -> None:
    for tty in (False, True):
        ran = mcpctl(*line.split(), "--store", strange, tty=tty)  # which looks for what no output may have
        assert ran.code == 0, ran.err
        assert len(ran.out) < 1 << 16


@for_each("json", JSON)
def test_any_json_is_shown_and_what_is_not_json_is_a_text(mcpctl: Mcpctl, strange: str, json: str) -> None:
    columns = {"calls": ("arguments", "annotations", "error", "response", "http"), "discoveries": ("query", "results")}
    for table, names in columns.items():
        for name in names:
            execute(strange, f"UPDATE {table} SET {name} = %s", json)
    for line in LINES:
        assert mcpctl(*line.split(), "--store", strange).code == 0, line
    for row in mcpctl("calls", "ls", "--json", "--store", strange).json:
        assert row["status"] == ODD
        assert row["arguments"] == (json if json in NO_JSON else loads(json))
