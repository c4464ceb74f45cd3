"""The known words that a mistyped one may have been meant to be."""

import difflib
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import cached_property

from mcpctl.search.tokens import stem

MOST_READINGS = 4
"""The most words that one is read as: several may be as likely, and then all are searched."""
SHORTEST = 5
"""The letters of the shortest word that is corrected; in a short query, which is likely a name, it is one less."""
LONGEST = 32
_SHORTEST_PART = 4
_SIMILARITY = 0.85
_MOST_WORDS, _MOST_COMPARED = 20_000, 500
"""The most words of a catalog, and of those that begin alike, in which two slips are looked for: comparing is slow."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WITHOUT_UMLAUTS = (("ae", "ä"), ("oe", "ö"), ("ue", "ü"), ("ss", "ß"))


class Speller:
    """Finds what a word that neither the catalog nor the dictionary has was meant to be.

    All that one slip of the keyboard makes of a word is looked up in the catalog: 54 look-ups a letter, which take no
    longer the more words there are, and need no index.
    """

    def __init__(self, catalog: Mapping[str, float], words: Collection[str], dictionary: Container[str]) -> None:
        self._catalog = catalog
        self._words = words
        self._dictionary = dictionary

    def readings(self, word: str, is_short: bool, is_name: bool) -> Sequence[str]:
        """What a word was meant to be: words or, of words run together, a phrase.

        A query is short if it may be the mistyped name of a tool: then more is tried. Of a word written as a name the
        first letter is right: Notion is not motion.
        """
        if len(word) > LONGEST or not word.isalpha():
            return []
        if not word.isascii():
            return self._compound(word)
        if len(word) >= SHORTEST - is_short and (found := self._one_slip(word, is_name)):
            return found
        if split := self._split(word, 2 if is_short else _SHORTEST_PART):
            return split
        return (self._two_slips(word) if is_short and not is_name else []) or self._compound(word)

    def _one_slip(self, word: str, is_name: bool) -> list[str]:
        found = [slip for slip in dict.fromkeys(slips(word)) if slip in self._catalog]
        found.sort(key=lambda slip: (slip[0] != word[0], self._catalog[slip]))
        same = [slip for slip in found if slip[0] == word[0]]
        return (same or ([] if is_name else found))[:MOST_READINGS]

    def _split(self, word: str, least: int) -> list[str]:
        """Two words of the catalog that were run together, the shorter of them as long as may be."""
        found = [
            (left, right) for left, right in _cuts(word, least) if left in self._catalog and right in self._catalog
        ]
        return [" ".join(max(found, key=lambda cut: min(map(len, cut))))] if found else []

    def _compound(self, word: str) -> list[str]:
        """The words of a compound such as Wettervorhersage; or a word written without its umlauts."""
        for plain, umlaut in _WITHOUT_UMLAUTS:
            if plain in word and self._is_known(changed := word.replace(plain, umlaut)):
                return [changed]
        found = [(left, right) for left, right in _cuts(word, _SHORTEST_PART) if self._is_known(left, right)]
        return [" ".join(max(found, key=lambda cut: min(map(len, cut))))] if found else []

    def _is_known(self, *words: str) -> bool:
        return all(word in self._catalog or stem(word) in self._dictionary for word in words)

    def _two_slips(self, word: str) -> list[str]:
        if len(self._words) > _MOST_WORDS:
            return []
        near = [candidate for candidate in self._by_letter.get(word[0], ()) if abs(len(candidate) - len(word)) <= 2]
        if len(near) > _MOST_COMPARED:
            return []
        return difflib.get_close_matches(word, near, n=MOST_READINGS, cutoff=_SIMILARITY)

    @cached_property
    def _by_letter(self) -> Mapping[str, Sequence[str]]:
        """Words by each of their first two letters, since the first may be missing in the query."""
        index: dict[str, list[str]] = defaultdict(list)
        for word in sorted(self._words):
            for letter in dict.fromkeys(word[:2]):
                index[letter].append(word)
        return index


def slips(word: str) -> Iterator[str]:
    """What one slip of the keyboard makes of a word: neighbours swapped, a letter lost, another in its place, one more
    (Damerau 1964)."""
    for place in range(len(word)):
        before, after = word[:place], word[place + 1 :]
        if after:
            yield before + after[0] + word[place] + after[1:]
        yield before + after
        for letter in _LETTERS:
            yield before + letter + after
            yield before + letter + word[place] + after
    for letter in _LETTERS:
        yield word + letter


def _cuts(word: str, least: int) -> Iterator[tuple[str, str]]:
    return ((word[:place], word[place:]) for place in range(least, len(word) - least + 1))
