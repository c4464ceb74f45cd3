"""The known words that a mistyped one may have been meant to be."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Protocol

from mcpctl.search.tokens import BINDING_WORDS, stem

MOST_READINGS = 4
"""The most words that one is read as: several may be as likely, and then all are searched."""
SHORTEST, LONGEST = 5, 32
"""The letters of the words that may have been mistyped: too many shorter ones are one letter from others."""
_SHORTEST_PART, _SHORTEST_OF_NAME = 4, 3
"""The letters of the shortest of two words that were run together, in any query and in a short one."""
_COMMON = 20
"""In how many texts the dictionary saw a word that may have been meant: a rarer one rather was not."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WITHOUT_UMLAUTS = (("ae", "ä"), ("oe", "ö"), ("ue", "ü"), ("ss", "ß"))


class Dictionary(Protocol):
    """The stems of words that are right, whether tools have them or not."""

    def __contains__(self, word: str, /) -> bool: ...

    def commonest(self, words: Sequence[str], least: int) -> str | None:
        """The most common of these words, if at least so many texts have it."""


class Speller:
    """Finds what a word that neither the catalog nor the dictionary has was meant to be.

    All that one slip of the keyboard makes of a word is looked up in the catalog: 54 look-ups a letter, which take no
    longer the more words there are, and need no index.
    """

    def __init__(self, catalog: Mapping[str, float], dictionary: Dictionary, names: Container[str]) -> None:
        self._catalog = catalog
        self._dictionary = dictionary
        self._names = names

    def readings(self, word: str, is_short: bool, is_name: bool) -> Sequence[str]:
        """What a word was meant to be: words or, of words run together, a phrase.

        A query is short if it may be the mistyped name of a tool: then more is tried. Of a word written as a name the
        first letter is right: Notion is not motion.
        """
        if len(word) > LONGEST or not word.isalpha():
            return []
        if not word.isascii():
            return self._compound(word)
        if len(word) >= SHORTEST - 1 and (found := self._one_slip(word, is_name)):
            return found
        if is_short and (found := self._split(word)):
            return found
        return self._compound(word) or ([] if is_name else self._in_dictionary(word))

    def named(self, words: Sequence[str], unknown: Container[str]) -> Mapping[str, str]:
        """The unknown word that was mistyped in the name of a tool, with what was meant: `crate issue` is create_issue,
        although there are crates. A single word that is right is not the mistyped name of a tool."""
        for place, word in enumerate(words):
            if word in unknown and 2 < len(word) <= LONGEST and len(words) > 1:
                for slip in [*lost(word), *exchanged(word)]:
                    if slip in self._catalog and "".join([*words[:place], slip, *words[place + 1 :]]) in self._names:
                        return {word: slip}
        return {}

    def _one_slip(self, word: str, is_name: bool) -> list[str]:
        """The words of the catalog that are one slip from this, the likeliest first: letters are rather lost or swapped
        than just this one of 26 put in, and rather in a word that many tools have."""
        for slips in (lost, exchanged):
            found = self._in_catalog(word, slips)
            likely = sorted((slip for slip in found if slip[0] == word[0] or not is_name), key=found.__getitem__)
            if likely := [slip for slip in likely if len(slip) >= SHORTEST or sorted(slip) == sorted(word)]:
                forms: dict[str, str] = {}
                for slip in likely:
                    forms.setdefault(stem(slip), slip)
                return [self._whole(form) for form in list(forms.values())[:MOST_READINGS]]
        return []

    def _whole(self, slip: str) -> str:
        """The word of the catalog of which a slip leaves only the stem: `creat` is create."""
        return f"{slip}e" if slip not in self._catalog and f"{slip}e" in self._catalog else slip

    def _in_catalog(self, word: str, slips: Callable[[str], list[str]]) -> Mapping[str, float]:
        """The words of the catalog, or with the stem of one, that slips make of a word; each with its rarity."""
        catalog = self._catalog
        made = slips(word)
        terms = {slip: slip for slip in made if slip in catalog}
        terms |= {slip: f"{slip}~" for slip in made if f"{slip}~" in catalog}
        # The ending may have been mistyped, and no tool have the word in just this form.
        terms |= {slip: f"{stem(slip)}~" for slip in made if slip[-2:] != word[-2:]}
        base = stem(word)
        if base != word and word.startswith(base):
            stems = [slip for slip in slips(base) if f"{slip}~" in catalog]
            ending = word[len(base) :]
            # `month` is the stem of `monthe`, too, which is no word.
            terms |= {slip + ending: f"{slip}~" for slip in stems if ending != "e" or self._ends_in_e(slip)}
        return {slip: catalog[term] for slip, term in terms.items() if term in catalog}

    def _ends_in_e(self, base: str) -> bool:
        return any(base + ending in self._catalog for ending in ("es", "ed", "ing"))

    def _split(self, word: str) -> list[str]:
        """Two words of the catalog that were run together."""
        cuts = _cuts(word, _SHORTEST_OF_NAME)
        return _longest([(left, right) for left, right in cuts if left in self._catalog and right in self._catalog])

    def _compound(self, word: str) -> list[str]:
        """The words of a compound such as Wettervorhersage; or a word written without its umlauts."""
        for plain, umlaut in _WITHOUT_UMLAUTS:
            if plain in word and self._is_heard(changed := word.replace(plain, umlaut)):
                return [changed]
        cuts = _cuts(word, _SHORTEST_PART)
        return _longest([(left, right) for left, right in cuts if self._is_heard(left) and self._is_heard(right)])

    def _in_dictionary(self, word: str) -> list[str]:
        """The word of the dictionary that is one slip from this: no tool has it, but one may have another for it."""
        base = stem(word)
        for slips in (lost, exchanged) if len(word) >= SHORTEST and word.startswith(base) else ():
            if common := self._dictionary.commonest(slips(base), _COMMON):
                return [common + word[len(base) :]]
        return []

    def _is_heard(self, word: str) -> bool:
        return stem(word) in self._dictionary and word not in BINDING_WORDS


def lost(word: str) -> list[str]:
    """The words of which this has lost a letter, or has swapped two."""
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    swapped = [before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1]
    return swapped + [before + letter + after for before, after in cuts for letter in _LETTERS]


def exchanged(word: str) -> list[str]:
    """The words of which this has a letter more, or another in the place of one."""
    cuts = [(word[:place], word[place + 1 :]) for place in range(len(word))]
    return [before + after for before, after in cuts] + [
        before + letter + after for before, after in cuts for letter in _LETTERS
    ]


def _longest(cuts: Sequence[tuple[str, str]]) -> list[str]:
    """The cut whose shorter part is longest, as a phrase."""
    return [" ".join(max(cuts, key=lambda cut: min(map(len, cut))))] if cuts else []


def _cuts(word: str, least: int) -> Iterator[tuple[str, str]]:
    return ((word[:place], word[place:]) for place in range(least, len(word) - least + 1))
