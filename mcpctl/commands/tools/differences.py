"""The differences between tools as they are pinned, or locked, and as they are: found, and printed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcpctl import output
from mcpctl.base.errors import WrongUsage
from mcpctl.base.feature_names import is_feature
from mcpctl.base.models import CHANGE_FIELDS, Row
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.base.texts import counted
from mcpctl.base.tool_keys import join, split_typed
from mcpctl.catalog import drift, lock_file, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.drift import RULES, ChangeFilter
from mcpctl.commands import check_options
from mcpctl.output import changes
from mcpctl.policy.policy_file import PolicyFile

COMMAND = "mcpctl tools diff"


@dataclass(frozen=True)
class Differences:
    """What was found in what."""

    rows: Sequence[Row]
    suites: Sequence[str]
    """The lock file, or the servers."""


def of(
    paths: Paths, keys: Sequence[str], servers: Sequence[str], lock: Path | None, project: str | None, asked: Selection
) -> Differences:
    """What changed since tools were pinned, or against a lock file."""
    locked = lock_file.read(lock) if lock else None
    with rows.catalog(paths, project=project, servers=servers) as catalog:
        chosen = wanted(catalog, keys, servers)
        if locked:
            found = drift.against(catalog, locked, chosen, drift.suspicion(catalog))
            return Differences(drift.rows(found, asked, locked), [str(lock)])
        with pinned(paths, catalog) as file:
            found = drift.since_pinned(catalog, file, chosen, drift.suspicion(catalog))
        checked = [name for name in catalog.config.enabled if chosen.has_server(name)]
        return Differences(drift.rows(found, asked), checked)


def wanted(catalog: Catalog, keys: Sequence[str], servers: Sequence[str]) -> ChangeFilter:
    """The tools that are named; raises `NotFound` for those that there are not."""
    for server in servers:
        catalog.config.server(server)
    return ChangeFilter([_key(catalog, key) for key in keys], servers)


def _key(catalog: Catalog, typed: str) -> str:
    server, name = split_typed(typed)
    features = catalog.features(server) if is_feature(name) else []
    if catalog.find(server, name) is None and not any(name in listed.by_name for listed in features):
        raise rows.unknown(catalog, typed)
    return join(server, name)


@contextmanager
def pinned(paths: Paths, catalog: Catalog) -> Iterator[PolicyFile]:
    """What is pinned; raises `WrongUsage` where nothing ever is."""
    if not catalog.config.policy.is_on:
        message = f"tools are pinned only where [policy] stands in {catalog.config.path}"
        hint = "add that line; or compare with a lock file: mcpctl tools lock, then mcpctl tools diff --lock"
        raise WrongUsage(message, f"{hint} {lock_file.DEFAULT}", "no_policy")
    with PolicyFile.connect(paths) as file:
        yield file


def write(found: Differences, kind: str) -> None:
    """Print what was found, and raise `Problems` if any of it fails the check."""
    if kind == "text":
        output.write_lines(changes.lines(found.rows))
    else:
        check_options.write_findings(COMMAND, RULES, kind, found.rows, CHANGE_FIELDS, found.suites)
    check_options.summarize(COMMAND, found.rows, counted(len(found.suites), "server"))
