"""The calls that wait for a person's yes, and the yeses that last for more than one call, in `policy.db`."""

import hashlib
import os
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import NamedTuple

from mcpctl.base.errors import NotFound, Unusable, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import sqlite
from mcpctl.store.state import told

PENDING, ALLOWED, DENIED, USED = "pending", "allowed", "denied", "used"
ONCE, SESSION, ALWAYS = "once", "session", "always"
HOOK = "hook"  # the channel of a prompt of the client's own
CLAUDE_CODE = "claude-code"  # the client that has one, by the name under which it connects
OPEN_S = 600.0  # how long an approval can be answered, and how long a yes to one call waits for that call
EXPECTED_S = 120.0  # how long a call is expected that its client asks about by itself
_KEPT_S = 30 * 86_400.0
_MOST_PENDING = 1000
_ID_BYTES = 3
_SAID_NO = "state = ?, channel = ?, person = ?, answered = ?"
_FORGET_EXPIRED = "UPDATE approvals SET whole = NULL WHERE whole IS NOT NULL AND expires < ?"
_LONGEST_SESSION_S = 30 * 86_400.0


class Grant(NamedTuple):
    """A yes to every call of a tool, as long as its definition stays as it is."""

    key: str
    pin: str
    project: str
    token: str
    session: str  # empty where it does not end with a session


def binding_of(grant: Grant, arguments_digest: str) -> str:
    """The hash that a yes to one call is bound to: all of a grant, and the arguments."""
    digest = hashlib.sha256()
    for part in (*grant, arguments_digest):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


class Given(NamedTuple):
    grant: Grant
    since: float
    until: float | None

    @property
    def id(self) -> str:
        return hashlib.sha256("\0".join(self.grant).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def given(file: PolicyFile) -> Sequence[Given]:
    with told():
        rows = file.db.execute(
            "SELECT key, pin, project, token, session, created, expires FROM grants"
            " WHERE expires IS NULL OR expires > ? ORDER BY created DESC, key, session",
            (time.time(),),
        )
        return [Given(Grant(*row[:5]), row[5], row[6]) for row in rows]


def grants(file: PolicyFile) -> Collection[Grant]:
    return frozenset(grant for grant, _, _ in given(file))


def give(file: PolicyFile, grant: Grant, until: float | None = None) -> None:
    with told():
        file.db.execute("INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?, ?, ?)", (*grant, time.time(), until))


def take_back(file: PolicyFile, grant: Grant) -> None:
    with told():
        file.db.execute(
            "DELETE FROM grants WHERE key = ? AND pin = ? AND project = ? AND token = ? AND session = ?", grant
        )


def end_session(file: PolicyFile, session: str) -> None:
    """End the grants of a session, and after some days those of sessions that were killed."""
    with told(), sqlite.transaction(file.db):
        file.db.execute("DELETE FROM grants WHERE session = ?", (session,))
        file.db.execute("DELETE FROM grants WHERE session != '' AND created < ?", (time.time() - _LONGEST_SESSION_S,))


class CallApproval(NamedTuple):
    """A call that needs a yes; what is between `left_out` and `client` is set when it is kept."""

    binding: str  # a `binding_of`
    key: str
    pin: str
    project: str
    token: str
    session: str
    risk: str
    hints: str
    arguments: str  # as lists show them: without secrets, cut
    arguments_hash: str
    rule: str
    rule_place: str
    whole: str | None = None  # as the person who decides is shown them, kept as long as it is open
    hidden: int = 0
    left_out: int = 0  # bytes of them that are not in `whole`
    id: str = ""
    state: str = PENDING  # or `allowed`, `denied`, or `used`: the call that was allowed once has been made
    scope: str | None = None  # `once`, `session` or `always`
    created: float = 0
    expires: float = 0
    answered: float | None = None
    channel: str | None = None
    client: str = ""  # what asks, by the name that it gives itself
    title: str = ""
    effect: str = ""  # a `question.effect_of`
    found: str = ""  # what the checks find in all of the arguments
    person: str = ""  # who answered, where that was not in the client

    @property
    def waited_ms(self) -> int | None:
        return None if self.answered is None else round((self.answered - self.created) * 1000)

    @property
    def grant(self) -> Grant:
        return Grant(self.key, self.pin, self.project, self.token, self.session)

    def state_at(self, now: float) -> str:
        return (
            "expired"
            if self.state in (PENDING, ALLOWED) and self.scope in (None, ONCE) and now > self.expires
            else self.state
        )


_COLUMNS = ", ".join(CallApproval._fields)


def expected_binding(binding: str, client: str, process: int) -> str:
    """The binding of a yes that a client's own prompt has got: the call, that client's name, and its process."""
    return hashlib.sha256("\0".join((binding, client, str(process))).encode()).hexdigest()


def expect(file: PolicyFile, wanted: CallApproval, client: str, process: int) -> None:
    """Keep a yes to one call from this client's process, which asks about it by itself, for a short time."""
    now, binding = time.time(), expected_binding(wanted.binding, client, process)
    with told(), sqlite.transaction(file.db):
        file.db.execute("DELETE FROM approvals WHERE binding = ?", (binding,))
        _make_room(file, now)
        expected = _new(file, wanted, now)._replace(
            binding=binding, state=ALLOWED, scope=ONCE, channel=HOOK, answered=now, expires=now + EXPECTED_S
        )
        _insert(file, expected)


def open_for(file: PolicyFile, wanted: CallApproval, *, expected: Sequence[str] = ()) -> CallApproval:
    """The approval of a call: a waiting yes, used up here; else the open one; else a new one."""
    bindings = (wanted.binding, *expected)
    now = time.time()
    with told(), sqlite.transaction(file.db):
        file.db.execute("DELETE FROM approvals WHERE created < ?", (now - _KEPT_S,))
        file.db.execute(_FORGET_EXPIRED, (now,))
        for state in (ALLOWED, PENDING):
            row = file.db.execute(
                f"SELECT {_COLUMNS} FROM approvals WHERE binding IN ({', '.join('?' * len(bindings))})"
                " AND state = ? AND expires >= ?",
                (*bindings, state, now),
            ).fetchone()
            if row:
                approval = CallApproval(*row)._replace(binding=wanted.binding)
                if state == ALLOWED:
                    _set_state(file, approval.id, ALLOWED, USED)
                return approval
        _make_room(file, now)
        approval = _new(file, wanted, now)
        _insert(file, approval)
    return approval


def now_is(file: PolicyFile, approval: CallApproval) -> CallApproval:
    """The approval as it is now; this uses up a yes to one call."""
    with told(), sqlite.transaction(file.db):
        row = file.db.execute(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", (approval.id,)).fetchone()
        if row is None:
            return approval
        approval_now = CallApproval(*row)
        if approval_now.state == ALLOWED:
            _set_state(file, approval_now.id, ALLOWED, USED)
        return approval_now


def give_back(file: PolicyFile, id_: str) -> None:
    """Have a yes that was used up wait for its call again, which nobody wanted any more."""
    with told():
        _set_state(file, id_, USED, ALLOWED)


def forget_expired(file: PolicyFile) -> None:
    """Forget the whole arguments of approvals that nobody answered in time."""
    with told():
        file.db.execute(_FORGET_EXPIRED, (time.time(),))


def answer(
    file: PolicyFile,
    id_: str,
    *,
    scope: str | None,
    channel: str,
    grant: Grant | None = None,
    used: bool = False,
    until: float | None = None,
    person: str = "",
) -> bool:
    """Say yes for a `scope`, or no where it is None; returns whether it was still open. A no may follow a yes to a call
    that was not made yet. A longer scope gives `grant`, to `until`; `used`: the call goes on at once."""
    now = time.time()
    state = DENIED if scope is None else USED if used else ALLOWED
    with told(), sqlite.transaction(file.db):
        was_open = file.db.execute(
            "UPDATE approvals SET state = ?, scope = ?, channel = ?, person = ?, answered = ?, whole = NULL,"
            " expires = max(expires, ?), session = coalesce(?, session) WHERE id = ? AND expires >= ?"
            " AND (state = 'pending' OR (? AND state = 'allowed' AND scope = 'once'))",
            (
                state,
                scope,
                channel,
                person,
                now,
                now + OPEN_S,
                (grant and grant.session) or None,
                id_,
                now,
                scope is None,
            ),
        ).rowcount
        if was_open and grant:
            give(file, grant, until)
    return was_open > 0


def has_yes(file: PolicyFile, id_: str) -> bool:
    with told():
        rows = file.db.execute("SELECT 1 FROM approvals WHERE id = ? AND state IN (?, ?)", (id_, ALLOWED, USED))
        return rows.fetchone() is not None


def withdraw(file: PolicyFile, approval: CallApproval, *, channel: str, person: str) -> bool:
    """Take back a yes to more than one call; returns False where that was done before."""
    grant = approval.grant
    with told(), sqlite.transaction(file.db):
        for session in (grant.session, ""):
            take_back(file, grant._replace(session=session))
        taken_back = file.db.execute(
            f"UPDATE approvals SET {_SAID_NO} WHERE id = ? AND state != ?",
            (DENIED, channel, person, time.time(), approval.id, DENIED),
        ).rowcount
    return taken_back > 0


def end_grant(file: PolicyFile, grant: Grant, *, channel: str, person: str) -> None:
    """Take back one grant; its approval is a no from now on."""
    with told(), sqlite.transaction(file.db):
        take_back(file, grant)
        file.db.execute(
            f"UPDATE approvals SET {_SAID_NO} WHERE key = ? AND pin = ? AND project = ? AND token = ? AND scope = ?"
            " AND state = ? AND (? = '' OR session = ?)",
            (DENIED, channel, person, time.time(), grant.key, grant.pin, grant.project, grant.token,
             SESSION if grant.session else ALWAYS, ALLOWED, grant.session, grant.session),
        )  # fmt: skip


def glance(paths: Paths) -> Sequence[tuple[str, str]]:
    """The ids and keys of open approvals, the newest first, read from the file as it lies. Raises `sqlite3.Error`."""
    with closing(sqlite.connect_unchanged(paths.policy, 0)) as db:
        return db.execute(
            "SELECT id, key FROM approvals WHERE state = 'pending' AND expires >= ? ORDER BY created DESC",
            (time.time(),),
        ).fetchall()


def listed(file: PolicyFile, *, pending: bool = False, whole: bool = False, most: int = -1) -> Sequence[CallApproval]:
    """The newest first; only the open ones where `pending`; with all of their arguments where `whole`."""
    open_now = " WHERE state = 'pending' AND expires >= ?" if pending else ""
    columns = _COLUMNS if whole else _COLUMNS.replace("whole", "NULL AS whole")
    with told():
        rows = file.db.execute(
            f"SELECT {columns} FROM approvals{open_now} ORDER BY created DESC, id LIMIT ?",
            (time.time(), most) if pending else (most,),
        )
        return [CallApproval(*row) for row in rows]


def find(file: PolicyFile, ref: str) -> CallApproval:
    every = listed(file)
    if ref == "last":
        matches = every[:1]
    else:
        matches = [approval for approval in every if ref and approval.id.startswith(ref.lower())]
    if not matches:
        raise NotFound(f"no approval '{ref}'", "list them with: mcpctl approvals ls", "approval_not_found")
    if len(matches) > 1 and matches[0].id != ref:
        ids = ", ".join(approval.id for approval in matches[:3])
        raise WrongUsage(f"'{ref}' is the beginning of several approvals: {ids}", "give more", "approval_ambiguous")
    with told():
        row = file.db.execute(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", (matches[0].id,)).fetchone()
    return CallApproval(*row) if row else matches[0]


def _insert(file: PolicyFile, approval: CallApproval) -> None:
    file.db.execute(f"INSERT INTO approvals ({_COLUMNS}) VALUES ({', '.join('?' * len(approval))})", approval)


def _set_state(file: PolicyFile, id_: str, before: str, state: str) -> None:
    file.db.execute("UPDATE approvals SET state = ? WHERE id = ? AND state = ?", (state, id_, before))


def _make_room(file: PolicyFile, now: float) -> None:
    """Bound how many wait, since a model asks without end; none goes that a person was told of. Raises `Unusable`."""
    count = "SELECT count(*) FROM approvals WHERE state = 'pending' AND expires >= ?"
    if file.db.execute(count, (now,)).fetchone()[0] >= _MOST_PENDING:
        raise Unusable(
            f"{_MOST_PENDING:,} calls wait for consent already",
            "answer some: mcpctl approvals ls --pending",
            "many_wait",
        )
    file.db.execute(
        "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE state = 'pending' AND expires < ?"
        " ORDER BY created DESC LIMIT -1 OFFSET ?)",
        (now, _MOST_PENDING),
    )


def _new(file: PolicyFile, wanted: CallApproval, now: float) -> CallApproval:
    id_ = os.urandom(_ID_BYTES).hex()
    while file.db.execute("SELECT 1 FROM approvals WHERE id = ?", (id_,)).fetchone():
        id_ = os.urandom(_ID_BYTES).hex()
    return wanted._replace(id=id_, created=now, expires=now + OPEN_S)
