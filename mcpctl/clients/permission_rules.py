"""The permission rules of a client as it has them, and the names of its servers as config.toml has them."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpctl.base import bounds
from mcpctl.base.texts import beginning
from mcpctl.clients.client_config import NAME
from mcpctl.clients.client_files import members
from mcpctl.config import server_settings
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import ALLOW, problem_of

ANY = "*"
_NOT_ALIKE = re.compile(r"[^A-Za-z0-9]")
_NOT_TAKEN = re.compile(r"[^A-Za-z0-9_-]")
_GLOB = re.compile(r"[*?]")
_OWN_TOOLS = re.compile(r"tool_(?:discovery|execute.*)|add-tool-annotation")
OWN = "it is about mcpctl's own entry: here rules are about the tools behind it"
MOST = 10_000  # as many rules are read of one file


@dataclass(frozen=True)
class ClientRule:
    text: str  # the rule as the client has it, or where it is
    effect: str = ""
    targets: tuple[tuple[str, str], ...] = ()  # servers and tools, globs if `is_glob`; or a class without a tool
    is_glob: bool = True
    is_respelled: bool = False  # whether the client writes `_` in names of tools for characters that it does not take
    goes_before_ask: bool = False  # whether, as an allow, it goes before the client's rules that ask
    is_default: bool = False  # whether it is for all tools that no other rule names
    why: str = ""  # why it cannot be carried over; empty where it can


class NotCarried(Exception):
    """A rule of a client has no equivalent in config.toml; the message says why."""


class Names:
    """The servers of config.toml by the names that a client gives them, and the tools that they have listed."""

    def __init__(self, loaded: Config, tools: Mapping[str, Collection[str]], own: Mapping[str, Sequence[str]]) -> None:
        self._servers = sorted({*loaded.servers, *loaded.problems})
        self._tools = tools
        self._own = own  # by each name that the client has, the servers here that are the same

    def of_server(self, rule: ClientRule, name: str) -> list[str]:
        """The servers that this name stands for: the client's own; a rule that only tightens counts for others too."""
        if own := self._of_client(name):
            return [name] if name in own else own
        if rule.effect == ALLOW:
            return []
        return [name] if name in self._servers else _spelled(name, self._servers)

    def not_own(self, patterns: Iterable[str]) -> list[str]:
        """The servers that these patterns name and that are not the client's."""
        own = {server for servers in self._own.values() for server in servers}
        named = dict.fromkeys(pattern.partition(":")[0] for pattern in patterns)
        return [server for server in named if server in self._servers and server not in own]

    def _of_client(self, name: str) -> list[str]:
        names = [name] if name in self._own else _spelled(name, self._own)
        return list(dict.fromkeys(server for each in names for server in self._own[each]))

    def split(self, flat: str, separator: str) -> list[tuple[str, str]]:
        """The servers and tools that a name such as `server__tool` may stand for; the tool is empty where none is."""
        pairs: dict[tuple[str, str], None] = {}
        for server in (*self._servers, *self._own):
            name, rest = flat[: len(server)], flat[len(server) :]
            if alike(name) == alike(server) and (not rest or rest.startswith(separator)):
                pairs[name, rest.removeprefix(separator)] = None
        server, _, tool = flat.partition(separator)
        return list(pairs) or [(server, tool)]

    def patterns(self, rule: ClientRule) -> list[str]:
        """The patterns that say the same here; a rule that loosens needs a certain meaning. Raises `NotCarried`."""
        if rule.why:
            raise NotCarried(rule.why)
        patterns: list[str] = []
        for server, tool in rule.targets:
            patterns += self._target(rule, server, tool) if tool else self._class(rule, server)
        if rule.effect == ALLOW and len(rule.targets) > 1 and rule.targets[0][0] != rule.targets[1][0]:
            raise NotCarried("it is not certain which server it is about")
        return list(dict.fromkeys(patterns))

    def _class(self, rule: ClientRule, name: str) -> list[str]:
        if rule.effect == ALLOW and (others := self.not_own(self._servers)):
            raise NotCarried(f"here it would be about other servers than the client's too: {beginning(others, 3)}")
        return [name]

    def _target(self, rule: ClientRule, server: str, tool: str) -> list[str]:
        servers = self.of_server(rule, server)
        if not servers and (alike(server) == alike(NAME) or _OWN_TOOLS.fullmatch(tool)):
            raise NotCarried(OWN)
        if rule.is_glob and _GLOB.search(server):
            servers = self._matching(server) if rule.effect == ALLOW else [re.sub("[-_]", "?", server)]
        elif not rule.is_glob and _GLOB.search(tool):
            raise NotCarried("a * or ? in a name would stand for any text here")
        elif not servers and rule.effect == ALLOW:
            raise NotCarried(self._why_none(server))
        elif len(servers) > 1 and rule.effect == ALLOW:
            raise NotCarried(f"it is not certain which server it is about: {', '.join(servers)}")
        patterns = [f"{each}:{name}" for each in servers or [server] for name in self._tools_named(rule, each, tool)]
        for pattern in patterns:
            if problem := _problem(pattern):
                raise NotCarried(problem)
        return patterns

    def _matching(self, glob: str) -> list[str]:
        """The client's own servers whose names there a rule with a * is about."""
        pattern = ".*".join(map(re.escape, glob.split(ANY)))
        servers = {server for name, own in self._own.items() if re.fullmatch(pattern, name) for server in own}
        if not servers:
            raise NotCarried("config.toml has no server of the client that it is about")
        return sorted(servers)

    def _why_none(self, name: str) -> str:
        others = [name] if name in self._servers else _spelled(name, self._servers)
        if others and (name in self._own or _spelled(name, self._own)):
            return f"'{others[0]}' in config.toml is not the client's server of that name; it would loosen another's"
        if others:
            return f"the client has no server '{name}', so that '{others[0]}' in config.toml is another's"
        return f"config.toml has no server '{name}'; take it over first: mcpctl servers import"

    def _tools_named(self, rule: ClientRule, server: str, tool: str) -> list[str]:
        listed = self._tools.get(server, ())
        if not rule.is_respelled or _GLOB.search(tool) or tool in listed:
            return [tool]
        named = [name for name in listed if _NOT_TAKEN.sub("_", name) == tool and not _GLOB.search(name)]
        return named if named and (len(named) == 1 or rule.effect != ALLOW) else [tool]


def _spelled(name: str, names: Iterable[str]) -> list[str]:
    return [each for each in names if alike(each) == alike(name)]


def alike(name: str) -> str:
    return _NOT_ALIKE.sub("_", name)


def _problem(pattern: str) -> str:
    if len(pattern) > bounds.NAME:
        return "it is too long"
    try:
        pattern.encode()
    except UnicodeEncodeError:
        return "it is not Unicode"
    return problem_of(pattern)


def texts(value: Any) -> list[str]:
    """The texts of a list; other items are ignored, as clients do."""
    return [item for item in value[:MOST] if isinstance(item, str)] if isinstance(value, list) else []


def tables(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from ((name, table) for name, table in members(value).items() if isinstance(table, dict))


def flat(parts: Iterable[str]) -> str:
    return ".".join(part if server_settings.NAME.match(part) else repr(part) for part in parts)
