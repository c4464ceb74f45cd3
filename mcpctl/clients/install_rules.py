"""The permission rules of clients, which go into config.toml together with their servers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcpctl.base.errors import NotFound
from mcpctl.base.paths import Paths
from mcpctl.base.tool_keys import split
from mcpctl.clients import consequences, policy_import
from mcpctl.clients.permission_rules import ANY, OWN
from mcpctl.clients.policy_import import ADDED, PolicyImport
from mcpctl.clients.rule_readers import NOT_MCP, ONLY, READERS
from mcpctl.config import config
from mcpctl.config.config import Config
from mcpctl.config.policy_settings import DENY

_NAMES = {"gemini-cli": "gemini"}
_NAMED = 5


@dataclass
class ClientRules:
    """The rules of one client, and those of them for which config.toml has no place without a [policy]."""

    client: str
    batch: PolicyImport
    need_policy: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """What a person must not miss: the servers that a rule of this client switches off for all."""

    def put(self, document: Any, path: Path) -> None:
        """Add the rules to the document of config.toml, which has the client's servers already."""
        import tomlkit

        loaded = config.parsed(path, tomlkit.dumps(document))
        if "policy" in document:
            policy_import.put(document, loaded, self.batch)
        else:
            self.need_policy = policy_import.put_denials(document, loaded, self.batch)
        self.told = list(self._told(loaded, config.parsed(path, tomlkit.dumps(document))))
        # What is about other things holds in the client as before, and the only tools came with their server.
        self.batch.rows = [row for row in self.batch.rows if row["why"] not in (NOT_MCP, OWN, ONLY)]

    def _told(self, before: Config, after: Config) -> Iterator[str]:
        for row in self.batch.rows:
            for server in (split(pattern)[0] for pattern in row["patterns"] if split(pattern)[1] == ANY):
                why = f"{self.client} denies it ({row['rule']})"
                if server in after.servers and before.servers[server].enabled > after.servers[server].enabled:
                    yield consequences.switched_off(server, why)
                elif row["effect"] == DENY and row["into"] == "policy.deny" and row["action"] == ADDED:
                    yield consequences.denied(server, why)

    def remarks(self, copy: str | None) -> Iterator[str]:
        """What is not carried over; `copy` is the client's file as it was."""
        yield from (f"{self.client}: {remark}" for remark in policy_import.remarks(self.batch))
        if self.need_policy:
            some = ", ".join(self.need_policy[:_NAMED])
            more = f" and {len(self.need_policy) - _NAMED} more" if len(self.need_policy) > _NAMED else ""
            # Codex and Gemini CLI have rules within the entries that are gone.
            source = f" --from {copy}" if copy and self.client in ("codex", "gemini-cli") else ""
            yield (
                f"{self.client}: these permission rules need a [policy] here: {some}{more}; "
                f"take them over with: mcpctl policy import {self.batch.client}{source}"
            )


def read(clients: Iterable[str], paths: Paths) -> list[ClientRules]:
    """The rules in the user's own files of those clients that have any; raises `Unusable`."""
    found = []
    for client in dict.fromkeys(clients):
        name = _NAMES.get(client, client)
        if name in READERS:
            try:
                found.append(ClientRules(client, policy_import.read(name, None, paths)))
            except NotFound:
                continue
    return found
