"""The configuration as its file has it, for a process that runs while people edit it.

Editors and scripts empty a file and then write it, in one piece or in several: for a moment it says less than is meant.
"""

import asyncio
import tomllib
from typing import Any, NamedTuple

from mcpctl.base import files
from mcpctl.base.errors import McpctlError, NotFound, warn
from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import ASK, DENY
from mcpctl.wire.threads import beside

_SETTLED_S = 0.15
"""A text that takes anything away applies once the file has been the same for so long."""
_LONGEST_S = 0.6
"""How long requests wait for a file that is written again and again."""


class _Look(NamedTuple):
    stamp: object
    text: str | None


class ConfigFile:
    def __init__(self, paths: Paths, project: str | None) -> None:
        self.paths = paths
        self.path = paths.config
        self._project = project
        self.stamp: object = files.stamp(self.path)
        self._text: str | None = None
        self._pauses = False

    def has_changed(self) -> bool:
        stamp = files.stamp(self.path)
        if stamp == self.stamp or self._pauses:
            return False
        self.stamp = stamp
        return True

    def read(self) -> Config:
        """Raises `McpctlError` where the file cannot be used."""
        read = config.load(self.path, self._project)
        self._text = read.text
        return read

    async def read_again(self) -> Config | None:
        """The configuration once its file is written whole; None while it is not, or where it says the same as before.
        A file that is gone was not emptied on purpose: that raises `NotFound`; otherwise as `read`."""
        loop = asyncio.get_running_loop()
        last = loop.time() + _LONGEST_S
        seen = await beside(self._look)
        while not await beside(_only_tightens, self._text, seen.text):
            if loop.time() > last:
                self._pause(loop)
                return None
            await asyncio.sleep(_SETTLED_S)
            before, seen = seen, await beside(self._look)
            if seen == before:
                break
        if seen.stamp is None:
            raise NotFound(f"there is no {self.path} any more", "put it back, or restart mcpctl", "config_missing")
        if seen.text is not None and seen.text == self._text:
            return None
        return await beside(self.read)

    def note_loosened(self, before: Config, after: Config) -> None:
        """Put on record what an edit of the file lets be called without a yes, in any thread."""
        from mcpctl.catalog import loosening  # of no use before the file is edited

        try:
            loosening.follow(self.paths, before, after)
        except McpctlError as error:
            warn(f"{self.path}: whether it lets more be called cannot be told: {error.message} ({error.hint})")

    def _pause(self, loop: asyncio.AbstractEventLoop) -> None:
        """Requests go on with what the file said before; those of a while later look at it again."""

        def go_on() -> None:
            self._pauses, self.stamp = False, self

        self._pauses = True
        loop.call_later(_SETTLED_S, go_on)

    def _look(self) -> _Look:
        stamp = files.stamp(self.path)
        try:
            return _Look(stamp, files.read_text(self.path).removeprefix(files.BOM))
        except McpctlError:
            return _Look(stamp, None)


def _only_tightens(before: str | None, now: str | None) -> bool:
    """Whether an edit only switches off, denies or asks about tools and servers: then the text is not the beginning of
    something else, and nobody has to wait for it."""
    if before is None or now is None or before == now:
        return before == now
    try:
        return _keeps(tomllib.loads(before), tomllib.loads(now), ())
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def _keeps(before: Any, now: Any, place: tuple[str, ...]) -> bool:
    if before == now:
        return True
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() <= now.keys() and all(_keeps(before.get(key), now[key], (*place, key)) for key in now)
    match place:
        case ("servers", _, "enabled"):
            return now is False
        case ("servers", _, "tools"):
            return before is None and isinstance(now, dict) and all(_bars(each) for each in now.values())
        case ("servers", _, "tools", _):
            return _bars(now)
        case ("policy", key) | ("projects", _, "policy", key) if key in (ASK, DENY):
            return isinstance(now, list) and all(each in now for each in before or ())
    return False


def _bars(permission: object) -> bool:
    return permission in (False, ASK)
