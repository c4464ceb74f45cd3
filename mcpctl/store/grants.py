"""The yeses in `policy.db` that hold for more than one call."""

import hashlib
import time
from collections.abc import Collection
from typing import NamedTuple

from mcpctl.store import sqlite
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.state import told

_LONGEST_SESSION_S = 30 * 86_400.0


class Grant(NamedTuple):
    """A yes that holds for more than one call of a tool, as long as its definition stays as it is."""

    key: str
    pin: str
    """What the definition was: `mcpctl.definitions.pin_of`."""
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


def held(file: PolicyFile) -> Collection[Grant]:
    """All that hold."""
    with told():
        return frozenset(Grant(*row) for row in file.db.execute("SELECT key, pin, project, token, session FROM grants"))


def give(file: PolicyFile, grant: Grant) -> None:
    """Have one hold from now on; inside a transaction of the caller's, where there is one."""
    with told():
        file.db.execute("INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?)", (*grant, time.time()))


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
