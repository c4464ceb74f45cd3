"""The versions of tools in `policy.db`: how they were defined at a time, as far as their server was listed then."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mcpctl.base import definitions
from mcpctl.base.feature_names import RESOURCES, kind_of_list, list_of
from mcpctl.base.models import Tool
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import clock, sqlite
from mcpctl.store.state import ListKey, told

INSTRUCTIONS = ""  # the name of the server's text about itself
_MOST = 50  # versions of one tool for one set of capabilities; the first and the newest are kept
_COME_AND_GO = list_of(RESOURCES)  # resources are data


class Version(NamedTuple):
    seen: float
    pin: str
    definition: str


class VersionHistory(NamedTuple):
    """The versions of a server's tools by the set of capabilities and the name, oldest first."""

    of: Mapping[tuple[str, str], Sequence[Version]]

    def names(self, until: float) -> set[str]:
        """The tools that were seen by then."""
        return {name for (_, name), versions in self.of.items() if versions[0].seen <= until}

    def at(self, capabilities: str, name: str, moment: float) -> Version | None:
        """The version at a moment: for such clients, else for others; None where it was first seen later."""
        others = (versions for (_, other), versions in self.of.items() if other == name)
        for versions in (self.of.get((capabilities, name), ()), *others):
            if before := [version for version in versions if version.seen <= moment]:
                return before[-1]
        return None

    def seen(self, capabilities: str, name: str, pin: str) -> str:
        """When a definition was first seen as it is, in words; empty where that is not known."""
        versions = self.of.get((capabilities, name), ())
        seen = next((version.seen for version in reversed(versions) if version.pin == pin), None)
        return "" if seen is None else f", seen {clock.iso(seen)[:16]}Z"


def remember(file: PolicyFile, of: ListKey, tools: Sequence[Tool], instructions: str) -> None:
    """Keep the definitions, and instructions, that differ from those seen last. Nearly always there are none, and
    nothing is written."""
    if of.capabilities == _COME_AND_GO:
        return
    of_list = (of.server, of.capabilities)
    with told():
        latest = {
            name: pin
            for name, pin, _ in file.db.execute(
                "SELECT name, pin, max(seen) FROM versions WHERE server = ? AND capabilities = ? GROUP BY name", of_list
            )
        }
    listed = [(tool.name, definitions.pin_of(tool), tool.text) for tool in tools]
    if not kind_of_list(of.capabilities):
        listed.append((INSTRUCTIONS, definitions.hashed(instructions), instructions))
    fresh = [each for each in listed if latest.get(each[0]) != each[1]]
    if not fresh:
        return
    now = time.time()
    with told(), sqlite.transaction(file.db):
        for name, pin, text in fresh:
            row = (*of_list, name, now, pin, text)
            file.db.execute("INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?)", row)
            file.db.execute(
                "DELETE FROM versions WHERE server = ? AND capabilities = ? AND name = ? AND seen IN ("
                "SELECT seen FROM versions WHERE server = ? AND capabilities = ? AND name = ?"
                " ORDER BY seen DESC LIMIT -1 OFFSET ?) AND seen > (SELECT min(seen) FROM versions"
                " WHERE server = ? AND capabilities = ? AND name = ?)",
                (*row[:3], *row[:3], _MOST, *row[:3]),
            )


def history(file: PolicyFile, server: str) -> VersionHistory:
    versions: dict[tuple[str, str], list[Version]] = defaultdict(list)
    with told():
        rows = file.db.execute(
            "SELECT capabilities, name, seen, pin, definition FROM versions WHERE server = ? ORDER BY seen", (server,)
        )
        for capabilities, name, *version in rows:
            versions[capabilities, name].append(Version(*version))
    return VersionHistory(versions)
