"""`config.toml`: servers, projects and settings, read and checked entry by entry; nothing in them is expanded here.

Checked with msgspec rather than pydantic, which costs 60 ms of every `serve` before its first answer.
"""

import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from mcpctl.base import files
from mcpctl.base.errors import NotFound, Refused, Unusable
from mcpctl.base.near_names import did_you_mean
from mcpctl.base.tool_keys import OWN, READ_TOOL
from mcpctl.config import policy_settings, toml
from mcpctl.config.policy_settings import Policy, PolicyTable
from mcpctl.config.server_settings import AD_HOC, UNASSIGNED, Server, check_server
from mcpctl.config.settings import (
    TOKEN_BYTES,
    ClientSettings,
    HttpSettings,
    OAuthSettings,
    Project,
    RecordSettings,
    RegistrySettings,
    Responses,
    Search,
    Serve,
)


class Config(Struct, frozen=True, eq=False, dict=True):
    """A configuration for one project; entries that cannot be used are in `problems`, not in `servers`."""

    path: Path
    servers: Mapping[str, Server] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    projects: Mapping[str, Project] = field(default_factory=dict)
    project: str | None = None  # the project in force; without one, all servers are seen
    elsewhere: frozenset[str] = frozenset()  # servers that only other projects see: they have no `problems`
    search: Search = field(default_factory=Search)
    records: RecordSettings = field(default_factory=RecordSettings)
    responses: Responses = field(default_factory=Responses)
    clients: Mapping[str, ClientSettings] = field(default_factory=dict)
    serve: Serve = field(default_factory=Serve)
    http: HttpSettings = field(default_factory=HttpSettings)
    oauth: OAuthSettings = field(default_factory=OAuthSettings)
    registry: RegistrySettings = field(default_factory=RegistrySettings)
    policy_table: PolicyTable | None = None
    text: str = ""  # the whole file, to find the lines of rules
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)  # of entries with any
    bound: str = ""  # a text that says how servers are restricted, where that is not only by the project in force
    ad_hoc: str = ""  # the name of a server that is in a command line alone
    is_claimed: bool = False  # whether only a request has named the project in force: its policy can then tighten alone

    def beside(self, path: str) -> Path:
        """A path that is written in the file: `~` is the home folder, and a relative one begins at the file's."""
        try:
            return self.path.parent / Path(path).expanduser()
        except RuntimeError:  # nobody of that name: there is no such file either
            return self.path.parent / path

    @cached_property
    def enabled(self) -> Mapping[str, Server]:
        """The servers in use, of the project in force where there is one, by name, sorted."""
        seen = sorted(self.servers.keys() - self.elsewhere)
        return {name: self.servers[name] for name in seen if self.servers[name].enabled}

    @cached_property
    def fingerprints(self) -> Mapping[str, str]:
        return {name: server.fingerprint for name, server in self.enabled.items()}

    @cached_property
    def least_limit(self) -> int:
        """Bytes beyond which an answer may be shortened, at least."""
        written: list[Responses | ClientSettings | Server] = [self.responses]
        written += [*self.clients.values(), *self.servers.values()]
        return min(
            (settings.limit_tokens * TOKEN_BYTES for settings in written if settings.limit_tokens), default=sys.maxsize
        )

    @property
    def shortens(self) -> bool:
        return self.least_limit < sys.maxsize

    def answer_limit(self, server: str, client: str | None) -> int:
        """Bytes beyond which this server's answers to that client are shortened; 0 where none is."""
        limits = (
            self.servers[server].limit_tokens if server in self.servers else None,
            self.clients[client].limit_tokens if client and client in self.clients else None,
            self.responses.limit_tokens,
        )
        return next(limit for limit in limits if limit is not None) * TOKEN_BYTES

    @cached_property
    def exposes_resources(self) -> bool:
        return any("resources" in self.exposes(server) for server in self.enabled)

    def exposes(self, server: str) -> Collection[str]:
        entry = self.servers.get(server)
        if entry and entry.openapi:
            return ()  # an HTTP API has tools alone
        own = entry.expose if entry else None
        return self.serve.expose if own is None else own

    @property
    def optimization(self) -> str:
        return self._in_force.optimization or self.search.optimization

    @property
    def toolset(self) -> str | None:
        """The toolset that the project in force names, as written: a path is relative to this file's folder."""
        return self._in_force.toolset

    @cached_property
    def policy(self) -> Policy:
        return policy_settings.in_force(
            self.policy_table, self.project, self._in_force.policy, only_tightens=self.is_claimed
        )

    @property
    def has_policy(self) -> bool:
        return self.policy.is_on or any(project.policy for project in self.projects.values())

    @cached_property
    def known_projects(self) -> frozenset[str]:
        return _known_projects(self.projects, self.members)

    def line_of(self, table: tuple[str, ...], key: str, index: int | None = None) -> int | None:
        line = toml.line_of(self.text, table, key, index)
        if line is None and table[-1:] in (
            (policy_settings.LIMIT,),
            (policy_settings.RATE_KEY,),
        ):  # one line may have the whole table
            return toml.line_of(self.text, table[:-1], table[-1])
        return line

    @property
    def _in_force(self) -> Project:
        return self.projects.get(self.project or "", Project())  # a project that only servers name says nothing itself

    def server(self, name: str) -> Server:
        """Raises `NotFound`, `Refused` outside the project, and `Unusable` for an entry that cannot be used."""
        if name in self.elsewhere:
            raise self.not_in_project(name)
        if name in self.problems:
            raise Unusable(self.problems[name], f"fix [servers.{name}] in {self.path}", code="server_unusable")
        if name not in self.servers:
            raise no_server(name, self.servers.keys() - self.elsewhere)
        return self.servers[name]

    def not_in_project(self, name: str) -> Refused:
        if self.bound:
            hint = "name its project with --project, or use a token that is for it"
            return Refused(f"server '{name}' is not {self.bound}", hint, "not_in_project")
        hint = f"name another with --project, or add '{self.project}' to projects of [servers.{name}] in {self.path}"
        return Refused(f"server '{name}' is not in the project in force, '{self.project}'", hint, "not_in_project")


def no_server(name: str, known: Iterable[str]) -> NotFound:
    if name == OWN:
        hint = "read an answer that was kept with: mcpctl calls response ID --path P"
        return NotFound(f"{OWN}:{READ_TOOL} is for the clients of mcpctl serve", hint, "server_not_found")
    otherwise = "list servers with: mcpctl servers ls"
    if name.startswith(AD_HOC):
        otherwise = "it was in a command line alone: give its --url or -- COMMAND again"
    hint = did_you_mean(name, known, otherwise)
    return NotFound(f"no server '{name}'", hint, "server_not_found")


def load(path: Path, project: str | None = None) -> Config:
    """The configuration for this project, empty without a file; raises `Unusable`, `NotFound` (the project)."""
    try:
        text = files.read_text(path, code="config_unreadable").removeprefix(files.BOM)
    except NotFound:
        text = ""
    return parsed(path, text, project)


SECTIONS: Mapping[str, type[toml.Section]] = {
    "search": Search, "records": RecordSettings, "responses": Responses, "serve": Serve, "http": HttpSettings,
    "oauth": OAuthSettings, "registry": RegistrySettings,
}  # fmt: skip
KNOWN = frozenset(("servers", "projects", "clients", "policy", *SECTIONS))
_FIX = "fix the TOML there; a running mcpctl serve keeps to what the file last said"


def parsed(path: Path, text: str, project: str | None = None) -> Config:
    try:
        document = toml.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what, hint = "it is nested too deep" if isinstance(error, RecursionError) else str(error), _FIX
        if text.lstrip().startswith("{"):
            what = "this is JSON, and config.toml is TOML"
            hint = "move it to servers.json, and take over its servers with: mcpctl servers import --from servers.json"
            if path.suffix == ".json":
                take = f"mcpctl servers import --from {path}"
                hint = f"it may be a client's file: {take}, without naming it as the configuration"
        elif str(error).startswith("Cannot "):  # overwrite a value, declare a table twice
            what = toml.told_twice(text) or what
        raise Unusable(f"{path}: {what}", hint, code="config_syntax") from error
    return _checked(path, text, document, project)


def _checked(path: Path, text: str, document: dict[str, Any], project: str | None) -> Config:
    for name in document.keys() - KNOWN:
        hint = did_you_mean(name, KNOWN, "remove it; this version of mcpctl does not use it")
        raise Unusable(f"{path}: unknown key '{name}'", hint, code="config_key")
    tables = toml.tables(path, "servers", document)
    projects = {
        name: toml.section(path, table, Project, "projects", name)
        for name, table in toml.tables(path, "projects", document).items()
    }
    clients = {
        name: toml.section(path, table, ClientSettings, "clients", name)
        for name, table in toml.tables(path, "clients", document).items()
    }
    has_policy = writes_policy(document)
    members = _members(tables)
    elsewhere = frozenset[str]()
    if project is not None:
        check_project(project, _known_projects(projects, members), path)
        elsewhere = frozenset(name for name, its_projects in members.items() if project not in its_projects)
    servers: dict[str, Server] = {}
    problems: dict[str, str] = {}
    for name, table in tables.items():
        try:
            servers[name] = check_server(name, table, has_policy=has_policy)
        except ValueError as error:
            if name not in elsewhere:
                problems[name] = f"{path}: servers.{name}{error}"
    sections: dict[str, Any] = {
        name: toml.section(path, document.get(name, {}), kind, name) for name, kind in SECTIONS.items()
    }
    return Config(
        path=path, servers=servers, problems=problems, projects=projects, project=project, elsewhere=elsewhere,
        clients=clients, text=text, members=members, **sections,
        policy_table=toml.section(path, document["policy"], PolicyTable, "policy") if "policy" in document else None,
    )  # fmt: skip


def writes_policy(document: Mapping[str, Any]) -> bool:
    projects = document.get("projects")
    tables = projects.values() if isinstance(projects, dict) else ()
    return "policy" in document or any(isinstance(table, dict) and "policy" in table for table in tables)


def _members(servers: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    written = {name: table.get("projects") for name, table in servers.items() if isinstance(table, dict)}
    lists = {name: [given] if isinstance(given, str) else given for name, given in written.items()}
    return {
        name: frozenset(project for project in given if isinstance(project, str))
        for name, given in lists.items()
        if given and isinstance(given, list)
    }


def _known_projects(tables: Iterable[str], members: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset(tables).union(*members.values())


def check_project(name: str, known: Iterable[str], path: object) -> None:
    names = sorted(known)
    if name not in names:
        others = [each for each in names if each != UNASSIGNED]
        into = f"put a server into one: mcpctl servers set SERVER --project {name or 'NAME'}"
        there_are = f"{path} has {', '.join(others)}" if others else f"{path} has none; {into}"
        hint = did_you_mean(name, names, there_are)
        raise NotFound(f"no project '{name}'", hint, "project_not_found")
