"""What servers say of themselves: what was kept when this process began, and what they say now. Told once a session."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from mcpctl import __version__
from mcpctl.base import definitions
from mcpctl.catalog import told_instructions
from mcpctl.catalog.lists import Lists, said, suspicious
from mcpctl.catalog.told_instructions import Introduction
from mcpctl.policy.holding import UNCHECKED
from mcpctl.policy.view import View
from mcpctl.store.state import ListKey, State, StateError
from mcpctl.wire.threads import beside


class Introductions:
    """Those of all servers. The first clients are told what was kept, since they wait for no server."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._kept: Mapping[ListKey, str] = {}
        self._suspicious: Collection[str] | None = None
        """The texts that look like an attack; None where nobody has looked."""

    async def open(self, state: State, remember: Callable[[str], None]) -> None:
        """Have at hand what was kept; without it where another process holds the database. `remember` is given the hash
        of all of it where a check finds nothing, since loading the rules takes longer than all else here."""
        with suppress(StateError):
            self._kept = state.instructions()
            if self._kept and self._lists.holding.checks != UNCHECKED:
                texts = frozenset(self._kept.values())
                hashed = definitions.hashed([__version__, *sorted(texts)])
                if state.found_harmless() == hashed:
                    self._suspicious = ()
                    return
                self._suspicious = await beside(_suspicious, texts)
                if not self._suspicious:
                    remember(hashed)

    def of(self, view: View) -> dict[str, str]:
        """By enabled server, what a model may be told, of those that say anything."""
        said = {name: self._said(name, fingerprint, view) for name, fingerprint in view.config.fingerprints.items()}
        told = {name: told_instructions.of(name, *each, view) for name, each in said.items()}
        return {name: text for name, text in told.items() if text}

    def _said(self, server: str, fingerprint: str, view: View) -> tuple[str, str]:
        """What a server says to a client like this one, else to another, and why that is held."""
        sets = self._lists.sets(server, fingerprint, view.capability_sets)
        keys = [ListKey(server, fingerprint, each) for each in sets]
        if listed := next((listed for key in keys if (listed := self._lists.get(key))), None):
            return listed.instructions, listed.held
        kept = [*keys, *(key for key in self._kept if key[:2] == (server, fingerprint))]
        of = next((key for key in kept if key in self._kept), None)
        if of is None:
            return "", ""
        looks_bad = self._suspicious is None or self._kept[of] in self._suspicious
        holding = self._lists.holding
        looks_bad = looks_bad and holding.checks != UNCHECKED
        drift = holding.of_instructions(of, self._kept[of], looks_bad=looks_bad)
        return self._kept[of], drift.why if drift and drift.is_held else ""


class Introduced:
    """What one session's model was told of what servers say of themselves: all of it, so that it is said once."""

    def __init__(self) -> None:
        self.told: frozenset[Introduction] = frozenset()

    def opening(self, ours: str, texts: Mapping[str, str]) -> str:
        """Our instructions, with the beginning of these texts."""
        told, whole = told_instructions.beside(ours, texts)
        self.add((server, texts[server]) for server in whole)
        return told

    def add(self, introductions: Iterable[Introduction]) -> None:
        """They were told."""
        self.told = self.told.union(introductions)


def _suspicious(texts: Collection[str]) -> Collection[str]:
    """Those that look like an attack."""
    return {text for text in texts if text and suspicious([said("", text)], {})}
