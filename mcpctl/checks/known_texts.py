"""The texts of many tools, each searched once: the tools of an API repeat nearly all texts of each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from mcpctl.checks import hidden
from mcpctl.checks.phrases import Match, Phrase, in_order, marks_in, places_of
from mcpctl.checks.reading import Reading, lines_of, spelled

_MOST = 4_000_000  # characters that are kept: each server may list as many


@dataclass(slots=True, eq=False)
class KnownText:
    """One text, and all that was found in it; a bit of `marks` and `clean` stands for a phrase."""

    lines: tuple[str, ...]
    odd: str  # words on its hidden characters, or on how it is spelled; empty without either
    encoded: tuple[str, ...]
    marks: int  # the phrases of which it has a mark
    clean: int = 0  # the phrases that it was searched for, and that are not in it
    names_tools: bool | None = None  # whether it may name a tool of the same check; None where nobody has looked


class KnownTexts(dict[str, KnownText]):
    """The texts that a check has met. All it says of a tool is as if nothing was known."""

    def __init__(self, phrases: tuple[Phrase, ...]) -> None:
        self._phrases = phrases
        self._size = 0
        self._spanning = sum(1 << number for number, phrase in enumerate(phrases) if phrase.spans)

    def __missing__(self, text: str) -> KnownText:
        lines = tuple(lines_of(text))
        marks: set[str] = set().union(*(marks_in(line, self._phrases) for line in lines))
        odd = hidden.odd_characters(text) or spelled(text)
        known = KnownText(lines, odd, tuple(hidden.decoded(text)), _likely(self._phrases, frozenset(marks)))
        self._size += len(text)
        if self._size > _MOST:
            self.clear()
            self._size = len(text)
        self[text] = known
        return known

    def read(self, text: str) -> tuple[str, ...]:
        return self[text].lines

    def matches(self, reading: Reading, phrases: tuple[Phrase, ...]) -> Iterator[Match]:
        """Some of the phrases in all texts of a tool, as `phrases.matches` finds them in the text of all lines."""
        texts = [self[part.text] for part in reading.parts]
        marked = unclean = 0
        for known in texts:
            marked |= known.marks
            unclean |= ~known.clean
        wanted = marked & (unclean | self._spanning) & _bits(self._phrases, phrases)
        numbers = (number for number in range(wanted.bit_length()) if wanted >> number & 1)
        likely = [self._phrases[number] for number in numbers if self._may_be(texts, number)]
        places = [match for phrase in likely for match in places_of(reading.text, phrase)]
        return in_order(reading.text, places) if places else iter(())

    def _may_be(self, texts: list[KnownText], number: int) -> bool:
        """Whether any text of a tool has a phrase. A phrase that spans no lines is in a text, or it is nowhere."""
        phrase, bit = self._phrases[number], 1 << number
        if phrase.spans:
            return True
        unclean = [known for known in texts if not known.clean & bit]
        having = [known for known in unclean if _has([known], phrase)] if _has(unclean, phrase) else []
        for known in unclean:
            known.clean |= 0 if known in having else bit
        return bool(having)


def _has(texts: list[KnownText], phrase: Phrase) -> bool:
    return any(places_of("\n".join([line for known in texts for line in known.lines]), phrase))


@lru_cache(maxsize=4)
def _bits(phrases: tuple[Phrase, ...], some: tuple[Phrase, ...]) -> int:
    return sum(1 << number for number, phrase in enumerate(phrases) if phrase in some)


@lru_cache(maxsize=4096)
def _likely(phrases: tuple[Phrase, ...], marks: frozenset[str]) -> int:
    return sum(1 << number for number, phrase in enumerate(phrases) if not marks.isdisjoint(phrase.marks))
