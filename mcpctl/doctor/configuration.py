"""config.toml: whether it can be used, and whether what it names is there."""

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcpctl import servers
from mcpctl.base.errors import McpctlError
from mcpctl.base.rules import Selection
from mcpctl.base.texts import counted
from mcpctl.catalog import policy_check, rows
from mcpctl.clients import client_config
from mcpctl.config import api_environment, config, exposure, server_environment
from mcpctl.config.server_environment import CannotLaunch
from mcpctl.config.server_settings import STDIO, Server
from mcpctl.doctor.client_entries import OwnEntry, own_entries
from mcpctl.doctor.findings import Case, DoctorFinding, finding
from mcpctl.metatools import client_limits, direct_tools, offers
from mcpctl.oauth.token_store import EXPIRED, NEEDED
from mcpctl.store.run import addresses
from mcpctl.toolsets import in_force

_DIRECT = "--direct"
_ENTRY_AGAIN = f"mcpctl install CLIENT {_DIRECT} PATTERN"


def of_file(case: Case) -> Iterator[DoctorFinding]:
    path = case.paths.config
    if case.problem:
        yield finding("D101", case.problem.message, path, case.problem.hint)
        return
    for name, problem in case.config.problems.items():
        yield finding("D102", problem.removeprefix(f"{path}: "), name, f"fix [servers.{name}] in {path}")
    servers = case.config.servers
    for name in sorted(name for name, server in servers.items() if not server.enabled):
        yield finding("D107", "it is disabled", name, f"mcpctl servers enable {name}")
    if not servers and not case.config.problems:
        yield finding("D108", "there is no server yet", path)
    yield DoctorFinding(f"{counted(len(servers), 'server')} in {path}")


def of_servers(case: Case) -> Iterator[DoctorFinding]:
    """Whether the entries have what they need, as far as that can be told without starting anything."""
    clients = list(_environments(case))
    # Variables of a client's entry are there when the client starts mcpctl.
    env = {**{name: value for entry, _ in clients for name, value in entry.env.items()}, **os.environ}
    lacking: dict[str, list[tuple[str, OwnEntry]]] = {}
    for name, server in case.config.enabled.items():
        try:
            _expand(server, case.paths.config, env)
        except CannotLaunch as error:
            yield finding("D103", error.message, name, error.hint)
        else:
            for entry, variables in clients:
                if missing := server_environment.unset(server, case.paths.config, variables):
                    lacking.setdefault(entry.title, []).append((f"{', '.join(missing)} of {name}", entry))
        if not server.openapi and (exposed := exposure.in_the_clear(server)):
            yield finding("D105", exposed, name)
    for title, each in lacking.items():
        missing_there = ", ".join(dict.fromkeys(text for text, _ in each))
        raw = each[0][1].raw
        fix = f"set it in the environment of '{raw.name}' in {raw.file.path}, or give its value in config.toml"
        yield finding("D110", f"it starts mcpctl without {missing_there}", title, fix)


def _expand(server: Server, config_path: Path, env: Mapping[str, str]) -> None:
    if server.kind == STDIO:
        server_environment.launch(server, config_path, env)
    elif server.openapi:
        api_environment.api(server, config_path, env)
    else:
        server_environment.endpoint(server, config_path, env)


def _environments(case: Case) -> Iterator[tuple[OwnEntry, Mapping[str, str]]]:
    """The environment of each mcpctl that a client starts with this configuration."""
    for entry in own_entries():
        if entry.server and not entry.is_off:
            with contextlib.suppress(CannotLaunch):  # which is found where the client's entry is looked at
                launched = entry.launched()
                if client_config.config_file(launched.argv, launched.env).absolute() == case.paths.config.absolute():
                    yield entry, launched.env


def of_last_starts(case: Case) -> Iterator[DoctorFinding]:
    """Servers that did not work when they were last tried, or need a login."""
    if case.problem:
        return
    words = {NEEDED: "it needs a login", EXPIRED: "its login has ended"}
    try:
        for row in servers.ls(case.paths):
            if row["enabled"] and row["login"] in words:
                yield finding("D109", words[row["login"]], row["name"], f"mcpctl servers login {row['name']}")
            elif row["enabled"] and row["failed_at"]:
                message = f"when it was last tried, at {row['failed_at']}, it {row['problem']}"
                yield finding(
                    "D111", message, row["name"], f"see whether it works now: mcpctl servers check {row['name']}"
                )
    except McpctlError:
        return  # files.py finds what cannot be opened


def of_names(case: Case) -> Iterator[DoctorFinding]:
    if case.problem:
        return
    chosen = os.environ.get("MCPCTL_PROJECT") or None
    for project in dict.fromkeys([chosen, *case.config.projects]):
        try:
            in_force.check(case.paths, config.load(case.paths.config, project), None)
        except McpctlError as error:
            yield finding("D104", error.message, project, error.hint)


def of_direct(case: Case) -> Iterator[DoctorFinding]:
    """Whether the tools that are chosen to be shown directly are there, and are no more than clients take."""
    if case.problem:
        return
    chosen = tuple(case.config.serve.direct)
    entries = [(entry, _patterns(entry)) for entry in own_entries() if not entry.is_off]
    with contextlib.suppress(McpctlError), rows.catalog(case.paths, quiet=True) as catalog:
        for patterns in filter(None, dict.fromkeys([chosen, *(own for _, own in entries)])):
            shown, problems = direct_tools.of_command(case.paths, catalog, patterns)
            offered = len(offers.Offer().configured(case.config, patterns).names)
            fix = "" if patterns == chosen else f"change --direct in the client's entry: {_ENTRY_AGAIN}"
            yield from (finding("D113", problem, ", ".join(patterns), fix) for problem in problems)
            for entry, own in entries:
                if (own or chosen) == patterns and (limit := client_limits.OF_ENTRIES.get(entry.client)):
                    too_much = limit.problems(shown.tools, offered).values()
                    yield from (finding("D114", problem, entry.title, fix) for problem in too_much)


def _patterns(entry: OwnEntry) -> tuple[str, ...]:
    """The tools that a client's own entry for mcpctl chooses to be shown directly."""
    words = entry.server.args if entry.server else ()
    given = (word.removeprefix(f"{_DIRECT}=") for word in words if word.startswith(f"{_DIRECT}="))
    return (*given, *(pattern for option, pattern in itertools.pairwise(words) if option == _DIRECT))


def of_many_people(case: Case) -> Iterator[DoctorFinding]:
    """Whether people on other machines act as one account: logins and variables are the process's."""
    reached = addresses(case.paths.runs)
    servers = {} if case.problem else case.config.enabled
    shared = [name for name, server in servers.items() if server.has_account and not server.require_own_login]
    if reached and shared:
        yield finding("D120", f"everybody who reaches {reached[0]} acts as one account there", ", ".join(shared))


def of_policy(case: Case) -> Iterator[DoctorFinding]:
    """Whether a client's hook may say yes, and whether the rules match tools, where the tools are known."""
    if case.problem or not case.config.policy.is_on:
        return
    if case.config.policy.table.claude_hook:
        line = case.config.line_of(("policy",), "claude_hook")
        yield finding("D112", "claude_hook = true: the hook of Claude Code may say yes", f"{case.paths.config}:{line}")
    try:
        with rows.catalog(case.paths, quiet=True) as catalog:
            checked = policy_check.check(catalog, Selection("never", ["W901"]))
            yield from (finding("D106", each["message"], f"{each['path']}:{each['line']}") for each in checked.findings)
    except McpctlError:
        return  # files.py finds what cannot be opened
