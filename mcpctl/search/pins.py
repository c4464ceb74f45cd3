"""The tools that a query names."""

from collections.abc import Container, Iterable, Sequence

from mcpctl.base.models import Tool
from mcpctl.search.tokens import folded


class Pins:
    """Finds the tools that a query names: by key, else by name or `server.tool`, else by key or name without case and
    separators, where one tool alone has it. A query that names a server names no tool of another, whatever that is
    called."""

    LEVELS = ("key", "name", "name without case and separators")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._levels: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        self.folded_names: Container[str] = self._levels[-1].keys()
        self._servers: list[str] = []
        for number, tool in enumerate(tools):
            self._servers.append(folded(tool.server))
            names = ({tool.key}, {tool.name, f"{tool.server}.{tool.name}"}, {folded(tool.key), folded(tool.name)})
            for level, forms in zip(self._levels, names, strict=True):
                for form in forms:
                    level.setdefault(form, []).append(number)
        self._known = frozenset(self._servers)

    def only(self, numbers: Sequence[int]) -> "Pins":
        """Those of these tools, which are numbered in this order from now on."""
        pins, place = Pins(()), {number: new for new, number in enumerate(numbers)}
        for level, names in zip(pins._levels, self._levels, strict=True):
            for form, with_it in names.items():
                if found := [place[number] for number in with_it if number in place]:
                    level[form] = found
        pins._servers = [self._servers[number] for number in numbers]
        pins._known = frozenset(pins._servers)
        return pins

    def find(self, query: str) -> dict[int, str]:
        """The tools that a query names, each with the kind of name that matched."""
        query = query.strip()
        server = self._server_of(query)
        for level, form, how in zip(self._levels, (query, query, folded(query)), self.LEVELS, strict=True):
            numbers = [number for number in level.get(form, ()) if server in (None, self._servers[number])]
            if numbers and (how != self.LEVELS[-1] or len(numbers) == 1):
                return dict.fromkeys(numbers, how)
        return {}

    def _server_of(self, query: str) -> str | None:
        """The server that a query names in the way of a key, known or not; before a dot, one that is known."""
        before, colon, _ = query.partition(":")
        if colon:
            return folded(before)
        before, dot, _ = query.partition(".")
        return folded(before) if dot and folded(before) in self._known else None
