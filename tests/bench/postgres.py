"""What shipping records takes: `python -m tests.bench.postgres [--calls N] [--runs N]`

Journals of so many calls are shipped into a PostgreSQL of its own; beside it the same lines by one plain COPY, run in
turns. Then how many calls a second become rows. Compare the ratios; times are this machine's.
"""

import argparse
import itertools
import tempfile
import time
from pathlib import Path

from mcpctl.base.paths import Paths
from mcpctl.store.postgres import connection, schema
from mcpctl.store.postgres.connection import PostgresUrl
from mcpctl.store.postgres.journals import ShippedJournals
from mcpctl.store.postgres.projecting import Tables
from tests import postgres
from tests.bench.records import A_SESSION, make_journals

MACHINE = "00000000-0000-4000-8000-000000000001"
_LINES = "SELECT machine, journal, position, line FROM journal_lines"


def measure(paths: Paths, url: str) -> tuple[float, float, float]:
    """Lines a second as they are shipped, and by a plain COPY, and calls a second that become rows."""
    to = PostgresUrl(url)
    with connection.connect(to) as db:
        schema.grow(db, to)
        db.execute("CREATE TABLE plain (LIKE journal_lines INCLUDING ALL); CHECKPOINT")
        journals = ShippedJournals(paths.sessions, MACHINE)
        journals.begin()
        start = time.perf_counter()
        lines = sum(journals.ship(db))
        shipped_s = time.perf_counter() - start
        with db.cursor().copy(f"COPY ({_LINES}) TO STDOUT") as rows:
            text = b"".join(map(bytes, rows))
        start = time.perf_counter()
        with db.cursor().copy("COPY plain FROM STDIN") as copy:
            copy.write(text)
        plain_s = time.perf_counter() - start
        start = time.perf_counter()
        Tables(db, to, MACHINE).catch_up()
        rows_s = time.perf_counter() - start
        (calls,) = db.execute("SELECT count(*) FROM calls").fetchone() or (0,)
        return lines / shipped_s, lines / plain_s, calls / rows_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, postgres.cluster(is_safe=True) as cluster:
        paths = Paths(config=Path(folder) / "config.toml", data=Path(folder) / "data")
        make_journals(paths, options.calls, A_SESSION)
        for _ in itertools.repeat(None, options.runs):
            shipped, plain, calls = measure(paths, cluster.database())
            print(
                f"{shipped:,.0f} lines/s, plain COPY {plain:,.0f} ({shipped / plain:.2f}); {calls:,.0f} calls/s as rows"
            )


if __name__ == "__main__":
    main()
