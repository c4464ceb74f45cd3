"""Tools that say words rather than what they do: so none comes first for what it only mentions.

Whoever describes a tool writes sentences, in which one word of three binds others. Of 3,600 tools of real servers one
in eighty has a text that is taken for a list here.
"""

import re
from collections.abc import Sequence

from mcpctl.search.fields import FIELDS
from mcpctl.search.tokens import BINDING_WORDS, MAX_TEXT, NOT_STOPPED, STOP_WORDS

LEAST = 0.3
"""How much the words of a list count, beside those of sentences."""
_SENTENCES, _LIST = 0.85, 0.95
"""The shares of words that bind no others, up to which a text is of sentences, and from which it is a list."""
_SHORTEST = 16
"""The words of the shortest name, title or description that may be a list."""
_FULL, _OVERFULL = 20, 24
"""The different words that bind no others, up to which one sentence has them, and from which it is a list, too."""
_PHRASES = 8
"""The phrases in one sentence, of two words or more, from which it is a list as well."""
_ENUMERATED = 0.7
"""How much such a sentence is a list: that of an honest tool may tell all that it returns."""
_SMALL_WORDS = STOP_WORDS | NOT_STOPPED | BINDING_WORDS
_MARKS = str.maketrans(dict.fromkeys(".,;:!?()[]{}<>\"'`*|•"))
_PARTS_OF_NAME = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_ENDS = re.compile(r"(?<=[.!?:])\s|\n")
_COMMAS = re.compile("[,;]")
_PLACES = {field.name: place for place, field in enumerate(FIELDS)}
_NAME, _TITLE, _SUMMARY, _DESCRIPTION, _PARAMETERS, _ABOUT_PARAMETERS = (
    _PLACES[name] for name in ("name", "title", "summary", "description", "parameters", "parameter descriptions")
)


def trust(texts: Sequence[str]) -> float:
    """How much the words of a tool count, from `LEAST` to 1, by the texts of its `FIELDS`."""
    described = (texts[_SUMMARY] + texts[_DESCRIPTION])[:MAX_TEXT]
    # Few parameters may be described in a word each.
    parameters = texts[_ABOUT_PARAMETERS] if texts[_PARAMETERS].count(" ") >= _SHORTEST - 1 else ""
    name = _PARTS_OF_NAME.sub(" ", texts[_NAME])
    return 1 - (1 - LEAST) * max(map(_listed, (name, texts[_TITLE], described, parameters)))


def _listed(text: str) -> float:
    """How much a text is a list, from 0 to 1; 0 in scripts whose small words nobody here knows."""
    if len(text.split()) < _SHORTEST or not _is_western(text):
        return 0.0
    sentences = _ENDS.split(text.lower())
    said = [sentence.translate(_MARKS).split() for sentence in sentences]
    content = [[word for word in words if word not in _SMALL_WORDS] for words in said]
    share = sum(map(len, content)) / (sum(map(len, said)) or 1)
    fullest = max(len(set(words)) for words in content)
    long = fullest >= _PHRASES and max(text.count(","), text.count(";")) >= _PHRASES - 1
    phrases = max(map(_phrases, sentences)) if long else 0
    enumerated = max(_between(fullest, _FULL, _OVERFULL), float(phrases >= _PHRASES))
    return max(_between(share, _SENTENCES, _LIST), _ENUMERATED * enumerated)


def _phrases(sentence: str) -> int:
    return sum(len(part.split()) > 1 for part in _COMMAS.split(sentence))


def _is_western(text: str) -> bool:
    return text.isascii() or 10 * sum(char > "\u024f" for char in text) <= len(text)


def _between(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0)
