"""The request of a search, and its answer: mcpctl's own ranking of the tools in the request."""

import asyncio
import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

# The checkout need not be installed. It comes last, so that an installed mcpctl is used first.
sys.path.extend(str(checkout) for checkout in Path(__file__).resolve().parents[2:3])

from mcpctl.base.models import Tool
from mcpctl.search.providers import build
from mcpctl.search.ranking import Provider

MAX_QUERIES = 32
MAX_TOOLS = 50_000
CATALOGS, WEIGHT = 64, 100_000
"""The most indexes in memory, and their most weight together: 1 for each tool and for each 1,000 bytes of a request."""

log = logging.getLogger("catalog_search")

Name = Annotated[str, Meta(max_length=2_000)]
Text = Annotated[str, Meta(max_length=100_000)]


class Malformed(Exception):
    """A body that is not a search; the message names the wrong member and the value that it should have."""


class SentTool(Struct, frozen=True, rename="camel"):
    """A tool as the client describes it."""

    tool_key: Annotated[Name, Meta(min_length=1)]
    tool_name: Name
    server_name: Name
    description: Text = ""


class Search(Struct, rename="camel"):
    """The body of a request; members that are not here are ignored."""

    query: Annotated[list[Text], Meta(min_length=1, max_length=MAX_QUERIES)]
    tools: Annotated[list[SentTool], Meta(max_length=MAX_TOOLS)]
    context: Text | None = None
    max_results: Annotated[int, Meta(ge=1, le=50)] = 10


class Result(Struct, rename="camel", omit_defaults=True):
    """A tool that the search found."""

    tool_key: str
    tool_name: str
    server_name: str
    description: str
    relevance: float
    explanation: str = ""


class Answer(Struct):
    """The body of an answer, best result first."""

    results: list[Result]


Tools = Mapping[str, SentTool]
"""The tools of a request by key; of those with the same key, the first."""


def read(body: bytes) -> tuple[Search, Tools, bytes]:
    """A request, its tools, and a hash that is the same for the same tools in any order; raises Malformed."""
    try:
        search = msgspec.json.decode(body, type=Search)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"the body is not a search: {error}") from None
    tools = dict(sorted({tool.tool_key: tool for tool in reversed(search.tools)}.items()))
    return search, tools, sha256(msgspec.json.encode(list(tools.values()))).digest()


@dataclass(frozen=True, eq=False)
class KeyedTool(Tool):
    """A tool for mcpctl's ranking, under the key that the client gave it, which may be any text."""

    sent_key: str = ""

    @property
    def key(self) -> str:
        """The client's key."""
        return self.sent_key


def build_index(tools: Tools) -> Provider:
    """mcpctl's own ranking over these tools."""
    started = time.perf_counter()
    provider = build(
        [
            KeyedTool(sent.server_name, sent.tool_name, {"description": sent.description}, "", sent_key=key)
            for key, sent in tools.items()
        ]
    )
    log.info("indexed %d tools in %.0f ms", len(tools), 1_000 * (time.perf_counter() - started))
    return provider


def rank(provider: Provider, search: Search, tools: Tools) -> bytes:
    """The answer to a search, as JSON."""
    ranking = provider.search(search.query, context=search.context, limit=search.max_results)
    results = [
        Result(why.key, sent.tool_name, sent.server_name, sent.description, why.relevance, why.short)
        for why, sent in ((why, tools[why.key]) for why in ranking.explain(ranking.hits))
    ]
    return msgspec.json.encode(Answer(results))


class Searches:
    """Ranks in threads, and keeps the indexes of the catalogs that were searched last."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[bytes, tuple[int, asyncio.Future[Provider]]] = OrderedDict()
        # Building takes seconds, so it has a thread of its own: a search in an existing index does not wait for it.
        self._building = ThreadPoolExecutor(1)
        self._ranking = ThreadPoolExecutor(2)
        # Imports numpy now, which takes longer than indexing 500 tools, so that the first search does not wait for it.
        build([])

    async def answer(self, body: bytes) -> bytes:
        """The answer to the request in a body; raises Malformed."""
        loop = asyncio.get_running_loop()
        search, tools, mark = await loop.run_in_executor(self._ranking, read, body)
        # Shielded: other requests may wait for the same index, and this client will come back for it.
        provider = await asyncio.shield(self._index(mark, tools, len(tools) + len(body) // 1_000))
        return await loop.run_in_executor(self._ranking, rank, provider, search, tools)

    def _index(self, mark: bytes, tools: Tools, weight: int) -> asyncio.Future[Provider]:
        """The index of these tools, or the one that is being built of them."""
        _, index = self._indexes.get(mark, (0, None))
        if index is None or (index.done() and index.exception()):
            index = asyncio.get_running_loop().run_in_executor(self._building, build_index, tools)
            self._indexes[mark] = weight, index
        self._indexes.move_to_end(mark)
        while len(self._indexes) > CATALOGS or sum(weight for weight, _ in self._indexes.values()) > WEIGHT:
            self._indexes.popitem(last=False)
        return index
