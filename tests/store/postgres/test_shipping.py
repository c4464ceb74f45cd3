"""Journals on their way into PostgreSQL: each line once, whatever is killed, in order or in the way."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.store import journal_lines
from mcpctl.store.postgres import connection, schema, shipping
from mcpctl.store.postgres.connection import PostgresUrl
from mcpctl.store.postgres.journals import ShippedJournals
from mcpctl.store.postgres.records import PostgresRecords
from mcpctl.store.postgres.shipping import Shipper
from tests import postgres
from tests.conftest import MCPCTL
from tests.postgres import Cluster
from tests.recorded import CLAUDE, CURSOR, call, call_id, created, opened, session, two_sessions
from tests.table import for_each

pytestmark = [pytest.mark.process, pytest.mark.slow]
execute = Cluster.execute
TIMES = "0001-01-01T00:00:00.000Z", "2026-02-30T00:00:00.000Z", "2026-01-01T00:00:00Z", ""


def ship(paths: Paths, store: str, wait: Callable[[float], object] = time.sleep) -> Shipper:
    shipper = Shipper(paths, PostgresUrl(store), "here", wait)
    shipper.run(follow=False)
    return shipper


def lines(paths: Paths) -> list[bytes]:
    """All whole lines of the journals, in their order."""
    return [line for path in sorted(paths.sessions.glob("*.jsonl")) for line in path.read_bytes().split(b"\n")[:-1]]


def lines_there(store: str) -> list[bytes]:
    rows = execute(store, 'SELECT line FROM journal_lines ORDER BY machine, journal COLLATE "C", position')
    return [str(line).encode() for (line,) in rows]


def digest(every: list[bytes]) -> tuple[int, str]:
    return len(every), hashlib.sha256(b"\n".join(every)).hexdigest()


def test_each_line_is_there_once_at_the_byte_where_it_begins(paths: Paths, store: str) -> None:
    two_sessions(paths)
    assert ship(paths, store).count == len(lines(paths))
    assert ship(paths, store).count == 0
    assert digest(lines_there(store)) == digest(lines(paths))
    for name, position, line in execute(store, "SELECT journal, position, line FROM journal_lines"):
        text = (paths.sessions / str(name)).read_bytes()
        assert text[int(str(position)) :].startswith(str(line).encode() + b"\n")
    journals = execute(store, "SELECT session_id, shipped, is_closed FROM journals ORDER BY session_id")
    sizes = sorted((path.stem.partition("_")[2], path.stat().st_size, True) for path in paths.sessions.iterdir())
    assert journals == sizes


def test_of_a_file_that_ends_in_half_a_line_the_whole_ones_are_shipped(paths: Paths, store: str) -> None:
    journal = opened(paths, created())
    whole = journal.path.read_bytes()
    line = journal_lines.encode(call(1, 1)[0])
    with journal.path.open("ab") as file:
        file.write(line[:30])
    ship(paths, store)
    assert lines_there(store) == [whole[:-1]]
    with journal.path.open("ab") as file:
        file.write(line[30:])
    ship(paths, store)
    assert lines_there(store) == [whole[:-1], line[:-1]]
    journal.close()


def test_what_no_database_takes_as_it_is_is_there_nevertheless(
    paths: Paths, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = opened(paths, created())
    with journal.path.open("ab") as file:
        file.write(b'{"text": "\\u0000 \\\\ \\t"}\tnext\r\n\n\xff\0\n')
    ship(paths, store)
    assert lines_there(store)[1:] == [
        b'{"text": "\\u0000 \\\\ \\t"}\tnext\r',
        b"",
        "\N{REPLACEMENT CHARACTER}".encode() * 2,
    ]
    assert "is not text" in capsys.readouterr().err
    assert ship(paths, store).count == 0
    journal.close()


def test_a_journal_that_shrank_or_was_replaced_is_named_and_the_others_go_on(
    paths: Paths, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    two_sessions(paths)
    ship(paths, store)
    before = lines(paths)
    shrunk, replaced = sorted(paths.sessions.iterdir())
    shrunk.write_bytes(shrunk.read_bytes()[:100])
    replaced.write_bytes(replaced.read_bytes().replace(CURSOR.encode(), CLAUDE.encode()) + b"{}\n")
    other = session(paths, "3e551015-0000-4000-8000-000000000000", 20, call(9, 21))
    with pytest.raises(Unusable) as told:
        ship(paths, store)
    assert told.value.code == "not_shipped"
    err = capsys.readouterr().err
    assert f"{shrunk.name} is not shipped any further: it has shrunk" in err
    assert f"{replaced.name} is not shipped any further: it was replaced" in err
    assert digest(lines_there(store)) == digest(before + other.path.read_bytes().split(b"\n")[:-1])


def test_a_long_journal_comes_in_groups_and_a_line_longer_than_one_is_whole(
    paths: Paths, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.store.postgres.journals._GROUP", 700)
    monkeypatch.setattr("mcpctl.store.postgres.projecting._GROUP", 700)
    two_sessions(paths)
    ship(paths, store)
    assert digest(lines_there(store)) == digest(lines(paths))
    assert execute(store, "SELECT count(*) FROM calls WHERE status <> 'running'") == [(6,)]
    assert execute(store, "SELECT tool_call_count, total_tokens FROM sessions") == [(3, 51), (3, 51)]


def test_a_line_that_does_not_end_is_told_and_the_other_journals_go_on(
    paths: Paths, store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mcpctl.base.bounds.ENDLESS", 1 << 20)
    monkeypatch.setattr("mcpctl.store.postgres.journals._GROUP", 1 << 18)
    journal = opened(paths, created())
    before = lines(paths)
    with journal.path.open("ab") as file:
        file.write(b"x" * (2 << 20))
    other = session(paths, CURSOR, 1, call(9, 2))
    with pytest.raises(Unusable):
        ship(paths, store)
    assert f"the line at byte {len(before[0]) + 1} does not end" in capsys.readouterr().err
    assert digest(lines_there(store)) == digest(before + other.path.read_bytes().split(b"\n")[:-1])
    journal.close()


def test_a_line_whose_time_is_in_no_month_keeps_no_other_from_the_tables(
    paths: Paths, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = [line for number in range(len(TIMES)) for line in call(f"odd-{number}", 3)]
    for line, moment in zip(odd[::2], TIMES, strict=True):
        line.timestamp = moment
    session(paths, CURSOR, 1, [*odd, *call(9, 4, CURSOR)])
    ship(paths, store)
    assert execute(store, "SELECT id FROM calls") == [(call_id(9),)]
    assert capsys.readouterr().err.count("cannot be read; lists over PostgreSQL do not have it") == len(TIMES)


def test_who_ends_while_it_looks_for_killed_sessions_has_shipped_what_was_there(
    paths: Paths, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: Paths) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mcpctl.store.retention.close_the_dead", killed)
    two_sessions(paths)
    with pytest.raises(KeyboardInterrupt):
        ship(paths, store)
    assert digest(lines_there(store)) == digest(lines(paths))


def test_a_busy_session_is_not_chased(paths: Paths, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = opened(paths, created())
    put = ShippedJournals._put
    groups: list[int] = []

    def put_while_more_comes(*given: Any) -> int:
        journal.append(journal_lines.encode(call(len(groups), 1)[0]))
        groups.append(put(*given))
        journal.append(journal_lines.encode(call(f"after-{len(groups)}", 1)[0]))
        return groups[-1]

    monkeypatch.setattr(ShippedJournals, "_put", put_while_more_comes)
    ship(paths, store)
    assert groups == [2, 2]  # what was there, and then the ends of killed sessions
    monkeypatch.undo()
    ship(paths, store)
    journal.close()
    assert digest(lines_there(store)) == digest(lines(paths))


def test_tables_follow_the_lines_with_a_place_of_their_own(paths: Paths, store: str) -> None:
    two_sessions(paths)
    url = PostgresUrl(store)
    shipper = Shipper(paths, url, "here")
    with connection.connect(url) as db:  # as if it was killed after the lines were there
        shipper._begin(db)
        assert sum(shipper._journals.ship(db)) == len(lines(paths))
    assert execute(store, "SELECT count(*) FROM calls") == [(0,)]
    assert execute(store, "SELECT sum(position) FROM projected") == [(0,)]
    for path in paths.sessions.iterdir():
        path.unlink()  # the lines that are there are enough
    ship(paths, store)
    assert execute(store, "SELECT count(*) FROM calls") == [(6,)]
    assert execute(
        store, "SELECT count(*) FROM journals JOIN projected ON name = journal WHERE shipped = position"
    ) == [(2,)]


def test_a_database_that_is_gone_is_tried_again_later_and_later_and_told_twice(
    paths: Paths, cluster: Cluster, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    two_sessions(paths)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 5:
            cluster.start()

    cluster.stop("immediate")
    assert ship(paths, store, wait).count == len(lines(paths))
    assert waits == [1, 2, 4, 8, 16]
    gone, back = capsys.readouterr().err.splitlines()
    assert "cannot be reached since" in gone
    assert "is reached again since" in back


def test_without_follow_it_gives_up_after_a_minute(paths: Paths, tmp_path: Path) -> None:
    waits: list[float] = []
    with pytest.raises(Unusable) as told:
        ship(paths, f"postgresql://postgres@/none?host={tmp_path}", waits.append)
    assert told.value.code == "store_gone"
    assert waits == [1, 2, 4, 8, 16, 32]


def test_a_login_that_is_refused_ends_it_at_once_and_no_password_is_told(cluster: Cluster, paths: Paths) -> None:
    with pytest.raises(Unusable) as told:
        ship(paths, cluster.url("none").replace("postgres@", "postgres:s3cret@"))
    assert told.value.code == "store_refused"
    assert "s3cret" not in told.value.message + told.value.hint


@for_each("told, is_tried_again", [
    ('FATAL:  password authentication failed for user "shop1"', False),
    ('FATAL:  pg_hba.conf rejects connection for host "10.0.0.7", user "ann", no encryption', False),
    ('FATAL:  no pg_hba.conf entry for host "10.0.0.7"', False),
    ("SSL error: certificate verify failed", False),
    ('server certificate for "localhost" does not match host name "127.0.0.1"', False),
    ("server does not support SSL, but SSL was required", False),
    ("FATAL:  the database system is starting up", True),
    ("server closed the connection unexpectedly", True),
    ('could not translate host name "db" to address', True),
])  # fmt: skip
def test_what_does_not_mend_itself_is_not_tried_again(told: str, is_tried_again: bool) -> None:
    import psycopg

    url = PostgresUrl("postgresql://db/mcpctl")
    with pytest.raises(connection.StoreGone if is_tried_again else Unusable), connection.failures(url):
        raise psycopg.OperationalError(told)


def test_a_database_of_another_encoding_is_refused_with_the_command_that_makes_one(
    paths: Paths, cluster: Cluster
) -> None:
    execute(cluster.url(), "CREATE DATABASE odd ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(Unusable, match="SQL_ASCII") as told:
        ship(paths, cluster.url("odd"))
    assert "createdb --encoding UTF8" in told.value.hint


def test_tables_of_a_newer_mcpctl_are_left_alone(paths: Paths, store: str) -> None:
    two_sessions(paths)
    execute(store, "INSERT INTO steps VALUES (10000)")
    for use in (lambda: ship(paths, store), lambda: postgres.shipped(paths, store).__enter__()):
        with pytest.raises(Unusable) as told:
            use()
        assert told.value.code == "store_newer"
    assert lines_there(store) == []


def test_tables_of_an_older_mcpctl_are_made_anew_from_the_lines(paths: Paths, store: str) -> None:
    two_sessions(paths)
    ship(paths, store)
    execute(store, "DELETE FROM steps WHERE number > 1")
    execute(store, "ALTER TABLE calls DROP COLUMN token_id")
    for path in paths.sessions.iterdir():
        path.unlink()
    ship(paths, store)
    assert execute(store, "SELECT count(*), count(token_id) FROM calls") == [(6, 0)]


def test_many_who_begin_at_once_make_the_tables_once(cluster: Cluster, paths: Paths) -> None:
    url = PostgresUrl(cluster.database())
    grow = f"""
from mcpctl.store.postgres import connection, schema
url = connection.PostgresUrl({cluster.url(str(url.parts["dbname"]))!r})
schema.grow(connection.connect(url), url)
"""
    every = [subprocess.Popen([sys.executable, "-c", grow]) for _ in range(4)]
    assert [process.wait() for process in every] == [0] * 4


def old_session(paths: Paths) -> None:
    begun = journal_lines.SessionCreated(timestamp="2020-03-31T23:59:00.000Z", id=CLAUDE)
    end = "2020-04-01T00:01:00.000Z"
    last = journal_lines.encode(journal_lines.SessionClosed(timestamp=end, id=CLAUDE, end_time=end))
    opened(paths, begun).close(last)


def test_an_old_month_is_dropped_with_the_lines_of_its_closed_sessions(paths: Paths, store: str) -> None:
    old_session(paths)
    new = session(paths, CURSOR, 0, call(1, 1))
    ship(paths, store)
    assert shipping.drop(PostgresUrl(store), 30) == ["2020-03"]
    assert execute(store, "SELECT id FROM sessions") == [(CURSOR,)]
    assert lines_there(store) == new.path.read_bytes().split(b"\n")[:-1]
    assert ship(paths, store).count == 0
    assert execute(store, "SELECT to_regclass('calls_2020_03') IS NULL") == [(True,)]


# ---- roles


def test_each_role_can_do_what_it_is_for_and_no_more(paths: Paths, roles: Callable[[str], str]) -> None:
    import psycopg

    two_sessions(paths)
    with pytest.raises(Unusable) as told:
        ship(paths, roles("shop1"))  # there are no tables yet
    assert (told.value.code, "as a member of mcpctl_owner" in str(told.value.hint)) == ("store_older", True)
    url = PostgresUrl(roles("admin"))
    with connection.connect(url) as db:
        schema.grow(db, url)
    assert execute(roles("admin"), "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'") == [
        ("mcpctl_owner",)
    ]
    assert ship(paths, roles("shop1")).count == len(lines(paths))
    session(paths, "3e551015-0000-4000-8000-000000000000", 20, call(9, 21))
    assert ship(paths, roles("shop1")).count == 4
    with PostgresRecords(PostgresUrl(roles("ann"))) as records:
        assert records.calls().count() == 7
    forbidden = {
        "shop1": ("DELETE FROM journal_lines", "UPDATE journal_lines SET line = ''", "UPDATE calls SET tool = ''",
                  "DROP TABLE calls", "TRUNCATE calls", "DELETE FROM calls", "UPDATE machines SET id = NULL"),
        "ann": ("INSERT INTO machines VALUES (gen_random_uuid())", "UPDATE journals SET shipped = 0",
                "DELETE FROM journal_lines", "SELECT make_partitions('2030-01')"),
    }  # fmt: skip
    for login, statements in forbidden.items():
        for statement in statements:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                execute(roles(login), statement)
    old_session(paths)
    ship(paths, roles("shop1"))
    with pytest.raises(Unusable) as told:
        shipping.drop(PostgresUrl(roles("shop1")), 30)
    assert told.value.code == "store_permission"
    assert shipping.drop(PostgresUrl(roles("admin")), 30) == ["2020-03"]


# ---- kills


def write(paths: Paths, numbers: Iterable[int]) -> None:
    """Sessions of these numbers, each with 200 calls."""
    for number in numbers:
        id_ = f"{number:08x}-0000-4000-8000-000000000000"
        rest = [line for count in range(200) for line in call(f"{number:04}-{count:04}", 1 + count / 100, id_)]
        session(paths, id_, 0, rest)


def test_kills_of_the_shipper_and_of_the_database_lose_nothing_and_double_nothing(paths: Paths) -> None:
    kills = int(os.environ.get("KILL_ROUNDS", "6"))
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    print(f"seed {seed}")
    with postgres.cluster(is_safe=True) as own:
        store = own.database()
        command = [*MCPCTL, "records", "ship", "--to", store, "--follow"]
        for number in range(kills):
            write(paths, range(10 * number, 10 * number + 10))
            process = subprocess.Popen(command, stderr=subprocess.PIPE)
            time.sleep(chance.uniform(0.1, 0.8))
            if number % 10 == 5:
                own.stop("immediate")
                own.start()
            process.send_signal(signal.SIGKILL)
            process.communicate()
        ship(paths, store)
        assert digest(lines_there(store)) == digest(lines(paths))
        counts = "SELECT (SELECT count(*) FROM calls WHERE status = 'ok'), (SELECT sum(tool_call_count) FROM sessions)"
        assert execute(store, counts) == [(2000 * kills, 2000 * kills)]
