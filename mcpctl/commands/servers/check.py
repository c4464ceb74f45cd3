"""`mcpctl servers check`"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpctl import output
from mcpctl.base.errors import UpstreamFailed, warn
from mcpctl.base.models import Found, Row
from mcpctl.base.paths import Paths
from mcpctl.commands import complete
from mcpctl.commands import options as opt

if TYPE_CHECKING:
    from mcpctl.output import ListOptions


def check(
    names: list[str] | None = opt.argument("[NAME]...", "Only these servers.", complete.servers, default=None),
    timeout: float | None = opt.option("--timeout", "S", "Seconds for each, in place of start_timeout_s.", min=0.1),
    *,
    listing: opt.Rows,
    place: opt.ProjectLocation,
) -> None:
    """Connect to every server, and report problems. It lists their tools, prompts and resources.

    The status of a server is ok, odd (it works, with the warnings listed) or failed. The exit status is 4 if any server
    has failed. The environment says which variables a server gets. With a table, the problems are on stderr. A warning
    names commands that your shell finds and a program with a window does not. To an HTTP API no request is sent, since
    none is known that changes nothing: its entry, its document and its credentials are looked at.

    Examples:
      mcpctl servers check
      mcpctl servers check github --timeout 5
      mcpctl servers check --json | jq -r '.[] | select(.status != "ok") | .server'
    """
    from mcpctl.config import config

    paths = place.paths()
    if not config.load(paths.config).policy.is_written:
        how = f"to be asked about risky ones, write [policy] in {paths.config}"
        output.say(f"no policy: every call is passed on; {how}")
    check_servers(names, timeout, listing=listing, place=place)


def check_servers(
    names: list[str] | None, timeout: float | None, *, listing: opt.Rows, place: opt.ProjectLocation
) -> None:
    from mcpctl.calling.server_check import check

    options, paths = listing.chosen(), place.paths()
    with output.progress("checking", "servers") as on_progress:
        rows = check(paths, names or [], timeout, on_progress, place.project)
    _warn_of_hidden(paths, rows)
    _write(rows, options, paths)


def _write(rows: "Sequence[Row]", options: "ListOptions", paths: "Paths") -> None:
    from mcpctl.commands.columns import CHECKED_SERVERS
    from mcpctl.store import server_logs

    columns, has_problems = CHECKED_SERVERS, "problems" in output.chosen_fields(CHECKED_SERVERS, options)
    if options.effective == "table":
        columns, has_problems = columns._replace(shown=columns.shown[:-1]), False
    output.write_list(Found.of(rows), columns, options)
    if not has_problems:
        for row in rows:
            for problem in row["problems"] if row["status"] == "odd" else ():
                warn(f"{row['server']}: {problem}")
    failed = [row for row in rows if row["status"] == "failed"]
    if failed:
        lines = [f"{len(failed)} of {len(rows)} servers failed: {', '.join(row['server'] for row in failed)}"]
        problems = [(row["server"], text) for row in failed if not has_problems for text in row["problems"]]
        lines += [text if f"'{name}'" in text else f"server '{name}': {text}" for name, text in problems]
        name = failed[0]["server"]
        see = server_logs.hint(paths, name)
        hint = f"{see}{'; ' if see else ''}fix it, then: mcpctl servers check {name}"
        raise UpstreamFailed("\n".join(lines), hint, "check_failed")


def _warn_of_hidden(paths: "Paths", rows: "Sequence[Row]") -> None:
    """Warn of servers whose command a client with a window, or its entry's PATH, would not find."""
    from mcpctl.clients.client_config import missing_in_windows
    from mcpctl.config import config
    from mcpctl.doctor.client_entries import own_entries

    checked = {row["server"] for row in rows}
    usable = {name: server for name, server in config.load(paths.config).servers.items() if name in checked}
    windows = [entry.env.get("PATH") for entry in own_entries() if entry.has_window and not entry.is_off]
    by_window = [missing_in_windows(usable, path or None) for path in windows or [None]]
    if hidden := {name: program for each in by_window for name, program in each.items()}:
        programs, names = ", ".join(sorted(set(hidden.values()))), ", ".join(hidden)
        fix = "the entry that mcpctl install CLIENT writes has a PATH that does"
        warn(f"programs with a window do not find {programs} ({names}); {fix}")
