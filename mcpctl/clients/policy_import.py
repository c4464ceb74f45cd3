"""`policy import`: the permission rules of a client, put into the `[policy]` of config.toml."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpctl.base.errors import NotFound, Unusable, warn
from mcpctl.base.models import POLICY_IMPORT_FIELDS, Row
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import split
from mcpctl.catalog import rows as catalog_rows
from mcpctl.clients import client_files, client_kinds, import_preview, rule_readers
from mcpctl.clients.permission_rules import ANY, ClientRule, Names
from mcpctl.config.config import Config, load
from mcpctl.config.policy_settings import ALLOW, ASK, CLASSES, DENY, PolicyRule, PolicyTable
from mcpctl.policy.rules import names_tool
from mcpctl.servers import server_entries

ADDED, UNCHANGED, LEFT_OUT = "added", "unchanged", "left-out"
_TITLES = {"claude-code": "Claude Code", "cursor": "Cursor", "codex": "Codex", "gemini": "Gemini CLI"}
_ADMINISTRATORS = {
    "claude-code": (
        Path("/etc/claude-code/managed-settings.json"),
        Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
    ),
    "gemini": (Path("/etc/gemini-cli/policies"), Path("/Library/Application Support/GeminiCli/policies")),
}
"""By client, where an administrator's rules are, which go before a user's own."""
_NAMED = 3
_FAITHFUL = {"default": ASK, "auto_approve_read_only": False, "confirm_destructive": False}
"""What a new [policy] has beside the lists: a client asks about whatever no rule of it names."""
_READ_ONLY_UNASKED = ("codex",)
"""Clients that do not ask about a tool that declares itself read-only."""


@dataclass(frozen=True)
class _Addition:
    effect: str
    pattern: str
    tool_of: str = ""
    """The server to whose `tools` it goes, before all of `ask`; else it goes to the list."""


@dataclass
class PolicyImport:
    """The rules of one import, and what becomes of each."""

    client: str
    files: list[Path] = field(default_factory=list)
    """The files that were read."""
    documents: list[tuple[Path, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    tools: dict[str, frozenset[str]] = field(default_factory=dict)
    """By server, the tools that it has listed."""

    is_lax: bool = False
    """Whether the configuration calls what no rule names."""

    def select(self, loaded: Config) -> "_Merged":
        """What to add to a configuration; afterwards `rows` says what becomes of each rule."""
        self.is_lax = loaded.policy_table is not None and loaded.policy_table.default == ALLOW
        names = Names(loaded, self.tools)
        merged = _Merged(loaded)
        self.rows = []
        rules = [
            (path, rule)
            for path, document in self.documents
            for rule in rule_readers.READERS[self.client](document, names)
        ]
        order = (DENY, ASK, ALLOW, "")  # the stricter first, so that the laxer of two rules for one thing is left out
        for path, rule in sorted(rules, key=lambda each: order.index(each[1].effect)):
            self.rows.append(self._row(path, rule, merged, names))
        return merged

    def _row(self, path: Path, rule: ClientRule, merged: "_Merged", names: Names) -> Row:
        carried = names.carried(rule)
        action, into, why = LEFT_OUT, None, carried.why
        if rule.is_default:
            action, into, why = merged.take_default(rule.effect)
        elif carried.patterns:
            action, into, why = merged.take(rule, carried.patterns)
        values = (
            rule.text,
            action,
            rule.effect or None,
            list(carried.patterns),
            into,
            self.client,
            str(path),
            why or None,
        )
        return dict(zip(POLICY_IMPORT_FIELDS, values, strict=True))


class _Merged:
    """A configuration while rules are added to it."""

    def __init__(self, loaded: Config) -> None:
        self._servers = loaded.servers
        table = loaded.policy_table or PolicyTable()
        self._lists = {effect: list(getattr(table, effect)) for effect in (DENY, ASK, ALLOW)}
        self._written = loaded.policy_table
        self.default = ""
        """What the client itself says of whatever no rule names."""
        self.additions: list[_Addition] = []

    def take_default(self, effect: str) -> tuple[str, str | None, str]:
        """Take over what the client does with whatever no other rule of it names."""
        if self._written is None:
            self.default = DENY if DENY in (effect, self.default) else effect
            return ADDED, "policy.default", ""
        if not _is_laxer(self._written.default, effect):
            return UNCHANGED, None, ""
        return LEFT_OUT, None, f'it is for whatever no other rule names: to say so here, write default = "{effect}"'

    def take(self, rule: ClientRule, patterns: Iterable[str]) -> tuple[str, str | None, str]:
        """Add the patterns of a rule: what was done, where they go, and why not."""
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
                self._add(_Addition(rule.effect, pattern, server))
        action = next(each for each in (ADDED, LEFT_OUT, UNCHANGED) if each in done)
        return action, into or None, why if action == LEFT_OUT else ""

    def _add(self, addition: _Addition) -> None:
        self.additions.append(addition)
        if not addition.tool_of:
            self._lists[addition.effect].append(addition.pattern)

    def _server_of(self, rule: ClientRule, pattern: str) -> str:
        """The server to whose own tools a rule goes: where it would come too late in its list.

        Those entries go before every rule that asks, so they are only written where there was no policy before.
        """
        server, name = split(pattern)
        if self._written or not rule.goes_before_ask or server not in self._servers or {"*", "?"} & set(name):
            return ""
        asked = (PolicyRule(ASK, each, ("policy",), ASK) for each in self._lists[ASK] if each not in CLASSES)
        return server if any(names_tool(each, server, name) for each in asked) else ""

    def _is_said(self, effect: str, pattern: str) -> bool:
        """Whether the entry of the tool itself says so."""
        server, name = split(pattern)
        said = self._servers[server].tools.get(name) if server in self._servers else None
        is_added = any((each.pattern, each.effect) == (pattern, effect) for each in self.additions)
        return is_added or (said is not None and said == (False if effect == DENY else effect))


def _is_laxer(effect: str, other: str) -> bool:
    order = (DENY, ASK, ALLOW)
    return order.index(effect) > order.index(other)


def read(client: str, source: Path | None, paths: Paths) -> PolicyImport:
    """The rules of the client's own files, or of one file. Raises `NotFound`, or `Unusable` for a file that cannot be
    read: half of a client's rules may be looser than all of them."""
    batch = PolicyImport(client)
    for path in [source] if source else _own(client):
        document = client_files.document_in(path)
        if not isinstance(document, dict):
            raise Unusable(f"{path}: must be an object", "see the client's own documentation", "client_config")
        batch.files.append(path)
        batch.documents.append((path, document))
    if client == "gemini" and not source:
        together = rule_readers.gemini_files([(path.name, document) for path, document in batch.documents])
        batch.documents = [(Path.home() / ".gemini", together)]
    with catalog_rows.catalog(paths, quiet=True) as found:
        lists = {server: found.listed(server) for server in found.config.enabled}
    batch.tools = {server: frozenset(listed.by_name) for server, listed in lists.items() if listed}
    return batch


def _own(client: str) -> list[Path]:
    """The user's own files that exist; those of the current folder belong to a project and must be named.

    A project's rules hold in the project only, and config.toml holds everywhere.
    """
    own = list(_places(client, None))
    for path in _places(client, Path.cwd()):
        if path.is_file() and path not in own:
            warn(f"{path} belongs to a project and is left out; take over its rules with: --from {path}")
    for path in _ADMINISTRATORS.get(client, ()):
        if path.exists():
            warn(f"{path} has rules of an administrator, which may be stricter: they are not taken over")
    existing = [path for path in own if path.is_file()]
    if not existing:
        looked = ", ".join(map(str, own)) or str(Path.home() / ".gemini")
        hint = f"looked at {looked}; if they are elsewhere: mcpctl policy import {client} --from FILE"
        raise NotFound(f"{_TITLES[client]} has no file of permission rules here", hint, "client_not_found")
    return existing


def _places(client: str, project: Path | None) -> Iterator[Path]:
    """The files in which a client may have rules: the user's own, or those of a project."""
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
    """The change to config.toml as a diff; `batch.rows` then says what would be done. Nothing is written."""
    return import_preview.between(path, *server_entries.edited(path, lambda document: put(document, load(path), batch)))


def write(path: Path, batch: PolicyImport, permit: server_entries.Permit) -> None:
    """Make the change, where `permit` raises no `Refused`; `batch.rows` then says what was done."""
    server_entries.edit(path, lambda document: put(document, load(path), batch), permit)


def put(document: Any, loaded: Config, batch: PolicyImport) -> None:
    """Add the rules to the document, which says what was loaded; `batch.rows` then says what was done."""
    merged = batch.select(loaded)
    if (merged.additions or merged.default) and "policy" not in document:
        unasked = batch.client in _READ_ONLY_UNASKED
        document["policy"] = {**_FAITHFUL, "default": merged.default or ASK, "auto_approve_read_only": unasked}
    for addition in merged.additions:
        if addition.tool_of:
            with server_entries.before_comments(document["servers"][addition.tool_of]) as server:
                server_entries.table_of(server, "tools")[split(addition.pattern)[1]] = addition.effect
        else:
            with server_entries.before_comments(document["policy"]) as policy:
                policy.setdefault(addition.effect, []).append(addition.pattern)


def put_denials(document: Any, loaded: Config, batch: PolicyImport) -> list[str]:
    """Add what no [policy] is needed for, which is a denial of a tool by its name or of all, and return the others."""
    merged = batch.select(loaded)
    denied = {addition.pattern for addition in merged.additions if addition.effect == DENY}
    known = {each for each in denied if split(each)[0] in loaded.servers}
    simple = {each for each in known if split(each)[1] == ANY or not {"*", "?"} & set(split(each)[1])}
    for pattern in sorted(simple):
        server, tool = split(pattern)
        with server_entries.before_comments(document["servers"][server]) as table:
            if tool == ANY:
                table["enabled"] = False
            else:
                server_entries.table_of(table, "tools")[tool] = False
    return [row["rule"] for row in batch.rows if row["action"] == ADDED and not simple.issuperset(row["patterns"])]


def remarks(batch: PolicyImport) -> Iterator[str]:
    """What could not be carried over, by reason."""
    reasons: dict[str, list[str]] = {}
    for row in batch.rows:
        if row["action"] == LEFT_OUT:
            reasons.setdefault(row["why"], []).append(row["rule"])
    if batch.is_lax:
        yield (
            f'[policy] has default = "{ALLOW}": here whatever no rule names is called without a question, of which'
            f" {_TITLES[batch.client]} would ask"
        )
    for why, rules in reasons.items():
        more = f" and {len(rules) - _NAMED} more" if len(rules) > _NAMED else ""
        yield f"left out: {', '.join(rules[:_NAMED])}{more}: {why}"
