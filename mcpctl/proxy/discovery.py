"""One `tool_discovery`: search the catalog, and say as much about each tool as the answer's budget allows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mcpctl.catalog import hints
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.signature import signature
from mcpctl.models import Tool
from mcpctl.proxy import metatools
from mcpctl.proxy.jsonrpc import Malformed
from mcpctl.search import MAX_QUERIES, Build, Hit, Off, Provider, Ranking, nearest
from mcpctl.store.recorder import tokens
from mcpctl.toolsets.toolset import Toolset, searched

DETAILS = ("auto", "names", "full")
_MAX_RESULTS = 50
_DESCRIPTION_CUTS = ((None, 0.5), (600, 0.5), (300, 0.5), (150, 1.0), (80, 1.0), (0, 1.0))
"""The longest description, and the share of the budget that all entries may then take."""


@dataclass(frozen=True)
class Wanted:
    """What a model asked for."""

    queries: tuple[str, ...]
    context: str | None = None
    limit: int = 10
    left_out: int = 0
    """Queries that were too many."""
    detail: str = "auto"

    def ranked_by(self, provider: Provider) -> Ranking:
        """What that provider finds."""
        return provider.search(self.queries, context=self.context, limit=self.limit)


@dataclass(frozen=True)
class Answer:
    """What it gets: the structured content as JSON, and what the record keeps of it."""

    content: bytes
    hits: tuple[Hit, ...]
    provider: str
    fallback: str | None

    @property
    def result(self) -> bytes:
        """The tool's result: the structured content, and the same as one text block for older clients."""
        text = msgspec.json.encode(self.content.decode())
        return b'{"content":[{"type":"text","text":%b}],"structuredContent":%b}' % (text, self.content)


def wanted(arguments: Mapping[str, bytes]) -> Wanted:
    """The request in `arguments`; raises `Malformed` with what a model should mend."""
    example = 'Example: {"query": ["create an issue in github"]}'
    try:
        given = {name: msgspec.json.decode(value) for name, value in arguments.items()}
    except msgspec.MsgspecError:
        raise Malformed(f"the arguments of tool_discovery are no JSON. {example}") from None
    query = given.get("query")
    queries = [query] if isinstance(query, str) else query
    if not isinstance(queries, list) or not queries or not all(isinstance(text, str) for text in queries):
        raise Malformed(f"query must be a list of texts, each saying what a tool should do. {example}")
    context, limit, detail = given.get("context"), given.get("maxResults", 10), given.get("detail", "auto")
    if context is not None and not isinstance(context, str):
        raise Malformed("context must be a text")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 1 <= limit <= _MAX_RESULTS:
        raise Malformed(f"maxResults must be a whole number from 1 to {_MAX_RESULTS}")
    if detail not in DETAILS:
        raise Malformed(f"detail must be one of {', '.join(DETAILS)}")
    left_out = max(len(queries) - MAX_QUERIES, 0)
    return Wanted(tuple(queries[:MAX_QUERIES]), context, int(limit), left_out, detail)


class Discovery:
    """Answers searches over a catalog, its index built once per change of the catalog."""

    def __init__(self, catalog: Catalog, build: Build, *, split: bool = False) -> None:
        self._catalog = catalog
        self._build = build
        self._split = split
        self._built_for: tuple[dict[str, int], Toolset | None] | None = None
        self._provider: Provider | None = None
        self._tools: dict[str, Tool] = {}

    def close(self) -> None:
        """Look at the catalog no more."""
        self._catalog.db.close()

    def provider(self, toolset: Toolset | None = None) -> Provider:
        """What ranks the tools that there are now, those of `toolset` where there is one."""
        self._catalog.toolset = toolset
        state = (self._catalog.generations(), toolset)
        if self._provider is None or state != self._built_for:
            visible = self._catalog.visible()
            self._tools = {tool.key: tool for tool in visible}
            self._provider = self._build(visible, searched(visible), None)
            self._built_for = state
        return self._provider

    def answer(self, asked: Wanted, ranking: Ranking, missing: Mapping[str, str]) -> Answer:
        """The whole answer of a search that was ranked so, of the tools that `provider` last looked at.

        `missing` says, per server without any known tools, why it has none.
        """
        hits = [hit for hit in ranking.hits if hit.key in self._tools]
        if len(hits) < len(ranking.hits):
            gone = "Tools have changed while they were searched; search again."
            ranking = replace(ranking, notice=f"{ranking.notice} {gone}".strip())
        tools = [self._tools[hit.key] for hit in hits]
        entries = [_entry(tool, hit, self._split) for tool, hit in zip(tools, hits, strict=True)]
        # What the notice takes is not there for results, the sentence that some did not fit included.
        near = self._nearest(asked) if ranking.weak else ""
        longest = {"results": [], "notice": self._notice(asked, ranking, missing, near, left_out=len(entries))}
        budget = self._catalog.config.search.answer_tokens - _size(longest)
        if asked.detail == "full":
            results = [_in_full(entry, tool) for entry, tool in zip(entries, tools, strict=True)]
            _add_explanations(results, ranking, hits)
        elif asked.detail == "names":
            results = _names(entries, tools, budget)
        else:
            results = _within(entries, tools, budget)
        notice = self._notice(asked, ranking, missing, near, left_out=len(entries) - len(results))
        content = {"results": results} | ({"notice": notice} if notice else {})
        return Answer(msgspec.json.encode(content), tuple(hits[: len(results)]), ranking.provider, ranking.fallback)

    def _notice(self, asked: Wanted, ranking: Ranking, missing: Mapping[str, str], near: str, left_out: int) -> str:
        said = [ranking.notice] if ranking.notice else []
        if asked.left_out:
            said.append(f"Only the first {MAX_QUERIES} queries were read; ask the other {asked.left_out} again.")
        if ranking.fallback:
            said.append(f"Ranked by {ranking.provider}, since another search could not be had: {ranking.fallback}.")
        servers = ", ".join(list(self._catalog.config.enabled)[:50])
        if not self._catalog.config.enabled:
            project = self._catalog.config.project
            none = f"No server is in project '{project}'" if project else "No server is configured"
            said.append(f"{none}. The user can add one with: mcpctl servers add NAME -- COMMAND.")
        elif not ranking.hits and ranking.provider == Off.name:
            return " ".join(said)  # what else could be said is of searching
        elif not ranking.hits and self._tools:
            said.append(f"No tool matches.{near}")
            said.append(f"Servers: {servers}. Say what the tool should do, in other words.")
        elif ranking.weak and ranking.hits:
            said.append(f"No good match; these are weak.{near} Servers: {servers}.")
        if ranking.hits and ranking.lost_words:
            said.append(f"No tool has these words: {', '.join(ranking.lost_words[:10])}.")
        said += self._of_toolset(asked.queries)
        if hidden := self._hidden(asked.queries):
            said.append(f"Not permitted by the user's configuration: {', '.join(hidden)}.")
        if left_out:
            said.append(f"{left_out} more results did not fit; ask a narrower query or lower maxResults.")
        said += [f"Server {name} {why}." for name, why in sorted(missing.items())]
        return " ".join(said)

    def _of_toolset(self, queries: Sequence[str]) -> Iterator[str]:
        """What the toolset in force leaves out of the answer, or has wrong with it."""
        toolset = self._catalog.toolset
        if toolset is None:
            return
        if toolset.problem:
            yield f"Toolset '{toolset.name}': {toolset.problem}."
        elif not self._tools:
            yield f"The toolset in force, '{toolset.name}', has no tool that is known here."
        named = {query.strip() for query in queries} - self._tools.keys()
        left_out = sorted(tool.key for tool in self._catalog.permitted() if tool.key in named) if named else []
        if left_out:
            yield f"Not in the toolset in force, '{toolset.name}': {', '.join(left_out)}."

    def _nearest(self, asked: Wanted) -> str:
        near = sorted({key for query in asked.queries[:4] for key in nearest(query[:100], self._tools)})
        return f" Nearest names: {', '.join(near)}." if near else ""

    def _hidden(self, queries: Sequence[str]) -> list[str]:
        """Tools that a query names and that the configuration does not permit."""
        enabled = self._catalog.config.enabled.items()
        denied = [f"{name}:{tool}" for name, entry in enabled for tool, allowed in entry.tools.items() if not allowed]
        return sorted({key for query in queries[:4] for key in nearest(query.strip()[:100], denied)}) if denied else []


def _entry(tool: Tool, hit: Hit, split: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"toolKey": tool.key, "toolName": tool.name, "serverName": tool.server}
    if tool.title:
        entry["title"] = tool.title[:200]
    if tool.description:
        entry["description"] = tool.description
    entry["relevance"] = round(hit.relevance, 2)
    entry["signature"] = signature(tool)
    if declared := hints.declared(tool):
        entry["annotations"] = declared
    if split:
        entry["executeWith"] = metatools.execute_with(hints.permission(tool))
    return entry


def _names(entries: list[dict[str, Any]], tools: Sequence[Tool], budget: int) -> list[dict[str, Any]]:
    """Keys with a first sentence; a tool that the query names has its schema even so."""
    results = [_only_name(entry) for entry in entries]
    if results and results[0]["relevance"] >= 1.0:
        results[0]["inputSchema"] = dict(tools[0].input_schema)
    return _as_many_as_fit(results, budget)


def _only_name(entry: dict[str, Any]) -> dict[str, Any]:
    first = _cut(entry.get("description", ""), 120, sentence=True)
    described = {"description": first} if first else {}
    return {"toolKey": entry["toolKey"], **described, **_only(entry, "relevance", "executeWith")}


def _only(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: entry[name] for name in names if name in entry}


def _in_full(entry: dict[str, Any], tool: Tool) -> dict[str, Any]:
    schemas = {"inputSchema": dict(tool.input_schema)}
    if isinstance(tool.definition.get("outputSchema"), dict):
        schemas["outputSchema"] = tool.definition["outputSchema"]
    return {**entry, **schemas}


def _add_explanations(results: Sequence[dict[str, Any]], ranking: Ranking, hits: Sequence[Hit]) -> None:
    reasons = {why.key: why.short for why in ranking.explain(hits)}
    for entry in results:
        if why := reasons.get(entry["toolKey"]):
            entry["explanation"] = why


def _within(entries: list[dict[str, Any]], tools: Sequence[Tool], budget: int) -> list[dict[str, Any]]:
    """The entries with descriptions cut, and as many schemas, best first, as fit; an exact name always has its own."""
    if not entries:
        return []
    schemas = [{"inputSchema": dict(tool.input_schema)} for tool in tools]
    named = entries[0]["relevance"] >= 1.0
    spare = budget - (_size(schemas[0]) if named else 0)
    results = _cut_to(entries, [tool.notes for tool in tools], spare)
    used = _size(results)
    for number, (entry, schema) in enumerate(zip(results, schemas, strict=False)):
        cost = _size(schema)
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
        if _size(results) <= budget * share:
            return results
    least = ("toolKey", "description", "relevance", "signature", "executeWith")
    results = [_only(entry, *least) for entry in results]
    if _size(results) > budget:
        results = [{**entry, "signature": _cut(entry["signature"], 80)} for entry in results]
    return _as_many_as_fit(results, budget)


def _as_many_as_fit(results: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
    while len(results) > 1 and _size(results) > budget:
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


def _size(value: Any) -> int:
    return tokens(len(msgspec.json.encode(value)))
