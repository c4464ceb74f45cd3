"""The yeses in `policy.db` that hold for more than one call."""

import hashlib
import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import sqlite
from mcpctl.store.state import told

_LONGEST_SESSION_S = 30 * 86_400.0


class Grant(NamedTuple):
    """A yes that holds for more than one call of a tool, as long as its definition stays as it is."""

    key: str
    pin: str
    """What the definition was: `mcpctl.base.definitions.pin_of`."""
    project: str
    """Empty where there was none."""
    token: str
    """The id of the token; empty where there was none."""
    session: str
    """The session that it ends with; empty where it holds always."""


def binding(grant: Grant, arguments_digest: str) -> str:
    """What a yes to one call is bound to: all that a grant is, but in whichever session, and the arguments."""
    digest = hashlib.sha256()
    for part in (grant.key, grant.pin, grant.project, grant.token, arguments_digest):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


class Given(NamedTuple):
    """A grant, since when it holds, and until when where it has an end."""

    grant: Grant
    since: float
    until: float | None

    @property
    def id(self) -> str:
        """What people name it by."""
        return hashlib.sha256("\0".join(self.grant).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def given(file: PolicyFile) -> Sequence[Given]:
    """All that hold, the newest first."""
    with told():
        rows = file.db.execute(
            "SELECT key, pin, project, token, session, created, expires FROM grants"
            " WHERE expires IS NULL OR expires > ? ORDER BY created DESC, key, session",
            (time.time(),),
        )
        return [Given(Grant(*row[:5]), row[5], row[6]) for row in rows]


def held(file: PolicyFile) -> Collection[Grant]:
    """All that hold."""
    return frozenset(each.grant for each in given(file))


def give(file: PolicyFile, grant: Grant, until: float | None = None) -> None:
    """Have one hold from now on, to an end where it has one; inside a transaction of the caller's, where there is
    one."""
    with told():
        file.db.execute("INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)", (*grant, time.time(), until))


def take_back(file: PolicyFile, grant: Grant) -> None:
    """Have one hold no longer; inside a transaction of the caller's, where there is one."""
    with told():
        file.db.execute(
            "DELETE FROM grants WHERE key = ? AND pin = ? AND project = ? AND token = ? AND session = ?", grant
        )


def end_session(file: PolicyFile, session: str) -> None:
    """Those of a session end with it; those of sessions that were killed, after some days."""
    with told(), sqlite.transaction(file.db):
        file.db.execute("DELETE FROM grants WHERE session = ?", (session,))
        file.db.execute("DELETE FROM grants WHERE session != '' AND created < ?", (time.time() - _LONGEST_SESSION_S,))
