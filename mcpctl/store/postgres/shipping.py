"""The shipper: it puts journals into PostgreSQL until all is there, or for as long as it runs."""

import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcpctl.base import bounds
from mcpctl.base.errors import Unusable, warn
from mcpctl.base.paths import Paths
from mcpctl.base.texts import counted
from mcpctl.store import clock, retention, shipped
from mcpctl.store.postgres import connection, schema
from mcpctl.store.postgres.connection import PostgresUrl, StoreGone
from mcpctl.store.postgres.journals import ShippedJournals
from mcpctl.store.postgres.projecting import Tables

if TYPE_CHECKING:
    import psycopg

_EVERY_S = 1.0
_NOTES_EVERY_S = 5.0
_UNCHANGED_S = 60.0
_FIRST_S, _LAST_S = 1.0, 60.0  # before a database that is gone is tried again
_CLOSES_EVERY_S = 60.0  # so often the sessions of killed processes are closed on record
_MACHINE = """INSERT INTO machines VALUES ($1, $2, now())
    ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE machines.name IS DISTINCT FROM excluded.name"""

_NAMED = "SELECT name FROM machines WHERE id = $1 AND name <> $2"
_LONGEST = 100  # characters of the name of a machine


class Shipper:
    """The one shipper of a data directory."""

    def __init__(
        self, paths: Paths, url: PostgresUrl, name: str | None = None, wait: Callable[[float], object] = time.sleep
    ) -> None:
        self._paths = paths
        self._url = url
        self._name = name or socket.gethostname()
        self._wait = wait
        self._machine = shipped.machine(paths)
        self._journals = ShippedJournals(paths.sessions, self._machine)
        self._failures = 0  # in a row, of the database
        self._noted_at = self._closed_at = float("-inf")
        self._noted: dict[str, int] | None = None
        self.count = 0  # the lines that were put in

    def run(self, *, follow: bool) -> None:
        """Ship all that is there; with `follow` go on with what comes. A database that is gone is tried again, without
        `follow` for a minute. Raises `Unusable` where not all that was there is shipped."""
        while True:
            try:
                with connection.failures(self._url), connection.connect(self._url) as db:
                    self._begin(db)
                    while True:
                        began = time.monotonic()
                        self._ship(db, follow=follow)
                        if not follow:
                            break
                        self._wait(max(0.0, _EVERY_S - (time.monotonic() - began)))
                break
            except StoreGone as error:
                self._is_gone(error, follow)
        if self._journals.problems:
            names = ", ".join(sorted(self._journals.problems)[:3])
            hint = "see what was said of each; the others are shipped whole"
            raise Unusable(
                f"{counted(len(self._journals.problems), 'journal')} not shipped: {names}", hint, "not_shipped"
            )

    def _begin(self, db: "psycopg.Connection[Any]") -> None:
        schema.grow(db, self._url)
        for (before,) in db.execute(_NAMED, (self._machine, self._name)).fetchall():
            warn(
                f"{self._name} was {before[:_LONGEST]} so far in {self._url}; where both ship, one data directory is a"
                " copy of the other: remove shipped.json and redaction.key from it"
            )
        db.execute(_MACHINE, (self._machine, self._name))
        self._journals.begin()
        self._tables = Tables(db, self._url, self._machine)

    def _ship(self, db: "psycopg.Connection[Any]", *, follow: bool) -> None:
        self._copy(db)
        if time.monotonic() - self._closed_at > _CLOSES_EVERY_S:
            # To know killed processes, all journals may have to be read: first is what is there already.
            retention.close_the_dead(self._paths)
            self._closed_at = time.monotonic()
            self._copy(db)
        self._note(every_s=_NOTES_EVERY_S if follow else 0)

    def _copy(self, db: "psycopg.Connection[Any]") -> None:
        for lines in self._journals.ship(db):
            self.count += lines
            self._is_back()
            self._note(every_s=_NOTES_EVERY_S)
        if self._journals.behind != set():
            self._tables.catch_up(self._journals.behind)
            self._journals.behind = set()
        self._is_back()

    def _note(self, every_s: float) -> None:
        """Keep on this machine how far it is, for those who remove journals."""
        if self._journals.positions == self._noted:
            every_s = max(every_s, _UNCHANGED_S)
        if time.monotonic() - self._noted_at >= every_s:
            shipped.note(self._paths, self._machine, self._journals.positions)
            self._noted, self._noted_at = dict(self._journals.positions), time.monotonic()

    def _is_gone(self, error: StoreGone, follow: bool) -> None:
        self._failures += 1
        wait_s = bounds.back_off(self._failures, _FIRST_S, _LAST_S)
        if self._failures == 1:
            warn(f"{self._url} cannot be reached since {clock.now()}: {error}; it is tried again until it can")
        if wait_s == _LAST_S and not follow:
            hint = "ship again later: nothing is lost, and nothing is there twice"
            raise Unusable(f"{self._url} cannot be reached: {error}", hint, "store_gone") from error
        self._wait(wait_s)

    def _is_back(self) -> None:
        if self._failures:
            warn(f"{self._url} is reached again since {clock.now()}")
        self._failures = 0


def drop(url: PostgresUrl, days: int) -> list[str]:
    """Drop what began in months that ended so many days ago: the rows of all machines, and the lines of their sessions
    that are closed. Returns these months; raises `Unusable`."""
    import psycopg

    with connection.in_words(url), connection.connect(url) as db:
        schema.check(db, url)
        try:
            return schema.drop_partitions(db, days)
        except psycopg.errors.LockNotAvailable as error:
            hint = "try again, or end those that read for long, such as records export --store --follow"
            raise Unusable(f"{url}: somebody reads what is to be dropped", hint, "store_busy") from error
