"""The scores of Bleve 2.6 (https://github.com/blevesearch/bleve), Go's search library, as its source has them.

A clause of a query scores a document sqrt(frequency) / sqrt(length of the field) · idf² · boost; a disjunction adds
what matches and multiplies by the share of its clauses that match; the whole is divided by the root of all clauses'
squared weights. That is tf-idf, the default; only a mapping that asks for BM25 has it.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W\d_{_CJK}]"
_TOKEN = re.compile(
    rf"""
    (?: [^\W{_CJK}]                                          # letters, digits and underscores stay together,
      | (?<={_LETTER}) [:.'\u00b7\u2018\u2019] (?={_LETTER}) # and between letters these, as in "e.g", "don't", "a:b"
      | (?<=\d) [,;.'\u2018\u2019] (?=\d)                    # and between digits these
    )+
    | [\u30a0-\u30ff]+ | [{_CJK}]                            # katakana by the run, han and hiragana by the character
    """,
    re.VERBOSE,
)
_ENGLISH = """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it
    its itself they them their theirs themselves what which who whom this that these those am is are was were be been
    being have has had having do does did doing would should could ought i'm you're he's she's it's we're they're i've
    you've we've they've i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll isn't aren't wasn't
    weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shan't shouldn't can't cannot couldn't mustn't
    let's that's who's what's here's there's when's where's why's how's a an the and but if or because as until while of
    at by for with about against between into through during before after above below to from up down in out on off over
    under again further then once here there when where why how all any both each few more most other some such no nor
    not only own same so than too very
"""
_STOP = frozenset(_ENGLISH.split())


def analysed(text: str) -> list[str]:
    """The standard analyzer: Unicode's words in lower case, without Snowball's stop words."""
    return [word for found in _TOKEN.findall(text) if (word := found.lower()) not in _STOP]


@dataclass(frozen=True)
class Clause:
    """A part of a query: its squared weight, and the score of each document that matches."""

    weight: float = 0.0
    scores: Mapping[int, float] = field(default_factory=dict)

    def normed(self) -> dict[int, float]:
        """The scores as Bleve tells them."""
        return {number: score / math.sqrt(self.weight) for number, score in self.scores.items()}


def any_of(clauses: Sequence[Clause]) -> Clause:
    """Documents that match any clause; each counts by the share of the clauses that it matches."""
    met, scores = _added(clauses)
    return Clause(_weight(clauses), {number: met[number] / len(clauses) * score for number, score in scores.items()})


def all_of(clauses: Sequence[Clause]) -> Clause:
    """Documents that match every clause."""
    met, scores = _added(clauses)
    return Clause(_weight(clauses), {number: scores[number] for number in scores if met[number] == len(clauses)})


def _added(clauses: Iterable[Clause]) -> tuple[Counter[int], dict[int, float]]:
    met: Counter[int] = Counter()
    scores: dict[int, float] = {}
    for clause in clauses:
        met.update(clause.scores.keys())
        for number, score in clause.scores.items():
            scores[number] = scores.get(number, 0.0) + score
    return met, scores


def _weight(clauses: Iterable[Clause]) -> float:
    return sum(clause.weight for clause in clauses)


class Field:
    """One field of all documents, each given as its terms."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._count = len(documents)
        # Bleve keeps them in 32 bits.
        self._norms = [float(np.float32(1 / math.sqrt(len(terms) or 1))) for terms in documents]
        self.postings: dict[str, dict[int, int]] = {}
        for number, terms in enumerate(documents):
            for term in terms:
                holders = self.postings.setdefault(term, {})
                holders[number] = holders.get(number, 0) + 1

    def term(self, term: str, boost: float = 1.0) -> Clause:
        """The documents that have a term."""
        holders = self.postings.get(term, {})
        weight = boost * (idf := 1 + math.log(self._count / (len(holders) + 1)))
        scores = {number: math.sqrt(count) * self._norms[number] * idf * weight for number, count in holders.items()}
        return Clause(weight**2, scores)

    def match(self, text: str, boost: float = 1.0) -> Clause:
        """The documents that have any word of a text; a word counts as often as the text has it."""
        return any_of([self.term(word, boost) for word in analysed(text)])

    def prefix(self, prefix: str, boost: float = 1.0) -> Clause:
        """The documents with a term that begins so; if there are none, the term itself weighs in the norm."""
        found = [term for term in self.postings if term.startswith(prefix)] or [prefix]
        return any_of([self.term(term, boost) for term in found])

    def pattern(self, pattern: str, boost: float = 1.0) -> Clause:
        """The documents with a term that matches a regular expression as a whole."""
        fits = re.compile(pattern, re.DOTALL).fullmatch
        return any_of([self.term(term, boost) for term in self.postings if fits(term)])
