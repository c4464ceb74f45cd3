"""Other rankings, for comparison: what a simple implementation does, and two peers as their source has it."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from mcpctl.models import Tool
from mcpctl.search.ranking import Hit, Ranking

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
    """mcpproxy-go's Bleve query without its name boosts, which only whole names meet: tf-idf over the joined text.

    Bleve's default: sqrt(tf) / sqrt(length) · idf², idf 1 + ln(N / (df + 1)), times the share of words that match; its
    analyzer keeps identifiers whole and drops stop words.
    """

    name = "mcpproxy"

    def __init__(self, tools: Sequence[Tool]) -> None:
        super().__init__(tools)
        documents = [Counter(_analysed(f"{t.name} {t.key} {t.description} {t.text}")) for t in tools]
        count = Counter(word for document in documents for word in document)
        self._added: dict[str, list[tuple[int, float]]] = {}
        for number, document in enumerate(documents):
            for word, tf in document.items():
                idf = 1 + math.log(len(tools) / (count[word] + 1))
                added = math.sqrt(tf / document.total()) * idf**2
                self._added.setdefault(word, []).append((number, added))

    def scores(self, query: str) -> "np.typing.NDArray[np.float64]":
        asked = _analysed(query)
        scores, met = np.zeros(len(self.tools)), np.zeros(len(self.tools))
        for word in asked:
            for number, added in self._added.get(word, ()):
                scores[number] += added
                met[number] += 1
        return scores * met / max(len(asked), 1)


RIVALS: dict[str, type[_Ranked]] = {rival.name: rival for rival in (Stock, FastMcp, McpProxy)}


def _searchable(tool: Tool) -> str:
    parts = [f"{tool.server}_{tool.name}", tool.description]
    properties = tool.input_schema.get("properties")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        parts += [name, str(member.get("description") or "") if isinstance(member, dict) else ""]
    return " ".join(parts)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]{2,}", unicodedata.normalize("NFKC", text).casefold())


_ENGLISH = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
_STOP = frozenset(_ENGLISH.split())


def _analysed(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in _STOP]
