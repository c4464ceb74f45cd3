"""`mcpctl records ship`, and the commands that read with --store."""

import subprocess
import sys

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import shipped
from tests.conftest import MCPCTL, Mcpctl
from tests.postgres import Cluster
from tests.recorded import CLAUDE, CURSOR, call_id, two_sessions
from tests.table import for_each


def test_the_status_says_how_much_is_shipped_and_asks_no_database(mcpctl: Mcpctl, paths: Paths) -> None:
    two_sessions(paths)
    one, other = sorted(paths.sessions.iterdir())
    shipped.note(paths, "m", {one.name: one.stat().st_size, other.name: 10})
    told = mcpctl("records", "ship", "--status", "--json").json
    sizes = one.stat().st_size, other.stat().st_size
    assert (told["journals"], told["waiting_journals"], told["waiting_bytes"], told["shipped_bytes"]) == (
        2, 1, sizes[1] - 10, sizes[0] + 10,
    )  # fmt: skip
    assert "waiting_journals: 1" in mcpctl("records", "ship", "--status").out


@for_each(
    "args, message",
    [
        ((), "the database is not named"),
        (("--follow", "--once", "--to", "postgresql://"), "give one of"),
        (("--to", "mysql://s3cret@db.example.com"), "not a PostgreSQL address"),
        (("--to", "postgresql://a:s3%zzcret@db.example.com/x"), "cannot be read"),
    ],
)
def test_a_wrong_command_line_is_told_without_a_password(mcpctl: Mcpctl, args: tuple[str, ...], message: str) -> None:
    ran = mcpctl("records", "ship", *args)
    assert ran.code == 2
    assert message in ran.err
    assert "cret" not in ran.err


def test_without_the_package_the_command_that_installs_it_is_told(
    mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for args in (("records", "ship", "--to", "postgresql://"), ("calls", "ls", "--store", "postgresql://")):
        ran = mcpctl(*args)
        assert ran.code == 5
        assert "pip install 'mcpctl[postgres]'" in ran.err


@pytest.mark.process
@pytest.mark.slow
def test_no_other_command_imports_the_package(paths: Paths) -> None:
    two_sessions(paths)
    code = (
        "import sys; from mcpctl.main import main; main(sys.argv[1:])\n"
        "print('psycopg' in sys.modules or 'mcpctl.store.postgres' in sys.modules)"
    )
    for args in (("calls", "ls"), ("sessions", "ls"), ("records", "ship", "--status")):
        ran = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)
        assert ran.stdout.splitlines()[-1] == "False"
    served = subprocess.run(
        [sys.executable, "-X", "importtime", *MCPCTL[1:], "serve"],
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "mcpctl.proxy" in served.stderr
    assert "psycopg" not in served.stderr
    assert "mcpctl.store.postgres" not in served.stderr


@pytest.mark.process
@pytest.mark.slow
def test_every_list_of_the_command_line_is_the_same_over_the_store(mcpctl: Mcpctl, paths: Paths, store: str) -> None:
    two_sessions(paths)
    ran = mcpctl("records", "ship", "--to", store, "--machine", "shop", "--json")
    assert ran.json == {"lines": 18}
    assert mcpctl("records", "ship", "--to", store, "--machine", "shop").out == "lines: 0\n"
    assert mcpctl("records", "ship", "--status", "--json").json["waiting_bytes"] == 0
    for args in (
        ("calls", "ls"), ("calls", "ls", "--kind", "discovery"), ("calls", "ls", "--kind", "read"), ("sessions", "ls"),
        ("calls", "ls", "--failed", "--grep", "SERVER"), ("policy", "decisions"),
        ("sessions", "ls", "--server", "notes"),
    ):  # fmt: skip
        here, there = mcpctl(*args, "--json").json, mcpctl(*args, "--json", "--store", store).json
        assert there == [{**row, "machine": "shop"} for row in here], args
    for args in (("calls", "stats", "--by", "tool"), ("calls", "stats", "--by", "error"), ("sessions", "stats")):
        assert mcpctl(*args, "--json", "--store", store).json == mcpctl(*args, "--json").json, args
    here, there = mcpctl("calls", "export").jsonl, mcpctl("calls", "export", "--store", store).jsonl
    assert there == [{**row, "machine": "shop"} for row in here]
    assert mcpctl("calls", "show", "last", "--json", "--store", store).json["id"] == call_id(6)
    (*_, last) = mcpctl("calls", "tail", "--json", "--store", store).jsonl
    assert (last["type"], last["data"]["machine"]) == ("sessions.closed", "shop")
    shown = mcpctl("sessions", "show", CLAUDE[:4], "--json", "--store", store).json
    assert (shown["machine"], len(shown["calls"])) == ("shop", 3)
    table = mcpctl("sessions", "ls", "--store", store, tty=True).out
    assert "MACHINE" in table
    assert "shop" in table


@pytest.mark.process
@pytest.mark.slow
def test_the_variable_names_the_store_too_and_what_is_not_there_is_told(
    mcpctl: Mcpctl, paths: Paths, store: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_sessions(paths)
    monkeypatch.setenv("MCPCTL_STORE", store)
    assert mcpctl("calls", "ls", "--json").json == []
    assert mcpctl("records", "ship").code == 0
    assert [row["id"] for row in mcpctl("sessions", "ls", "--json").json] == [CURSOR, CLAUDE]
    empty = mcpctl("calls", "ls", "--store", cluster.database())
    assert (empty.code, "has no records of mcpctl" in empty.err) == (5, True)
    none = mcpctl("calls", "ls", "--store", cluster.url("none"))
    assert (none.code, "refuses the login" in none.err) == (5, True)
    assert mcpctl("records", "ship", "--keep-days", "30", "--json").json == {"months": []}
