"""The columns of servers, of checks and of imports."""

import shlex
from collections.abc import Sequence
from typing import Any

from mcpctl import output, servers
from mcpctl.base.errors import UpstreamFailed, warn
from mcpctl.base.models import CHECK_FIELDS, IMPORT_FIELDS, Found, Row
from mcpctl.base.paths import Paths
from mcpctl.clients.client_environment import missing_in_windows
from mcpctl.config import config
from mcpctl.output import Columns, ListOptions
from mcpctl.store import server_logs


def _words(args: Any) -> str:
    return shlex.join(args) if args else ""


def _names(projects: Any) -> str:
    return ",".join(projects or ())


def _inherited(names: Any) -> str:
    return names if isinstance(names, str) else _names(names)


def _sentences(notes: Any) -> str:
    return "; ".join(notes)


COLUMNS = Columns(
    fields=servers.FIELDS,
    shown=("name", "enabled", "transport", "tools", "runs", "failed_at", "problem"),
    cut=frozenset(("runs", "command", "args", "url", "env", "problem")),
    keeps={"runs": 15},
    goes=("tools", "transport", "failed_at", "enabled", "runs"),
    render={"args": _words, "projects": _names, "inherit_env": _inherited, "may_ask": _names, "expose": _names},
    labels={"enabled": "ON", "transport": "HOW", "failed_at": "FAILED"},
    noun="servers",
    empty="no servers yet; add one with: mcpctl servers add NAME -- COMMAND ARGS",
)


def with_logins(columns: Columns) -> Columns:
    """The columns with the one that says whether somebody is logged in."""
    shown = list(columns.shown)
    shown.insert(shown.index("runs"), "login")
    return columns._replace(shown=tuple(shown))


IMPORTED = Columns(
    fields=IMPORT_FIELDS,
    shown=("name", "action", "source", "source_name", "why"),
    cut=frozenset(("why", "path")),
    goes=("source_name", "source"),
    render={"notes": _sentences},
    noun="servers",
    empty="no servers to import",
)

CHECKED = Columns(
    fields=CHECK_FIELDS,
    shown=("server", "status", "revision", "tools", "connect_ms", "environment", "problems"),
    cut=frozenset(("environment", "problems")),
    goes=("revision", "connect_ms", "tools"),
    render={"problems": _sentences},
    labels={"connect_ms": "MS"},
    noun="servers",
    empty="no servers to check; add one with: mcpctl servers add NAME -- COMMAND ARGS",
)


def write_checked(rows: Sequence[Row], options: ListOptions, paths: Paths) -> None:
    """Print the rows of a check, and each problem once: in its row, or for a table on stderr.

    Raises `UpstreamFailed` if a server has failed.
    """
    columns, has_problems = CHECKED, "problems" in output.chosen_fields(CHECKED, options)
    if options.effective == "table":
        columns, has_problems = (
            CHECKED._replace(shown=tuple(name for name in CHECKED.shown if name != "problems")),
            False,
        )
    output.write_list(Found.of(rows), columns, options)
    if not has_problems:
        for row in rows:
            for problem in row["problems"] if row["status"] == "odd" else ():
                warn(f"{row['server']}: {problem}")
    failed = [row for row in rows if row["status"] == "failed"]
    if failed:
        lines = [f"{len(failed)} of {len(rows)} servers failed: {', '.join(row['server'] for row in failed)}"]
        lines += [_attributed(row["server"], text) for row in failed if not has_problems for text in row["problems"]]
        name = failed[0]["server"]
        see = server_logs.hint(paths, name)
        hint = f"{see}{'; ' if see else ''}fix it, then: mcpctl servers check {name}"
        raise UpstreamFailed("\n".join(lines), hint, "check_failed")


def say_hidden(paths: Paths, rows: Sequence[Row]) -> None:
    """Warn about checked servers whose command a program with a window would not find: those that are here with the
    PATH that their entry has, or where none is, any."""
    from mcpctl.doctor.client_entries import own_entries

    checked_names = {row["server"] for row in rows}
    usable = {name: server for name, server in config.load(paths.config).servers.items() if name in checked_names}
    windows = [entry.env.get("PATH") for entry in own_entries() if entry.has_window and not entry.is_off]
    found = [missing_in_windows(usable, path or None) for path in windows or [None]]
    if hidden := {name: program for each in found for name, program in each.items()}:
        programs, names = ", ".join(sorted(set(hidden.values()))), ", ".join(hidden)
        warn(
            f"programs with a window do not find {programs} ({names}); the entry that mcpctl install CLIENT"
            " writes has a PATH that does"
        )


def say_policy(paths: Paths) -> None:
    """Say on a terminal how to turn a policy on, where there is none."""
    if not config.load(paths.config).policy.is_written:
        output.say(
            f"no policy: every call is passed on; to be asked about risky ones, write [policy] in {paths.config}"
        )


def _attributed(server: str, problem: str) -> str:
    return problem if f"'{server}'" in problem else f"server '{server}': {problem}"
