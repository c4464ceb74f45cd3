"""The parts of a tool that are searched, their weights, and how much its words count: less if it only lists words."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from mcpctl.base.models import Tool
from mcpctl.search.tokens import BINDING_WORDS, MAX_TEXT, NOT_STOPPED, STOP_WORDS

MAX_DEPTH = 3
MAX_PARAMETERS = 256
MAX_VALUES = 64
MAX_LEAD = 300  # the most characters of a first sentence; some descriptions have no second one
_FIRST_SENTENCE = re.compile(r"\s*[^\n]*?(?:[.!?](?=\s)|。|\n|$)")


class Field(Struct, frozen=True):
    """A part of a tool: a word in it counts `weight` times, less if the part is longer than that of other tools."""

    name: str
    weight: float
    length: float  # the influence of the length, from 0 to 1: BM25's b


# Measured on several catalogs, on which neighbouring values do as well: a plateau, not a peak. A description's first
# sentence says what the tool does; the rest (usage, caveats, examples) is often the same for many tools.
FIELDS = (
    Field("name", 3.0, 0.5),
    Field("title", 2.0, 0.5),
    Field("server", 1.5, 0.5),
    Field("summary", 1.0, 0.75),
    Field("description", 0.5, 0.75),
    Field("notes", 1.0, 0.75),
    Field("parameters", 0.7, 0.75),
    Field("parameter descriptions", 0.5, 0.75),
    Field("values", 0.7, 0.75),
)
# Those of the tools of an HTTP API: thousands that share their boilerplate, and differ in what they do to what. Title
# and path say that in a few words; later paragraphs (scopes, plans, limits) are much the same for all, and count a
# fourth as much as the first. Measured on questions to the 1,223 operations of GitHub's API: a plateau, too.
OPERATION_FIELDS = (
    Field("name", 1.0, 0.75),
    Field("title", 4.0, 0.75),
    Field("server", 1.5, 0.5),
    Field("summary", 0.24, 0.75),
    Field("description", 0.06, 0.75),
    Field("notes", 1.0, 0.75),
    Field("parameters", 0.3, 0.75),
    Field("path", 0.9, 0.6),
    Field("method", 0.5, 0.0),
)
_PLACES = {field.name: place for place, field in enumerate(FIELDS)}
_NAME, _TITLE, _SUMMARY, _DESCRIPTION, _PARAMETERS, _ABOUT_PARAMETERS = (
    _PLACES[name] for name in ("name", "title", "summary", "description", "parameters", "parameter descriptions")
)

LEAST = 0.3
"""How much the words of a list count beside those of sentences, in which one word of three binds others. One in eighty
of 3,600 tools of real servers has a text that is taken for a list here."""
DEPRECATED = 0.85
"""How much the words of a tool count that says that another stands for it: enough to come after that one."""
_SAYS_DEPRECATED = re.compile(r"\bDEPRECATED\b|[(\[][Dd]eprecated\b|\A\s*Deprecated\b")
_SENTENCES, _LIST = 0.85, 0.95  # the shares of words that bind no others in sentences, at most, and in a list, at least
_SHORTEST = 16
_FULL, _OVERFULL = 20, 24  # so many different words that bind no others, and one sentence is a list, too
_PHRASES = 8
_ENUMERATED = 0.7  # how much such a sentence is a list: that of an honest tool may tell all that it returns
_SMALL_WORDS = STOP_WORDS | NOT_STOPPED | BINDING_WORDS
_MARKS = str.maketrans(dict.fromkeys(".,;:!?()[]{}<>\"'`*|•"))
_PARTS_OF_NAME = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_ENDS = re.compile(r"(?<=[.!?:])\s|\n")
_COMMAS = re.compile("[,;]")


class OperationTexts(tuple[str, ...]):
    """The texts of a tool of an HTTP API, in the order of `OPERATION_FIELDS`."""

    __slots__ = ()


def fields_of(texts: Sequence[str]) -> Sequence[Field]:
    return OPERATION_FIELDS if isinstance(texts, OperationTexts) else FIELDS


def texts(tool: Tool, notes: str = "") -> tuple[str, ...]:
    """The text of each of the tool's fields, in their order. `notes` are those of a toolset, which the description
    repeats."""
    if tool.inferred is not None:
        from mcpctl.search.api_tools import texts as operation_texts

        return OperationTexts(operation_texts(tool, notes))
    summary, rest = _split(tool.description.removesuffix(tool.notes))
    rows = list(islice(_parameters(tool.input_schema, MAX_DEPTH), MAX_PARAMETERS))
    names, descriptions, values = (" ".join(column) for column in zip(*rows, strict=True)) if rows else ("", "", "")
    return tool.name, tool.title or "", tool.server, summary, rest, notes, names, descriptions, values


def _split(description: str) -> tuple[str, str]:
    match = _FIRST_SENTENCE.match(description[: 2 * MAX_LEAD])
    end = min(match.end() if match else MAX_LEAD, MAX_LEAD)
    return description[:end], description[end:]


def _parameters(schema: Any, depth: int) -> Iterator[tuple[str, str, str]]:
    """The name, description and enum values of a schema's parameters, those in objects and arrays included."""
    schema = _items(schema)
    if depth == 0 or not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        description = member.get("description") if isinstance(member, dict) else None
        yield str(name), description if isinstance(description, str) else "", _values(member)
        yield from _parameters(member, depth - 1)


def _values(member: Any) -> str:
    schema = _items(member)
    enum = schema.get("enum") if isinstance(schema, dict) else None
    values = enum[:MAX_VALUES] if isinstance(enum, list) else []
    return " ".join(value for value in values if isinstance(value, str))


def _items(schema: Any) -> Any:
    while isinstance(schema, dict) and isinstance(schema.get("items"), dict):
        schema = schema["items"]
    return schema


def trust(texts: Sequence[str]) -> float:
    """How much the words of a tool count, up to 1, by the texts of its `FIELDS`."""
    # The texts after the summary of an operation hardly count.
    rest = "" if isinstance(texts, OperationTexts) else texts[_DESCRIPTION]
    described = (texts[_SUMMARY] + rest)[:MAX_TEXT]
    # Few parameters may be described in a word each.
    parameters = texts[_ABOUT_PARAMETERS] if texts[_PARAMETERS].count(" ") >= _SHORTEST - 1 else ""
    name = _PARTS_OF_NAME.sub(" ", texts[_NAME])
    current = DEPRECATED if _SAYS_DEPRECATED.search(described) else 1.0
    return current * (1 - (1 - LEAST) * max(map(_listed, (name, texts[_TITLE], described, parameters))))


def _listed(text: str) -> float:
    """How much a text is a list, from 0 to 1; 0 in scripts whose small words nobody here knows."""
    is_western = text.isascii() or 10 * sum(char > "\u024f" for char in text) <= len(text)
    if len(text.split()) < _SHORTEST or not is_western:
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


def _between(value: float, low: float, high: float) -> float:
    return min(max((value - low) / (high - low), 0.0), 1.0)
