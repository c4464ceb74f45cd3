"""Which toolset counts: option, environment, project in force, what is equipped; followed as file and choice change."""

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

from mcpctl.config import Config
from mcpctl.errors import McpctlError, NotFound, Unusable, warn
from mcpctl.paths import Paths
from mcpctl.store import state
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import NONE, VARIABLE, ToolsetPlace, is_path, place_of, read


def named(config: Config, option: str | None) -> str | None:
    """What a person calls the toolset that goes before the equipped one; None where none was named."""
    return _chosen(option) or _of_project(config)


def current(paths: Paths, config: Config, option: str | None, db: sqlite3.Connection) -> Toolset | None:
    """The toolset in force, for a command; raises when it cannot be read: without it, others' tools would be there."""
    reference = named(config, option) or state.equipped(db)
    return _read(paths, config, option, reference)[1] if reference and reference != NONE else None


def required(paths: Paths, config: Config, option: str | None, db: sqlite3.Connection) -> tuple[ToolsetPlace, Toolset]:
    """Where the toolset in force is, and what it says; raises `NotFound` when there is none."""
    reference = named(config, option) or state.equipped(db)
    if not reference or reference == NONE:
        hint = "equip one with: mcpctl toolsets equip NAME, or name one with --toolset"
        raise NotFound("no toolset is equipped", hint, "no_toolset")
    return _read(paths, config, option, reference)


def check(paths: Paths, config: Config, option: str | None) -> None:
    """Raises what `read` does for a toolset that was named; what is equipped may be mended later."""
    reference = named(config, option)
    if reference and reference != NONE:
        _read(paths, config, option, reference)


def _chosen(option: str | None) -> str | None:
    return option or os.environ.get(VARIABLE)


def _of_project(config: Config) -> str | None:
    reference = config.toolset
    # Beside the file that names it: a client may start us in any folder.
    return str(config.beside(reference)) if reference and is_path(reference) else reference


def _read(paths: Paths, config: Config, option: str | None, reference: str) -> tuple[ToolsetPlace, Toolset]:
    try:
        place = place_of(paths, reference)
        return place, read(place)
    except McpctlError as error:
        if _chosen(option) or not config.toolset:
            raise
        told = f"{config.path}: projects.{config.project}.toolset: {error.message}"
        kind = NotFound if isinstance(error, NotFound) else Unusable  # nobody has typed it, that it were wrong usage
        raise kind(told, error.hint, error.code) from error


class InForce:
    """The toolset in force for one client, whatever happens to it meanwhile. Belongs to one thread.

    It costs a look at the file's times, and where none was named one at what is equipped. A file that cannot be read
    any more counts as it last was, and one that never could be holds no tool: what a team left out stays out.
    """

    def __init__(self, paths: Paths, config: Config, option: str | None, db: sqlite3.Connection) -> None:
        self._paths = paths
        self._db = db
        self._named = named(config, option)
        self._reference: str | None = None
        self._source: ToolsetPlace | None = None
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
    def place(self) -> ToolsetPlace | None:
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
            self._source = place_of(self._paths, reference)
        except McpctlError as error:
            warn(error.message)
            self._last = Toolset(reference, Path(), own=False, problem=error.message)

    def _read(self, place: ToolsetPlace) -> Toolset:
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
