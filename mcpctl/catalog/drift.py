"""Changes of tools, prompts and resources since they were pinned or against a lock file: `tools diff`."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcpctl.base import definitions, hints
from mcpctl.base.feature_names import RESOURCES, is_feature, kind_of_list, split
from mcpctl.base.models import HINTS, Row, Tool
from mcpctl.base.rules import Rule, Selection
from mcpctl.base.tool_keys import join
from mcpctl.catalog import cache
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Listed
from mcpctl.catalog.lock_file import Lock
from mcpctl.policy import pins, versions
from mcpctl.policy.pins import ServerPins, ShownList
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.policy.versions import VersionHistory
from mcpctl.store.state import ListKey

_LOOK = "Read what changed; if it is right: mcpctl tools approve KEY"
_ALL = (
    Rule("E701", "A hint became looser.", "It makes clients and rules let more happen without asking.",
         "Find out whether the tool really does less than before; if so: mcpctl tools approve KEY"),
    Rule("E702", "A new text looks like an attack on the model.", "It was harmless when it was approved.",
         "Do not approve it before you know why it is there; ask the server's author."),
    Rule("W801", "A description changed.", "Models follow what descriptions say.", _LOOK),
    Rule("W802", "A schema changed.", "A parameter can ask for what the tool has no use for.", _LOOK),
    Rule("W803", "A tool is new on a known server.", "Nobody has looked at it.",
         "Read its definition; if it is right: mcpctl tools approve KEY"),
    Rule("W804", "A server's instructions changed.", "Models are told them; those that changed are held.",
         "Read them; if they are right: mcpctl tools approve --server NAME"),
    Rule("W805", "A server of that name was another program when its tools were pinned.",
         "The same name now starts another program, or with other arguments; tools that differ are held.",
         "Compare the tools; if they are right: mcpctl tools approve --server NAME"),
    Rule("W806", "The icons or the page that clients show with a tool changed.",
         "People decide by what they are shown; a page can call tools.", _LOOK),
    Rule("W807", "The request of a tool of an HTTP API changed.",
         "The same name now sends another request, sends it elsewhere, or with other credentials.",
         f"See where it goes with mcpctl servers show NAME and mcpctl tools show KEY. {_LOOK}"),
    Rule("I901", "A tool is gone.", "Toolsets that name it do not find it.", "Nothing, or name another in toolsets."),
    Rule("I902", "A hint was added or left out without a change of meaning, or became stricter.",
         "It loosens nothing.", _LOOK),
    Rule("I903", "A title changed.", "People tell tools apart by it.", _LOOK),
)  # fmt: skip
RULES = {rule.id: rule for rule in _ALL}


_SCHEMAS = ("inputSchema", "outputSchema")
_TOO_DEEP = "(nested too deep to be shown)"
Suspicion = Callable[[Tool], Iterable[str]]  # messages on what looks like an attack in a tool's definition


@dataclass(frozen=True)
class ToolChange:
    server: str
    tool: str  # empty where it is about the server as a whole
    rule: str
    message: str
    old: str | None = None
    new: str | None = None


def of_tool(old: Tool, new: Tool, suspicion: Suspicion) -> Iterator[ToolChange]:
    if definitions.pin_of(old) == definitions.pin_of(new):
        return
    if old.description != new.description:
        yield _change(new, "W801", "the description changed", old.description, new.description)
    for schema in ("name", *definitions.OF_FEATURES) if is_feature(new.name) else _SCHEMAS:
        before, after = _json(old.definition.get(schema)), _json(new.definition.get(schema))
        if before != after or before == _TOO_DEEP:
            yield _change(new, "W802", f"{schema} changed", before, after)
    if (before := _json(definitions.shown(old.definition))) != (after := _json(definitions.shown(new.definition))):
        yield _change(new, "W806", "what clients show of it changed", before, after)
    if old.request != new.request:
        was, is_now = (" ".join(tool.request) for tool in (old, new))
        yield _change(new, "W807", f"its request was {was} and is {is_now}", was, is_now)
    elif old.request_hash != new.request_hash:
        yield _change(new, "W807", "its request goes elsewhere, or has other parameters, bodies or credentials")
    titles = [(tool.definition.get("title"), tool.annotations.get("title")) for tool in (old, new)]
    if titles[0] != titles[1]:
        yield _change(new, "I903", "the title changed", old.title, new.title)
    yield from _hints(old, new)
    yield from (_change(new, "E702", message) for message in suspicion(new))


def of_new(tool: Tool, suspicion: Suspicion) -> Iterator[ToolChange]:
    hints_declared = json.dumps(definitions.declared_hints(tool))
    text = "\n".join([tool.description, f"hints: {hints_declared}", _json(tool.definition.get("inputSchema")) or ""])
    yield _change(tool, "W803", "the tool is new", None, text)
    yield from (_change(tool, "E702", message) for message in suspicion(tool))


def of_gone(server: str, name: str, why: str = "") -> ToolChange:
    return ToolChange(server, name, "I901", f"the tool is gone{f': {why}' if why else ''}")


def _hints(old: Tool, new: Tool) -> Iterator[ToolChange]:
    before, after = hints.effective(old), hints.effective(new)
    declared, declares = definitions.declared_hints(old), definitions.declared_hints(new)
    for name in HINTS:
        if declared.get(name) == declares.get(name):
            continue
        is_looser = before[name].value != after[name].value and hints.is_loose(name, after[name].value)
        was, is_now = (str(values.get(name, "not declared")).lower() for values in (declared, declares))
        yield _change(new, "E701" if is_looser else "I902", f"{name} was {was} and is {is_now}", was, is_now)


def _json(value: Any) -> str | None:
    try:
        decoded = json.loads(definitions.canonical(value))
    except definitions.TooDeep:
        return _TOO_DEEP
    return None if decoded is None else json.dumps(decoded, indent=2, sort_keys=True, ensure_ascii=False)


def _change(tool: Tool, rule: str, message: str, old: str | None = None, new: str | None = None) -> ToolChange:
    return ToolChange(tool.server, tool.name, rule, message, old, new)


_NO_PINS = ServerPins()
_INSTRUCTIONS_CHANGED = "the server's instructions changed"


@dataclass(frozen=True)
class ChangeFilter:
    """Filters of tools; empty ones do not filter."""

    keys: Collection[str] = ()
    servers: Collection[str] = ()

    def has_server(self, server: str) -> bool:
        named = {key.partition(":")[0] for key in self.keys}
        return not (self.keys or self.servers) or server in self.servers or server in named

    def has(self, server: str, tool: str) -> bool:
        """Whether changes of a tool are wanted; without its name, those of the server as a whole."""
        return not (self.keys or self.servers) or server in self.servers or join(server, tool) in self.keys


def rows(changes: Sequence[ToolChange], selection: Selection, lock: Lock | None = None) -> list[Row]:
    return [_row(change, selection, lock) for change in changes if selection.wants(change.rule)]


def _row(change: ToolChange, selection: Selection, lock: Lock | None) -> Row:
    rule = RULES[change.rule]
    return {
        "key": join(change.server, change.tool), "rule": rule.id, "severity": rule.severity,
        "message": change.message, "why": rule.why, "fix": rule.fix, "place": None,
        "path": str(lock.path) if lock else None, "line": lock.line(change.server, change.tool) if lock else None,
        "counts": selection.counts(rule.id), "old": change.old, "new": change.new,
    }  # fmt: skip


def since_pinned(
    catalog: Catalog,
    file: PolicyFile,
    filters: ChangeFilter,
    suspicion: Suspicion = lambda _: (),
    with_unpinned: bool = False,
) -> list[ToolChange]:
    """The changes since tools were pinned, whatever clients they were listed for; or also tools without a pin."""
    changed: dict[ToolChange, None] = {}
    for server, fingerprint in catalog.config.fingerprints.items():
        if filters.has_server(server):
            changes = _ServerChanges(catalog, file, (server, fingerprint), suspicion, with_unpinned).changes()
            changed.update(dict.fromkeys(change for change in changes if filters.has(server, change.tool)))
    return sorted(changed, key=_order)


def since_moment(
    catalog: Catalog, file: PolicyFile, filters: ChangeFilter, moment: float, suspicion: Suspicion
) -> list[ToolChange]:
    """The changes since a moment of tools as they were last listed, whether or not they were approved."""
    changed: dict[ToolChange, None] = {}
    for server in catalog.config.enabled:
        lists = [*catalog.every(server), *catalog.features(server)]
        lists = [listed for listed in lists if kind_of_list(listed.capabilities) != RESOURCES]
        if not lists or not filters.has_server(server):
            continue
        of_server = versions.history(file, server)
        if not of_server.of:
            continue  # never seen while there was a policy
        for change in _since(server, lists, of_server, moment, suspicion):
            if filters.has(server, change.tool):
                changed[change] = None
    return sorted(changed, key=_order)


def _since(
    server: str, lists: Sequence[Listed], of_server: VersionHistory, moment: float, suspicion: Suspicion
) -> Iterator[ToolChange]:
    for listed in lists:
        for tool in listed.tools:
            when = of_server.seen(listed.capabilities, tool.name, definitions.pin_of(tool))
            before = of_server.at(listed.capabilities, tool.name, moment)
            if before is None:
                changes = of_new(tool, suspicion)
            elif definitions.is_pin_of(before.pin, tool):
                continue
            else:
                changes = of_tool(_before(tool, before.definition), tool, suspicion)
            yield from (replace(change, message=f"{change.message}{when}") for change in changes)
        said = of_server.at(listed.capabilities, versions.INSTRUCTIONS, moment)
        if said and not kind_of_list(listed.capabilities) and said.definition != listed.instructions:
            pin = definitions.hashed(listed.instructions)
            message = f"{_INSTRUCTIONS_CHANGED}{of_server.seen(listed.capabilities, versions.INSTRUCTIONS, pin)}"
            yield ToolChange(server, "", "W804", message, said.definition, listed.instructions)
    shown = {versions.INSTRUCTIONS, *(tool.name for listed in lists for tool in listed.tools)}
    yield from (of_gone(server, name) for name in sorted(of_server.names(moment) - shown))


def _before(tool: Tool, definition: str) -> Tool:
    return cache.tool(tool.server, tool.name, definition, is_of_api=tool.inferred is not None)


def suspicion(catalog: Catalog) -> Suspicion:
    from mcpctl.checks.checker import Checker  # hundreds of expressions, which most commands do not need
    from mcpctl.checks.findings import ERROR

    lists = (catalog.listed(server) for server in catalog.config.enabled)
    checker = Checker(tool for listed in lists if listed for tool in listed.tools)
    return lambda tool: (finding.message for finding in checker.check(tool) if finding.severity == ERROR)


def _order(change: ToolChange) -> tuple[str, str, str]:
    return change.server, change.tool, change.rule


class _ServerChanges:
    def __init__(
        self, catalog: Catalog, file: PolicyFile, key: tuple[str, str], suspicion: Suspicion, with_unpinned: bool
    ) -> None:
        self.catalog, self.suspicion, self.with_unpinned = catalog, suspicion, with_unpinned
        self.server, fingerprint = key
        every, instructions = pins.pinned(file, self.server), pins.pinned_instructions(file, self.server)
        self.pinned = {(pin.of.capabilities, pin.name): pin for pin in every if pin.of.fingerprint == fingerprint}
        self.pinned_before = {pin.name: pin.pin for pin in every if pin.of.fingerprint != fingerprint}
        self.here = [pin for pin in instructions if pin.of.fingerprint == fingerprint]
        self.elsewhere = [pin for pin in instructions if pin.of.fingerprint != fingerprint]
        self.known = pins.read(file, *key).get(key, _NO_PINS)

    def changes(self) -> Iterator[ToolChange]:
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
            yield from (of_gone(self.server, name) for name in gone if split(name)[0] != RESOURCES)

    def _of_tool(self, tool: Tool, capabilities: str) -> Iterator[ToolChange]:
        why = self.known.drift(tool, capabilities)
        is_unpinned = self.with_unpinned and tool.name not in self.known.known
        if why == pins.NEW or (is_unpinned and kind_of_list(capabilities) != RESOURCES):
            yield from of_new(tool, self.suspicion)
        elif why:  # compared with its pin for a client like this one, else for another
            of_name = [pin for (_, name), pin in self.pinned.items() if name == tool.name]
            pin = self.pinned.get((capabilities, tool.name)) or of_name[-1]
            yield from of_tool(_before(tool, pin.definition), tool, self.suspicion)

    def _instructions(self, listed: Listed) -> Iterator[ToolChange]:
        if self.here and definitions.hashed(listed.instructions) not in {pin.pin for pin in self.here}:
            own = [pin for pin in self.here if pin.of.capabilities == listed.capabilities] or self.here
            yield ToolChange(self.server, "", "W804", _INSTRUCTIONS_CHANGED, own[-1].definition, listed.instructions)

    def _other_program(self) -> Iterator[ToolChange]:
        """Whether the name was another program's when its tools were pinned first, and nobody has approved this one."""
        here, elsewhere = self.here, self.elsewhere
        if not (here and elsewhere) or any(pin.approved for pin in here) or here[0].seen < elsewhere[0].seen:
            return
        now = self.catalog.newest(self.server)
        same = sum(definitions.is_pin_of(self.pinned_before.get(name, ""), tool) for name, tool in now.items())
        message = "the server is started in another way than when its tools were first pinned"
        yield ToolChange(self.server, "", "W805", f"{message}: {same} of its {len(now)} tools are as they were")


def against(catalog: Catalog, lock: Lock, filters: ChangeFilter, suspicion: Suspicion) -> list[ToolChange]:
    """The changes against a lock file, of the servers in use that have listed their tools."""
    changed: dict[ToolChange, None] = {}
    listed = [server for server in catalog.config.enabled if catalog.listed(server) and filters.has_server(server)]
    permitted = {(tool.server, tool.name) for tool in catalog.known()}
    for server in listed:
        changes = _locked(catalog, lock, server, permitted, suspicion)
        changed.update(dict.fromkeys(change for change in changes if filters.has(server, change.tool)))
    others = [(server, name) for server, name in lock.tools if server not in listed and filters.has(server, name)]
    changed.update(dict.fromkeys(of_gone(*other, "its server has listed nothing here") for other in others))
    return sorted(changed, key=_order)


def _locked(
    catalog: Catalog, lock: Lock, server: str, permitted: Collection[tuple[str, str]], suspicion: Suspicion
) -> Iterator[ToolChange]:
    shown, locked_pins = catalog.newest(server), lock.pins
    for name, tool in shown.items():
        if before := lock.tools.get((server, name)):
            if not definitions.is_pin_of(locked_pins[server, name], tool):
                yield from of_tool(before, tool, suspicion)
        elif (server, name) in permitted:
            yield from of_new(tool, suspicion)
    locked_hash, listed = lock.instructions.get(server), catalog.listed(server)
    if listed and locked_hash is not None and locked_hash != definitions.hashed(listed.instructions):
        yield ToolChange(server, "", "W804", _INSTRUCTIONS_CHANGED, None, listed.instructions)
    yield from (of_gone(server, name) for locked, name in lock.tools if locked == server and name not in shown)


def shown(catalog: Catalog, file: PolicyFile, filters: ChangeFilter) -> list[ShownList]:
    """The tools that a person approves who is shown `since_pinned`, by list: those that differ, and those that differ
    in no list. A list from before a change, for other clients, has the tool before it, which is not approved."""
    known = pins.read(file)
    lists: list[ShownList] = []
    for server, fingerprint in catalog.config.fingerprints.items():
        if not filters.has_server(server):
            continue
        pinned = known.get((server, fingerprint), _NO_PINS)
        every = (*catalog.every(server), *catalog.features(server))
        differing = {tool.name for listed in every for tool in listed.tools if _differs(pinned, tool, listed)}
        for listed in every:
            tools = [tool for tool in listed.tools if filters.has(server, tool.name)]
            tools = [tool for tool in tools if tool.name not in differing or _differs(pinned, tool, listed)]
            whole = listed.instructions if filters.has(server, "") else None
            lists.append(ShownList(ListKey(server, fingerprint, listed.capabilities), tools, whole))
    return lists


def _differs(pinned: ServerPins, tool: Tool, listed: Listed) -> bool:
    return tool.name not in pinned.known or bool(pinned.drift(tool, listed.capabilities))
