"""Other rankings, for comparison: what a simple implementation does, and two peers as their source has it."""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from mcpctl.base.models import Tool
from mcpctl.search.ranking import Hit, Ranking
from tests.bench import bleve

Tokens = Callable[[str], list[str]]


class _Ranked:
    """Documents by score, those above 0."""

    name = ""
    waits = False

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools

    def scores(self, query: str) -> "np.typing.NDArray[np.float64]":
        """A score for each tool."""
        raise NotImplementedError

    def search(self, queries: Sequence[str], *, context: str | None = None, limit: int = 10) -> Ranking:
        """The best for the queries as one text."""
        scores = self.scores(" ".join(queries))
        order = np.argsort(-scores, kind="stable")[:limit]
        hits = tuple(Hit(self.tools[n].key, float(scores[n])) for n in order if scores[n] > 0)
        return Ranking(hits, self.name, None, (), weak=False)


class Stock(_Ranked):
    """rank_bm25 as it comes, over what `lower().split()` makes of names and descriptions."""

    name = "rank-bm25"

    def __init__(self, tools: Sequence[Tool]) -> None:
        super().__init__(tools)
        self._engine = BM25Okapi([f"{tool.server} {tool.name} {tool.description}".lower().split() for tool in tools])

    def scores(self, query: str) -> "np.typing.NDArray[np.float64]":
        found: np.typing.NDArray[np.float64] = self._engine.get_scores(query.lower().split())
        return found


class FastMcp(_Ranked):
    """FastMCP 4.1's BM25SearchTransform: Okapi, k1 1.5 and b 0.75, over one bag of words, names prefixed by server."""

    name = "fastmcp"

    def __init__(self, tools: Sequence[Tool]) -> None:
        super().__init__(tools)
        documents = [Counter(_words(_searchable(tool))) for tool in tools]
        lengths = np.array([document.total() for document in documents], np.float64)
        norm = 1.5 * (0.25 + 0.75 * lengths / (lengths.mean() or 1.0))
        holders: dict[str, list[int]] = {}
        for number, document in enumerate(documents):
            for word in document:
                holders.setdefault(word, []).append(number)
        self._added = {}
        for word, numbers in holders.items():
            tf = np.array([documents[number][word] for number in numbers], np.float64)
            idf = math.log((len(tools) - len(numbers) + 0.5) / (len(numbers) + 0.5) + 1)
            self._added[word] = (np.array(numbers), idf * tf * 2.5 / (tf + norm[numbers]))

    def scores(self, query: str) -> "np.typing.NDArray[np.float64]":
        scores = np.zeros(len(self.tools))
        for word in _words(query):
            if word in self._added:
                numbers, added = self._added[word]
                scores[numbers] += added
        return scores


class McpProxy(_Ranked):
    """mcpproxy-go's `SearchTools` (internal/index/bleve.go) over Bleve's scores: the query as a name, as the beginning
    of one, within one, and its words in all fields and in the joined text."""

    name = "mcpproxy"

    def __init__(self, tools: Sequence[Tool]) -> None:
        # Of equal scores the first key comes first.
        super().__init__(sorted(tools, key=lambda tool: tool.key))
        parts = [bleve.analysed(tool.description) + bleve.analysed(_go_json(tool)) for tool in self.tools]
        joined = [
            bleve.analysed(f"{tool.name} {self.full_name(tool)} {tool.description} {_go_json(tool)}")
            for tool in self.tools
        ]
        names = [[tool.name, self.full_name(tool), tool.server] for tool in self.tools]
        self._name = bleve.Field([[tool.name] for tool in self.tools])
        self._full_name = bleve.Field([[self.full_name(tool)] for tool in self.tools])
        self._joined = bleve.Field(joined)
        self._all = bleve.Field([[*name, *part, *text] for name, part, text in zip(names, parts, joined, strict=True)])

    @staticmethod
    def full_name(tool: Tool) -> str:
        """The name as its server tells it: mcpproxy indexes that, not the key."""
        return tool.name

    def scores(self, query: str) -> "np.typing.NDArray[np.float64]":
        literal = re.escape(query)
        clauses = [
            self._name.term(query, 5.0),
            self._full_name.term(query, 4.0),
            self._name.prefix(query, 3.0),
            *([self._name.pattern(f".*{literal}.*", 2.5)] if "_" in query else ()),
            self._all.match(query),
            self._joined.match(query, 1.5),
        ]
        parts = query.split("_")
        if 2 <= len(parts) <= 16 and all(part.isascii() and part.isalnum() for part in parts) and not clauses[0].scores:
            clauses.append(bleve.all_of([self._segment(part) for part in parts]))
        scores = np.zeros(len(self.tools))
        for number, score in bleve.any_of(clauses).normed().items():
            scores[number] = score
        return scores

    def _segment(self, part: str) -> bleve.Clause:
        """A part between underscores, wherever a name has it."""
        forms = (part, f"{part}_.*", f".*_{part}_.*", f".*_{part}")
        return bleve.any_of([self._name.pattern(form, 5.0) for form in forms])


RIVALS: dict[str, type[_Ranked]] = {rival.name: rival for rival in (Stock, FastMcp, McpProxy)}


def _searchable(tool: Tool) -> str:
    parts = [f"{tool.server}_{tool.name}", tool.description]
    properties = tool.input_schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        parts += [name, str(member.get("description") or "") if isinstance(member, dict) else ""]
    return " ".join(parts)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]{2,}", unicodedata.normalize("NFKC", text).casefold())


_KEPT = ("$defs", "type", "properties", "required", "additionalProperties")


def _go_json(tool: Tool) -> str:
    """The input schema as mcp-go keeps it and Go's encoder writes it."""
    kept = {key: tool.input_schema[key] for key in _KEPT if key in tool.input_schema}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
