"""The toolset in force: that of the option, the environment, the project, or the equipped one, in this order."""

import os
from dataclasses import replace
from pathlib import Path

from mcpctl import files
from mcpctl.config import Config
from mcpctl.errors import McpctlError, NotFound, Unusable, warn
from mcpctl.paths import Paths
from mcpctl.store.state import State, StateError
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import NONE, VARIABLE, ToolsetPlace, is_path, place_of, read


def named(config: Config, option: str | None) -> str | None:
    """The reference to the toolset that goes before the equipped one; None if nothing names one."""
    return _chosen(option) or _of_project(config)


def current(paths: Paths, config: Config, option: str | None, state: State) -> Toolset | None:
    """The toolset in force, for a command; raises if it cannot be read: without it, a command would see all tools."""
    reference = named(config, option) or state.equipped()
    return _read(paths, config, option, reference)[1] if reference and reference != NONE else None


def required(paths: Paths, config: Config, option: str | None, state: State) -> tuple[ToolsetPlace, Toolset]:
    """The toolset in force and its place; raises `NotFound` if none is in force."""
    reference = named(config, option) or state.equipped()
    if not reference or reference == NONE:
        hint = "equip one with: mcpctl toolsets equip NAME, or name one with --toolset"
        raise NotFound("no toolset is equipped", hint, "no_toolset")
    return _read(paths, config, option, reference)


def check(paths: Paths, config: Config, option: str | None) -> None:
    """Raises what `read` raises for a toolset that was named; an equipped one may be fixed later."""
    reference = named(config, option)
    if reference and reference != NONE:
        _read(paths, config, option, reference)


def _chosen(option: str | None) -> str | None:
    return option or os.environ.get(VARIABLE)


def _of_project(config: Config) -> str | None:
    reference = config.toolset
    # Relative to the file that names it, since a client may start mcpctl in any folder.
    return str(config.beside(reference)) if reference and is_path(reference) else reference


def _read(paths: Paths, config: Config, option: str | None, reference: str) -> tuple[ToolsetPlace, Toolset]:
    try:
        place = place_of(paths, reference)
        return place, read(place)
    except McpctlError as error:
        if _chosen(option) or not config.toolset:
            raise
        message = f"{config.path}: projects.{config.project}.toolset: {error.message}"
        kind = NotFound if isinstance(error, NotFound) else Unusable  # nobody typed it, so it is not wrong usage
        raise kind(message, error.hint, error.code) from error


class InForce:
    """The toolset in force for one client, followed while its file changes. Belongs to one thread.

    Each look costs a `stat` of the file and, if no toolset was named, a query for the equipped one. A file that cannot
    be read any more counts as it last was; one that could never be read has no tools, so that what a team left out
    stays out.
    """

    def __init__(self, paths: Paths, config: Config, option: str | None, state: State) -> None:
        self._paths = paths
        self._state = state
        self._option = option
        self._named = named(config, option)
        self._reference: str | None = None
        self._place: ToolsetPlace | None = None
        self._stamp: object = None
        self._last: Toolset | None = None

    def follow(self, config: Config) -> None:
        """Have this configuration say which toolset counts."""
        self._named = named(config, self._option)

    def now(self) -> Toolset | None:
        """The toolset in force at this moment; its `problem` says why it is not what its file says now."""
        reference = self._named or self._equipped()
        if reference != self._reference:
            self._reference, self._place, self._last = reference, None, None
            if reference and reference != NONE:
                self._follow(reference)
        if self._place and (stamp := files.stamp(self._place.path)) != self._stamp:
            self._stamp = stamp
            self._last = self._read(self._place)
        return self._last

    @property
    def place(self) -> ToolsetPlace | None:
        """The place of the toolset that `now` last returned."""
        return self._place

    def _equipped(self) -> str | None:
        try:
            return self._state.equipped()
        except StateError:
            return self._reference  # the toolset that was equipped still counts

    def _follow(self, reference: str) -> None:
        self._stamp = self
        try:
            self._place = place_of(self._paths, reference)
        except McpctlError as error:
            warn(error.message)
            self._last = Toolset(reference, Path(), own=False, problem=error.message)

    def _read(self, place: ToolsetPlace) -> Toolset:
        try:
            return read(place)
        except McpctlError as error:
            last = self._last or Toolset(place.reference, place.path, place.own)
            counts = "it counts as it was last read" if self._last else "no tool can be found or called"
            warn(f"toolset '{last.name}': {error.message}; {counts} until that is fixed")
            return replace(last, problem=f"{error.message}; {counts}")
