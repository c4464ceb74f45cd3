"""The pins in `policy.db`: how tools were defined when they were first seen, or when a person approved them."""

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from mcpctl.base import bounds, definitions
from mcpctl.base.feature_names import RESOURCES, kind_of_list, list_of
from mcpctl.base.models import Tool
from mcpctl.base.tool_keys import join
from mcpctl.policy import approvals
from mcpctl.policy.approvals import Grant, binding_of
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import sqlite
from mcpctl.store.state import ListKey, StateError, told

CHANGED, NEW = "changed", "new"


class Pin(NamedTuple):
    of: ListKey
    name: str  # empty for the server's instructions
    pin: str
    definition: str  # or the text of the instructions
    seen: float
    approved: float | None


class KnownPin(NamedTuple):
    pin: str
    approved: float | None = None


class ServerPins(Struct, frozen=True):
    known: dict[str, dict[str, KnownPin]] = {}  # by tool, and by the client's capabilities
    sets: set[str] = set()  # the sets of capabilities for which it has listed its tools
    waiting: set[str] = set()  # new tools on it that are held: a list for other clients does not make them known
    words: set[str] = set()  # hashes of its instructions
    approved_words: set[str] = set()
    is_settled: bool = False  # approved as a whole, or known for more than a day: a tool that it shows later is new

    def drift(self, tool: Tool, capabilities: str) -> str:
        """`changed` or `new`; empty for a tool as it was pinned, and in a baseline: the first list of a server for a
        set of capabilities, unless it is settled. A resource is data, and never new."""
        known = self.known.get(tool.name)
        if known:
            return "" if self.as_pinned(tool, capabilities) else CHANGED
        if capabilities == _COMES_AND_GOES:
            return ""
        is_late = self.is_settled and not kind_of_list(capabilities)
        return NEW if capabilities in self.sets or tool.name in self.waiting or is_late else ""

    def as_pinned(self, tool: Tool, capabilities: str) -> KnownPin | None:
        """The pin that a tool matches; where a person approved it for such clients, one approved then or since."""
        known = self.known[tool.name]
        own = known.get(capabilities)
        since = own.approved if own else None
        counted = (pin for pin in known.values() if pin is own or since is None or (pin.approved or 0) >= since)
        matching = [pin for pin in counted if definitions.is_pin_of(pin.pin, tool)]
        return max(matching, key=lambda pin: pin.approved or 0, default=None)

    def is_approved(self, tool: Tool) -> bool:
        known = self.known.get(tool.name, {})
        return any(pin.approved and definitions.is_pin_of(pin.pin, tool) for pin in known.values())


Pins = Mapping[tuple[str, str], ServerPins]
_UNKNOWN = ServerPins()
_COMES_AND_GOES = list_of(RESOURCES)
_MOST_RESOURCES = 2 * bounds.FEATURES  # with more, unapproved pins of resources that are no longer listed go
_MOST_VERSIONS = 1 << 31
_SETTLED_S = 86_400.0
_ALL = "(? IS NULL OR server = ?) AND (? IS NULL OR fingerprint = ?)"


def read(file: PolicyFile, server: str | None = None, fingerprint: str | None = None) -> Pins:
    which = (server, server, fingerprint, fingerprint)
    pins: dict[tuple[str, str], ServerPins] = defaultdict(ServerPins)
    with told():
        for *key, capabilities, name, pin, approved in file.db.execute(
            f"SELECT server, fingerprint, capabilities, name, pin, approved FROM pins WHERE {_ALL}", which
        ):
            pins[key[0], key[1]].known.setdefault(name, {})[capabilities] = KnownPin(pin, approved)
        for *key, capabilities, hashed, approved in file.db.execute(
            f"SELECT server, fingerprint, capabilities, hash, approved FROM instructions WHERE {_ALL}", which
        ):
            of_server = pins[key[0], key[1]]
            of_server.sets.add(capabilities)
            of_server.words.add(hashed)
            if approved is not None:
                of_server.approved_words.add(hashed)
        for *key, name in file.db.execute(f"SELECT server, fingerprint, name FROM waiting WHERE {_ALL}", which):
            pins[key[0], key[1]].waiting.add(name)
        rows = file.db.execute(
            "SELECT server FROM instructions GROUP BY server HAVING max(approved) IS NOT NULL OR min(seen) < ?",
            (time.time() - _SETTLED_S,),
        )
        settled = {name for (name,) in rows}
    # Without a list since there is a policy, only what a person has approved is known.
    listed = {key: of_server for key, of_server in pins.items() if of_server.sets or of_server.known}
    return {key: replace(of_server, is_settled=key[0] in settled) for key, of_server in listed.items()}


def see(file: PolicyFile, of: ListKey, tools: Sequence[Tool], instructions: str) -> ServerPins:
    """The pins of a server once it has listed these: tools that are seen for the first time are pinned as they are."""
    before = read(file, of.server, of.fingerprint).get(of[:2], _UNKNOWN)
    if not tools:
        return before  # a list that was empty for a moment is not one to compare with
    from mcpctl.policy import versions

    versions.remember(file, of, tools, instructions)
    if _is_as_pinned(file, of, tools, before):
        return before
    with told(), sqlite.transaction(file.db):
        _inherit(file, of)
        before = read(file, of.server, of.fingerprint).get(of[:2], _UNKNOWN)
        now = time.time()
        first = _said_first(file, of) if definitions.hashed(instructions) not in before.words else None
        drifts = {tool.name: before.drift(tool, of.capabilities) for tool in tools}
        for tool in tools:
            if not drifts[tool.name]:
                _keep(file, of, tool, before, now)
        file.db.execute(
            "INSERT OR IGNORE INTO instructions VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (*of, *(first or (definitions.hashed(instructions), instructions)), now),
        )
        file.db.execute("DELETE FROM waiting WHERE server = ? AND fingerprint = ? AND capabilities = ?", of)
        file.db.executemany(
            "INSERT INTO waiting VALUES (?, ?, ?, ?)", [(*of, name) for name, drift in drifts.items() if drift == NEW]
        )
        if of.capabilities == _COMES_AND_GOES:
            _forget_gone(file, of, [tool.name for tool in tools])
        _changed(file)
    return read(file, of.server, of.fingerprint)[of[:2]]


def _inherit(file: PolicyFile, of: ListKey) -> None:
    """Compare a server that is started in a new way with what it was: it gets the pins of its last way, not the
    approvals. Older pins also depended on the names of variables: there the way is the same, and all is moved. An
    approval that came before the first list stays."""
    if file.db.execute("SELECT 1 FROM instructions WHERE server = ? AND fingerprint = ?", of[:2]).fetchone():
        return
    last = file.db.execute(
        "SELECT fingerprint, max(pin) < ? FROM pins WHERE server = ? AND fingerprint != ? GROUP BY fingerprint"
        " ORDER BY max(coalesce(approved, seen)) DESC LIMIT 1",
        (definitions.VERSION, of.server, of.fingerprint),
    ).fetchone()
    if last is None:
        return
    if last[1]:
        for table in ("pins", "instructions", "waiting"):
            file.db.execute(
                f"UPDATE OR IGNORE {table} SET fingerprint = ? WHERE server = ? AND fingerprint = ?",
                (of.fingerprint, of.server, last[0]),
            )
        return
    for table, columns in (
        ("pins", "capabilities, name, pin, definition, seen, NULL"),
        ("instructions", "capabilities, hash, text, seen, NULL"),
        ("waiting", "capabilities, name"),
    ):
        file.db.execute(
            f"INSERT OR IGNORE INTO {table} SELECT server, ?, {columns} FROM {table}"
            " WHERE server = ? AND fingerprint = ?",
            (of.fingerprint, of.server, last[0]),
        )


def _keep(file: PolicyFile, of: ListKey, tool: Tool, before: ServerPins, now: float) -> None:
    """Pin a tool that is not held as it is listed, for clients with the same capabilities."""
    pin = definitions.pin_of(tool)
    matching = before.as_pinned(tool, of.capabilities) if tool.name in before.known else None
    if matching and matching.pin != pin:
        _move(file, of, tool, matching.pin)
    file.db.execute(
        "INSERT INTO pins VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET pin = excluded.pin,"
        " definition = excluded.definition, approved = excluded.approved WHERE pin != excluded.pin",
        (*of, tool.name, pin, tool.text, now, matching.approved if matching else None),
    )


def _move(file: PolicyFile, of: ListKey, tool: Tool, older: str) -> None:
    pin, key = definitions.pin_of(tool), join(of.server, tool.name)
    file.db.execute(
        "UPDATE pins SET pin = ?, definition = ? WHERE server = ? AND fingerprint = ? AND name = ? AND pin = ?",
        (pin, tool.text, *of[:2], tool.name, older),
    )
    file.db.execute("UPDATE OR REPLACE grants SET pin = ? WHERE key = ? AND pin = ?", (pin, key, older))
    asked = file.db.execute(
        "SELECT id, project, token, session, arguments_hash FROM approvals"
        " WHERE key = ? AND pin = ? AND channel IS NOT ?",
        (key, older, approvals.HOOK),
    ).fetchall()
    for id_, *who, arguments in asked:
        file.db.execute(
            "UPDATE approvals SET pin = ?, binding = ? WHERE id = ?",
            (pin, binding_of(Grant(key, pin, *who), arguments), id_),
        )


def _said_first(file: PolicyFile, of: ListKey) -> tuple[str, str] | None:
    """The hash and text of its instructions to the first client, which are what it may say to the next."""
    row: tuple[str, str] | None = file.db.execute(
        "SELECT hash, text FROM instructions WHERE server = ? AND fingerprint = ? ORDER BY seen LIMIT 1", of[:2]
    ).fetchone()
    return row


def _forget_gone(file: PolicyFile, of: ListKey, names: Sequence[str]) -> None:
    which = "server = ? AND fingerprint = ? AND capabilities = ?"
    (count,) = file.db.execute(f"SELECT count(*) FROM pins WHERE {which}", of).fetchone()
    if count > _MOST_RESOURCES:
        gone = f"{which} AND approved IS NULL AND name NOT IN (SELECT value FROM json_each(?))"
        file.db.execute(f"DELETE FROM pins WHERE {gone}", (*of, json.dumps(names)))


def version(file: PolicyFile) -> int:
    try:  # in line: it is asked with each change of the file
        (number,) = file.db.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error as error:
        raise StateError(error) from error
    return int(number)


def _changed(file: PolicyFile) -> None:
    file.db.execute(f"PRAGMA user_version = {(version(file) + 1) % _MOST_VERSIONS}")


def _is_as_pinned(file: PolicyFile, of: ListKey, tools: Sequence[Tool], before: ServerPins) -> bool:
    """Nearly always there is nothing to pin, and then nothing is written."""
    with told():
        rows = file.db.execute("SELECT name FROM waiting WHERE server = ? AND fingerprint = ? AND capabilities = ?", of)
        waiting = {name for (name,) in rows}
    drifts = {tool.name: before.drift(tool, of.capabilities) for tool in tools}
    new = {name for name, drift in drifts.items() if drift == NEW}
    own = {name: pins.get(of.capabilities) for name, pins in before.known.items()}
    pinned = {name: pin.pin for name, pin in own.items() if pin}
    is_pinned = all(drifts[tool.name] or pinned.get(tool.name) == definitions.pin_of(tool) for tool in tools)
    return of.capabilities in before.sets and is_pinned and new == waiting


class ShownList(NamedTuple):
    of: ListKey
    tools: Sequence[Tool]
    instructions: str | None = None  # where the server is approved as a whole


def approve(file: PolicyFile, shown: Sequence[ShownList]) -> None:
    now = time.time()
    with told(), sqlite.transaction(file.db):
        _changed(file)
        for of, tools, instructions in shown:
            for tool in tools:
                _approve(file, of, tool, now)
            if instructions is not None:
                file.db.execute(
                    "INSERT OR REPLACE INTO instructions VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*of, definitions.hashed(instructions), instructions, now, now),
                )


def _approve(file: PolicyFile, of: ListKey, tool: Tool, now: float) -> None:
    pin = definitions.pin_of(tool)
    file.db.execute(
        "INSERT INTO pins VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET pin = excluded.pin,"
        " definition = excluded.definition, approved = excluded.approved",
        (*of, tool.name, pin, tool.text, now, now),
    )
    file.db.execute(
        "UPDATE pins SET approved = ? WHERE server = ? AND fingerprint = ? AND name = ? AND pin = ?",
        (now, *of[:2], tool.name, pin),
    )
    file.db.execute("DELETE FROM waiting WHERE server = ? AND fingerprint = ? AND name = ?", (*of[:2], tool.name))


def pinned(file: PolicyFile, server: str) -> list[Pin]:
    return _pinned(file, server, "pins", "name, pin, definition")


def pinned_instructions(file: PolicyFile, server: str) -> list[Pin]:
    return _pinned(file, server, "instructions", "'', hash, text")


def _pinned(file: PolicyFile, server: str, table: str, columns: str) -> list[Pin]:
    with told():
        rows = file.db.execute(
            f"SELECT server, fingerprint, capabilities, {columns}, seen, approved FROM {table}"
            " WHERE server = ? ORDER BY seen, fingerprint, capabilities, 4",
            (server,),
        )
        return [Pin(ListKey(*row[:3]), *row[3:]) for row in rows]
