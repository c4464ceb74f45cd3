"""Connections to PostgreSQL: their addresses and failures in words. The package psycopg is imported here alone."""

import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpctl.base import extras
from mcpctl.base.errors import Unusable, WrongUsage

if TYPE_CHECKING:
    import psycopg

_SCHEMES = ("postgresql://", "postgres://")
_HALVED = re.compile(r"\w+://[^?]*[@/][^?]*@")  # a password that has @ or / as they are
_PORTS = re.compile(r"([0-9]{1,5}(,|$))*")
_CONNECTS_S = 10
_NEVER = re.compile(
    r"authentication failed|no password|no pg_hba\.conf entry|pg_hba\.conf rejects|certificate|does not support SSL"
    r'|(?:role|database) ".*" does not exist'
)
_ZONES = "/zoneinfo/"
# A peer that has gone without a word is noticed within a minute, and not after hours.
_KEEPS_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}


class StoreGone(Exception):
    """Raised where the database cannot be reached at this moment, or has ended the connection."""


class PostgresUrl:
    """The address of a database. Its text has no password."""

    def __init__(self, url: str) -> None:
        """Raises `WrongUsage` for what is no such address, and says nothing of what is in it, which may be a secret.
        Raises `Unusable` without the package."""
        try:
            from psycopg import Error, conninfo
        except ImportError as error:
            hint = f"install it: {extras.install('postgres')}"
            raise Unusable(f"PostgreSQL needs the package psycopg: {error}", hint, "postgres_missing") from error
        if not url.startswith(_SCHEMES):
            raise WrongUsage("the store is not a PostgreSQL address", "give it as postgresql://USER@HOST/DATABASE")
        try:
            self.parts = dict(conninfo.conninfo_to_dict(url))
            if _HALVED.match(url) or not _PORTS.fullmatch(str(self.parts.get("port") or "")):
                raise Error  # the rest of a password would be a host or a database, which are told
        except Error:
            hint = "write @ : / % in a user or password as %40 %3A %2F %25, or leave the password to ~/.pgpass"
            raise WrongUsage("the store's address cannot be read", hint) from None

    def __str__(self) -> str:
        known = {name: str(self.parts[name]) for name in ("host", "port", "dbname") if self.parts.get(name)}
        return f"PostgreSQL at {known.get('host') or 'this machine'}" + "".join(
            f"{before}{known[name]}" for name, before in (("port", ":"), ("dbname", ", database ")) if name in known
        )


def connect(url: PostgresUrl) -> "psycopg.Connection[Any]":
    """A connection in autocommit mode, whose placeholders are $1, $2; raises `Unusable` or `StoreGone`."""
    import psycopg

    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # all that it says there is raised, too
    settings: dict[str, Any] = {"connect_timeout": _CONNECTS_S, "application_name": "mcpctl", **_KEEPS_ALIVE}
    settings |= url.parts | {"client_encoding": "utf8"}
    with failures(url):
        connection = psycopg.connect(**settings, autocommit=True, cursor_factory=psycopg.RawCursor)
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            hint = "make another one: createdb --encoding UTF8 --template template0 NAME"
            raise Unusable(f"{url} has the encoding {encoding}, and records are UTF-8", hint, "store_encoding")
        return connection


def be_here(connection: "psycopg.Connection[Any]") -> None:
    """Let its days and hours be those of the place where this runs."""
    import psycopg

    named = os.environ.get("TZ") or str(Path("/etc/localtime").resolve()).partition(_ZONES)[2]
    west = -time.localtime().tm_gmtoff  # POSIX counts west of Greenwich
    offset = f"<here>{'-' if west < 0 else '+'}{abs(west) // 3600:02}:{abs(west) // 60 % 60:02}"
    for zone in filter(None, (named, offset)):
        with suppress(psycopg.DataError):  # it does not know a zone of that name
            connection.execute("SELECT set_config('timezone', $1, false)", (zone,))
            return


@contextmanager
def failures(url: PostgresUrl) -> Iterator[None]:
    """Raise the failures of a database in words: `StoreGone` where it may come back by itself, else `Unusable`."""
    import psycopg

    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction) as error:
        told = _told(error)
        if isinstance(error, psycopg.errors.ProgramLimitExceeded):
            raise _failed(url, error) from error
        if _NEVER.search(told):
            hint = "check the address, its sslmode, the roles and pg_hba.conf: mcpctl help team-guide"
            raise Unusable(f"{url} refuses the login: {told}", hint, "store_refused") from error
        raise StoreGone(told) from error
    except psycopg.errors.CheckViolation as error:  # the partition was dropped at this moment; it is made again
        raise StoreGone(_told(error)) from error
    except psycopg.errors.InsufficientPrivilege as error:
        hint = "connect as a member of the role that may: mcpctl help team-guide says what each may"
        raise Unusable(f"{url}: {_told(error)}", hint, "store_permission") from error
    except psycopg.Error as error:
        raise _failed(url, error) from error


def _failed(url: PostgresUrl, error: "psycopg.Error") -> Unusable:
    hint = "see the log of the database; mcpctl help team-guide says what it needs"
    return Unusable(f"{url}: {_told(error)}", hint, "store_failed")


@contextmanager
def in_words(url: PostgresUrl) -> Iterator[None]:
    """The same for those who do not try again: raises `Unusable` alone."""
    try:
        with failures(url):
            yield
    except StoreGone as error:
        hint = "try again later: what was shipped is kept there"
        raise Unusable(f"{url} cannot be reached: {error}", hint, "store_gone") from error


def _told(error: "psycopg.Error") -> str:
    """The first line of a database's message: those that follow may have what was written."""
    message = error.diag.message_primary or str(error)
    return next((line.strip() for line in message.splitlines() if line.strip()), type(error).__name__)
