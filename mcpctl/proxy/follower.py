"""Everything in force for a request: a snapshot of it, and the follower that replaces it as people change things.

While an editor or a script writes the configuration, the file says less than is meant for a moment.
"""

import asyncio
import time
import tomllib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from mcpctl.base import files
from mcpctl.base.callers import Caller
from mcpctl.base.errors import McpctlError, NotFound, warn
from mcpctl.base.paths import Paths
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.config import config, toml
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import ASK, DENY
from mcpctl.config.settings import OF_TOOLSET
from mcpctl.policy.view import NOTHING_DECIDED, UNBOUND, Standing, View, access_of
from mcpctl.proxy.memory import PolicyMemory
from mcpctl.toolsets.in_force import Followed, ToolsetsInForce
from mcpctl.toolsets.toolset import Toolset
from mcpctl.wire.threads import apart, beside
from mcpctl.wire.writer import Turn

_SETTLED_S = 0.15  # a text that takes anything away applies once the file has been the same for so long
_LONGEST_S = 0.6  # how long requests wait for a file that is written again and again
_BARRING = (False, ASK)
_MOST_VIEWS = 1024
_NO_TOOLSET = Followed()
_AGAIN_S = 5.0


class ConfigFile:
    def __init__(self, paths: Paths, project: str | None, direct: Sequence[str] = ()) -> None:
        """Patterns `direct`, if there are any, go before those in the file."""
        self.paths = paths
        self._direct = list(direct)
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
        return structs.replace(read, serve=structs.replace(read.serve, direct=self._direct)) if self._direct else read

    async def read_again(self) -> Config | None:
        """The file once it is written whole; None if it is not, or as before. Raises as `read`, or `NotFound`."""
        loop = asyncio.get_running_loop()
        last = loop.time() + _LONGEST_S
        stamp, text = await beside(self._look)
        while not await beside(_only_tightens, self._text, text):
            if loop.time() > last:
                self._pause(loop)
                return None
            await asyncio.sleep(_SETTLED_S)
            before, (stamp, text) = (stamp, text), await beside(self._look)
            if (stamp, text) == before:
                break
        if stamp is None:
            raise NotFound(f"there is no {self.path} any more", "put it back, or restart mcpctl", "config_missing")
        if text is not None and text == self._text:
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

    def _look(self) -> tuple[object, str | None]:
        stamp = files.stamp(self.path)
        try:
            return stamp, files.read_text(self.path).removeprefix(files.BOM)
        except McpctlError:
            return stamp, None


def _only_tightens(before: str | None, now: str | None) -> bool:
    """Whether an edit only switches off, denies or asks: then the text is not the beginning of something else."""
    if before is None or now is None or before == now:
        return before == now
    try:
        return _keeps(toml.loads(before), toml.loads(now), ())
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
            return before is None and isinstance(now, dict) and all(each in _BARRING for each in now.values())
        case ("servers", _, "tools", _):
            return now in _BARRING
        case ("policy", key) | ("projects", _, "policy", key) if key in (ASK, DENY):
            return isinstance(now, list) and all(each in now for each in before or ())
    return False


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything in force at one moment; replaced whole, with its views, when any of it changes."""

    config: Config
    lists: Lists
    is_locked: bool = False
    generation: int = 0
    standing: Standing = NOTHING_DECIDED
    toolsets: ToolsetsInForce | None = None
    changes: int = 0
    views: dict[int, View] = field(default_factory=dict, init=False)  # by `id` of the caller, of which each has one
    catalogs: dict[int, Catalog] = field(default_factory=dict, init=False)

    def view(self, caller: Caller | None) -> View:
        config, its_access = self.config, UNBOUND
        if caller is not None:
            config, its_access = access_of(config, caller.claims, self.standing.tokens, time.time())
        left = self.toolsets.left if self.toolsets else 0
        followed = self.toolsets.of(config) if self.toolsets else _NO_TOOLSET
        direct = self._direct_toolsets(config) if config.serve.direct else ()
        view = View(
            config, followed.toolset, caller, self.generation, self.standing, its_access, self.is_locked,
            followed.place, direct,
        )  # fmt: skip
        if len(self.views) >= _MOST_VIEWS or (self.toolsets and self.toolsets.left != left):
            self.views.clear()
        self.views[id(caller)] = view
        return view

    def _direct_toolsets(self, config: Config) -> tuple[Toolset, ...]:
        names = [each.removeprefix(OF_TOOLSET) for each in config.serve.direct if each.startswith(OF_TOOLSET)]
        every = (self.toolsets.followed(name, is_in_force=False).toolset for name in names if self.toolsets)
        return tuple(toolset for toolset in every if toolset)

    def catalog(self, view: View) -> Catalog:
        if len(self.catalogs) >= _MOST_VIEWS:
            self.catalogs.clear()
        catalog = self.catalogs[id(view)] = Catalog(view, None, self.lists)
        return catalog


class Follower:
    """Owns the stamps of all that is in force, and replaces the snapshot where one differs. A look compares them, once
    for the lines of one read: what was so before any of these was sent, was so before the read. Decisions of people are
    read at once, since they are few; all else is read aside, and requests wait for it."""

    def __init__(
        self, snapshot: Snapshot, turn: Turn, policy: PolicyMemory, file: ConfigFile | None,
        background: Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any]"],
        follow: Callable[[Config], Awaitable[None]], judge: Callable[[Config], Awaitable[bool]],
    ) -> None:  # fmt: skip
        """Without a `file` the configuration stays as it is. `judge` returns whether pins could be read."""
        self.snapshot = snapshot
        self._turn = turn
        self._policy = policy
        self._file = file
        self._background = background
        self._follow = follow
        self._judge = judge
        self._pinned: int | None = None
        self._judging_again: asyncio.TimerHandle | None = None
        self._looked_at = 0
        self._is_decided = False  # whether a policy.db is there now that is not followed yet
        self.settling: asyncio.Task[None] | None = None  # the work that requests wait for, as of the latest look
        self._is_ending = False

    # ---- for requests

    def view(self, caller: Caller | None) -> View:
        """The view that a request of this moment is decided on: the same object as long as nothing has changed."""
        self.look()
        snapshot = self.snapshot
        if snapshot.changes != snapshot.lists.changes:
            snapshot = self.replace(changes=snapshot.lists.changes)
        return snapshot.views.get(id(caller)) or snapshot.view(caller)

    def when_current(self, work: Callable[[], None]) -> None:
        """Do `work` once what is in force is known, in the order of asking: nearly always at once."""
        if pending := self.look():
            # Looked at again then: something may have changed while something else was made known.
            pending.add_done_callback(lambda _: self.when_current(work))
        else:
            work()

    async def current(self) -> None:
        while pending := self.look():
            await asyncio.shield(pending)
            await asyncio.sleep(0)

    # ---- looking

    def look(self, reading: int = 0) -> "asyncio.Task[None] | None":
        """Compare the stamps once for each read, by default the one that goes on; returns the work to wait for."""
        reading = reading or self._turn.reading
        if reading == 0 or reading > self._looked_at:
            self._looked_at = max(self._looked_at, reading)
            self._look_again()
        return self.settling

    def _look_again(self) -> None:
        snapshot = self.snapshot
        standing = self._policy.standing() if self._policy.applies else snapshot.standing
        toolsets = snapshot.toolsets
        has_switched = False
        if toolsets:
            for path, stamp in toolsets.stamps:
                if files.stamp(path) != stamp:
                    has_switched = toolsets.look()
                    # That one was made is noted in the file of one of these stamps.
                    self._is_decided = self._policy.may_be_opened
                    break
        if has_switched or standing is not snapshot.standing:
            self.replace(standing=standing)
        if self.settling or self._is_ending:  # nothing begins during the end
            return
        file = self._file
        if file and files.stamp(file.path) != file.stamp and file.has_changed():
            self.settle(self._follow_file(file))
        elif toolsets and toolsets.outdated:
            self.settle(self._read(toolsets))
        elif self._is_decided:
            self._is_decided = False
            self.settle(self._policy.open())
        elif self._policy.pinned not in (None, self._pinned):
            self.settle(self.judge())

    def settle(self, work: Coroutine[Any, Any, None]) -> None:
        self.settling = self._background(work)
        # Told first, so that what came before is decided on before what comes after.
        self.settling.add_done_callback(lambda _: self._settled())

    def _settled(self) -> None:
        self.settling = None

    def replace(self, **changes: Any) -> Snapshot:
        self.snapshot = replace(self.snapshot, **changes)
        return self.snapshot

    # ---- what is read aside

    async def judge(self) -> None:
        """Judge all tools by what is pinned; where that cannot be read, again later, for which nobody waits."""
        self._policy.standing()
        self._pinned = pinned = self._policy.pinned
        is_known = await self._judge(self.snapshot.config)
        if not (is_known or pinned is None or self._is_ending):
            self._judge_no_more()
            later = asyncio.get_running_loop().call_later
            self._judging_again = later(_AGAIN_S, lambda: self._background(self.judge()))

    def _judge_no_more(self) -> None:
        if self._judging_again:
            self._judging_again.cancel()

    async def _read(self, toolsets: ToolsetsInForce) -> None:
        await beside(toolsets.read)
        self.replace()

    async def _follow_file(self, file: ConfigFile) -> None:
        try:
            config = await file.read_again()
            if config is None:
                return
            if config.has_policy:
                await self._policy.open()
        except McpctlError as error:
            warn(f"{error.message}; still using the last configuration that could be read ({error.hint})")
            return
        for problem in config.problems.values():
            warn(f"{problem}; this server is skipped")
        apart(file.note_loosened, self.snapshot.config, config)
        if self.snapshot.toolsets:
            self.snapshot.toolsets.look_for_missing()
        self.replace(config=config, generation=self.snapshot.generation + 1)
        await self._follow(config)

    def close(self) -> None:
        self._is_ending = True
        self._judge_no_more()
