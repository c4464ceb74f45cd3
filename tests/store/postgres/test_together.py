"""Shippers, readers and an owner that use one database at the same time."""

import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.store import journal_lines
from mcpctl.store import shipped as on_disk
from mcpctl.store.postgres import connection, schema, shipping
from mcpctl.store.postgres.connection import PostgresUrl
from mcpctl.store.postgres.journals import ShippedJournals
from mcpctl.store.postgres.records import PostgresRecords
from mcpctl.store.postgres.shipping import Shipper
from tests.postgres import Cluster, shipped
from tests.recorded import CLAUDE, CURSOR, call, created, opened, session, two_sessions

pytestmark = [pytest.mark.process, pytest.mark.slow]
execute = Cluster.execute


def impatient(store: str) -> str:
    """The address, whose statements fail where they have to wait."""
    return f"{store}&options=-c%20lock_timeout%3D1s"


def not_gone(_: float) -> None:
    pytest.fail("the database is not gone")


def of_month(paths: Paths, month: str, session: str = CLAUDE) -> None:
    """A closed session that began at the end of a month."""
    begun = journal_lines.SessionCreated(timestamp=f"{month}-28T12:00:00.000Z", id=session)
    end = f"{month}-28T13:00:00.000Z"
    opened(paths, begun).close(
        journal_lines.encode(journal_lines.SessionClosed(timestamp=end, id=session, end_time=end))
    )


def test_a_month_begins_while_somebody_reads(paths: Paths, store: str) -> None:
    two_sessions(paths)
    with shipped(paths, store) as reading:
        assert reading.calls().count() == 6  # its transaction goes on
        of_month(paths, "2020-01", "3e551015-0000-4000-8000-000000000000")
        Shipper(paths, PostgresUrl(impatient(store)), "here", not_gone).run(follow=False)
        assert reading.sessions().count() == 2
    with PostgresRecords(PostgresUrl(store)) as records:
        assert records.sessions().count() == 3


def test_a_month_that_is_dropped_comes_back_for_what_is_shipped_later(paths: Paths, store: str) -> None:
    of_month(paths, "2020-01")
    url = PostgresUrl(store)
    shipper = Shipper(paths, url, "here")
    with connection.connect(url) as db:
        shipper._begin(db)
        shipper._ship(db, follow=True)
        assert shipping.drop(url, 30) == ["2020-01"]
        of_month(paths, "2020-01", CURSOR)
        shipper._ship(db, follow=True)
    assert execute(store, "SELECT id FROM sessions") == [(CURSOR,)]


def test_months_are_dropped_once_nobody_reads_and_nobody_waits_for_that(
    paths: Paths, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_PATIENCE_S", 1)
    of_month(paths, "2020-01")
    with shipped(paths, store) as reading:
        assert reading.sessions().count() == 1
        with pytest.raises(Unusable, match="somebody reads") as told:
            shipping.drop(PostgresUrl(store), 30)
        assert told.value.code == "store_busy"
    assert shipping.drop(PostgresUrl(store), 30) == ["2020-01"]


def test_the_lines_of_a_journal_of_the_same_name_on_another_machine_are_kept(paths: Paths, store: str) -> None:
    of_month(paths, "2020-01")
    shipped(paths, store)
    execute(store, "INSERT INTO machines VALUES ('00000000-0000-4000-8000-000000000001', 'other', now())")
    for table in ("journals", "journal_lines", "projected"):
        columns = "".join(
            f", {name}"
            for (name,) in execute(
                store, "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 1", table
            )
        )
        execute(store, f"INSERT INTO {table} SELECT '00000000-0000-4000-8000-000000000001'{columns} FROM {table}")
    shipping.drop(PostgresUrl(store), 30)
    for table in ("journal_lines", "projected"):
        assert execute(store, f"SELECT DISTINCT machine::text FROM {table}") == [
            ("00000000-0000-4000-8000-000000000001",)
        ]


def test_an_older_mcpctl_that_follows_leaves_tables_alone_that_were_made_anew_meanwhile(
    paths: Paths, store: str
) -> None:
    url = PostgresUrl(store)
    shipper = Shipper(paths, url, "here")
    with connection.connect(url) as db:
        shipper._begin(db)
        two_sessions(paths)
        execute(store, "INSERT INTO steps VALUES (10000)")
        with pytest.raises(Unusable) as told:
            shipper._ship(db, follow=True)
    assert told.value.code == "store_newer"
    assert execute(store, "SELECT count(*), sum(position) FROM projected") == [(2, 0)]


def test_what_is_noted_here_has_the_journals_that_are_here_however_many_the_database_has(
    paths: Paths, store: str
) -> None:
    two_sessions(paths)
    shipped(paths, store)
    gone, left = sorted(paths.sessions.iterdir())
    gone.unlink()
    shipped(paths, store)
    assert execute(store, "SELECT count(*) FROM journals") == [(2,)]
    assert on_disk.read(paths).positions == {left.name: left.stat().st_size}


def removed_while_shipped(paths: Paths, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put = ShippedJournals._put

    def put_without_files(*given: Any) -> int:
        for path in paths.sessions.iterdir():
            path.unlink()
        return put(*given)

    with monkeypatch.context() as patched:
        patched.setattr(ShippedJournals, "_put", put_without_files)
        shipped(paths, store)


def test_a_journal_that_is_removed_while_it_is_looked_at_is_no_failure_once_it_is_there_whole(
    paths: Paths, store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two_sessions(paths)
    shipped(paths, store)
    removed_while_shipped(paths, store, monkeypatch)
    assert capsys.readouterr().err == ""
    session(paths, CURSOR, 0, call(1, 1))
    with pytest.raises(Unusable) as told:
        removed_while_shipped(paths, store, monkeypatch)
    assert told.value.code == "not_shipped"
    assert "it was removed before it was shipped whole" in capsys.readouterr().err


def test_a_shipper_with_nothing_to_ship_asks_the_database_nothing(paths: Paths, store: str) -> None:
    journal = opened(paths, created())
    shipper = Shipper(paths, PostgresUrl(store), "here")
    with connection.connect(PostgresUrl(store)) as db:
        shipper._begin(db)
        shipper._ship(db, follow=True)
        db.close()
        shipper._ship(db, follow=True)
        journal.append(journal_lines.encode(call(1, 1)[0]))
        with pytest.raises(psycopg.OperationalError):
            shipper._ship(db, follow=True)
    journal.close()


def test_two_machines_with_copies_of_one_data_directory_are_told(
    paths: Paths, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = opened(paths, created())
    copied = Paths(config=paths.config, data=tmp_path / "copy")
    shipped(paths, store)
    shutil.copytree(paths.data, copied.data)
    assert capsys.readouterr().err == ""
    journal.append(journal_lines.encode(call(1, 1)[0]))
    shipped(paths, store)
    session(copied, CURSOR, 0, call(2, 1))
    with pytest.raises(Unusable):  # the journal that is longer on the other machine
        Shipper(copied, PostgresUrl(store), "there").run(follow=False)
    told = capsys.readouterr().err
    assert "there was here so far" in told
    assert "it has shrunk" in told
    assert execute(store, "SELECT count(*) FROM calls") == [(2,)]
    for name in (copied.shipped, copied.redaction_key):
        name.unlink()
    Shipper(copied, PostgresUrl(store), "there").run(follow=False)
    assert execute(store, "SELECT name FROM machines ORDER BY first_seen") == [("there",), ("there",)]
    journal.close()
