"""What changed in the tools of servers since they were pinned, or against a lock file: `tools diff`."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from mcpctl.base import definitions
from mcpctl.base.feature_names import RESOURCES, kind_of_list, split
from mcpctl.base.models import Row, Tool
from mcpctl.base.rules import Selection
from mcpctl.base.tool_keys import join
from mcpctl.catalog import cache, drift
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.drift import Change, Suspicion
from mcpctl.catalog.drift_rules import RULES
from mcpctl.catalog.lists import Listed
from mcpctl.catalog.lock_file import Lock
from mcpctl.policy import pins
from mcpctl.policy.pins import Pin, PinnedServer, ServerPins, Shown
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store.state import ListKey

_NO_PINS = ServerPins()


@dataclass(frozen=True)
class Wanted:
    """Which tools; nothing given is all."""

    keys: Collection[str] = ()
    servers: Collection[str] = ()

    def has_server(self, server: str) -> bool:
        """Whether anything of a server is wanted."""
        named = {key.partition(":")[0] for key in self.keys}
        return not (self.keys or self.servers) or server in self.servers or server in named

    def has(self, server: str, tool: str) -> bool:
        """Whether a tool is wanted; without a name, what is said of its server as a whole."""
        return not (self.keys or self.servers) or server in self.servers or join(server, tool) in self.keys


ALL = Wanted()


def rows(changes: Sequence[Change], asked: Selection, lock: Lock | None = None) -> list[Row]:
    """The changes that are asked for, one row each, the worst first."""
    return [_row(change, asked, lock) for change in changes if asked.wants(change.rule)]


def _row(change: Change, asked: Selection, lock: Lock | None) -> Row:
    rule = RULES[change.rule]
    return {
        "key": join(change.server, change.tool), "rule": rule.id, "severity": rule.severity,
        "message": change.message, "why": rule.why, "fix": rule.fix, "place": None,
        "path": str(lock.path) if lock else None, "line": lock.line(change.server, change.tool) if lock else None,
        "counts": asked.counts(rule.id), "old": change.old, "new": change.new,
    }  # fmt: skip


def since_pinned(
    catalog: Catalog,
    file: PolicyFile,
    wanted: Wanted = ALL,
    suspicion: Suspicion = drift.no_suspicion,
    *,
    with_unpinned: bool = False,
) -> list[Change]:
    """What changed since tools were pinned, of the servers in use, whatever clients they were listed for; and what was
    listed and never pinned, which nobody has seen, where that is asked for."""
    found: dict[Change, None] = {}
    for server, fingerprint in catalog.config.fingerprints.items():
        if wanted.has_server(server):
            changes = _Server(catalog, file, server, fingerprint, suspicion, with_unpinned).changes()
            found.update(dict.fromkeys(change for change in changes if wanted.has(server, change.tool)))
    return sorted(found, key=_order)


def suspicion(catalog: Catalog) -> Suspicion:
    """What looks like an attack in a tool, beside the tools of all servers."""
    from mcpctl.checks.checker import Checker  # hundreds of expressions, which most commands do not need
    from mcpctl.checks.findings import ERROR

    lists = (catalog.listed(server) for server in catalog.config.enabled)
    checker = Checker(tool for listed in lists if listed for tool in listed.tools)
    return lambda tool: (finding.message for finding in checker.check(tool) if finding.severity == ERROR)


def _order(change: Change) -> tuple[str, str, str]:
    return change.server, change.tool, change.rule


@dataclass
class _Server:
    catalog: Catalog
    file: PolicyFile
    server: str
    fingerprint: str
    suspicion: Suspicion
    with_unpinned: bool
    pinned: dict[tuple[str, str], Pin] = field(init=False)
    known: ServerPins = field(init=False)
    said: list[PinnedServer] = field(init=False)

    def __post_init__(self) -> None:
        key = self.server, self.fingerprint
        every = pins.pinned(self.file, self.server)
        self.pinned = {(pin.of.capabilities, pin.name): pin for pin in every if pin.of.fingerprint == self.fingerprint}
        self.before = [pin for pin in every if pin.of.fingerprint != self.fingerprint]
        self.said = pins.pinned_servers(self.file, self.server)
        self.known = pins.read(self.file, *key).get(key, _NO_PINS)

    def changes(self) -> Iterator[Change]:
        if not self.known.sets and not self.with_unpinned:
            return  # never seen while there was a policy
        yield from self._other_program()
        lists = [*self.catalog.every(self.server), *self.catalog.features(self.server)]
        shown = {tool.name for listed in lists for tool in listed.tools}
        for listed in lists:
            for tool in listed.tools:
                yield from self._of_tool(tool, listed.capabilities)
            yield from self._instructions(listed)
        if shown:
            gone = sorted(self.known.known.keys() - shown)
            # A resource is data, which comes and goes.
            yield from (drift.gone(self.server, name) for name in gone if split(name)[0] != RESOURCES)

    def _of_tool(self, tool: Tool, capabilities: str) -> Iterator[Change]:
        why = self.known.drift(tool, capabilities)
        is_unpinned = self.with_unpinned and tool.name not in self.known.known
        is_unpinned = is_unpinned and kind_of_list(capabilities) != RESOURCES
        if why == pins.NEW or is_unpinned:
            yield from drift.of_new(tool, self.suspicion)
        elif why:
            yield from drift.of_tool(self._pinned(tool.name, capabilities), tool, self.suspicion)

    def _pinned(self, name: str, capabilities: str) -> Tool:
        """A tool as it was pinned: for a client like this one, else for another."""
        of_name = [pin for (_, each), pin in self.pinned.items() if each == name]
        pin = self.pinned.get((capabilities, name)) or of_name[-1]
        return cache.tool(self.server, name, pin.definition)

    def _instructions(self, listed: Listed) -> Iterator[Change]:
        here = [said for said in self.said if said.of.fingerprint == self.fingerprint]
        if here and definitions.hashed(listed.instructions) not in {said.hash for said in here}:
            own = [said for said in here if said.of.capabilities == listed.capabilities] or here
            yield Change(
                self.server, "", "W804", "the server's instructions changed", own[-1].instructions, listed.instructions
            )

    def _other_program(self) -> Iterator[Change]:
        """Whether the name was another program's when its tools were pinned first, and nobody has approved this one."""
        here = [said for said in self.said if said.of.fingerprint == self.fingerprint]
        others = [said for said in self.said if said.of.fingerprint != self.fingerprint]
        if not (here and others) or any(said.approved for said in here) or here[0].seen < others[0].seen:
            return
        before = {pin.name: pin.pin for pin in self.before}
        now = self.catalog.newest(self.server)
        same = sum(definitions.is_pin_of(before.get(name, ""), tool) for name, tool in now.items())
        told = f"the server is started in another way than when its tools were first pinned: {same} of its {len(now)}"
        yield Change(self.server, "", "W805", f"{told} tools are as they were")


def against(
    catalog: Catalog, lock: Lock, wanted: Wanted = ALL, suspicion: Suspicion = drift.no_suspicion
) -> list[Change]:
    """What changed against a lock file, of the servers in use that have listed their tools."""
    found: dict[Change, None] = {}
    listed = [server for server in catalog.config.enabled if catalog.listed(server) and wanted.has_server(server)]
    permitted = {(tool.server, tool.name) for tool in catalog.known()}
    for server in listed:
        changes = _locked(catalog, lock, server, permitted, suspicion)
        found.update(dict.fromkeys(change for change in changes if wanted.has(server, change.tool)))
    of_others = {(server, name) for server, name in lock.tools if server not in listed and wanted.has(server, name)}
    found.update(
        dict.fromkeys(drift.gone(server, name, "its server has listed nothing here") for server, name in of_others)
    )
    return sorted(found, key=_order)


def _locked(
    catalog: Catalog, lock: Lock, server: str, permitted: Collection[tuple[str, str]], suspicion: Suspicion
) -> Iterator[Change]:
    shown = catalog.newest(server)
    for name, tool in shown.items():
        if before := lock.tools.get((server, name)):
            if not definitions.is_pin_of(lock.pins[server, name], tool):
                yield from drift.of_tool(before, tool, suspicion)
        elif (server, name) in permitted:
            yield from drift.of_new(tool, suspicion)
    said, listed = lock.instructions.get(server), catalog.listed(server)
    if listed and said is not None and said != definitions.hashed(listed.instructions):
        yield Change(server, "", "W804", "the server's instructions changed", None, listed.instructions)
    yield from (drift.gone(server, name) for locked, name in lock.tools if locked == server and name not in shown)


def shown(catalog: Catalog, file: PolicyFile, wanted: Wanted) -> list[Shown]:
    """What a person who is shown `since_pinned` says yes to, by list: the tools that differ from their pins; of those
    that do not in any list, each as it is. A list that was made before a change, for other clients, shows what was
    before it, which nobody has said yes to."""
    known = pins.read(file)
    lists: list[Shown] = []
    for server, fingerprint in catalog.config.fingerprints.items():
        if not wanted.has_server(server):
            continue
        pinned = known.get((server, fingerprint), _NO_PINS)
        every = (*catalog.every(server), *catalog.features(server))
        differing = {tool.name for each in every for tool in each.tools if _differs(pinned, tool, each)}
        for each in every:
            tools = [tool for tool in each.tools if wanted.has(server, tool.name)]
            tools = [tool for tool in tools if tool.name not in differing or _differs(pinned, tool, each)]
            whole = each.instructions if wanted.has(server, "") else None
            lists.append(Shown(ListKey(server, fingerprint, each.capabilities), tools, whole))
    return lists


def _differs(pinned: ServerPins, tool: Tool, listed: Listed) -> bool:
    return tool.name not in pinned.known or bool(pinned.drift(tool, listed.capabilities))
