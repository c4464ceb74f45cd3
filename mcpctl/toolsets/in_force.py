"""Which toolset counts: the one that was named, else the equipped one; followed as the file and the choice change."""

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mcpctl.errors import McpctlError, NotFound, warn
from mcpctl.paths import Paths
from mcpctl.store import state
from mcpctl.toolsets.reading import NONE, VARIABLE, Source, read, source
from mcpctl.toolsets.toolset import Toolset


def chosen(option: str | None, db: sqlite3.Connection, env: Mapping[str, str] = os.environ) -> str | None:
    """What a person calls the toolset in force: option, environment, what is equipped; None for none."""
    reference = option or env.get(VARIABLE) or state.equipped(db)
    return None if reference == NONE else reference


def current(paths: Paths, option: str | None, db: sqlite3.Connection) -> Toolset | None:
    """The toolset in force, for a command; raises when it cannot be read: without it, others' tools would be there."""
    reference = chosen(option, db)
    return read(source(paths, reference)) if reference else None


def required(paths: Paths, option: str | None, db: sqlite3.Connection) -> Source:
    """Where the toolset in force is; raises `NotFound` when there is none."""
    reference = chosen(option, db)
    if reference is None:
        hint = "equip one with: mcpctl toolsets equip NAME, or name one with --toolset"
        raise NotFound("no toolset is equipped", hint, "no_toolset")
    return source(paths, reference)


def check(paths: Paths, option: str | None) -> None:
    """Raises what `read` does for a toolset that was named; what is equipped may be mended later."""
    reference = option or os.environ.get(VARIABLE)
    if reference and reference != NONE:
        read(source(paths, reference))


class InForce:
    """The toolset in force for one client, whatever happens to it meanwhile. Belongs to one thread.

    It costs a look at the file's times, and where none was named one at what is equipped. A file that cannot be read
    any more counts as it last was, and one that never could be holds no tool: what a team left out stays out.
    """

    def __init__(self, paths: Paths, option: str | None, db: sqlite3.Connection) -> None:
        self._paths = paths
        self._db = db
        self._named = option or os.environ.get(VARIABLE)
        self._reference: str | None = None
        self._source: Source | None = None
        self._stamp: object = None
        self._last: Toolset | None = None

    def now(self) -> Toolset | None:
        """The toolset that counts at this moment; its `problem` says so when its file says something else."""
        reference = self._named or self._equipped()
        if reference != self._reference:
            self._reference, self._source, self._last = reference, None, None
            if reference and reference != NONE:
                self._follow(reference)
        if self._source and (stamp := _stamp(self._source.path)) != self._stamp:
            self._stamp = stamp
            self._last = self._read(self._source)
        return self._last

    @property
    def place(self) -> Source | None:
        """Where the toolset is that counted when it was last asked for."""
        return self._source

    def _equipped(self) -> str | None:
        try:
            return state.equipped(self._db)
        except sqlite3.Error:
            return self._reference  # what was equipped still counts

    def _follow(self, reference: str) -> None:
        self._stamp = self
        try:
            self._source = source(self._paths, reference)
        except McpctlError as error:
            warn(error.message)
            self._last = Toolset(reference, Path(), own=False, problem=error.message)

    def _read(self, place: Source) -> Toolset:
        try:
            return read(place)
        except McpctlError as error:
            last = self._last or Toolset(place.reference, place.path, place.own)
            counts = "it counts as it was last read" if self._last else "no tool can be found or called"
            warn(f"toolset '{last.name}': {error.message}; {counts} until that is mended")
            return replace(last, problem=f"{error.message}; {counts}")


def _stamp(path: Path) -> object:
    """What changes whenever the file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
