"""The pins in `policy.db`: how tools were defined when they were first seen, or when a person approved them."""

import json
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mcpctl import bounds, definitions
from mcpctl.feature_names import RESOURCES, list_of
from mcpctl.models import Tool
from mcpctl.store import sqlite
from mcpctl.store.policy_file import PolicyFile
from mcpctl.store.state import ListKey, told

CHANGED, NEW = "changed", "new"


class Pin(NamedTuple):
    """One tool as it was pinned."""

    of: ListKey
    name: str
    pin: str
    """What `definitions.pin_of` gave for it."""
    definition: str
    seen: float
    approved: float | None


class PinnedServer(NamedTuple):
    """What a server said of itself when its tools were pinned, for clients that can do the same."""

    of: ListKey
    hash: str
    instructions: str
    seen: float
    approved: float | None


@dataclass(frozen=True)
class ServerPins:
    """What is pinned of one server that is started in one way."""

    known: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The pins of a tool by its name, whatever the client can do."""
    approved: Collection[tuple[str, str]] = frozenset()
    """Names and pins that a person has approved."""
    sets: Collection[str] = frozenset()
    """The sets of capabilities for which it has listed its tools."""
    waiting: Collection[str] = frozenset()
    """Names of tools that were new on it and are held: nothing that another client sees makes them known."""

    words: Collection[str] = frozenset()
    """The hashes of what it has said of itself."""
    approved_words: Collection[str] = frozenset()
    """Those of it that a person has approved."""

    def drift(self, tool: Tool, capabilities: str) -> str:
        """`changed` or `new`, or nothing for a tool that is as it was pinned, or that there was nothing to compare
        with: what a server lists for a set of capabilities for the first time is its baseline, but for tools that it
        has shown before. A resource is data, and never new."""
        if known := self.known.get(tool.name):
            return "" if definitions.pin_of(tool) in known else CHANGED
        if capabilities == _COMES_AND_GOES:
            return ""
        return NEW if capabilities in self.sets or tool.name in self.waiting else ""

    def is_approved(self, tool: Tool) -> bool:
        """Whether a person has approved it as it is."""
        return bool(self.approved) and (tool.name, definitions.pin_of(tool)) in self.approved


Pins = Mapping[tuple[str, str], ServerPins]
"""What is pinned, by server and fingerprint."""
_UNKNOWN = ServerPins()
_COMES_AND_GOES = list_of(RESOURCES)
_MOST_RESOURCES = 2 * bounds.FEATURES
"""Pins of one server's resources, beyond which those go that it lists no more, unless a person has approved them."""
_MOST_VERSIONS = 1 << 31
_ALL = "(? IS NULL OR server = ?) AND (? IS NULL OR fingerprint = ?)"


def read(file: PolicyFile, server: str | None = None, fingerprint: str | None = None) -> Pins:
    """What is pinned, of one server or of all."""
    which = (server, server, fingerprint, fingerprint)
    known: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    approved: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    sets: dict[tuple[str, str], set[str]] = defaultdict(set)
    waiting: dict[tuple[str, str], set[str]] = defaultdict(set)
    words: dict[tuple[str, str], set[str]] = defaultdict(set)
    approved_words: dict[tuple[str, str], set[str]] = defaultdict(set)
    with told():
        for *key, name, pin, is_approved in file.db.execute(
            f"SELECT server, fingerprint, name, pin, approved IS NOT NULL FROM pins WHERE {_ALL}", which
        ):
            known[key[0], key[1]][name].add(pin)
            if is_approved:
                approved[key[0], key[1]].add((name, pin))
        for *key, capabilities, hashed, is_approved in file.db.execute(
            "SELECT server, fingerprint, capabilities, hash, approved IS NOT NULL FROM instructions"
            f" WHERE {_ALL}", which,
        ):  # fmt: skip
            sets[key[0], key[1]].add(capabilities)
            words[key[0], key[1]].add(hashed)
            if is_approved:
                approved_words[key[0], key[1]].add(hashed)
        for *key, name in file.db.execute(f"SELECT server, fingerprint, name FROM waiting WHERE {_ALL}", which):
            waiting[key[0], key[1]].add(name)
    return {
        key: ServerPins(known[key], approved[key], names, waiting[key], words[key], approved_words[key])
        for key, names in sets.items()
    }


def see(file: PolicyFile, of: ListKey, tools: Sequence[Tool], instructions: str) -> ServerPins:
    """What is pinned of a server once it has listed these: what is seen for the first time is pinned as it is."""
    before = read(file, of.server, of.fingerprint).get(of[:2], _UNKNOWN)
    if not tools:
        return before  # a blip is no baseline
    if _is_settled(file, of, tools, before):
        return before
    with told(), sqlite.transaction(file.db):
        before = read(file, of.server, of.fingerprint).get(of[:2], _UNKNOWN)
        now = time.time()
        said = _said_first(file, of) if definitions.hashed(instructions) not in before.words else None
        drifts = {tool.name: before.drift(tool, of.capabilities) for tool in tools}
        file.db.executemany(
            "INSERT OR IGNORE INTO pins VALUES (?, ?, ?, ?, ?, ?, ?, NULL)",
            [(*of, tool.name, definitions.pin_of(tool), tool.text, now) for tool in tools if not drifts[tool.name]],
        )
        file.db.execute(
            "INSERT OR IGNORE INTO instructions VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (*of, *(said or (definitions.hashed(instructions), instructions)), now),
        )
        file.db.execute("DELETE FROM waiting WHERE server = ? AND fingerprint = ? AND capabilities = ?", of)
        file.db.executemany(
            "INSERT INTO waiting VALUES (?, ?, ?, ?)", [(*of, name) for name, drift in drifts.items() if drift == NEW]
        )
        if of.capabilities == _COMES_AND_GOES:
            _forget_gone(file, of, [tool.name for tool in tools])
        _changed(file)
    return read(file, of.server, of.fingerprint)[of[:2]]


def _said_first(file: PolicyFile, of: ListKey) -> tuple[str, str] | None:
    """The hash and text of what it said of itself to the first client, which is what it may say to the next."""
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
    """What grows whenever anything is pinned or approved; nothing else in the file changes it."""
    with told():
        (number,) = file.db.execute("PRAGMA user_version").fetchone()
    return int(number)


def _changed(file: PolicyFile) -> None:
    file.db.execute(f"PRAGMA user_version = {(version(file) + 1) % _MOST_VERSIONS}")


def _is_settled(file: PolicyFile, of: ListKey, tools: Sequence[Tool], before: ServerPins) -> bool:
    """Whether there is nothing to pin: nearly always, and then nothing is written."""
    with told():
        rows = file.db.execute("SELECT name FROM pins WHERE server = ? AND fingerprint = ? AND capabilities = ?", of)
        pinned = {name for (name,) in rows}
        rows = file.db.execute("SELECT name FROM waiting WHERE server = ? AND fingerprint = ? AND capabilities = ?", of)
        waiting = {name for (name,) in rows}
    drifts = {tool.name: before.drift(tool, of.capabilities) for tool in tools}
    new = {name for name, drift in drifts.items() if drift == NEW}
    is_pinned = all(drift or name in pinned for name, drift in drifts.items())
    return of.capabilities in before.sets and is_pinned and new == waiting


def approve(file: PolicyFile, of: ListKey, tools: Sequence[Tool], instructions: str | None = None) -> None:
    """Pin these as a person has approved them; where a tool was pinned as another for other clients too, it is no
    longer known as that. `instructions` are those that were approved with all of the server's tools."""
    now = time.time()
    with told(), sqlite.transaction(file.db):
        _changed(file)
        for tool in tools:
            _approve(file, of, tool, now)
        if instructions is not None:
            file.db.execute(
                "INSERT OR REPLACE INTO instructions VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*of, definitions.hashed(instructions), instructions, now, now),
            )
            # The other sets of a server that was approved as a whole are approved to be as they were.
            file.db.execute("UPDATE instructions SET approved = ? WHERE server = ? AND fingerprint = ?", (now, *of[:2]))


def _approve(file: PolicyFile, of: ListKey, tool: Tool, now: float) -> None:
    pin = definitions.pin_of(tool)
    before = file.db.execute(
        "SELECT pin FROM pins WHERE server = ? AND fingerprint = ? AND capabilities = ? AND name = ?", (*of, tool.name)
    ).fetchone()
    if before:
        file.db.execute(
            "UPDATE pins SET pin = ?, definition = ?, approved = ?"
            " WHERE server = ? AND fingerprint = ? AND name = ? AND pin IN (?, ?)",
            (pin, tool.text, now, *of[:2], tool.name, before[0], pin),
        )
    else:
        file.db.execute("INSERT INTO pins VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*of, tool.name, pin, tool.text, now, now))
        file.db.execute(
            "UPDATE pins SET approved = ? WHERE server = ? AND fingerprint = ? AND name = ? AND pin = ?",
            (now, *of[:2], tool.name, pin),
        )
    file.db.execute("DELETE FROM waiting WHERE server = ? AND fingerprint = ? AND name = ?", (*of[:2], tool.name))


def pinned(file: PolicyFile, server: str) -> list[Pin]:
    """All pins of a server, however it was started, the oldest first."""
    with told():
        rows = file.db.execute(
            "SELECT server, fingerprint, capabilities, name, pin, definition, seen, approved FROM pins"
            " WHERE server = ? ORDER BY seen, fingerprint, capabilities, name",
            (server,),
        )
        return [Pin(ListKey(*row[:3]), *row[3:]) for row in rows]


def pinned_servers(file: PolicyFile, server: str) -> list[PinnedServer]:
    """What a server said of itself, however it was started, the oldest first."""
    with told():
        rows = file.db.execute(
            "SELECT server, fingerprint, capabilities, hash, text, seen, approved FROM instructions"
            " WHERE server = ? ORDER BY seen, fingerprint, capabilities",
            (server,),
        )
        return [PinnedServer(ListKey(*row[:3]), *row[3:]) for row in rows]
