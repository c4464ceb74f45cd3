"""The toolset in force: that of the option, the environment, the project, or the equipped one, in this order."""

import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, NotFound, Unusable, warn
from mcpctl.base.models import Newest
from mcpctl.base.paths import Paths
from mcpctl.config.config import Config
from mcpctl.store.state import State, StateError
from mcpctl.toolsets.toolset import Toolset
from mcpctl.toolsets.toolset_files import NONE, VARIABLE, ToolsetFile, is_path, place_of, read

_MOST_FOLLOWED = 64  # toolsets that are followed at once: each project may name one


def named(config: Config, option: str | None) -> str | None:
    return chosen(option) or of_project(config)


def current(paths: Paths, config: Config, option: str | None, state: State) -> Toolset | None:
    """The toolset in force, for a command; raises if it cannot be read: without it, a command would see all tools."""
    reference = named(config, option) or state.equipped()
    return _read(paths, config, option, reference)[1] if reference and reference != NONE else None


def required(paths: Paths, config: Config, option: str | None, state: State) -> tuple[ToolsetFile, Toolset]:
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


def chosen(option: str | None) -> str | None:
    """The toolset that a command line or its environment names."""
    return option or os.environ.get(VARIABLE)


def of_project(config: Config) -> str | None:
    reference = config.toolset
    # Relative to the file that names it, since a client may start mcpctl in any folder.
    return str(config.beside(reference)) if reference and is_path(reference) else reference


def _read(paths: Paths, config: Config, option: str | None, reference: str) -> tuple[ToolsetFile, Toolset]:
    try:
        place = place_of(paths, reference)
        return place, read(place)
    except McpctlError as error:
        if chosen(option) or not config.toolset:
            raise
        message = f"{config.path}: projects.{config.project}.toolset: {error.message}"
        kind = NotFound if isinstance(error, NotFound) else Unusable  # nobody typed it, so it is not wrong usage
        raise kind(message, error.hint, error.code) from error


_NOTHING, _NONE_DIRECT = "no tool can be found or called", "none of its tools is shown directly"


class Followed(Struct):
    place: ToolsetFile | None = None
    stamp: object = None
    toolset: Toolset | None = None
    otherwise: str = _NOTHING  # what follows where its file could not be read yet

    def read(self) -> None:
        """Read the file. Where that fails, it stays as it was, or has no tools, so that left-out ones stay out."""
        if self.place is None:
            return
        try:
            self.toolset = read(self.place)
        except McpctlError as error:
            last = self.toolset or Toolset(self.place.reference, self.place.path, self.place.own)
            applies = "it applies as it was last read" if self.toolset else self.otherwise
            warn(f"toolset '{last.name}': {error.message}; {applies} until that is fixed")
            self.toolset = replace(last, problem=f"{error.message}; {applies}")


class ToolsetsInForce:
    """The toolsets in force, for a process that runs while people equip and edit them; for one thread. Call `look`
    where a file differs from `stamps`: that costs a `stat` of each, and a query after writes to the log."""

    def __init__(self, paths: Paths, option: str | None, state: State) -> None:
        self._paths = paths
        self._state = state
        self._option = option
        self._is_equipped_asked = False
        self._equipped: str | None = None
        self._log = state.log
        self._log_stamp = object()
        self._followed: dict[str | None, Followed] = Newest(_MOST_FOLLOWED)
        self.left = 0  # how many toolsets are no longer followed: caches of what was made from them are to be cleared
        self.outdated: list[Followed] = []  # toolsets whose files have changed since they were read
        self.stamps: list[tuple[Path, object]] = []  # the files that all this is read from, as they were last
        self._remember(chosen(option))
        self._note_stamps()

    def of(self, config: Config) -> Followed:
        """The toolset in force with this configuration; its file is read the first time."""
        reference = named(config, self._option)
        if reference is None:
            if not self._is_equipped_asked:
                self._is_equipped_asked = True
                self._look_up_equipped()
                self._note_stamps()
            reference = self._equipped
        return self._followed.get(reference) or self.followed(reference)

    def followed(self, reference: str | None, *, is_in_force: bool = True) -> Followed:
        """A toolset by its name or path; its file is read the first time."""
        if reference not in self._followed:
            self.left += len(self._followed) >= _MOST_FOLLOWED
            self._followed[reference] = self._begun(reference, is_in_force)
            self._note_stamps()
        return self._followed[reference]

    def look(self) -> bool:
        """Note which files have changed; returns whether another toolset is equipped than at the last look."""
        for followed in self._followed.values():
            if followed.place and (stamp := files.stamp(followed.place.path)) != followed.stamp:
                followed.stamp = stamp
                self.outdated.append(followed)
        is_equipped_anew = self._look_up_equipped()
        self._note_stamps()
        return is_equipped_anew

    def _note_stamps(self) -> None:
        self.stamps = [(followed.place.path, followed.stamp) for followed in self._followed.values() if followed.place]
        self.stamps.append((self._log or self._paths.state, self._log_stamp))

    def _look_up_equipped(self) -> bool:
        stamp = files.stamp_at_rest(self._log) if self._log else object()
        if stamp == self._log_stamp:
            return False
        try:
            equipped = self._state.equipped()
        except StateError:
            return False  # the one that was equipped still counts
        self._log_stamp = stamp
        if equipped == self._equipped:
            return False
        self._followed.pop(equipped, None)
        self._equipped = equipped
        return True

    def read(self) -> None:
        while self.outdated:
            self.outdated.pop().read()

    def look_for_missing(self) -> None:
        for reference in [reference for reference, followed in self._followed.items() if not followed.place]:
            del self._followed[reference]
        self._note_stamps()

    def _remember(self, reference: str | None) -> None:
        """Record that a client has this toolset in force, though nothing in the configuration says so."""
        if reference and reference != NONE:
            with suppress(McpctlError):
                self._state.remember_named(os.path.realpath(place_of(self._paths, reference).path))

    def _begun(self, reference: str | None, is_in_force: bool) -> Followed:
        if not reference or reference == NONE:
            return Followed()
        try:
            place = place_of(self._paths, reference)
        except McpctlError as error:
            warn(error.message)
            return Followed(toolset=Toolset(reference, Path(), own=False, problem=error.message))
        followed = Followed(place, files.stamp(place.path), otherwise=_NOTHING if is_in_force else _NONE_DIRECT)
        followed.read()
        return followed
