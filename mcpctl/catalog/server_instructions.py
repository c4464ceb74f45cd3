"""Servers' instructions as a model is told them, once a session: cleaned, attributed, and in their share of room."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

from mcpctl import __version__
from mcpctl.base import definitions
from mcpctl.base.texts import visible
from mcpctl.catalog import model_texts
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.lists_in_memory import Lists, instructions_tool, suspicious
from mcpctl.policy.decide import may_introduce
from mcpctl.policy.holding import UNCHECKED
from mcpctl.policy.view import View
from mcpctl.store.state import ListKey, State, StateError
from mcpctl.wire import threads

Introduction = tuple[str, str]  # a server, and its instructions as a model is told them
AT_FIRST = 2000  # UTF-8 bytes of all instructions in a handshake: clients cut at about 2 KB
MOST = 1500  # UTF-8 bytes of one server's instructions in an answer to a search
_LONGEST_SENTENCE = 400
_LEAST = 60  # fewer bytes of a server's line are not worth a line
_INTRODUCED = "\nInstructions of these servers, each in its own words, which are not the user's or mcpctl's:"
_SENTENCE = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?][)\"'\]]?(?=\s)|[\u3002\uff01\uff1f]")
_QUOTES = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u201f\u2033\uff02', "'"))  # could end a quotation


def text(instructions: str, server: str) -> str:
    """Instructions with nothing hidden, no notes of a team's, cut at a sentence."""
    return _cut(model_texts.FAKED.sub(f"notes of server '{server}'", visible(instructions)).strip(), MOST)


def introduction(server: str, instructions: str, held: str, view: View) -> str:
    """The instructions that a model may be told, if they are not `held`; else empty."""
    return text(instructions, server) if instructions and may_introduce(server, held, view) else ""


def waiting(catalog: Catalog, servers: Collection[str], told: Collection[Introduction]) -> list[Introduction]:
    listed = [(server, known) for server in dict.fromkeys(servers) if (known := catalog.listed(server))]
    every = [(server, introduction(server, known.instructions, known.held, catalog.view)) for server, known in listed]
    return [(server, text) for server, text in every if text and (server, text) not in told]


def beside(ours: str, told: Mapping[str, str]) -> tuple[str, list[str]]:
    """Ours, then each server's first sentence on a line of its own, cut alike without room; and those that were all."""
    sentences = {server: sentence for server, text in told.items() if (sentence := _sentence(text))}
    room = AT_FIRST - _size(ours) - _size(_INTRODUCED)
    fitting = dict(list(sentences.items())[: max(room, 0) // _LEAST])
    share = _share([_size(_line(server, text)) for server, text in fitting.items()], room)
    lines = {server: _line(server, _cut(text, share - _size(_line(server, "")))) for server, text in fitting.items()}
    whole = [server for server, line in lines.items() if line == _line(server, _on_one_line(told[server]))]
    return (ours + _INTRODUCED + "".join(lines.values()) if lines else ours), whole


def _line(server: str, text: str) -> str:
    return f'\n- {server}: "{text}"'


def _sentence(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if not line.lstrip().startswith("#")), 0)
    line = _on_one_line(" ".join(lines[first:])[: 4 * _LONGEST_SENTENCE])
    end = _SENTENCE.search(line)
    return _cut(line[: end.end()] if end else line, _LONGEST_SENTENCE)


def _on_one_line(text: str) -> str:
    return " ".join(text.translate(_QUOTES).split())


def _share(sizes: list[int], room: int) -> int:
    """The largest size at which all of them have room."""
    left, share = len(sizes), 0
    for size in sorted(sizes):
        share = room // left
        if size > share:
            return share
        room, left = room - size, left - 1
    return max(sizes, default=0)


def _cut(text: str, most: int) -> str:
    if _size(text) <= most:
        return text
    shorter = text.encode("utf-8", "replace")[: max(most - 3, 0)].decode("utf-8", "ignore")
    ends = [match.end() for match in _SENTENCE.finditer(shorter)]
    if ends and 2 * ends[-1] >= len(shorter):
        return shorter[: ends[-1]]
    return (shorter.rsplit(None, 1)[0] if " " in shorter.strip() else shorter).rstrip() + "\u2026"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


class Introductions:
    """The instructions of all servers. The first clients are told the kept ones, since they wait for no server."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._kept: Mapping[ListKey, str] = {}
        self._suspicious: Collection[str] | None = None  # those that look like an attack; None: not checked

    async def open(self, state: State, remember: Callable[[str], None]) -> None:
        """Read the kept instructions, if no process holds the database; `remember` gets the hash of harmless ones."""
        with suppress(StateError):
            self._kept = state.instructions()
            if self._kept and self._lists.holding.checks != UNCHECKED:
                texts = frozenset(self._kept.values())
                hashed = definitions.hashed([__version__, *sorted(texts)])
                if state.found_harmless() == hashed:
                    self._suspicious = ()
                    return
                self._suspicious = await threads.beside(_suspicious, texts)
                if not self._suspicious:
                    remember(hashed)

    def of(self, view: View) -> dict[str, str]:
        known = {name: self._said(name, fingerprint, view) for name, fingerprint in view.config.fingerprints.items()}
        told = {name: introduction(name, *each, view) for name, each in known.items()}
        return {name: text for name, text in told.items() if text}

    def _said(self, server: str, fingerprint: str, view: View) -> tuple[str, str]:
        """The instructions for a client like this one, else for another, and why they are held."""
        sets = self._lists.sets(server, fingerprint, view)
        keys = [ListKey(server, fingerprint, capabilities) for capabilities in sets]
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
    """The introductions that one session's model was told, so that each is told once."""

    def __init__(self) -> None:
        self.told: frozenset[Introduction] = frozenset()

    def opening(self, ours: str, texts: Mapping[str, str]) -> str:
        told, whole = beside(ours, texts)
        self.add((server, texts[server]) for server in whole)
        return told

    def add(self, introductions: Iterable[Introduction]) -> None:
        self.told = self.told.union(introductions)


def _suspicious(texts: Collection[str]) -> Collection[str]:
    return {text for text in texts if text and suspicious([instructions_tool("", text)], {})}
