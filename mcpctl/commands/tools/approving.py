"""The approval of tools by a person: what is shown is what is approved, whatever is listed meanwhile."""

from collections.abc import Sequence
from pathlib import Path

from mcpctl import output
from mcpctl.base.errors import NotFound, Refused, WrongUsage
from mcpctl.base.feature_names import kind_of_list
from mcpctl.base.paths import Paths
from mcpctl.base.rules import Selection
from mcpctl.base.texts import counted
from mcpctl.catalog import drift, rows
from mcpctl.commands.tools import differences
from mcpctl.output import changes
from mcpctl.policy import pins
from mcpctl.policy.pins import ShownList

TERMINAL = Path("/dev/tty")
_WHAT = "name tools, --server NAME or --all"


def approve(
    paths: Paths, keys: Sequence[str], servers: Sequence[str], *, every: bool, asks: bool, project: str | None
) -> list[str]:
    """Show what changed in these tools, ask whether it is right, and approve them; the keys of what was approved."""
    if not (keys or servers or every):
        raise WrongUsage("nothing to approve was named", _WHAT)
    if every and (keys or servers):
        raise WrongUsage("--all and names contradict each other", _WHAT)
    with rows.catalog(paths, project=project, quiet=True) as catalog, differences.pinned(paths, catalog) as file:
        wanted = differences.wanted(catalog, keys, servers)
        suspicion = drift.suspicion(catalog)
        found = drift.since_pinned(catalog, file, wanted, suspicion, with_unpinned=True)
        shown = drift.shown(catalog, file, wanted)
        approved = list(dict.fromkeys(tool.key for each in shown for tool in each.tools))
        if not approved:
            raise NotFound("no tools of these servers are listed", "list them with: mcpctl tools refresh", "not_listed")
        for line in changes.lines(drift.rows(found, Selection("error"))):
            output.say(line, always=True)
        if asks and not _is_right(_number(approved, shown), changed=bool(found)):
            raise Refused("nothing was approved", "look again with: mcpctl tools diff", "not_approved")
        pins.approve(file, shown)
    return approved


def _number(approved: Sequence[str], shown: Sequence[ShownList]) -> str:
    clients = {each.of.capabilities for each in shown if each.tools and not kind_of_list(each.of.capabilities)}
    kinds = f" (as {len(clients)} kinds of clients see {'it' if len(approved) == 1 else 'them'})"
    return counted(len(approved), "tool") + (kinds if len(clients) > 1 else "")


def _is_right(number: str, *, changed: bool) -> bool:
    question = f"approve {number} as shown?" if changed else f"approve {number}, as before?"
    output.say(f"{question} [y/N]", always=True)
    with TERMINAL.open(encoding="utf-8", errors="replace") as terminal:
        return terminal.readline(10).strip().lower() in ("y", "yes")
