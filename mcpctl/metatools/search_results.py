"""The results of a search as entries, each saying as much of its tool as the answer's budget allows, best first.

A model that sees a tool's parameters calls it right: a schema goes before descriptions, and before later results.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from mcpctl.base import hints, tool_keys
from mcpctl.base.models import Tool
from mcpctl.catalog import model_texts
from mcpctl.catalog.model_texts import cut, shortened
from mcpctl.catalog.signature import signature
from mcpctl.metatools import offers
from mcpctl.search.ranking import Hit, Ranking
from mcpctl.store.recorder import tokens

BRIEF = 100  # the longest description, except of the first results
_FIRST = 3  # results with longer descriptions
_LONG = 600
_FIRST_SHARE, _SCHEMA_SHARE = 0.5, 0.25  # of the budget: the best result's schema, and each other one's
_LONGEST = 1 << 16  # the most bytes of a schema that is shortened: a larger one would hold up other searches
_LINE = 80  # the longest signature where there is room for little else
_CALLED = ("executeWith", offers.DIRECT_NAME)  # members that say how a tool is called
_BYTES = 4  # bytes of a token, as it is estimated

Entry = Mapping[str, Any]
Split = Callable[[Tool], str] | None  # the permission that calls a tool, where `tool_execute` is split by it
_SERVER_RESULTS = 4  # results of one server while others have comparable ones: no server can fill an answer
_COMPARABLE = 0.5  # share of the best relevance from which another server's result is comparable
_FOLLOWING = 0.3  # share of the best relevance from which a result is worth the room that others leave
_LONGEST_TITLE = 200
_NAMED_SHARE = 0.5  # share of the budget that the schema of a named tool may take from other results
FULL_BUDGETS = 16  # budgets that a full answer may take
_INTRODUCED_SHARE = 0.2  # the part of the budget that instructions may take from results, beside what these leave


class _Draft(Struct, frozen=True, dict=True):
    entry: Entry
    tool: Tool
    is_first: bool
    is_named: bool  # whether the query names the tool: its schema is shown whole or not at all

    def forms(self, most: int) -> Iterator[dict[str, Any]]:
        cuts = (_LONG, BRIEF) if self.is_first else (BRIEF,)
        schema = model_texts.of(self.tool).input_schema
        if (size := _cost(schema)) <= most:
            yield from (self._written(described, {"inputSchema": schema}) for described in cuts)
        if not self.is_named and size <= _LONGEST and _cost(shorter := shortened(schema, BRIEF)) <= most:
            yield self._written(BRIEF, {"inputSchema": shorter})
        brief = {"signature": signature(self.tool)}
        yield from (self._written(described, brief) for described in (*cuts, 0))

    @cached_property
    def least(self) -> dict[str, Any]:
        brief = {"signature": signature(self.tool, _LINE)}
        return only(self._written(0, brief), "toolKey", "description", "relevance", "signature", *_CALLED)

    def _written(self, longest: int, parameters: Entry) -> dict[str, Any]:
        """The entry with its description cut to `longest`; notes stay, since who wrote them wants them read."""
        own, notes = self.entry.get("description", ""), self.tool.notes
        own = own.removesuffix(notes).rstrip() if notes else own
        text = "\n\n".join(part for part in (cut(own, longest) if longest else "", notes) if part)
        described = {"description": text} if text else {}
        head, tail = only(self.entry, "toolKey", "title"), only(self.entry, "annotations", *_CALLED)
        return {**head, **described, "relevance": self.entry["relevance"], **parameters, **tail}


def laid_out(entries: Sequence[Entry], tools: Sequence[Tool], budget: int, sure: int) -> list[dict[str, Any]]:
    """As many entries, best first, as fit a budget of tokens, mostly with schemas; the first `sure` ones first."""
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
    return next((form for form in draft.forms(min(room, most)) if _cost(form) <= room), None)


def _cost(value: Any) -> int:
    return len(msgspec.json.encode(value)) + len(",")


def only(entry: Entry, *names: str) -> dict[str, Any]:
    return {name: entry[name] for name in names if name in entry}


def chosen(hits: Sequence[Hit], limit: int, more: int = 0, firsts: Collection[str] = ()) -> list[Hit]:
    """The best hits: the `firsts` of several queries, then others in their order, no more of one server than its share
    while others have comparable ones, then up to `more` that match well enough, for the room that is left."""
    best = _spread(hits, limit, firsts)
    keys = {hit.key for hit in best}
    others = (hit for hit in hits if hit.key not in keys and hit.relevance >= _FOLLOWING * hits[0].relevance)
    return best + list(islice(others, more))


def _spread(hits: Sequence[Hit], limit: int, firsts: Collection[str]) -> list[Hit]:
    if not hits:
        return []
    comparable = _COMPARABLE * hits[0].relevance
    counts: Counter[str] = Counter()
    sure: list[Hit] = []
    first: list[Hit] = []
    rest: list[Hit] = []
    for hit in hits:
        server, _ = tool_keys.split(hit.key)
        counts[server] += 1
        is_spread = hit.relevance >= comparable and counts[server] <= _SERVER_RESULTS
        (sure if hit.key in firsts else first if is_spread else rest).append(hit)
    others = {hit.key for hit in [*first, *rest][: max(limit - len(sure), 0)]}
    return sure[:limit] + [hit for hit in hits if hit.key in others]


def fitted(
    hits: Sequence[Hit], tools: Sequence[Tool], ranking: Ranking, *, detail: str, budget: int, sure: int, split: Split,
    direct: Mapping[str, str],
) -> list[dict[str, Any]]:  # fmt: skip
    """The entries of as many hits as fit a budget of tokens, best first; the first `sure` ones before the others."""
    entries = [_entry(tool, hit, split, direct, full=detail == "full") for tool, hit in zip(tools, hits, strict=True)]
    if detail == "full":
        results = _in_full(entries, tools, budget)
        reasons = {why.key: why.short for why in ranking.explain(hits)}
        for entry in results:
            if why := reasons.get(entry["toolKey"]):
                entry["explanation"] = why
    else:
        results = _names(entries, tools, budget) if detail == "names" else laid_out(entries, tools, budget, sure)
    places = {hit.key: place for place, hit in enumerate(ranking.hits)}
    return sorted(results, key=lambda entry: places[entry["toolKey"]])


def introduced_beside(
    fitted_in: Callable[[int], list[dict[str, Any]]], waiting: Sequence[tuple[str, str]], budget: int
) -> list[tuple[str, str]]:
    """Instructions of servers that fit beside the entries that `fitted_in` gives for a number of tokens, whole."""
    costs = [size(introduction(*each)) for each in waiting]
    least = min(costs, default=0)
    results = fitted_in(budget - (least if least <= budget * _INTRODUCED_SHARE else 0))
    servers = {tool_keys.split(entry["toolKey"])[0] for entry in results}
    room, introduced = budget - size(results), []
    for each, cost in zip(waiting, costs, strict=True):
        if each[0] in servers and cost <= room:
            introduced.append(each)
            room -= cost
    return introduced


def introduction(server: str, text: str) -> dict[str, str]:
    return {"serverName": server, "text": text}


def _entry(tool: Tool, hit: Hit, split: Split, direct: Mapping[str, str], *, full: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"toolKey": tool.key}
    if full:  # the two halves of the key
        entry |= {"toolName": tool.name, "serverName": tool.server}
    texts = model_texts.of(tool)
    title = (texts.title or "")[:_LONGEST_TITLE]
    if title and (full or _letters(title) != _letters(tool.name)):
        entry["title"] = title
    if texts.description:
        entry["description"] = texts.description
    entry["relevance"] = round(hit.relevance, 2)
    if declared := hints.declared(tool):
        entry["annotations"] = declared
    if split:
        entry["executeWith"] = offers.execute_with(split(tool))
    if tool.key in direct:
        entry[offers.DIRECT_NAME] = direct[tool.key]
    return entry


def _letters(name: str) -> str:
    """A name without spaces, punctuation and capitals: a title that has the same letters says nothing new."""
    return "".join(filter(str.isalnum, name)).casefold()


def _names(entries: list[dict[str, Any]], tools: Sequence[Tool], budget: int) -> list[dict[str, Any]]:
    """Keys with a first sentence; a tool that the query names has its schema even so."""
    results = _as_many_as_fit([_only_name(entry) for entry in entries], budget)
    if results and results[0]["relevance"] >= 1.0:
        schema = {"inputSchema": model_texts.of(tools[0]).input_schema}
        if size(schema) <= max(budget * _NAMED_SHARE, budget - size(results)):
            results = _as_many_as_fit([{**results[0], **schema}, *results[1:]], budget)
    return results


def _only_name(entry: dict[str, Any]) -> dict[str, Any]:
    first = cut(_sentence(entry.get("description", "")), BRIEF)
    described = {"description": first} if first else {}
    named = only(entry, "toolKey", "toolName", "serverName")
    return {**named, **described, **only(entry, "relevance", *_CALLED)}


def _sentence(text: str) -> str:
    line = text.strip().partition("\n")[0]
    end = line.find(". ")
    return line[: end + 1] if end >= 0 else line


def _in_full(entries: list[dict[str, Any]], tools: Sequence[Tool], budget: int) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    used = 0
    for entry, tool in zip(entries, tools, strict=True):
        texts = model_texts.of(tool)
        output = {} if texts.output_schema is None else {"outputSchema": texts.output_schema}
        whole = {**entry, "inputSchema": texts.input_schema, **output}
        shown = next((each for each in (whole, _only_name(entry)) if used + size(each) <= budget), None)
        if shown is None:
            break
        used += size(shown)
        results.append(shown)
    return results


def lacks_named_schema(results: Sequence[Mapping[str, Any]], tools: Sequence[Tool]) -> bool:
    if not results or results[0]["relevance"] < 1.0 or "inputSchema" in results[0]:
        return False
    return tool_keys.is_plain(tools[0].key)


def _as_many_as_fit(results: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
    while len(results) > 1 and size(results) > budget:
        results.pop()
    return results


def size(value: Any) -> int:
    return tokens(len(msgspec.json.encode(value)))
