"""What a model gets of a search: `python -m tests.bench.answers --data DIR… [--tokens N] [--results N] [--json]`

Of each folder with a catalog.jsonl and a queries.jsonl (as `mcpctl tools eval` reads them): the share of the tools that
a query should find which the answer of `tool_discovery` has, and has with their whole schema; and the tokens of an
answer. Beside it the answers of FastMCP's search transform: the whole definitions of the five tools that it finds best.
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mcpctl.base.models import Tool
from mcpctl.catalog import model_texts
from mcpctl.catalog.rows import tools_in_file
from mcpctl.metatools import search_results
from mcpctl.metatools.discovery import SearchRequest
from mcpctl.search.evaluate import Label, from_file, mean
from mcpctl.search.providers import build
from tests.bench import raw_client
from tests.bench.rivals import FastMcp

Row = dict[str, Any]
Results = Sequence[Mapping[str, Any]]
Answers = Callable[[Label], Results]
"""What a model gets for a query: results, each with its `toolKey`, and its `inputSchema` if it has one."""
_FASTMCP_RESULTS = 5


def ours(tools: Sequence[Tool], tokens: int, limit: int | None) -> Answers:
    """What `tool_discovery` answers within a budget, where so many results are asked for, or no number."""
    provider = build(tools)
    by_key = {tool.key: tool for tool in tools}

    def answer(label: Label) -> Results:
        request = SearchRequest(label.queries, label.context)
        request = replace(request, limit=limit, more=0) if limit else request
        ranking = request.ranked_by(provider)
        more, detail = (0, "names") if ranking.weak else (request.more, "auto")
        hits = search_results.chosen(ranking.hits, request.limit, more, ranking.firsts)
        shown = [by_key[hit.key] for hit in hits]
        return search_results.fitted(
            hits, shown, ranking, detail=detail, budget=tokens, sure=request.limit, split=None, direct={}
        )

    return answer


def fastmcp(tools: Sequence[Tool]) -> Answers:
    """What FastMCP's search transform answers."""
    provider = FastMcp(tools)
    by_key = {tool.key: tool for tool in tools}

    def answer(label: Label) -> Results:
        hits = provider.search(label.queries, limit=_FASTMCP_RESULTS).hits
        return [{**by_key[hit.key].definition, "toolKey": hit.key} for hit in hits]

    return answer


def found(label: Label, keys: Collection[str]) -> float:
    """The share of the expected tools that is among some; one is enough where the label says so."""
    groups = [any(key in keys for key in group) for group in label.expect]
    return float(any(groups)) if label.any else mean([float(each) for each in groups])


def row(labels: Sequence[Label], answers: Answers, tools: Sequence[Tool]) -> Row:
    """What the answers to all queries of a set have."""
    schemas = {tool.key: model_texts.of(tool).input_schema for tool in tools}
    rows = []
    for label in labels:
        results = answer = answers(label)
        whole = {each["toolKey"] for each in results if each.get("inputSchema") == schemas[each["toolKey"]]}
        given = {each["toolKey"] for each in results if "inputSchema" in each}
        keys = {each["toolKey"] for each in results}
        rows.append({
            "tool": found(label, keys), "schema": found(label, given), "unchanged": found(label, whole),
            "results": len(results), "schemas": len(given), "tokens": search_results.size({"results": answer}),
        })  # fmt: skip
    return {"queries": len(labels), **{name: mean([float(each[name]) for each in rows]) for name in rows[0]}}


def measured(folders: Sequence[Path], tokens: int, limit: int | None) -> Iterator[Row]:
    """The answers to each set; then the means of all sets."""
    rows: list[Row] = []
    for folder in folders:
        tools, labels = list(tools_in_file(folder / "catalog.jsonl")), from_file(folder / "queries.jsonl")
        for name, answers in (("mcpctl", ours(tools, tokens, limit)), ("fastmcp", fastmcp(tools))):
            rows.append({"set": folder.name, "answers": name, **row(labels, answers, tools)})
    yield from rows
    for name in ("mcpctl", "fastmcp"):
        of_it = [
            {key: each[key] for key in each if key not in ("set", "answers")}
            for each in rows
            if each["answers"] == name
        ]
        yield {"set": "mean of sets", "answers": name, **{key: mean([each[key] for each in of_it]) for key in of_it[0]}}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", action="extend", required=True, help="folders with a set")
    parser.add_argument("--tokens", type=int, default=2000, help="what an answer may take (default 2000)")
    parser.add_argument("--results", type=int, help="results that are asked for (default: no number)")
    parser.add_argument("--json", action="store_true", help="a JSON array instead of a table")
    options = parser.parse_args()
    rows = list(measured(options.data, options.tokens, options.results))
    print(json.dumps(rows, indent=2) if options.json else raw_client.table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
