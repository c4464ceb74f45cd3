"""How much an answer says of each tool that a search found: schemas for as many as its budget allows, best first.

A model that sees a tool's parameters calls it right the first time; so a schema goes before descriptions, and before
results that come later.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from mcpctl.base.models import Tool
from mcpctl.catalog import model_texts
from mcpctl.catalog.model_texts import cut, shortened
from mcpctl.catalog.signature import signature

BRIEF = 100
"""The longest description, except of the first results."""
_FIRST = 3
"""Results with longer descriptions."""
_LONG = 600
_FIRST_SHARE, _SCHEMA_SHARE = 0.5, 0.25
"""The share of the budget that the schema of the best result may take, and that of each other one: a large schema that
matches less well would leave only signatures to the rest."""
_LONGEST = 1 << 16
"""The most bytes of a schema that is shortened: going through a larger one would hold up other searches."""
_LINE = 80
"""The longest signature where there is room for little else."""
_BYTES = 4
"""Of a token, as it is estimated."""

Entry = Mapping[str, Any]


class _Draft(Struct, frozen=True, dict=True):
    """A result that is to be written."""

    entry: Entry
    tool: Tool
    is_first: bool
    is_named: bool
    """Whether the query names the tool: its schema is shown whole or not at all."""

    def forms(self, most: int) -> Iterator[dict[str, Any]]:
        """What may be said of the tool, the most first, with schemas of at most so many bytes."""
        cuts = (_LONG, BRIEF) if self.is_first else (BRIEF,)
        schema = model_texts.of(self.tool).input_schema
        if (size := _cost(schema)) <= most:
            yield from (self._written(described, {"inputSchema": schema}) for described in cuts)
        if not self.is_named and size <= _LONGEST and _cost(shorter := shortened(schema, BRIEF)) <= most:
            yield self._written(BRIEF, {"inputSchema": shorter})
        told = {"signature": signature(self.tool)}
        yield from (self._written(described, told) for described in (*cuts, 0))

    @cached_property
    def least(self) -> dict[str, Any]:
        """The shortest form; notes are in it, since who wrote them wants them read."""
        told = {"signature": signature(self.tool, _LINE)}
        return only(self._written(0, told), "toolKey", "description", "relevance", "signature", "executeWith")

    def _written(self, longest: int, parameters: Entry) -> dict[str, Any]:
        """The entry with its description cut, and what is said of the parameters."""
        own, notes = self.entry.get("description", ""), self.tool.notes
        own = own.removesuffix(notes).rstrip() if notes else own
        text = "\n\n".join(part for part in (cut(own, longest) if longest else "", notes) if part)
        described = {"description": text} if text else {}
        head, tail = only(self.entry, "toolKey", "title"), only(self.entry, "annotations", "executeWith")
        return {**head, **described, "relevance": self.entry["relevance"], **parameters, **tail}


def laid_out(entries: Sequence[Entry], tools: Sequence[Tool], budget: int, sure: int) -> list[dict[str, Any]]:
    """As many entries, best first, as fit a budget of tokens, most with schemas, as whole as the first ones allow.

    The first `sure` ones have a place as long as there is room for a line of each; others take what these leave.
    """
    drafts = [
        _Draft(entry, tool, number < _FIRST, number == 0 and entry["relevance"] >= 1.0)
        for number, (entry, tool) in enumerate(zip(entries, tools, strict=True))
    ]
    first, others = drafts[:sure], drafts[sure:]
    room = _BYTES * budget - len("[]")
    costs = [_cost(draft.least) for draft in first]
    while len(first) > 1 and sum(costs) > room:
        costs.pop()
        first.pop()
        others = []
    spare, most = room - sum(costs), int(_FIRST_SHARE * room)
    results = []
    for draft, least in zip(first, costs, strict=True):
        form = _most(draft, spare + least, most) or draft.least
        spare += least - _cost(form)
        most = int(_SCHEMA_SHARE * room)
        results.append(form)
    for draft in others:
        shown = _most(draft, spare, most)
        if shown is None:
            break
        spare -= _cost(shown)
        results.append(shown)
    return results


def _most(draft: _Draft, room: int, most: int) -> dict[str, Any] | None:
    """The form that says most of those that fit."""
    return next((form for form in draft.forms(min(room, most)) if _cost(form) <= room), None)


def _cost(value: Any) -> int:
    """The bytes of a value in a list."""
    return len(msgspec.json.encode(value)) + len(",")


def only(entry: Entry, *names: str) -> dict[str, Any]:
    """The members of these names, as far as there are any."""
    return {name: entry[name] for name in names if name in entry}
