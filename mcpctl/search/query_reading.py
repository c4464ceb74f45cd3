"""How a query is read: which of its words tools have, what the mistyped ones were meant to be, what it names."""

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
MAX_MENDED = 4
"""Words of a query that is short enough to be a mistyped name."""
_LIKE = 0.85


@dataclass(frozen=True)
class Query:
    """A query as the index sees it."""

    terms: dict[str, str]
    """What is looked up, each with the word of the query that asks for it."""
    weight: float
    """Sum of the terms' idf, unknown and mended words counting as the rarest."""
    unknown: list[str]
    """Words that no tool has, nor any word like them."""
    read_as: dict[str, Sequence[str]]
    """Words that no tool has, each with those that it may have been meant to be."""
    cut: bool
    """There were more words than are read."""


class Reader:
    """Reads queries for one index."""

    def __init__(self, engine: Okapi) -> None:
        self._idf = engine.idf
        self._rarest = engine.rarest
        self._words = engine.corpus.surface

    def read(self, query: str) -> Query:
        """The query's words, those that no tool has mended if it is short."""
        found_words = list(islice(words(query), 4 * MAX_WORDS + 1))
        distinct = list(dict.fromkeys(found_words))
        asked = distinct[:MAX_WORDS]
        known: dict[str, str] = {}
        mended: dict[str, str] = {}
        unknown = []
        read_as: dict[str, Sequence[str]] = {}
        strange = 0
        for forms in asked:
            known |= (found := self._known(forms))
            for word in self._missing(forms, found):
                strange += 1
                repair = self._mend(word) if len(asked) <= MAX_MENDED else []
                mended |= dict.fromkeys(self._known(repair), word)
                if repair:
                    read_as[word] = repair
                else:
                    unknown.append(word)
        weight = sum(self._idf[term] for term in known) + strange * self._rarest
        cut = len(found_words) > 4 * MAX_WORDS or len(distinct) > MAX_WORDS or len(query) > MAX_TEXT
        return Query(mended | known, weight, unknown, read_as, cut)

    def _missing(self, forms: Sequence[str], found: Mapping[str, str]) -> Sequence[str]:
        """What of a word no tool has: of an identifier that has parts which tools have, the others."""
        *parts, whole = forms
        if not found:
            return [whole]
        return [] if whole in found else [part for part in parts if not self._known((part,))]

    def _known(self, forms: Iterable[str]) -> dict[str, str]:
        return {term: form for form in forms for term in (form, stemmed(form)) if term in self._idf}

    def _mend(self, word: str) -> Sequence[str]:
        """The known words that an unknown one may have been meant to be: two run together, or those that are close."""
        if len(word) == 1 and not word.isascii():
            # CJK is indexed as pairs, so a single character asks for the pairs that have it.
            return list(islice((known for known in self._words if len(known) == 2 and word in known), MAX_MENDED))
        if not (word.isalpha() and word.isascii()):
            return []
        cuts = ((word[:i], word[i:]) for i in range(2, len(word) - 1))
        if known := [(left, right) for left, right in cuts if left in self._idf and right in self._idf]:
            return max(known, key=lambda pair: min(map(len, pair)))
        swapped = (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1))
        if known_swapped := [known for known in swapped if known in self._idf]:
            return known_swapped
        near = [known for known in self._by_letter.get(word[0], ()) if abs(len(known) - len(word)) <= 2]
        # Several, where several are as likely: what they are found in decides.
        return difflib.get_close_matches(word, near, n=MAX_MENDED, cutoff=_LIKE)

    @cached_property
    def _by_letter(self) -> dict[str, list[str]]:
        """Words by either of their first two letters: the first may be the one that is missing."""
        index: dict[str, list[str]] = defaultdict(list)
        for word in sorted(self._words):
            for letter in dict.fromkeys(word[:2]):
                index[letter].append(word)
        return index


class Pins:
    """Finds the tools that a query names: by key, else by name or `server.tool`, else by either without case and
    separators."""

    LEVELS = ("key", "name", "name without case and separators")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._levels: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        for number, tool in enumerate(tools):
            names = ({tool.key}, {tool.name, f"{tool.server}.{tool.name}"}, {folded(tool.key), folded(tool.name)})
            for level, forms in zip(self._levels, names, strict=True):
                for form in forms:
                    level.setdefault(form, []).append(number)

    def find(self, queries: Sequence[str]) -> dict[int, str]:
        """The tools named by any of the queries, each with how."""
        return {number: how for query in reversed(queries) for number, how in self._named(query.strip())}

    def _named(self, query: str) -> Iterator[tuple[int, str]]:
        for level, form, how in zip(self._levels, (query, query, folded(query)), self.LEVELS, strict=True):
            if found := level.get(form):
                return ((number, how) for number in found)
        return iter(())
