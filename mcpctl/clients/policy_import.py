"""The permission rules of clients, put into config.toml: by `policy import`, and by `install` beside their servers."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpctl.base.errors import NotFound, warn
from mcpctl.base.models import POLICY_IMPORT_FIELDS, Row
from mcpctl.base.paths import Paths
from mcpctl.base.texts import beginning
from mcpctl.base.tool_keys import split
from mcpctl.catalog import rows as catalog_rows
from mcpctl.clients import client_files, client_kinds, import_preview, owned_servers, rule_readers
from mcpctl.clients.client_files import ClientEntry
from mcpctl.clients.client_kinds import CLIENTS
from mcpctl.clients.importing import denied, switched_off
from mcpctl.clients.permission_rules import ANY, OWN, ClientRule, Names, NotCarried
from mcpctl.clients.rule_readers import NOT_MCP, ONLY, READERS
from mcpctl.config import editing
from mcpctl.config.config import Config, load, parsed
from mcpctl.config.policy_settings import ALLOW, ASK, CLASSES, DENY, PolicyRule, PolicyTable
from mcpctl.config.server_settings import Server
from mcpctl.policy.rules import names_any

ADDED, UNCHANGED, LEFT_OUT = "added", "unchanged", "left-out"
_ADMINISTRATORS = {  # by client, where an administrator's rules are, which go before a user's own
    "claude-code": (
        Path("/etc/claude-code/managed-settings.json"),
        Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
    ),
    "gemini": (Path("/etc/gemini-cli/policies"), Path("/Library/Application Support/GeminiCli/policies")),
}
_FAITHFUL = {"default": ASK, "auto_approve_read_only": False, "confirm_destructive": False}  # as a client asks
_READ_ONLY_UNASKED = ("codex",)  # clients that do not ask about a tool that declares itself read-only


@dataclass
class PolicyImport:
    client: str
    files: list[Path] = field(default_factory=list)
    documents: list[tuple[Path, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    tools: dict[str, frozenset[str]] = field(default_factory=dict)
    entries: list[ClientEntry] = field(default_factory=list)  # the servers that the client has, or had before mcpctl
    is_of_one_project: bool = False  # whether the rules are not those of the user for all projects
    additions: list[tuple[str, str, str]] = field(default_factory=list)
    """Effects and patterns, each with the server to whose own `tools` it goes, before all of `ask`, or none."""
    default: str = ""  # the client's own rule for all tools that no other names
    _servers: Mapping[str, Server] = field(init=False)
    _written: PolicyTable | None = field(init=False)
    _lists: dict[str, list[str]] = field(init=False)
    need_policy: list[str] = field(default_factory=list)  # rules that only a [policy] has a place for
    denied: list[str] = field(default_factory=list)  # tools that are denied here now, beside the servers
    consequences: list[str] = field(default_factory=list)
    is_lax: bool = False  # whether the configuration calls tools that no rule names

    @property
    def name(self) -> str:
        return "gemini-cli" if self.client == "gemini" else self.client

    @property
    def title(self) -> str:
        return CLIENTS[self.name].title

    def select(self, loaded: Config) -> None:
        self.is_lax = loaded.policy_table is not None and loaded.policy_table.default == ALLOW
        own = owned_servers.named(self.entries, loaded.servers, each=self.is_of_one_project)
        names = Names(loaded, self.tools, own)
        self._servers, self._written, self.default, self.additions = loaded.servers, loaded.policy_table, "", []
        table = loaded.policy_table or PolicyTable()
        self._lists = {effect: list(getattr(table, effect)) for effect in (DENY, ASK, ALLOW)}
        self.rows = []
        rules = [(path, rule) for path, document in self.documents for rule in READERS[self.client](document, names)]
        order = (DENY, ASK, ALLOW, "")  # the stricter first, so that the laxer of two rules for one thing is left out
        for path, rule in sorted(rules, key=lambda each: order.index(each[1].effect)):
            self.rows.append(self._row(path, rule, names))

    def _row(self, path: Path, rule: ClientRule, names: Names) -> Row:
        patterns: list[str] = []
        action, into, why = LEFT_OUT, None, ""
        try:
            patterns = names.patterns(rule)
            if rule.is_default:
                action, into, why = self._take_default(rule.effect)
            elif patterns:
                action, into, why = self._take(rule, patterns)
            if action == ADDED and (others := names.not_own(patterns)):
                why = f"{', '.join(others)} is not a server of {self.title}, but this only tightens"
        except NotCarried as error:
            why = str(error)
        values = rule.text, action, rule.effect or None, patterns, into, self.client, str(path), why or None
        return dict(zip(POLICY_IMPORT_FIELDS, values, strict=True))

    def _take_default(self, effect: str) -> tuple[str, str | None, str]:
        if self._written is None:
            self.default = DENY if DENY in (effect, self.default) else effect
            return ADDED, "policy.default", ""
        if not _is_laxer(self._written.default, effect):
            return UNCHANGED, None, ""
        why = f'it is for all tools that no other rule names; for that here, write default = "{effect}"'
        return LEFT_OUT, None, why

    def _take(self, rule: ClientRule, patterns: Iterable[str]) -> tuple[str, str | None, str]:
        done, into, why = set[str](), "", ""
        for pattern in patterns:
            stricter = next((e for e in (DENY, ASK) if pattern in self._lists[e] and _is_laxer(rule.effect, e)), None)
            server = self._server_of(rule, pattern)
            if pattern in self._lists[rule.effect] or self._is_said(rule.effect, pattern):
                done.add(UNCHANGED)
            elif stricter:
                done.add(LEFT_OUT)
                why = f"{stricter} has it too, which goes before"
            else:
                done.add(ADDED)
                into = f"servers.{server}.tools" if server else f"policy.{rule.effect}"
                self.additions.append((rule.effect, pattern, server))
                if not server:
                    self._lists[rule.effect].append(pattern)
        action = next(step for step in (ADDED, LEFT_OUT, UNCHANGED) if step in done)
        return action, into or None, why if action == LEFT_OUT else ""

    def _server_of(self, rule: ClientRule, pattern: str) -> str:
        """The server to whose own tools a rule goes: where it would come too late in its list. Those entries go before
        every rule that asks, so they are only written where there was no policy before."""
        server, name = split(pattern)
        if self._written or not rule.goes_before_ask or server not in self._servers or {"*", "?"} & set(name):
            return ""
        ask_rules = (PolicyRule(ASK, glob, ("policy",), ASK) for glob in self._lists[ASK] if glob not in CLASSES)
        return server if any(names_any(ask_rule, [(server, name)]) for ask_rule in ask_rules) else ""

    def _is_said(self, effect: str, pattern: str) -> bool:
        server, name = split(pattern)
        setting = self._servers[server].tools.get(name) if server in self._servers else None
        is_added = any(addition[:2] == (effect, pattern) for addition in self.additions)
        return is_added or (setting is not None and setting == (False if effect == DENY else effect))

    # ---- beside the servers of the client, by `install`

    def put_beside_servers(self, document: Any, path: Path) -> None:
        import tomlkit

        loaded = parsed(path, tomlkit.dumps(document))
        if "policy" in document:
            put(document, loaded, self)
            self.denied = [pattern for effect, pattern, _ in self.additions if effect == DENY]
        else:
            self._put_denials(document, loaded)
        self.consequences = list(self._consequences(loaded, parsed(path, tomlkit.dumps(document))))
        # Rules about other things apply in the client as before, and the only tools came with their server.
        self.rows = [row for row in self.rows if row["why"] not in (NOT_MCP, OWN, ONLY)]

    def _put_denials(self, document: Any, loaded: Config) -> None:
        self.select(loaded)
        patterns = {pattern for effect, pattern, _ in self.additions if effect == DENY}
        known = {pattern for pattern in patterns if split(pattern)[0] in loaded.servers}
        simple = {pattern for pattern in known if split(pattern)[1] == ANY or not {"*", "?"} & set(split(pattern)[1])}
        for pattern in sorted(simple):
            server, tool = split(pattern)
            with editing.before_comments(document["servers"][server]) as table:
                if tool == ANY:
                    table["enabled"] = False
                else:
                    editing.table_of(table, "tools")[tool] = False
        waiting = [row for row in self.rows if row["action"] == ADDED and not simple.issuperset(row["patterns"])]
        self.need_policy = [row["rule"] for row in waiting]
        self.rows = [{**row, "why": None} if row in waiting else row for row in self.rows]
        self.denied = sorted(simple)

    def _consequences(self, before: Config, after: Config) -> Iterator[str]:
        if tools := [pattern for pattern in self.denied if split(pattern)[1] != ANY]:
            yield denied(tools, self.title)
        for row in self.rows:
            for server in (split(pattern)[0] for pattern in row["patterns"] if split(pattern)[1] == ANY):
                why = f"{self.name} denies it ({row['rule']})"
                if server in after.servers and before.servers[server].enabled > after.servers[server].enabled:
                    yield switched_off(server, why)
                elif row["effect"] == DENY and row["into"] == "policy.deny" and row["action"] == ADDED:
                    yield (
                        f"'{server}': all its tools are denied in config.toml, for all clients: {why}; "
                        "see: mcpctl policy check"
                    )

    def install_remarks(self, copy: str | None) -> Iterator[str]:
        yield from (f"{self.name}: {remark}" for remark in remarks(self))
        if self.need_policy:
            # Codex and Gemini CLI have rules within the entries that are gone.
            source = f" --from {copy}" if copy and self.client in ("codex", "gemini") else ""
            yield (
                f"{self.name}: these permission rules need a [policy] here: {beginning(self.need_policy, 5)}; "
                f"take them over with: mcpctl policy import {self.client}{source}"
            )


def _is_laxer(effect: str, other: str) -> bool:
    order = (DENY, ASK, ALLOW)
    return order.index(effect) > order.index(other)


def read(client: str, source: Path | None, paths: Paths) -> PolicyImport:
    """The rules of the client's own files, or of one; raises `NotFound`, and `Unusable` rather than use half."""
    batch = PolicyImport(client, is_of_one_project=source is not None)
    for path in [source] if source else _own(client, batch.title):
        document = client_files.document_in(path)
        batch.files.append(path)
        batch.documents.append((path, document))
    if client == "gemini" and not source:
        together = rule_readers.gemini_files([(path.name, document) for path, document in batch.documents])
        batch.documents = [(Path.home() / ".gemini", together)]
    batch.entries = owned_servers.entries(CLIENTS[batch.name], source, paths)
    with catalog_rows.catalog(paths, quiet=True) as catalog:
        lists = {server: catalog.listed(server) for server in catalog.config.enabled}
    batch.tools = {server: frozenset(listed.by_name) for server, listed in lists.items() if listed}
    return batch


def _own(client: str, title: str) -> list[Path]:
    """The user's own files that exist; those of a project must be named, since its rules apply in the project only."""
    own = list(_places(client, None))
    for path in _places(client, Path.cwd()):
        if path.is_file() and path not in own:
            warn(f"{path} belongs to a project and is left out; take over its rules with: --from {path}")
    for path in _ADMINISTRATORS.get(client, ()):
        if path.exists():
            warn(f"{path} has rules of an administrator, which may be stricter: they are not taken over")
    if existing := [path for path in own if path.is_file()]:
        return existing
    looked = ", ".join(map(str, own)) or str(Path.home() / ".gemini")
    hint = f"looked at {looked}; if they are elsewhere: mcpctl policy import {client} --from FILE"
    raise NotFound(f"{title} has no file of permission rules here", hint, "client_not_found")


def _places(client: str, project: Path | None) -> Iterator[Path]:
    if client == "claude-code":
        yield (project / ".claude" if project else client_kinds.claude_folder()) / "settings.json"
        if project:
            yield project / ".claude" / "settings.local.json"
    elif client == "cursor":
        yield (project or Path.home()) / ".cursor" / "permissions.json"
    elif client == "codex":
        yield (project / ".codex" if project else client_kinds.codex_folder()) / "config.toml"
    else:
        folder = (project or Path.home()) / ".gemini"
        yield folder / "settings.json"
        yield from sorted((folder / "policies").glob("*.toml"))


def preview(path: Path, batch: PolicyImport) -> list[str]:
    """The change to config.toml as a diff, after which `batch.rows` is set; nothing is written."""
    return import_preview.between(path, *editing.edited(path, lambda document: put(document, load(path), batch)))


def write(path: Path, batch: PolicyImport, permit: editing.Permit) -> None:
    """Make the change, where `permit` raises no `Refused`, after which `batch.rows` is set."""
    editing.edit(path, lambda document: put(document, load(path), batch), permit)


def put(document: Any, loaded: Config, batch: PolicyImport) -> None:
    """Add the rules to the document, whose configuration is `loaded`, after which `batch.rows` is set."""
    batch.select(loaded)
    if (batch.additions or batch.default) and "policy" not in document:
        unasked = batch.client in _READ_ONLY_UNASKED
        document["policy"] = {**_FAITHFUL, "default": batch.default or ASK, "auto_approve_read_only": unasked}
    for effect, pattern, server in batch.additions:
        with editing.before_comments(document["servers"][server] if server else document["policy"]) as table:
            if server:
                editing.table_of(table, "tools")[split(pattern)[1]] = effect
            else:
                table.setdefault(effect, []).append(pattern)


def remarks(batch: PolicyImport) -> Iterator[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in batch.rows:
        if row["why"]:
            reasons.setdefault((row["action"], row["why"]), []).append(row["rule"])
    if batch.is_lax:
        yield (
            f'[policy] has default = "{ALLOW}": here tools that no rule names are called without a question;'
            f" {batch.title} would ask"
        )
    for (action, why), rules in reasons.items():
        yield f"{'left out' if action == LEFT_OUT else 'taken over'}: {beginning(rules, 3)}: {why}"


def of_clients(clients: Iterable[str], paths: Paths) -> list[PolicyImport]:
    """The rules in the user's own files of those clients that have any; raises `Unusable`."""
    rules = []
    for client in dict.fromkeys(clients):
        name = "gemini" if client == "gemini-cli" else client
        if name in READERS:
            with contextlib.suppress(NotFound):
                rules.append(read(name, None, paths))
    return rules
