"""SQLite's write-ahead log, for databases that several processes make at once."""

import sqlite3
import time

_TRIES = 500
_BETWEEN_S = 0.01


def switch_on(db: sqlite3.Connection) -> None:
    """Put the database into WAL mode. Two who switch at once do not wait for each other, whatever their timeout is:
    SQLite tells one of them that it is locked, so that one tries again. https://www.sqlite.org/wal.html
    """
    for attempt in range(_TRIES):
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or attempt == _TRIES - 1:
                raise
            time.sleep(_BETWEEN_S)
        else:
            return
