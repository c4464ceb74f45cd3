"""The tools of HTTP APIs, as a search reads them: their texts, what their methods do, and what a query wants done."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcpctl.base.models import Tool
from mcpctl.search.steps import CHANGING, DELETING, LEAD, READING

_CALLER = "selfcaller"  # stands for the words by which an API calls its caller, and by which people call themselves
_UNFITTING = 0.5  # how much a tool counts that reads where something is to be changed, or the other way round
_HALF_FITTING = 0.7  # the same of one that changes where something is to be deleted
_DEPRECATED = 0.5  # the same of one that another stands for by now
_MAX_PARAMETERS = 256
_READ = 300  # the characters of a query that are looked at for what it wants
_METHODS = {
    "GET": "get list read show view see fetch look recent",
    "HEAD": "check",
    "POST": "create add new make open start put write give submit post publish register send",
    "PUT": "set put add make give turn enable replace",
    "PATCH": "update change edit modify set make turn close rename",
    "DELETE": "delete remove take clear turn cancel",
}
"""The verbs that a method stands for, as people say them."""
_READS, _CHANGES, _DELETES = 1, 2, 3
_KINDS = {"GET": _READS, "HEAD": _READS, "DELETE": _DELETES}
_HOLE = re.compile(r"\{[^{}]*\}")
_OF_CALLER = re.compile(r"\b(?:authenticated|current|logged[- ]in|signed[- ]in) user\b", re.IGNORECASE)
_PATH_OF_CALLER = re.compile(r"/(?:v\d+/)?(?:user|me|self|account|profile)(?:/|\Z)|.*?/(?:me|self)(?:/|\Z)")
_MARK = "[deprecated]"
_ALSO = {"reference": "branch tag", "dispatch": "start trigger", "limit": "left quota", "search": "find"}
"""Words of titles with those that people say in their place: to Git, a branch is a reference."""


def texts(tool: Tool, notes: str) -> tuple[str, ...]:
    """The text of each of `fields.OPERATION_FIELDS`, in their order."""
    method, path = tool.request
    title = tool.title or ""
    said = tool.description.removesuffix(notes).removeprefix(_MARK).lstrip()
    # The description begins with the title, which counts by itself.
    summary, _, rest = said.removeprefix(title).lstrip().partition("\n\n")
    if not title:
        title, summary = summary, ""
    also = {said for word, said in _ALSO.items() if word in title.lower()}
    caller = _CALLER if _OF_CALLER.search(title) or _PATH_OF_CALLER.match(path) else ""
    return (
        tool.name, " ".join((title, *sorted(also))), tool.server, summary, rest, notes, " ".join(_arguments(tool)),
        f"{_HOLE.sub(' ', path)} {' '.join(tool.tags)}", f"{_METHODS.get(method, '')} {caller}",
    )  # fmt: skip


def _arguments(tool: Tool) -> Sequence[str]:
    """The names of the arguments, and those of the members of the body."""
    properties = _properties(tool.input_schema)
    names = [*properties, *_properties(properties.get("body"))]
    return names[:_MAX_PARAMETERS]


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


# ---- queries

_WORD = re.compile(r"[a-z0-9'-]+")
_QUESTIONS = """
    what which who whom whose how when where why is are was were has have had did does do am any all my our the a an
"""
_AFTER_VERBS = """
    a an the my our this that these those his her their its your someone somebody anyone everyone everything something
    another all any one two some every each to on off up over out down in into with from for new old me us it them
    people users and
"""
_LOOK, _TAKE, _DO = (frozenset(verbs.split()) for verbs in (READING + _QUESTIONS, DELETING, CHANGING))
_AFTER_A_VERB = frozenset(_AFTER_VERBS.split())
"""Words that follow a verb rather than a noun: `attach a file`, but `members of a team`."""
_PRONOUN = re.compile(r"\b(?:i|me|my|mine|myself)\b")


class ApiTools:
    """The tools of a catalog that are of HTTP APIs, beside what a query wants done."""

    caller = _CALLER

    def __init__(self, tools: Sequence[Tool]) -> None:
        found = (0 if tool.inferred is None else _KINDS.get(tool.request[0], _CHANGES) for tool in tools)
        self._kinds: NDArray[np.int8] = np.fromiter(found, np.int8, len(tools))
        marked = (tool.inferred is not None and tool.description.startswith(_MARK) for tool in tools)
        self._deprecated: NDArray[np.bool_] = np.fromiter(marked, np.bool_, len(tools))

    def fitting(self, query: str) -> NDArray[np.float64]:
        """How much each tool counts for a query by what it does: one that reads changes nothing."""
        wanted, kinds, fits = _wanted(query), self._kinds, np.ones(self._kinds.size)
        fits[(kinds > 0) & ((kinds == _READS) != (wanted == _READS))] = _UNFITTING
        if wanted != _READS:
            fits[(kinds > _READS) & (kinds != wanted)] = _HALF_FITTING if wanted == _DELETES else _UNFITTING
        fits[self._deprecated] *= _DEPRECATED
        return fits

    def pronoun(self, query: str) -> str:
        """The word by which the one who asks says that it is about them; empty without one."""
        found = _PRONOUN.search(query[:_READ].lower())
        return found[0] if found else ""


def _wanted(query: str) -> int:
    """The kind of tool that a query wants: a bare noun is looked for."""
    said = " ".join(query[:_READ].lower().split())
    lead = LEAD.match(said)
    first, second = [*_WORD.findall(said, lead.end() if lead else 0), "", ""][:2]
    if first in _TAKE:
        return _DELETES
    if first in _LOOK:
        return _READS
    is_plural = first.endswith("s") and not first.endswith("ss")
    return _CHANGES if first in _DO or (second in _AFTER_A_VERB and not is_plural) else _READS
