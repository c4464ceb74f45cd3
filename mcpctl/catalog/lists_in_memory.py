"""The lists of servers that are in memory, each tool judged as it comes in."""

import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mcpctl.base.callers import SHARED
from mcpctl.base.feature_names import KINDS, kind_of_list, list_of
from mcpctl.base.models import Tool
from mcpctl.policy.holding import NOTHING, UNCHECKED, Drift, Holding
from mcpctl.policy.view import View
from mcpctl.store.state import ListKey

_OF_FEATURES = {kind: list_of(kind) for kind in KINDS}
STALE_S = 24 * 3600
_LONG = 300  # tools of a list whose verdict is kept: a short one is checked as fast as a file is read
HELD = 0  # the generation of a list that is in no database


class Listed(Struct, frozen=True, dict=True):
    """One list of a server; `generation` changes whenever its tools do."""

    generation: int
    fetched_at: float
    tools: tuple[Tool, ...]
    capabilities: str = ""  # the client's, as `callers.capability_set` has them
    instructions: str = ""
    drifts: tuple[Drift, ...] = ()  # changed or held tools and instructions
    held: str = ""  # why its instructions are held, one of `HOLDS`

    @cached_property
    def by_name(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    @property
    def is_stale(self) -> bool:
        return not 0 <= time.time() - self.fetched_at < STALE_S


class Lists:
    """The lists in memory, which any thread may put and look at without waiting; they are replaced, never changed."""

    def __init__(self, holding: Holding = NOTHING, verdicts: Path | None = None) -> None:
        """`verdicts` is the file that keeps for the next process what checks have found in long lists."""
        self.holding = holding
        self._verdicts = verdicts
        self.judged = 0  # grows whenever one of them is judged differently than before
        self.changes = 0  # grows whenever any of them changes
        self._of: Mapping[ListKey, Listed] = {}
        self._in_use: Mapping[tuple[str, str], Mapping[str, str]] = {}  # the set of each holder's connection
        self._suspicious: Mapping[ListKey, Collection[str]] = {}  # names of tools that look like an attack
        self._checked: dict[ListKey, tuple[Mapping[str, Tool], frozenset[str]]] = {}
        self._together_at = -1  # the `changes` after which all of them were checked together
        self._changing = threading.Lock()

    def get(self, of: ListKey) -> Listed | None:
        return self._of.get(of)

    def all(self, server: str, fingerprint: str) -> Mapping[str, Listed]:
        return {of.capabilities: listed for of, listed in self._of_tools() if of[:2] == (server, fingerprint)}

    def features(self, server: str, fingerprint: str) -> Mapping[str, Listed]:
        known = {kind: self._of.get(ListKey(server, fingerprint, name)) for kind, name in _OF_FEATURES.items()}
        return {kind: listed for kind, listed in known.items() if listed}

    def sets(self, server: str, fingerprint: str, view: View) -> Sequence[str]:
        """The sets of capabilities whose list counts: only that of its connection, where it has listed on one."""
        in_use = self._in_use.get((server, fingerprint), {})
        used = in_use.get(SHARED) or in_use.get(view.caller.holder if view.caller else "")
        return view.capability_sets if used is None else (used,)

    def put(self, of: ListKey, listed: Listed, holder: str | None = None) -> Listed:
        """Judge a list and keep it; it is from the connection of this holder, if there is one."""
        self.check(of, listed)
        with self._changing:
            judged = self._judged(of, listed)
            self._of = {**self._of, of: judged}
            if holder is not None:
                self._in_use = {**self._in_use, of[:2]: {**self._in_use.get(of[:2], {}), holder: of.capabilities}}
            self.changes += 1
        return judged

    def left(self, holder: str, server: str = "") -> None:
        """Forget what a holder's connections have listed, to this server or to all: it has none any more."""
        with self._changing:
            self._in_use = {
                pair: {each: used for each, used in of_pair.items() if each != holder or server not in ("", pair[0])}
                for pair, of_pair in self._in_use.items()
            }
            self.changes += 1

    def drop(self, of: ListKey) -> None:
        with self._changing:
            self._of = {key: listed for key, listed in self._of.items() if key != of}
            self.changes += 1

    def hold_by(self, holding: Holding) -> None:
        was_checked, self.holding = self.holding.checks != UNCHECKED, holding
        if not was_checked:
            self._check_all(with_features=True)
        self._judge_all()

    def check_together(self) -> None:
        """Check all lists again, each beside the others: one may mention tools of another that came after it."""
        if self.holding.checks != UNCHECKED and self._together_at != self.changes:
            self._check_all()
            self._judge_all()
            self._together_at = self.changes

    def keep_only(self, pairs: Collection[tuple[str, str]]) -> None:
        with self._changing:
            kept = {of: listed for of, listed in self._of.items() if of[:2] in pairs}
            if len(kept) < len(self._of):
                self._of = kept
                self.changes += 1

    def _check_all(self, *, with_features: bool = False) -> None:
        peers = self._peers()
        for of, listed in self._of.items() if with_features else self._of_tools():
            self.check(of, listed, peers)

    def check(self, of: ListKey, listed: Listed, peers: Mapping[str, Sequence[Tool]] | None = None) -> None:
        """Check a list before it is put in, where nobody waits: it may have thousands of features."""
        if self.holding.checks == UNCHECKED:
            return
        peers = self._peers() if peers is None else peers
        if not kind_of_list(of.capabilities):
            every = (*listed.tools, instructions_tool(of.server, listed.instructions))
            self._note(of, self._suspicious_ones(every, {**peers, of.server: listed.tools}))
            return
        before, names = self._checked.get(of, ({}, frozenset()))
        if before is not listed.by_name:
            # Unchanged tools are not checked again: a server may announce changes of its list without end.
            same = {name for name, tool in listed.by_name.items() if name in before and before[name].text == tool.text}
            new = [tool for tool in listed.tools if tool.name not in same]
            names = frozenset((*names.intersection(same), *(suspicious(new, peers) if new else ())))
            self._checked[of] = listed.by_name, names
        self._note(of, names)

    def _suspicious_ones(self, tools: Sequence[Tool], servers: Mapping[str, Sequence[Tool]]) -> Collection[str]:
        if self._verdicts is None or len(tools) < _LONG:
            return suspicious(tools, servers)
        from mcpctl.catalog import kept_verdicts

        return kept_verdicts.suspicious(self._verdicts, tools, servers, suspicious)

    def _note(self, of: ListKey, suspicious_names: Collection[str]) -> None:
        with self._changing:
            self._suspicious = {**self._suspicious, of: suspicious_names}

    def _of_tools(self) -> Iterable[tuple[ListKey, Listed]]:
        return ((of, listed) for of, listed in self._of.items() if not kind_of_list(of.capabilities))

    def _peers(self) -> Mapping[str, Sequence[Tool]]:
        """The tools of every server, from one of its lists."""
        first: dict[tuple[str, str], Listed] = {}
        for of, listed in self._of_tools():
            first.setdefault(of[:2], listed)
        return {server: listed.tools for (server, _), listed in first.items()}

    def _judge_all(self) -> None:
        with self._changing:
            judged = {of: self._judged(of, listed) for of, listed in self._of.items()}
            self.judged += sum(judged[of] is not listed for of, listed in self._of.items())
            self._of = judged
            self.changes += 1

    def every_tool(self) -> Sequence[Tool]:
        """The tools of all lists, one for each key."""
        return list({tool.key: tool for _, listed in self._of_tools() for tool in listed.tools}.values())

    def connected(self) -> Iterable[tuple[ListKey, Listed]]:
        used, features = self._in_use.items(), _OF_FEATURES.values()
        keys = [ListKey(*pair, name) for pair, of_pair in used for name in (*{*of_pair.values()}, *features)]
        return [(key, listed) for key in keys if (listed := self.get(key))]

    def snapshot(self) -> "Lists":
        lists = Lists(self.holding)
        lists._of, lists._in_use, lists._suspicious = self._of, self._in_use, self._suspicious
        return lists

    def _judged(self, of: ListKey, listed: Listed) -> Listed:
        was_judged = listed.drifts or any(tool.held or tool.is_approved for tool in listed.tools)
        holding = self.holding
        if not (was_judged or holding.pins or holding.locked is not None or holding.checks != UNCHECKED):
            return listed
        suspicious_names = self._suspicious.get(of, ()) if self.holding.checks != UNCHECKED else ()
        tools, drifts = self.holding.judged(of, listed.tools, suspicious_names)
        instructions = "" if kind_of_list(of.capabilities) else listed.instructions
        drift = self.holding.of_instructions(of, instructions, looks_bad="" in suspicious_names)
        drifts, held = (*drifts, *([drift] if drift else [])), drift.why if drift and drift.is_held else ""
        is_same = (tools, drifts, held) == (listed.tools, listed.drifts, listed.held)
        return listed if is_same else replace(listed, tools=tools, drifts=drifts, held=held)


def instructions_tool(server: str, instructions: str) -> Tool:
    """A server's instructions, as checks see them."""
    return Tool(server, "", {"description": instructions}, "{}")


def suspicious(tools: Iterable[Tool], servers: Mapping[str, Sequence[Tool]]) -> Collection[str]:
    """The names of those that look like an attack on the model, beside all servers' tools."""
    from mcpctl.checks.checker import Checker, is_held  # hundreds of expressions, which most commands do not need

    checker = Checker(tool for listed in servers.values() for tool in listed)
    return frozenset(tool.name for tool in tools if is_held(checker.check(tool)))
