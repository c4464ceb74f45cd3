"""The differences between tools as pinned, or locked, and as listed: found, printed and approved by a person."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcpctl import output
from mcpctl.base.errors import NotFound, Refused, WrongUsage
from mcpctl.base.feature_names import is_feature, kind_of_list
from mcpctl.base.models import CHANGE_FIELDS
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.base.texts import counted
from mcpctl.base.tool_keys import join, split_typed
from mcpctl.catalog import drift, lock_file, rows
from mcpctl.catalog.cache import Catalog
from mcpctl.catalog.drift import RULES, ChangeFilter
from mcpctl.commands import check_options, confirmation
from mcpctl.output import findings
from mcpctl.policy import pins
from mcpctl.policy.pins import ShownList
from mcpctl.policy.policy_file import PolicyFile

COMMAND = "mcpctl tools diff"
TERMINAL = Path("/dev/tty")
_NAME_THEM = "name tools, --server NAME or --all"


def compare(
    paths: Paths, keys: Sequence[str], servers: Sequence[str], lock: Path | None, project: str | None,
    selected: Selection, kind: str, moment: float | None = None,
) -> None:  # fmt: skip
    """Print the changes since tools were pinned, or a moment, or against a lock file; raises `Problems` if one fails
    the check."""
    locked = lock_file.read(lock) if lock else None
    with rows.catalog(paths, project=project, servers=servers) as catalog:
        chosen = chosen_tools(catalog, keys, servers)
        if locked:
            changes = drift.against(catalog, locked, chosen, drift.suspicion(catalog))
        else:
            with pinned(paths, catalog) as file:
                if moment is None:
                    changes = drift.since_pinned(catalog, file, chosen, drift.suspicion(catalog))
                else:
                    changes = drift.since_moment(catalog, file, chosen, moment, drift.suspicion(catalog))
        suites = [str(lock)] if lock else [name for name in catalog.config.enabled if chosen.has_server(name)]
        changed = drift.rows(changes, selected, locked)
    if kind == "text":
        output.write_lines(findings.changes(changed))
    else:
        check_options.write_findings(COMMAND, RULES, kind, changed, CHANGE_FIELDS, suites)
    check_options.summarize(COMMAND, changed, counted(len(suites), "server"))


def chosen_tools(catalog: Catalog, keys: Sequence[str], servers: Sequence[str]) -> ChangeFilter:
    """The tools that are named; raises `NotFound` for unknown ones."""
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
    """The pins; raises `WrongUsage` where nothing is ever pinned."""
    if not catalog.config.policy.is_on:
        message = f"tools are pinned only where [policy] stands in {catalog.config.path}"
        hint = "add that line; or compare with a lock file: mcpctl tools lock, then mcpctl tools diff --lock"
        raise WrongUsage(message, f"{hint} {lock_file.DEFAULT}", "no_policy")
    with PolicyFile.connect(paths) as file:
        yield file


def approve(
    paths: Paths, keys: Sequence[str], servers: Sequence[str], *, every: bool, asks: bool, project: str | None
) -> list[str]:
    """Show the changes of these tools, ask whether they are right, and approve those shown; the approved keys."""
    if not (keys or servers or every):
        raise WrongUsage("nothing to approve was named", _NAME_THEM)
    if every and (keys or servers):
        raise WrongUsage("--all and names contradict each other", _NAME_THEM)
    with rows.catalog(paths, project=project, quiet=True) as catalog, pinned(paths, catalog) as file:
        chosen = chosen_tools(catalog, keys, servers)
        suspicion = drift.suspicion(catalog)
        changes = drift.since_pinned(catalog, file, chosen, suspicion, with_unpinned=True)
        shown = drift.shown(catalog, file, chosen)
        approved = list(dict.fromkeys(tool.key for each in shown for tool in each.tools))
        if not approved:
            raise NotFound("no tools of these servers are listed", "list them with: mcpctl tools refresh", "not_listed")
        for line in findings.changes(drift.rows(changes, Selection("error"))):
            output.say(line, always=True)
        if asks and not _is_right(_number(approved, shown), changed=bool(changes)):
            raise Refused("nothing was approved", "look again with: mcpctl tools diff", "not_approved")
        pins.approve(file, shown)
    return approved


def _number(approved: Sequence[str], shown: Sequence[ShownList]) -> str:
    clients = {each.of.capabilities for each in shown if each.tools and not kind_of_list(each.of.capabilities)}
    kinds = f" (as {len(clients)} kinds of clients see {'it' if len(approved) == 1 else 'them'})"
    return counted(len(approved), "tool") + (kinds if len(clients) > 1 else "")


def _is_right(number: str, *, changed: bool) -> bool:
    question = f"approve {number} as shown?" if changed else f"approve {number}, as before?"
    with TERMINAL.open(encoding="utf-8", errors="replace") as terminal:
        return confirmation.reply(f"{question} [y/N]", terminal).lower() in ("y", "yes")
