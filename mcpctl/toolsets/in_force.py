"""The toolset in force: that of the option, the environment, the project, or the equipped one, in this order."""

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mcpctl import files
from mcpctl.config import Config
from mcpctl.errors import McpctlError, NotFound, Unusable, warn
from mcpctl.paths import Paths
from mcpctl.store.state import State, StateError
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import NONE, VARIABLE, ToolsetPlace, is_path, place_of, read

_MOST_FOLLOWED = 64
"""Toolsets that are followed at once: each project may name one."""


def named(config: Config, option: str | None) -> str | None:
    """The reference to the toolset that goes before the equipped one; None if nothing names one."""
    return _chosen(option) or of_project(config)


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


def of_project(config: Config) -> str | None:
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


@dataclass
class _Followed:
    """A toolset that is or was in force, and what its file was when it was last read."""

    place: ToolsetPlace | None = None
    stamp: object = None
    last: Toolset | None = None


class InForce:
    """The toolset in force for each request, followed while its file changes. Belongs to one thread.

    Each look costs a `stat` of the file and, if no toolset was named, a query for the equipped one. A file that cannot
    be read any more counts as it last was; one that could never be read has no tools, so that what a team left out
    stays out.
    """

    def __init__(self, paths: Paths, option: str | None, state: State) -> None:
        self._paths = paths
        self._state = state
        self._option = option
        self._kept: str | None = None
        """The equipped toolset, as it was last looked up."""
        self._named: dict[Config, str | None] = {}
        self._followed: dict[str | None, _Followed] = {}
        self._latest = _Followed()
        self._remember(_chosen(option))

    def now(self, config: Config) -> Toolset | None:
        """The toolset in force at this moment with this configuration and its project.

        Its `problem` says why it is not what its file says now.
        """
        if config not in self._named:
            if len(self._named) >= _MOST_FOLLOWED:
                self._named.clear()
            self._named[config] = named(config, self._option)
        reference = self._named[config] or self._equipped()
        followed = self._followed.get(reference)
        if followed is None:
            if len(self._followed) >= _MOST_FOLLOWED:
                del self._followed[next(iter(self._followed))]
            followed = self._followed[reference] = self._begun(reference)
        self._latest = followed
        if followed.place and (stamp := files.stamp(followed.place.path)) != followed.stamp:
            followed.stamp = stamp
            followed.last = self._read(followed.place, followed.last)
        return followed.last

    def _remember(self, reference: str | None) -> None:
        """Keep that a client has this toolset in force, though nothing in the configuration says so."""
        if reference and reference != NONE:
            with suppress(McpctlError):
                self._state.remember_named(os.path.realpath(place_of(self._paths, reference).path))

    def look_again(self) -> None:
        """Have a configuration that has changed count, and what could not be found be looked for once more."""
        self._named.clear()
        self._followed = {reference: each for reference, each in self._followed.items() if each.place}

    @property
    def place(self) -> ToolsetPlace | None:
        """The place of the toolset that `now` last returned."""
        return self._latest.place

    def _equipped(self) -> str | None:
        # Where it cannot be looked up, the toolset that was equipped still counts.
        try:  # in line: it is asked at every call
            equipped = self._state.equipped()
        except StateError:
            return self._kept
        if equipped != self._kept:
            self._followed.pop(equipped, None)
            self._kept = equipped
        return equipped

    def _begun(self, reference: str | None) -> _Followed:
        if not reference or reference == NONE:
            return _Followed()
        try:
            return _Followed(place_of(self._paths, reference), stamp=self)
        except McpctlError as error:
            warn(error.message)
            return _Followed(last=Toolset(reference, Path(), own=False, problem=error.message))

    def _read(self, place: ToolsetPlace, before: Toolset | None) -> Toolset:
        try:
            return read(place)
        except McpctlError as error:
            last = before or Toolset(place.reference, place.path, place.own)
            counts = "it counts as it was last read" if before else "no tool can be found or called"
            warn(f"toolset '{last.name}': {error.message}; {counts} until that is fixed")
            return replace(last, problem=f"{error.message}; {counts}")
