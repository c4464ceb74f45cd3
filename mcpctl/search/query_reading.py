"""Reading of queries: the words that tools have, and corrections of mistyped ones."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from mcpctl.search.meaning import WordTable
from mcpctl.search.posting_lists import Okapi, stemmed
from mcpctl.search.spelling import SHORTEST, Speller, long_forms, short_forms
from mcpctl.search.tokens import (
    BESIDE_TELLING,
    BINDING_CHARACTERS,
    BINDING_WORDS,
    MAX_RUN,
    MAX_TEXT,
    TELLING_WORDS,
    is_cjk,
    meanings,
    pairs,
    parts,
    runs,
    segments,
    stem,
    tokens,
)

MAX_WORDS = 256
SHORT = 4  # the most words of a query that may be the mistyped name of a tool
MAX_CORRECTED = 12  # the most words of a query for which a correction is looked for
MAX_PAIRS = 4  # the most pairs that are searched for a single character of Chinese or Japanese
BESIDE = 0.5  # the weight of an abbreviation in full if tools have the abbreviation too, and of less likely meanings
SHORTENED = 0.3  # the weight of the abbreviation of a word if tools have the word too


class Query(Struct):
    terms: dict[str, str] = {}  # the terms to look up, each with its word in the query
    shares: dict[str, float] = {}  # the weights of the terms; that of a word as it is written is 1
    meaning: dict[str, str] = {}  # the stems that make its meaning, known or not, each with its word in the query
    weight: float = 0.0  # the sum of the terms' idf; unknown and corrected words count as the rarest
    unknown: list[str] = []  # the words that no tool has, nor any word like them
    unheard: list[str] = []  # the unknown words that the dictionary does not have either, nor any word like them
    read_as: dict[str, Sequence[str]] = {}  # words read as others, each with the words or phrases that it may have been
    in_english: bool = True  # whether it is, as far as its small words and its letters tell
    cut: bool = False  # whether the query has more words than are read

    def add(self, terms: Iterable[str], word: str, share: float = 1.0) -> None:
        for term in terms:
            if share > self.shares.get(term, 0.0):
                self.terms[term], self.shares[term] = word, share

    def mean(self, form: str, word: str, idf: Mapping[str, float]) -> None:
        """Look up what a word stands for, where tools have it."""
        if terms := [term for term in (form, stemmed(form)) if term in idf]:
            self.add(terms, word)
            self.weight += sum(idf[term] for term in terms)
            self.meaning[stem(form)] = word


class _Word(NamedTuple):
    forms: tuple[str, ...]  # the parts of an identifier, then all of it; or one segment of Chinese or Japanese
    is_cjk: bool
    is_name: bool = False  # whether it has a capital letter in a query of small ones


class _Manner(Struct):
    is_short: bool
    is_foreign: bool  # whether most words are of a language that nobody knows, and so neither mistyped nor abbreviated
    is_bound: bool  # whether it has binding words of another language: a rare `los` would bring up Los Angeles
    named: Mapping[str, str]  # the word that was mistyped in the name of a tool, with what was meant
    tries: int = MAX_CORRECTED


class _Known(NamedTuple):
    form: str
    terms: Sequence[str]
    weight: float
    stem: str
    stands_for: Sequence[str]


_LookedUp = tuple[Sequence[_Known], Sequence[str]]
_MOST_KEPT = 4_096  # the most words of queries whose look-ups are kept


class Reader:
    def __init__(self, engine: Okapi, dictionary: WordTable, names: Container[str] = ()) -> None:
        self._idf = engine.idf
        self._rarest = engine.rarest
        self._words = engine.corpus.surface
        self._dictionary = dictionary
        self._speller = Speller(engine.idf, self._dictionary, names)
        self._looked_up_before: dict[tuple[str, ...], _LookedUp] = {}

    def read(self, query: str) -> Query:
        """The query's words. Abbreviations are read in full, and words that neither tools nor the dictionary have as
        words like them. If most of the query are such words, and some are like none, it is in a language that neither
        knows, and nothing is read as something else."""
        found = list(islice(_words(query), 4 * MAX_WORDS + 1))
        distinct = list({word.forms: word for word in reversed(found)}.values())[::-1]
        is_ascii = query.isascii()
        selected = distinct if is_ascii and len(distinct) <= MAX_WORDS else list(_first(distinct))
        read = Query(cut=len(found) > 4 * MAX_WORDS or len(selected) < len(distinct) or len(query) > MAX_TEXT)
        western = selected if is_ascii else [word for word in selected if not word.is_cjk]
        looked_up = {word.forms: self._looked_up(word.forms) for word in western}
        missing = {forms: lacking for forms, (_, lacking) in looked_up.items()}
        manner = self._manner(selected, missing)
        strange_letters = 0 if is_ascii else sum(not word.forms[-1].isascii() for word in selected)
        read.in_english = not manner.is_bound and 3 * strange_letters <= len(selected)
        for word in selected:
            if word.is_cjk:
                self._read_segment(read, word.forms[0])
            elif not (manner.is_bound and word.forms[-1] in BINDING_WORDS):
                for form, terms, weight, stem_, stands_for in looked_up[word.forms][0]:
                    read.add(terms, form)
                    read.weight += weight
                    read.meaning[stem_] = form
                    self._add_readings(read, form, stands_for, BESIDE)
                for form in missing[word.forms]:
                    self._read_missing(read, form, word.is_name, manner)
        self._add_short_forms(read, [word.forms[-1] for word in western])
        return read

    def _looked_up(self, forms: tuple[str, ...]) -> _LookedUp:
        """The forms of a word that the catalog has, and those that it lacks; kept, since queries say the same words."""
        if (found := self._looked_up_before.get(forms)) is None:
            if len(self._looked_up_before) >= _MOST_KEPT:
                self._looked_up_before.clear()
            known = [
                _Known(form, terms, sum(self._idf[term] for term in terms), stem(form), long_forms(form))
                for form in dict.fromkeys(forms)
                if (terms := self._known_terms(form))
            ]
            found = self._looked_up_before[forms] = known, _missing(forms, {each.form for each in known})
        return found

    def _manner(self, selected: Sequence[_Word], missing: Mapping[tuple[str, ...], Sequence[str]]) -> _Manner:
        is_short = len(selected) <= SHORT
        words = [forms[-1] for forms in missing]
        if TELLING_WORDS.isdisjoint(words) and not any(missing.values()):
            return _Manner(is_short, is_foreign=False, is_bound=False, named={})
        telling = sum(word in TELLING_WORDS for word in words)
        beside = [place for place, word in enumerate(words) if word in BESIDE_TELLING]
        lacking = {form for forms in missing.values() for form in forms}
        content = sum(any(form not in BINDING_WORDS for form in forms) for forms in missing)
        strange = sum(any(map(self._is_strange, forms)) for forms in missing.values() if forms)
        return _Manner(
            is_short,
            is_foreign=content > 2 and 2 * strange > content and not self._is_mistyped(missing, is_short),
            is_bound=telling + bool(beside) > 1
            or ((telling == 1 or any(beside)) and 2 * len(lacking - BINDING_WORDS) >= content),
            named=self._speller.named(words, lacking) if is_short and lacking else {},
        )

    def _is_mistyped(self, missing: Mapping[tuple[str, ...], Sequence[str]], is_short: bool) -> bool:
        """Whether each strange word is like a known one: in a language that nobody knows, hardly all of them are."""
        all_strange = (form for forms in missing.values() for form in forms if self._is_strange(form))
        strange = list(islice(all_strange, MAX_CORRECTED))
        like_none = [form for form in strange if not self._speller.readings(form, is_short, False)]
        return 2 * len(like_none) < len(strange) and all(len(form) < SHORTEST for form in like_none)

    def _read_missing(self, read: Query, form: str, is_name: bool, manner: _Manner) -> None:
        if form in manner.named:
            self._add_corrected(read, form, [manner.named[form]])
        elif not manner.is_foreign and (meant := [each for each in long_forms(form) if self._has_all(each)]):
            read.read_as[form] = meant
            read.weight += self._add_readings(read, form, meant[:1], 1.0)
            self._add_readings(read, form, meant[1:], BESIDE)
        elif form not in BINDING_WORDS:
            self._add_corrected(read, form, self._corrections(form, is_name, manner))

    def _add_corrected(self, read: Query, form: str, readings: Sequence[str]) -> None:
        """Look up the readings of a word. One that no tool has counts for the meaning, and the word stays unknown."""
        if self._add_readings(read, form, readings, 1.0):
            read.read_as[form] = readings
            read.weight += self._rarest
        else:
            self._add_unknown(read, form, is_heard=bool(readings))

    def _corrections(self, form: str, is_name: bool, manner: _Manner) -> Sequence[str]:
        if manner.is_foreign or not manner.tries or not self._is_strange(form):
            return []
        manner.tries -= 1
        return self._speller.readings(form, manner.is_short, is_name)

    def _read_segment(self, read: Query, segment: str) -> None:
        """Chinese and Japanese are indexed as pairs: a text of which tools have no pair is unknown as it is written."""
        unknown = list(segment)
        for place, pair in enumerate(pairs(segment)):
            if terms := self._known_terms(pair):
                read.add(terms, pair)
                read.weight += sum(self._idf[term] for term in terms)
                unknown[place : place + 2] = " " * len(pair)
        read.meaning |= {word: word for word in meanings(segment)}
        for word in "".join(unknown).split():
            if word := word.strip(BINDING_CHARACTERS):
                self._add_unknown_segment(read, word, is_alone=word == segment)

    def _add_unknown_segment(self, read: Query, word: str, is_alone: bool) -> None:
        if len(word) == 1 and is_alone and (near := self._pairs.get(word)):
            read.read_as[word] = near
            read.weight += self._rarest
            for pair in near:
                read.add(self._known_terms(pair), word)
        elif len(word) > 1 or is_alone:
            self._add_unknown(read, word)

    @cached_property
    def _pairs(self) -> Mapping[str, Sequence[str]]:
        """The first pairs of the catalog that have each character."""
        pairs_of: dict[str, list[str]] = defaultdict(list)
        for word in self._words:
            for char in dict.fromkeys(word) if len(word) == 2 and is_cjk(word) else ():
                if len(pairs_of[char]) < MAX_PAIRS:
                    pairs_of[char].append(word)
        return pairs_of

    def _add_unknown(self, read: Query, form: str, *, is_heard: bool = False) -> None:
        read.unknown.append(form)
        read.weight += self._rarest
        if not is_cjk(form):
            read.meaning[stem(form)] = form
            read.meaning |= {each: form for phrase in long_forms(form) for each in tokens(phrase)}
        if not is_heard and self._is_strange(form):
            read.unheard.append(form)

    def _add_readings(self, read: Query, word: str, readings: Iterable[str], share: float) -> float:
        """Look up each reading of a word that tools have all of; return the largest idf of one. The words of a phrase
        share its weight: a pull request is neither what is pulled nor any request."""
        most = 0.0
        for reading in readings:
            forms = [form for form in reading.split() if self._known_terms(form)]
            read.meaning |= {stem(form): word for form in reading.split() if stem(form) not in read.meaning}
            if forms and self._has_all(reading):
                terms = [term for form in forms for term in self._known_terms(form)]
                read.add(terms, word, share / len(forms))
                most = max(most, sum(self._idf[term] for term in terms) / len(forms))
        return most

    def _add_short_forms(self, read: Query, written: Sequence[str]) -> None:
        """Look up abbreviations of what is written in full: some tools have nothing else."""
        for place, size, short in short_forms([stem(word) for word in written]):
            if terms := self._known_terms(short):
                word = written[place]
                if size == 1 and word in read.unknown:
                    read.unknown.remove(word)
                    read.unheard = [each for each in read.unheard if each != word]
                    read.read_as[word] = [short]
                read.add(terms, word, 1.0 if word in read.read_as else SHORTENED)

    def _known_terms(self, form: str) -> list[str]:
        return [term for term in (form, stemmed(form)) if term in self._idf]

    def _has_all(self, phrase: str) -> bool:
        return all(f"{word}~" in self._idf for word in tokens(phrase))

    def _is_strange(self, form: str) -> bool:
        """Whether a word that no tool has is neither a word of the dictionary nor an abbreviation."""
        if is_cjk(form):
            return not any(word in self._dictionary for word in meanings(form))
        known = stem(form) in self._dictionary or form in BINDING_WORDS or bool(long_forms(form))
        return form.isalpha() and not known


def _missing(forms: Sequence[str], known: Container[str]) -> Sequence[str]:
    """The word if no tool has it; of an identifier of which tools have some parts, the other parts."""
    *inner, whole = forms
    if whole in known:
        return ()
    missing = [part for part in inner if part not in known]
    return missing if len(missing) < len(inner) else [whole]


def _words(text: str) -> Iterator[_Word]:
    found = runs(text)
    is_small = 2 * sum(map(str.islower, [run[0] for run in found])) > len(found)
    for number, run in enumerate(found):
        if is_cjk(run):
            for segment in segments(run):
                yield from (
                    _Word((segment[start : start + MAX_RUN],), True) for start in range(0, len(segment), MAX_RUN)
                )
        elif forms := parts(run):
            yield _Word(forms, False, is_small and number > 0 and run[0].isupper())


def _first(words: Iterable[_Word]) -> Iterator[_Word]:
    """The first `MAX_WORDS` words, of which pairs of Chinese and Japanese are some each."""
    size = 0
    for word in words:
        size += len(pairs(word.forms[0])) if word.is_cjk else 1
        if size > MAX_WORDS:
            return
        yield word
