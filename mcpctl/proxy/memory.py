"""Work on `state.db` and `policy.db`, beside the event loop.

One rule applies to both: work on one of them is done one piece after the other, and no thread waits for another
process that has it. It is tried again from the event loop a moment later, and given up after a while.
"""

import asyncio
import gc
import random
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from mcpctl.base import files
from mcpctl.base.errors import Unusable, warn
from mcpctl.base.feature_names import KINDS, list_of
from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.catalog.lists_in_memory import Listed, Lists
from mcpctl.config.server_settings import Server
from mcpctl.policy import approvals, pins, tokens
from mcpctl.policy.approvals import Given
from mcpctl.policy.policy_file import Pause, PolicyFile
from mcpctl.policy.tokens import Token
from mcpctl.policy.view import NOTHING_DECIDED, Standing
from mcpctl.store.state import ListKey, State, StateError, is_passing, patience, trouble
from mcpctl.wire.threads import WorkQueue, beside

if TYPE_CHECKING:
    from mcpctl.policy.rates import Rates

T = TypeVar("T")
_PATIENCE_S = 10.0  # how long work may take with all that was queued before it, while another process has the database
_SOON_S = 2.0  # how long it may take to keep a server's list, for which its calls wait
_ONE_TRY_S = 0.02
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.02, 0.5
_FIRST_WAIT_S, _LAST_WAIT_S = 2.0, 60.0  # pauses before lists are kept that another process kept from being kept
_MANY = 1000  # definitions in a list that the garbage collector should not look at again


_Unkept = tuple[list[bytes], str, bool]


class _Database:
    def __init__(self) -> None:
        self.line = WorkQueue()

    async def do(self, work: Callable[[], T], patience_s: float = _PATIENCE_S) -> T:
        """Raises what `work` does; and, after `patience_s`, what says that another process has the database."""
        loop, pause = asyncio.get_running_loop(), _FIRST_PAUSE_S
        last = loop.time() + patience_s
        while True:
            try:
                return await self.line.do(_without_waiting, work)
            except Unusable as error:
                if not is_passing(error) or loop.time() > last:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # many may have been started at once
            pause = min(2 * pause, _LAST_PAUSE_S)


def _without_waiting(work: Callable[[], T]) -> T:
    with patience(_ONE_TRY_S):
        return work()


class ServerMemory:
    def __init__(self, paths: Paths, lists: Lists, on_loaded: Callable[[str], None]) -> None:
        """`on_loaded` is called with the name of a server whose kept tools are known just now."""
        self._paths = paths
        self._lists = lists
        self._on_loaded = on_loaded
        self._database = _Database()
        self._loads: dict[ListKey, asyncio.Task[None]] = {}
        self._unkept: dict[ListKey, _Unkept] = {}
        self._keeping: asyncio.Task[None] | None = None
        self._outcomes: dict[str, tuple[str, str, str | None, str]] = {}  # by server: name, fingerprint, failure, code
        self._noting = asyncio.Lock()
        self._writing: set[asyncio.Task[object]] = set()
        self._state: State | None = None
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True
        if self._keeping:
            self._keeping.cancel()
        if self._state:
            self._state.close()

    async def opened(self) -> State:
        return await beside(self._open)

    def _open(self) -> State:
        state = self._state = State.opened_for_others(self._paths)
        if self._is_closed:
            state.close()  # nobody waits for it any more
        return state

    # ---- what servers list

    async def keep(self, of: ListKey, definitions: list[bytes], instructions: str, *, asked: bool) -> Listed:
        """Keep a server's new list, later where another process has the database; the list as known from now on."""
        listed = self._unkept[of] = definitions, instructions, asked
        kept = await self._try_to_keep(of, listed, _SOON_S)
        if self._unkept and self._keeping is None:
            self._keeping = asyncio.create_task(self._keep_later())
        return await beside(cache.held, of, definitions, instructions) if kept is None else kept

    async def _keep_later(self) -> None:
        wait = _FIRST_WAIT_S
        while self._unkept:
            await asyncio.sleep(wait * random.uniform(0.5, 1))
            wait = min(2 * wait, _LAST_WAIT_S)
            for of, listed in list(self._unkept.items()):
                await self._try_to_keep(of, listed, 0)
        self._keeping = None

    async def _try_to_keep(self, of: ListKey, listed: _Unkept, patience_s: float) -> Listed | None:
        def keep(state: State) -> Listed | None:
            definitions, instructions, asked = listed
            cache.replace(state, of, definitions, instructions, asked=asked)
            return _loaded(state, of)

        kept = None
        try:
            kept = await self._with_state(keep, patience_s)
        except Unusable as error:
            if is_passing(error):
                return None
            warn(f"the tools of '{of.server}' cannot be kept: {trouble(self._paths, error)}")
        if self._unkept.get(of) is listed:
            del self._unkept[of]
        return kept

    async def load(self, name: str, server: Server, capability_sets: Iterable[str]) -> None:
        """Load a server's kept tools for these sets of capabilities, each once, if the database can be read."""
        for capabilities in capability_sets:
            key = ListKey(name, server.fingerprint, capabilities)
            if self._lists.get(key) is None and key not in self._loads:
                self._loads[key] = asyncio.create_task(self._load(key))
            if key in self._loads:
                await asyncio.shield(self._loads[key])

    async def _load(self, of: ListKey) -> None:
        if await self.do(lambda state: self._load_one(state, of)):
            self._on_loaded(of.server)

    def _load_one(self, state: State, of: ListKey) -> bool:
        listed = _loaded(state, of) if self._lists.get(of) is None else None
        if listed is None or self._lists.get(of):
            return False
        self._lists.put(of, listed)
        return True

    async def load_features(self, fingerprints: Mapping[str, str]) -> None:
        """Load kept prompts, resources and templates, and the tools that decide who sees those, if they can be read."""

        def load(state: State) -> None:
            for pair in fingerprints.items():
                sets = [] if self._lists.all(*pair) else state.capability_sets(*pair)[:1]
                for each in (*sets, *map(list_of, KINDS)):
                    self._load_one(state, ListKey(*pair, each))

        await self.do(load)

    # ---- how servers are

    def remember_outcome(self, name: str, server: Server, failure: str | None, code: str) -> None:
        self._outcomes[name] = name, server.fingerprint, failure, code
        if len(self._outcomes) == 1:
            self._begin(self._keep_outcomes())

    async def _keep_outcomes(self) -> None:
        # All that there are, since the database would else be opened once for each of a hundred servers that are down;
        # and one after the other: the first outcome must not be written last.
        async with self._noting:
            outcomes, self._outcomes = self._outcomes, {}
            await self.do(lambda state: cache.remember_failures(state, outcomes.values()))

    async def written(self) -> None:
        while self._writing:
            await asyncio.wait(self._writing)  # unlike gather, it lets their callbacks run where all are done

    # ---- the database

    async def _with_state(self, work: Callable[[State], T], patience_s: float = _PATIENCE_S) -> T:
        def done() -> T:
            with State.opened(self._paths, create=True, waits=True) as state:
                return work(state)

        return await self._database.do(done, patience_s)

    async def do(self, work: Callable[[State], T]) -> T | None:
        with suppress(Unusable):
            return await self._with_state(work)
        return None

    def soon(self, work: Callable[[State], object]) -> None:
        """Have `work` done, if the database can be used; nobody waits for it but `written`."""
        self._begin(self.do(work))

    def _begin(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)


class PolicyMemory:
    """The decisions of people. A look costs as much as asking for the file's version, and never waits."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._database = _Database()
        self.mine: PolicyFile | None = None  # the file as the event loop looks at it; None where it is not open
        self.applies = False  # whether it was ever open, or could not be read
        self._theirs: PolicyFile | None = None
        self.is_closed = False
        self.pinned: int | None = None  # grows whenever tools are pinned or approved; None where that was never known
        self.version: object = None  # changes whenever the file does, as of the last look
        self._standing = NOTHING_DECIDED
        self._given: Sequence[Given] = ()
        self.rates: Rates | None = None  # once a call has one
        self._unusable_stamp: object = None  # of the file that could not be opened, until it changes

    def look(self) -> None:
        mine = PolicyFile.connect(self._paths)
        mine.wait_for_nobody()
        self.mine, self.applies = mine, True

    @property
    def is_kept(self) -> bool:
        return PolicyFile.is_kept(self._paths)

    @property
    def may_be_opened(self) -> bool:
        """Whether there is a file that is not open, and not the one that could not be opened."""
        return self.mine is None and self.is_kept and files.stamp(self._paths.policy) != self._unusable_stamp

    async def open(self) -> None:
        """Open the file. Where it is damaged or gone, nothing is called: a pause may be in it."""
        if self.mine is None:
            try:
                await self.run(lambda _: None)
            except Unusable as error:
                if not is_passing(error) and error.code != "policy_held":
                    self._unusable_stamp = files.stamp(self._paths.policy)
                    self._cannot_tell()
                then = "nothing is called" if self._standing.pause else "no approval, pin, token or pause applies"
                warn(f"{error}; until it can be read, and mcpctl is started again, {then} ({error.hint})")

    def standing(self) -> Standing:
        """The decisions that apply: none where the file is gone or damaged; those of before where it is in use."""
        try:
            if self.mine and not self.mine.is_there:
                warn(f"{self._paths.policy} was removed or replaced; its approvals, pins and tokens no longer apply")
                self._let_go()
            if self.mine and (version := self.mine.version) != self.version:
                given, every, pinned = approvals.given(self.mine), tokens.every(self.mine), pins.version(self.mine)
                self._hold(given, every, self.mine.pause)
                self.version, self.pinned = version, pinned
        except StateError as error:
            if not error.is_passing or (self.mine and self.mine.is_overwritten):
                warn(f"earlier approvals, pins and tokens no longer apply: {error}")
                if self.version is None:
                    self._cannot_tell()
                self._let_go()
        if self._standing.ends is not None and self._standing.ends <= time.time():
            # An end needs no look at the file, which may be held.
            self._hold(self._given, self._standing.tokens, self._standing.pause)
        return self._standing

    def _hold(self, given: Sequence[Given], every: Collection[Token], pause: Pause | None) -> None:
        now = time.time()
        self._given = [each for each in given if each.until is None or each.until > now]
        ends = [each.until for each in self._given if each.until is not None]
        ends += [token.expires for token in every if token.expires]
        if pause and pause.until is not None:
            ends.append(pause.until)
            pause = pause if pause.until > now else None
        if bool(pause) != bool(self._standing.pause):
            warn(f"nothing is called any more: {pause.told}" if pause else "calls go on: the pause has ended")
        first = min((end for end in ends if end > now), default=None)
        standing = Standing(frozenset(each.grant for each in self._given), every, first, pause)
        if standing != self._standing:
            self._standing = standing  # else views keep it

    def _let_go(self) -> None:
        """Take nothing but a pause for decided until the file that is there now has been opened."""
        mine, self.mine, self.version = self.mine, None, None
        pause, self._given = self._standing.pause, ()
        self._standing = Standing(ends=pause.until, pause=pause) if pause else NOTHING_DECIDED
        if mine:
            with suppress(StateError):
                mine.close()

    def _cannot_tell(self) -> None:
        self.applies = True
        if self._standing.pause is None:
            self._standing = Standing(pause=Pause(time.time(), None, "", is_known=False))

    async def run(self, work: Callable[[PolicyFile], T]) -> T:
        """Do `work` aside, in one transaction at most; raises what it does, `StateError` and `Unusable`."""
        if self.is_closed:
            raise self._unusable("is closed")
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._database.do(lambda: self._do(work))
        except TimeoutError:
            raise self._unusable("is in use by another process") from None

    def _unusable(self, why: str) -> Unusable:
        return Unusable(f"{self._paths.policy} {why}", "try again", "policy_held")

    def _do(self, work: Callable[[PolicyFile], T]) -> T:
        if self.is_closed:
            raise self._unusable("is closed")
        if self._theirs is None or not self._theirs.is_there:
            theirs, self._theirs = self._theirs, None
            if theirs:
                with suppress(StateError):
                    theirs.close()
            self._theirs = PolicyFile.connect(self._paths)
        outcome = work(self._theirs)
        if self.mine is None:
            try:
                self.look()
            except Unusable as error:  # the work was done; it is looked at again with the next
                if not is_passing(error):
                    self._unusable_stamp = files.stamp(self._paths.policy)
        return outcome

    def close(self) -> None:
        self.is_closed = True
        self._let_go()
        self._database.line.add(self._close)

    def _close(self) -> None:
        self._let_go()  # it may have been opened meanwhile
        if self._theirs:
            self._theirs.close()


def _loaded(state: State, of: ListKey) -> Listed | None:
    """A server's last list. A collection that goes through many thousands of definitions holds everybody up."""
    listed = cache.load(state, of)
    if listed and len(listed.tools) >= _MANY:
        gc.freeze()
    return listed
