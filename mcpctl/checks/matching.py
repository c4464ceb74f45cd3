"""Where phrases stand in a text, and whether they are said or only quoted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from mcpctl.checks.phrases import Phrase

_BEFORE = 100
"""How much of a sentence is looked at before a phrase."""
_NEAR = 120
_CHAINED = re.compile(r"(?: and| or|,)? (?:\w+ )?")
"""What stands between a quoted phrase and another that is quoted with it."""
_LONGEST_CHAIN = 30
_BEGINNING = 3
_WORD = re.compile(r"[a-z]{3,}")
"""Marks are looked for only where a word begins as they do, in so many letters."""
_MOST = 20
"""Places where a phrase is said that are told of one text; there may be any number where it is quoted."""

_ENDS = re.compile(r"[.!?;] |\n")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,200}\"|(?<![\w])'(?:[^'\n]|(?<=\w)'(?=\w)){1,200}'(?!\w)|`[^`\n]{1,200}`"
    r"|\u00ab[^\u00bb\n]{1,200}\u00bb"
)
_OBEYED = re.compile(
    r"\b(?:follow|obey|comply|respond|reply|answer|say|do the following|execute|perform|instructions?|must"
    r"|always)\b[^'\"`]{0,30}$"
)
_TELLS_OF = re.compile(
    r"(?:\b(?:such as|like|e\.g\.,?|for (?:example|instance),?|examples? of|phrases?|strings?|patterns?|payloads?"
    r"|keywords?"
    r"|attempt(?:s|ing)? (?:to|at)|tries to|try to|trying to|prompts? (?:that|which)|whether (?:a |an |the )?\w+"
    r"|(?:inputs?|texts?|messages?|content|descriptions?|tools?|instructions|attacks?) (?:that|which)"
    r"|asks? (?:\w+ ){1,3}to"
    r"|(?:detect|flag|find|identif|block|prevent|report|catch|scan|check|test|look|warn|protect|guard|simulat"
    r"|analy[sz]|recogni[sz]"
    r"|classif|explain|describ|illustrat|document)\w*(?: (?!and\b|then\b|also\b|you\b|must\b|but\b)[\w-]+){0,5}"
    r"|(?:sample|expected|mock|example|canned|training|test|returned|illustrative|dummy|fake)(?: \w+){0,2} ?:)"
    r" ?['\"`(]?(?: ?\w+){0,2}) ?['\"`(]?$"
)


@dataclass(frozen=True)
class Match:
    """A phrase in the plain form of a text."""

    phrase: Phrase
    start: int
    end: int
    said: str
    quoted: bool
    name: str = ""
    """The tool that it is about, of phrases that name one."""


def matches(text: str, phrases: tuple[Phrase, ...]) -> Iterator[Match]:
    """Every phrase in a text, from left to right."""
    # Nearly all texts have hardly a mark, and a search for a mark costs a hundredth of one for a pattern.
    by_beginning, others = _marks(phrases)
    beginnings = {word[:_BEGINNING] for word in _WORD.findall(text)}
    likely = [mark for beginning in by_beginning.keys() & beginnings for mark in by_beginning[beginning]]
    marks = {mark for mark in (*others, *likely) if mark in text}
    found = [match for phrase in phrases if not marks.isdisjoint(phrase.marks) for match in _of(text, phrase)]
    found.sort(key=lambda match: (match.start, match.end))
    last_quoted = -1
    for match in found:
        between = text[last_quoted : match.start][:_LONGEST_CHAIN] if last_quoted >= 0 else "."
        chained = match.phrase.quotable and (match.start < last_quoted or bool(_CHAINED.fullmatch(between)))
        if match.quoted or chained:
            last_quoted = max(last_quoted, match.end)
        yield Match(match.phrase, match.start, match.end, match.said, True, match.name) if chained else match


@lru_cache(maxsize=8)
def _marks(phrases: tuple[Phrase, ...]) -> tuple[dict[str, list[str]], list[str]]:
    """The marks that begin a word, by how they begin, and those that may stand anywhere."""
    by_beginning: dict[str, list[str]] = {}
    others: list[str] = []
    for mark in sorted({mark for phrase in phrases for mark in phrase.marks}):
        if len(mark) > _BEGINNING and _WORD.match(mark[: _BEGINNING + 1]):
            by_beginning.setdefault(mark[:_BEGINNING], []).append(mark)
        else:
            others.append(mark)
    return by_beginning, others


def _of(text: str, phrase: Phrase) -> Iterator[Match]:
    said = 0
    for found in phrase.pattern.finditer(text):
        start, end = found.span()
        before = text[max(start - _BEFORE, 0) : start]
        sentence = _ENDS.split(before)[-1]
        if phrase.excuse and phrase.excuse.search(sentence):
            continue
        if phrase.must and not phrase.must.search(sentence + found[0] + _ENDS.split(text[end : end + _NEAR])[0]):
            continue
        name = found.groupdict().get("name") or ""
        quoted = _is_quoted(text, start, end, sentence, phrase)
        yield Match(phrase, start, end, found[0], quoted, name)
        said += not quoted
        if said >= _MOST:
            return


def _is_quoted(text: str, start: int, end: int, sentence: str, phrase: Phrase) -> bool:
    if _TELLS_OF.search(sentence):
        return True
    return phrase.quotable and _within_marks(text, start, end)


def _within_marks(text: str, start: int, end: int) -> bool:
    """Whether quotation marks enclose it, and nothing before them says that it is to be obeyed."""
    around = max(start - 250, 0)
    for quoted in _QUOTED.finditer(text, around, end + 250):
        if quoted.start() < start and end < quoted.end() + 1 and end <= quoted.end():
            return not _OBEYED.search(_ENDS.split(text[max(quoted.start() - 60, 0) : quoted.start()])[-1])
        if quoted.start() > start:
            return False
    return False
