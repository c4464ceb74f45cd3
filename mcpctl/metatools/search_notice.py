"""The notice beside the results of a search, in sentences of ours: no server, and no service, has a word."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from mcpctl.base.models import Tool
from mcpctl.base.near_names import nearest
from mcpctl.base.texts import counted
from mcpctl.base.tool_keys import is_plain, join
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.model_texts import cut
from mcpctl.search.providers import Off
from mcpctl.search.ranking import MAX_QUERIES, Ranking

_NOTICE_BYTES = 600
_NAMED = 12
_QUOTED = 60  # the most characters of a query that are repeated
_SUGGESTED_FOR = 4  # queries that near names are looked for


class Notice(Struct, frozen=True, dict=True):
    queries: Sequence[str]
    unread: int
    ranking: Ranking
    catalog: Catalog
    tools: Mapping[str, Tool]
    missing: Mapping[str, str]  # why servers without known tools have none

    def text(self, *, shown: Collection[str], left_out: int, without_schema: str) -> str:
        """`left_out` results did not fit beside those with the keys `shown`, nor did the schema of `without_schema`."""
        named = f'The schema of {without_schema} did not fit; ask for it with detail "full".' if without_schema else ""
        return _bounded([named, *self._of_ranking(), *self._of_queries(shown), *self._of_rest(left_out)])

    def _of_ranking(self) -> Iterator[str]:
        if self.ranking.notice:
            yield self.ranking.notice
        if self.unread:
            yield f"Only the first {MAX_QUERIES} queries were read; ask the other {self.unread} again."
        if self.ranking.fallback:
            yield f"Ranked by {self.ranking.provider}, since the search that is configured could not be used."

    def _of_queries(self, shown: Collection[str]) -> Iterator[str]:
        lost = [
            query
            for query, key in self.ranking.best_of
            if key not in shown and key in self.tools and query not in self.ranking.unanswered
        ]
        if lost := list(dict.fromkeys(lost)):
            yield f"No room for the best result of {_listed(list(map(_quoted, lost)), _SUGGESTED_FOR)}; ask each alone."

    def _of_rest(self, left_out: int) -> Iterator[str]:
        ranking, config = self.ranking, self.catalog.config
        if not config.enabled and config.bound:
            yield f"No server is {config.bound}. The user can name a project with --project, or another token."
        elif not config.enabled:
            none = f"No server is in project '{config.project}'" if config.project else "No server is configured"
            yield f"{none}. The user can add one with: mcpctl servers add NAME -- COMMAND."
        elif ranking.hits or ranking.provider != Off.name:  # without a search there is nothing to say of one
            yield from self._of_matches(f"Servers: {_listed(config.enabled)}.")
        yield from self._of_toolset
        if self._denied:
            yield f"Not permitted by the user's configuration: {_listed(self._denied)}."
        if left_out:
            yield f"{counted(left_out, 'more result')} did not fit; ask a narrower query or lower maxResults."
        for name, why in sorted(self.missing.items()):
            yield f"Server {name} {why}."

    def _of_matches(self, servers: str) -> Iterator[str]:
        ranking = self.ranking
        if not ranking.hits and self.tools:
            how = "in other words or in English" if ranking.unheard_words else "in other words"
            yield f"No tool matches.{self._nearest}"
            yield f"{servers} Say what the tool should do, {how}."
        if not ranking.hits:
            return
        if ranking.weak:
            yield f"No good match; these are weak.{self._nearest}"
        if ranking.unanswered:
            yield f"No good match for {_listed(list(map(_quoted, ranking.unanswered)), _SUGGESTED_FOR)}."
        if ranking.known_words:
            yield f"These words of your query occur in tools: {', '.join(ranking.known_words[:10])}."
        if ranking.lost_words:
            yield f"No tool has these words: {', '.join(ranking.lost_words[:10])}."
        if ranking.weak:
            yield servers

    @cached_property
    def _of_toolset(self) -> Sequence[str]:
        toolset = self.catalog.toolset
        if toolset is None:
            return []
        sentences = []
        if toolset.problem:
            sentences.append(f"Toolset '{toolset.name}': {toolset.problem}.")
        elif not self.tools:
            sentences.append(f"The toolset in force, '{toolset.name}', has no tool that is known here.")
        keys = {query.strip() for query in self.queries} - self.tools.keys()
        left_out = sorted(tool.key for tool in self.catalog.permitted() if tool.key in keys) if keys else []
        if left_out := list(filter(is_plain, left_out)):
            sentences.append(f"Not in the toolset in force, '{toolset.name}': {_listed(left_out)}.")
        return sentences

    @cached_property
    def _nearest(self) -> str:
        near = self._near(list(filter(is_plain, self.tools)))
        return f" Nearest names: {', '.join(near)}." if near else ""

    @cached_property
    def _denied(self) -> Sequence[str]:
        enabled = self.catalog.config.enabled.items()
        denied = [join(name, tool) for name, entry in enabled for tool, allowed in entry.tools.items() if not allowed]
        rules = self.catalog.view.rules
        listed = [self.catalog.listed(name) for name, entry in enabled if entry.only is not None]
        others = (tool for each in listed if each for tool in each.tools if rules.barring(tool.server, tool.name))
        denied += [tool.key for tool in others if is_plain(tool.key)]
        return self._near(denied) if denied else []

    def _near(self, keys: Sequence[str]) -> list[str]:
        return sorted({key for query in self.queries[:_SUGGESTED_FOR] for key in nearest(query.strip()[:100], keys)})


def _quoted(query: str) -> str:
    return f"'{cut(' '.join(query.split()), _QUOTED)}'"


def _listed(names: Collection[str], most: int = _NAMED) -> str:
    first = list(names)[:most]
    return ", ".join(first) + (f" and {more} more" if (more := len(names) - most) > 0 else "")


def _bounded(sentences: Sequence[str]) -> str:
    notice = ""
    for sentence in sentences:
        longer = f"{notice} {sentence}".strip()
        if len(longer.encode("utf-8", "replace")) <= _NOTICE_BYTES:
            notice = longer
    return notice
