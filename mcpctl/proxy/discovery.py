"""One `tool_discovery`: search the catalog, and say as much about each tool as the answer's budget allows."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mcpctl import hints
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.signature import signature
from mcpctl.models import Tool
from mcpctl.near_names import nearest
from mcpctl.proxy import jsonrpc, metatools
from mcpctl.proxy.jsonrpc import Malformed
from mcpctl.proxy.refusals import is_plain
from mcpctl.search.providers import Off
from mcpctl.search.ranking import MAX_QUERIES, Build, Hit, Provider, Ranking
from mcpctl.store.recorder import tokens
from mcpctl.toolsets.toolset import Toolset, searched

DETAILS = ("auto", "names", "full")
_ASKED = ("query", "context", "maxResults", "detail")
_MAX_RESULTS = 50
_SERVER_RESULTS = 4
"""Results of one server while others have comparable ones: no server can fill an answer."""
_COMPARABLE = 0.5
"""The share of the best relevance from which on another server's result is comparable."""
_NAMED_SHARE = 0.5
"""The share of the budget that the schema of a named tool may take from other results."""
_FULL_BUDGETS = 16
"""What an answer in full may take, in budgets."""
_LONGEST_NAME = 128
"""Tools with longer names than the protocol has are called, but not found."""
_NOTICE_BYTES = 600
_NAMED = 12
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
        """What that provider finds: more than is shown, since no server may have all the places."""
        return provider.search(self.queries, context=self.context, limit=min(3 * self.limit, 2 * _MAX_RESULTS))


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
    """The request in `arguments`; raises `Malformed` with what a model should fix."""
    example = 'Example: {"query": ["create an issue in github"]}'
    try:
        given: dict[str, Any] = {
            name: jsonrpc.value(text, object) for name, text in arguments.items() if name in _ASKED
        }
    except Malformed:
        raise Malformed(f"the arguments of tool_discovery cannot be read as JSON. {example}") from None
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
        self.catalog = catalog
        self._build = build
        self._split = split
        self._built_for: tuple[dict[str, int], Toolset | None] | None = None
        self._provider: Provider | None = None
        self._tools: dict[str, Tool] = {}

    def close(self) -> None:
        """Look at the catalog no more."""
        self.catalog.db.close()

    def provider(self, toolset: Toolset | None = None) -> Provider:
        """What ranks the tools that there are now, those of `toolset` where there is one."""
        self.catalog.toolset = toolset
        state = (self.catalog.generations(), toolset)
        if self._provider is None or state != self._built_for:
            visible = [tool for tool in self.catalog.visible() if len(tool.name) <= _LONGEST_NAME]
            self._tools = {tool.key: tool for tool in visible}
            self._provider = self._build(visible, searched(visible), None)
            self._built_for = state
        return self._provider

    def answer(self, asked: Wanted, ranking: Ranking, missing: Mapping[str, str]) -> Answer:
        """The whole answer of a search that was ranked so, of the tools that `provider` last looked at.

        `missing` says, per server without any known tools, why it has none.
        """
        known = [hit for hit in ranking.hits if hit.key in self._tools]
        if len(known) < len(ranking.hits):
            gone = "Tools have changed while they were searched; search again."
            ranking = replace(ranking, notice=f"{ranking.notice} {gone}".strip())
        hits = _spread(known, asked.limit)
        tools = [self._tools[hit.key] for hit in hits]
        entries = [_entry(tool, hit, self._split) for tool, hit in zip(tools, hits, strict=True)]
        # What the notice takes is not there for results, the sentence that some did not fit included.
        near = self._nearest(asked) if ranking.weak else ""
        longest = {"results": [], "notice": self._notice(asked, ranking, missing, near, left_out=len(entries))}
        budget = self.catalog.config.search.answer_tokens - _size(longest)
        if asked.detail == "full":
            results = _in_full(entries, tools, _FULL_BUDGETS * budget)
            _add_explanations(results, ranking, hits)
        elif asked.detail == "names":
            results = _names(entries, tools, budget)
        else:
            results = _within(entries, tools, budget)
        notice = self._notice(asked, ranking, missing, near, left_out=len(entries) - len(results))
        if _lacks_named_schema(results, tools):
            notice = f'The schema of {tools[0].key} did not fit; ask for it with detail "full". {notice}'.strip()
        content = {"results": results} | ({"notice": notice} if notice else {})
        return Answer(msgspec.json.encode(content), tuple(hits[: len(results)]), ranking.provider, ranking.fallback)

    def _notice(self, asked: Wanted, ranking: Ranking, missing: Mapping[str, str], near: str, left_out: int) -> str:
        """What there is to say, in sentences of ours: no server, and no service, has a word in it."""
        said = [ranking.notice] if ranking.notice else []
        if asked.left_out:
            said.append(f"Only the first {MAX_QUERIES} queries were read; ask the other {asked.left_out} again.")
        if ranking.fallback:
            said.append(f"Ranked by {ranking.provider}, since the search that is configured could not be used.")
        servers = _listed(self.catalog.config.enabled)
        if not self.catalog.config.enabled:
            project = self.catalog.config.project
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
            said.append(f"Not permitted by the user's configuration: {_listed(hidden)}.")
        if left_out:
            said.append(f"{left_out} more results did not fit; ask a narrower query or lower maxResults.")
        said += [f"Server {name} {why}." for name, why in sorted(missing.items())]
        return _bounded(said)

    def _of_toolset(self, queries: Sequence[str]) -> Iterator[str]:
        """What the toolset in force leaves out of the answer, or has wrong with it."""
        toolset = self.catalog.toolset
        if toolset is None:
            return
        if toolset.problem:
            yield f"Toolset '{toolset.name}': {toolset.problem}."
        elif not self._tools:
            yield f"The toolset in force, '{toolset.name}', has no tool that is known here."
        named = {query.strip() for query in queries} - self._tools.keys()
        left_out = sorted(tool.key for tool in self.catalog.permitted() if tool.key in named) if named else []
        if left_out := list(filter(is_plain, left_out)):
            yield f"Not in the toolset in force, '{toolset.name}': {_listed(left_out)}."

    def _nearest(self, asked: Wanted) -> str:
        plain = list(filter(is_plain, self._tools))
        near = sorted({key for query in asked.queries[:4] for key in nearest(query[:100], plain)})
        return f" Nearest names: {', '.join(near)}." if near else ""

    def _hidden(self, queries: Sequence[str]) -> list[str]:
        """Tools that a query names and that the configuration does not permit."""
        enabled = self.catalog.config.enabled.items()
        denied = [f"{name}:{tool}" for name, entry in enabled for tool, allowed in entry.tools.items() if not allowed]
        return sorted({key for query in queries[:4] for key in nearest(query.strip()[:100], denied)}) if denied else []


def _spread(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The best hits, no more of one server than its share while others have comparable ones; in their order."""
    if not hits:
        return []
    comparable = _COMPARABLE * hits[0].relevance
    counts: Counter[str] = Counter()
    first: list[int] = []
    rest: list[int] = []
    for place, hit in enumerate(hits):
        server = hit.key.partition(":")[0]
        counts[server] += 1
        (first if hit.relevance >= comparable and counts[server] <= _SERVER_RESULTS else rest).append(place)
    return [hits[place] for place in sorted([*first, *rest][:limit])]


def _listed(names: Collection[str]) -> str:
    """Names in a sentence: the first of many."""
    first = list(names)[:_NAMED]
    return ", ".join(first) + (f" and {more} more" if (more := len(names) - _NAMED) > 0 else "")


def _bounded(sentences: Sequence[str]) -> str:
    """The sentences that fit a notice, in their order."""
    said = ""
    for sentence in sentences:
        longer = f"{said} {sentence}".strip()
        if len(longer.encode("utf-8", "replace")) <= _NOTICE_BYTES:
            said = longer
    return said


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
    results = _as_many_as_fit([_only_name(entry) for entry in entries], budget)
    if results and results[0]["relevance"] >= 1.0:
        schema = {"inputSchema": dict(tools[0].input_schema)}
        if _size(schema) <= max(budget * _NAMED_SHARE, budget - _size(results)):
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
        shown = next((each for each in (whole, _only_name(entry)) if used + _size(each) <= budget), None)
        if shown is None:
            break
        used += _size(shown)
        results.append(shown)
    return results


def _schemas(tool: Tool) -> dict[str, Any]:
    output = tool.definition.get("outputSchema")
    return {"inputSchema": dict(tool.input_schema)} | ({"outputSchema": output} if isinstance(output, dict) else {})


def _lacks_named_schema(results: Sequence[Mapping[str, Any]], tools: Sequence[Tool]) -> bool:
    """Whether a tool that the query names is shown without its schema."""
    return (
        bool(results) and results[0]["relevance"] >= 1.0 and "inputSchema" not in results[0] and is_plain(tools[0].key)
    )


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
    schemas = [{"inputSchema": dict(tool.input_schema)} for tool in tools]
    named = entries[0]["relevance"] >= 1.0 and _size(schemas[0]) <= budget * _NAMED_SHARE
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
