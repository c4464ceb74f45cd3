"""Reading of queries: the words that tools have, corrections of mistyped ones, and the tools that a query names."""

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from mcpctl.models import Tool
from mcpctl.search.posting_lists import Okapi, stemmed
from mcpctl.search.tokens import MAX_TEXT, folded, words

MAX_WORDS = 256
MAX_CORRECTED = 4
"""The most words of a query that is corrected: a longer one is not a mistyped name."""
_SIMILARITY = 0.85


@dataclass(frozen=True)
class Query:
    """A query as the index sees it."""

    terms: dict[str, str]
    """The terms to look up, each with its word in the query."""
    weight: float
    """The sum of the terms' idf; unknown and corrected words count as the rarest."""
    unknown: list[str]
    """The words that no tool has, nor any word like them."""
    read_as: dict[str, Sequence[str]]
    """The corrected words, each with the words that it may have been meant to be."""
    cut: bool
    """Whether the query has more words than are read."""


class Reader:
    """Reads queries for one index."""

    def __init__(self, engine: Okapi) -> None:
        self._idf = engine.idf
        self._rarest = engine.rarest
        self._words = engine.corpus.surface

    def read(self, query: str) -> Query:
        """The query's words; in a short query, words that no tool has are corrected."""
        query_words = list(islice(words(query), 4 * MAX_WORDS + 1))
        distinct = list(dict.fromkeys(query_words))
        selected = distinct[:MAX_WORDS]
        known: dict[str, str] = {}
        corrected: dict[str, str] = {}
        unknown = []
        read_as: dict[str, Sequence[str]] = {}
        missing = 0
        for forms in selected:
            known |= (terms := self._known_terms(forms))
            for word in self._missing(forms, terms):
                missing += 1
                corrections = self._correct(word) if len(selected) <= MAX_CORRECTED else []
                corrected |= dict.fromkeys(self._known_terms(corrections), word)
                if corrections:
                    read_as[word] = corrections
                else:
                    unknown.append(word)
        weight = sum(self._idf[term] for term in known) + missing * self._rarest
        cut = len(query_words) > 4 * MAX_WORDS or len(distinct) > MAX_WORDS or len(query) > MAX_TEXT
        return Query(corrected | known, weight, unknown, read_as, cut)

    def _missing(self, forms: Sequence[str], terms: Mapping[str, str]) -> Sequence[str]:
        """The word if no tool has it; of an identifier of which tools have some parts, the other parts."""
        *parts, whole = forms
        if not terms:
            return [whole]
        return [] if whole in terms else [part for part in parts if not self._known_terms((part,))]

    def _known_terms(self, forms: Iterable[str]) -> dict[str, str]:
        return {term: form for form in forms for term in (form, stemmed(form)) if term in self._idf}

    def _correct(self, word: str) -> Sequence[str]:
        """The known words that an unknown one may have been meant to be: two words run together, or similar ones."""
        if len(word) == 1 and not word.isascii():
            # CJK is indexed as pairs, so a single character asks for the pairs that have it.
            return list(islice((pair for pair in self._words if len(pair) == 2 and word in pair), MAX_CORRECTED))
        if not (word.isalpha() and word.isascii()):
            return []
        cuts = ((word[:i], word[i:]) for i in range(2, len(word) - 1))
        if pairs := [(left, right) for left, right in cuts if left in self._idf and right in self._idf]:
            return max(pairs, key=lambda pair: min(map(len, pair)))
        swaps = (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1))
        if known_swaps := [swap for swap in swaps if swap in self._idf]:
            return known_swaps
        near = [candidate for candidate in self._by_letter.get(word[0], ()) if abs(len(candidate) - len(word)) <= 2]
        # Several words may be as likely: all are searched.
        return difflib.get_close_matches(word, near, n=MAX_CORRECTED, cutoff=_SIMILARITY)

    @cached_property
    def _by_letter(self) -> dict[str, list[str]]:
        """Words by each of their first two letters, since the first may be missing in the query."""
        index: dict[str, list[str]] = defaultdict(list)
        for word in sorted(self._words):
            for letter in dict.fromkeys(word[:2]):
                index[letter].append(word)
        return index


class Pins:
    """Finds the tools that a query names: by key, else by name or `server.tool`, else by key or name without case and
    separators, where one tool alone has it.

    A query that names a server names no tool of another, whatever that is called.
    """

    LEVELS = ("key", "name", "name without case and separators")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._levels: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        self._servers: list[str] = []
        for number, tool in enumerate(tools):
            self._servers.append(folded(tool.server))
            names = ({tool.key}, {tool.name, f"{tool.server}.{tool.name}"}, {folded(tool.key), folded(tool.name)})
            for level, forms in zip(self._levels, names, strict=True):
                for form in forms:
                    level.setdefault(form, []).append(number)

    def find(self, queries: Sequence[str]) -> dict[int, str]:
        """The tools that any of the queries names, each with the kind of name that matched."""
        return {number: how for query in reversed(queries) for number, how in self._named(query.strip())}

    def _named(self, query: str) -> Iterator[tuple[int, str]]:
        server = self._server_of(query)
        for level, form, how in zip(self._levels, (query, query, folded(query)), self.LEVELS, strict=True):
            numbers = [number for number in level.get(form, ()) if server in (None, self._servers[number])]
            if numbers and (how != self.LEVELS[-1] or len(numbers) == 1):
                return ((number, how) for number in numbers)
        return iter(())

    def _server_of(self, query: str) -> str | None:
        """The server that a query names in the way of a key, known or not; before a dot, one that is known."""
        before, colon, _ = query.partition(":")
        if colon:
            return folded(before)
        before, dot, _ = query.partition(".")
        return folded(before) if dot and folded(before) in self._known else None

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._servers)
