"""The results of a search as entries, each saying as much of its tool as the answer's budget allows."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from mcpctl import hints, tool_keys
from mcpctl.catalog import told_texts
from mcpctl.catalog.signature import signature
from mcpctl.models import Tool
from mcpctl.proxy import metatools
from mcpctl.search.ranking import Hit, Ranking
from mcpctl.store.recorder import tokens

_SERVER_RESULTS = 4
"""Results of one server while others have comparable ones: no server can fill an answer."""
_COMPARABLE = 0.5
"""The share of the best relevance from which on another server's result is comparable."""
_NAMED_SHARE = 0.5
"""The share of the budget that the schema of a named tool may take from other results."""
_FULL_BUDGETS = 16
"""What an answer in full may take, in budgets."""
_INTRODUCED_SHARE = 0.2
"""The share of the budget that what a server says of itself may take from results; it may take all that these leave."""
_DESCRIPTION_CUTS = ((None, 0.5), (600, 0.5), (300, 0.5), (150, 1.0), (80, 1.0), (0, 1.0))
"""The longest description, and the share of the budget that all entries may then take."""


def budget(detail: str, answer_tokens: int) -> int:
    """The tokens that an answer with so much detail may take."""
    return _FULL_BUDGETS * answer_tokens if detail == "full" else answer_tokens


def spread(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The best hits, no more of one server than its share while others have comparable ones; in their order."""
    if not hits:
        return []
    comparable = _COMPARABLE * hits[0].relevance
    counts: Counter[str] = Counter()
    first: list[int] = []
    rest: list[int] = []
    for place, hit in enumerate(hits):
        server, _ = tool_keys.split(hit.key)
        counts[server] += 1
        (first if hit.relevance >= comparable and counts[server] <= _SERVER_RESULTS else rest).append(place)
    return [hits[place] for place in sorted([*first, *rest][:limit])]


def fitted(
    hits: Sequence[Hit], tools: Sequence[Tool], ranking: Ranking, *, detail: str, budget: int, split: bool
) -> list[dict[str, Any]]:
    """The entries of as many hits, best first, as fit a budget of tokens, in as much detail as was asked for."""
    entries = [_entry(tool, hit, split) for tool, hit in zip(tools, hits, strict=True)]
    if detail == "full":
        results = _in_full(entries, tools, budget)
        _add_explanations(results, ranking, hits)
        return results
    return _names(entries, tools, budget) if detail == "names" else _within(entries, tools, budget)


def with_introductions(
    fitted_in: Callable[[int], list[dict[str, Any]]], waiting: Sequence[tuple[str, str]], budget: int
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """The entries that `fitted_in` gives for a number of tokens, and which of the introductions that wait, by server
    and text, fit beside them: of the servers that have an entry, whole and once each."""
    costs = [size(introduction(*each)) for each in waiting]
    least = min(costs, default=0)
    results = fitted_in(budget - (least if least <= budget * _INTRODUCED_SHARE else 0))
    shown = {tool_keys.split(entry["toolKey"])[0] for entry in results}
    room, introduced = budget - size(results), []
    for each, cost in zip(waiting, costs, strict=True):
        if each[0] in shown and cost <= room:
            introduced.append(each)
            room -= cost
    return results, introduced


def introduction(server: str, text: str) -> dict[str, str]:
    """What a server says of itself, as an answer has it."""
    return {"serverName": server, "text": text}


def _entry(tool: Tool, hit: Hit, split: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"toolKey": tool.key, "toolName": tool.name, "serverName": tool.server}
    told = told_texts.of(tool)
    if told.title:
        entry["title"] = told.title[:200]
    if told.description:
        entry["description"] = told.description
    entry["relevance"] = round(hit.relevance, 2)
    entry["signature"] = signature(tool)
    if declared := hints.declared(tool):
        entry["annotations"] = declared
    if split:
        entry["executeWith"] = metatools.execute_with(hints.permission(tool))
    return entry


def _names(entries: list[dict[str, Any]], tools: Sequence[Tool], budget: int) -> list[dict[str, Any]]:
    """Keys with a first sentence; a tool that the query names has its schema even so."""
    results = _as_many_as_fit([_only_name(entry) for entry in entries], budget)
    if results and results[0]["relevance"] >= 1.0:
        schema = {"inputSchema": told_texts.of(tools[0]).input_schema}
        if size(schema) <= max(budget * _NAMED_SHARE, budget - size(results)):
            results = _as_many_as_fit([{**results[0], **schema}, *results[1:]], budget)
    return results


def _only_name(entry: dict[str, Any]) -> dict[str, Any]:
    first = _cut(entry.get("description", ""), 120, sentence=True)
    described = {"description": first} if first else {}
    return {"toolKey": entry["toolKey"], **described, **_only(entry, "relevance", "executeWith")}


def _only(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: entry[name] for name in names if name in entry}


def _in_full(entries: list[dict[str, Any]], tools: Sequence[Tool], budget: int) -> list[dict[str, Any]]:
    """All that is known of each tool, as long as it fits; of the others what is always said."""
    results: list[dict[str, Any]] = []
    used = 0
    for entry, tool in zip(entries, tools, strict=True):
        whole = {**entry, **_schemas(tool)}
        shown = next((each for each in (whole, _only_name(entry)) if used + size(each) <= budget), None)
        if shown is None:
            break
        used += size(shown)
        results.append(shown)
    return results


def _schemas(tool: Tool) -> dict[str, Any]:
    told = told_texts.of(tool)
    output = {} if told.output_schema is None else {"outputSchema": told.output_schema}
    return {"inputSchema": told.input_schema, **output}


def lacks_named_schema(results: Sequence[Mapping[str, Any]], tools: Sequence[Tool]) -> bool:
    """Whether a tool that the query names is shown without its schema."""
    if not results or results[0]["relevance"] < 1.0 or "inputSchema" in results[0]:
        return False
    return tool_keys.is_plain(tools[0].key)


def _add_explanations(results: Sequence[dict[str, Any]], ranking: Ranking, hits: Sequence[Hit]) -> None:
    reasons = {why.key: why.short for why in ranking.explain(hits)}
    for entry in results:
        if why := reasons.get(entry["toolKey"]):
            entry["explanation"] = why


def _within(entries: list[dict[str, Any]], tools: Sequence[Tool], budget: int) -> list[dict[str, Any]]:
    """The entries with descriptions cut, and as many schemas, best first, as fit; a named tool's has a share of its
    own."""
    if not entries:
        return []
    schemas = [{"inputSchema": told_texts.of(tool).input_schema} for tool in tools]
    named = entries[0]["relevance"] >= 1.0 and size(schemas[0]) <= budget * _NAMED_SHARE
    spare = budget - (size(schemas[0]) if named else 0)
    results = _cut_to(entries, [tool.notes for tool in tools], spare)
    used = size(results)
    for number, (entry, schema) in enumerate(zip(results, schemas, strict=False)):
        cost = size(schema)
        if (number == 0 and named) or used + cost <= spare:
            entry.update(schema)
            used += 0 if number == 0 and named else cost
    return results


def _cut_to(entries: list[dict[str, Any]], notes: Sequence[str], budget: int) -> list[dict[str, Any]]:
    """Entries with their descriptions cut as little as the budget asks, then their signatures, then fewer of them.

    Notes are never cut: who wrote them wants them read.
    """
    # Half the room is for schemas: a model that sees parameters calls right the first time.
    results = entries
    for cut, share in _DESCRIPTION_CUTS:
        results = [_shortened(entry, noted, cut) for entry, noted in zip(entries, notes, strict=True)]
        if size(results) <= budget * share:
            return results
    least = ("toolKey", "description", "relevance", "signature", "executeWith")
    results = [_only(entry, *least) for entry in results]
    if size(results) > budget:
        results = [{**entry, "signature": _cut(entry["signature"], 80)} for entry in results]
    return _as_many_as_fit(results, budget)


def _as_many_as_fit(results: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
    while len(results) > 1 and size(results) > budget:
        results.pop()
    return results


def _shortened(entry: dict[str, Any], notes: str, cut: int | None) -> dict[str, Any]:
    if "description" not in entry or cut is None:
        return dict(entry)
    own = entry["description"].removesuffix(notes).rstrip() if notes else entry["description"]
    described = "\n\n".join(text for text in (_cut(own, cut) if cut else "", notes) if text)
    if described:
        return {**entry, "description": described}
    return {name: value for name, value in entry.items() if name != "description"}


def _cut(text: str, limit: int, *, sentence: bool = False) -> str:
    if sentence:
        text = text.strip().partition("\n")[0]
        end = text.find(". ")
        text = text[: end + 1] if end >= 0 else text
    if len(text) <= limit:
        return text
    return text[: limit - 1].rsplit(" ", 1)[0].rstrip() + "…"


def size(value: Any) -> int:
    return tokens(len(msgspec.json.encode(value)))
