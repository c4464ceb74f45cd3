"""Events that are in no journal: of approvals, tools, servers, and sessions whose process has died.

`approvals.requested|decided`, `tools.changed|held|approved`, `servers.changed` and `sessions.closed`. They have no
position. They are found by comparing the present state with the last one, when files have changed."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mcpctl import servers as server_rows
from mcpctl.base import files
from mcpctl.base.errors import McpctlError, warn
from mcpctl.base.models import Row, Tool
from mcpctl.base.paths import Paths
from mcpctl.catalog import rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists
from mcpctl.config import config
from mcpctl.oauth.token_store import TokenStore
from mcpctl.policy import answering, approvals
from mcpctl.policy.approvals import ALLOWED, PENDING, CallApproval
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.view import View
from mcpctl.store import clock
from mcpctl.store.events import Event
from mcpctl.store.filters import CallFilter
from mcpctl.store.records import Records
from mcpctl.store.state import State

_EVERY_S = 1.0
_LOOKS = 30  # after so many looks files are read that seem unchanged: their times are no finer than a clock's tick
_BY_ITSELF = ("expired", "used")  # the states that a yes comes to by itself


class _ToolState(NamedTuple):
    definition: int
    held: str
    is_approved: bool


class StateEvents:
    """The changes since the last look, for the thread that made the records. Unreadable files count as unchanged."""

    def __init__(self, paths: Paths, records: Records) -> None:
        self._records = records
        self._dead: set[str] | None = None
        self._parts = (_Approvals(paths), _Catalog(paths))
        self._next = 0.0

    def changes(self) -> Sequence[Event]:
        """The changes; none at the first look, and less than a second after the last."""
        now = time.monotonic()
        if now < self._next:
            return ()
        self._next = now + _EVERY_S
        return [*self._deaths(), *(event for part in self._parts for event in part.changes())]

    def _deaths(self) -> Iterator[Event]:
        dead = set(self._records.died())
        if self._dead is not None and not dead <= self._dead and self._records.refreshed():
            dead = set(self._records.died())  # a session that closed just before its process ended is on record by now
        known, self._dead = self._dead, dead
        if known is not None and (new := tuple(sorted(dead - known))):
            for row in self._records.sessions(CallFilter(sessions=new)).rows(None, 0):
                rest = {name: value for name, value in row.items() if name != "id"}
                yield _event("sessions.closed", {"session_id": row["id"], **rest})


class _Files:
    def __init__(self, *paths: Path) -> None:
        self._paths = [each for path in paths for each in (path, path.with_name(f"{path.name}-wal"))]
        self._seen: object = None
        self._looks = 0

    def changed(self, read: Callable[[], object]) -> bool:
        """Whether they changed and could be read; they are read again until they can be."""
        seen = [files.stamp(path) for path in self._paths]
        self._looks += 1
        if seen == self._seen and self._looks < _LOOKS:
            return False
        try:
            read()
        except Exception as error:
            # Servers write their definitions; events of the journals go on whatever is in those.
            if not isinstance(error, McpctlError | OSError):
                warn(f"changes of servers, tools and approvals cannot be followed: {error!r}")
            self._seen = None
            return False
        self._seen, self._looks = seen, 0
        return True


class _Approvals:
    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._files = _Files(paths.policy)
        self._all: Sequence[CallApproval] = ()
        self._states: Mapping[str, str] | None = None
        self._next_end = float("inf")  # when the next of those that are open expires

    def changes(self) -> Iterator[Event]:
        """Approvals that were requested, answered, or not answered in time."""
        is_read = self._files.changed(self._read)
        now = time.time()
        if not is_read and now <= self._next_end:
            return
        states = {each.id: each.state_at(now) for each in self._all}
        ends = (each.expires for each in self._all if states[each.id] == PENDING)
        self._next_end = min(ends, default=float("inf"))
        known, self._states = self._states, states
        if known is None:
            return
        for approval in reversed(self._all):
            before, state = known.get(approval.id), states[approval.id]
            if before != state and not (before == ALLOWED and state in _BY_ITSELF):
                type_ = "approvals.requested" if state == PENDING else "approvals.decided"
                yield _event(type_, answering.row(approval))

    def _read(self) -> None:
        if not self._paths.policy.exists():
            self._all = ()
            return
        with PolicyFile.as_it_lies(self._paths) as file:
            self._all = approvals.listed(file)


class _Catalog:
    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._files = _Files(paths.config, paths.state, paths.policy)
        self._servers: Mapping[str, Row] | None = None
        self._tools: Mapping[str, _ToolState] = {}
        self._events: list[Event] = []

    def changes(self) -> Sequence[Event]:
        """Servers that were added, changed, removed, listed again or have failed; then tools."""
        return self._events if self._files.changed(self._read) else ()

    def _read(self) -> None:
        loaded = config.load(self._paths.config)
        with (State.as_it_lies if self._paths.state.exists() else State.opened)(self._paths) as state:
            holding = rows.holding(self._paths, loaded, PolicyFile.as_it_lies)
            catalog = Catalog(View(loaded), state, Lists(holding, self._paths.verdicts))
            catalog.check_together()
            names = sorted({*loaded.servers, *loaded.problems})
            servers = {
                name: server_rows.row(self._paths, loaded, name, catalog, TokenStore(self._paths)) for name in names
            }
            tools = {tool.key: tool for tool in catalog.visible(with_held=True)}
            seen = {key: _ToolState(hash(tool.text), tool.held, tool.is_approved) for key, tool in tools.items()}
            self._events = []
            if self._servers is not None:
                changed = [row for name, row in servers.items() if row != self._servers.get(name)]
                gone = [{"name": name, "gone": True} for name in self._servers.keys() - servers.keys()]
                of_servers = [_event("servers.changed", row) for row in (*changed, *gone)]
                self._events = [*of_servers, *self._of_tools(catalog, tools, seen)]
        self._servers, self._tools = servers, seen

    def _of_tools(self, catalog: Catalog, tools: Mapping[str, Tool], seen: Mapping[str, _ToolState]) -> Iterator[Event]:
        """The changes of tools; where a server lost all, or had none, only held ones: its own change is an event."""
        had, have = ({key.partition(":")[0] for key in keys} for keys in (self._tools, seen))
        for key, tool in tools.items():
            before = self._tools.get(key)
            if before != seen[key]:
                for type_ in _types(before, seen[key], is_first=tool.server not in had):
                    yield _event(type_, rows.row(tool, catalog, None))
        for key in self._tools.keys() - seen.keys():
            server, _, name = key.partition(":")
            if server in have:
                yield _event("tools.changed", {"key": key, "server": server, "tool": name, "gone": True})


def _types(before: _ToolState | None, now: _ToolState, *, is_first: bool) -> Iterator[str]:
    is_held = now.held and not (before and before.held == now.held)
    is_approved = now.is_approved and not (before and before.is_approved)
    is_new = before is None or before.definition != now.definition
    if (is_new and not is_first) or not (is_new or is_held or is_approved):
        yield "tools.changed"
    if is_held:
        yield "tools.held"
    if is_approved and before:
        yield "tools.approved"


def _event(type_: str, row: Row) -> Event:
    return Event(type_, row, clock.now())
