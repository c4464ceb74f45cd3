"""The filters of calls, searches and sessions, and where these are on record, the same for every such command."""

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpctl.base import fields
from mcpctl.base.errors import NotFound, WrongUsage
from mcpctl.base.fields import CALL_STATUSES, SESSION_STATUSES
from mcpctl.base.models import OUTCOMES
from mcpctl.base.paths import Paths
from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.store import filters
from mcpctl.store.filters import HINTS, CallFilter, is_glob

if TYPE_CHECKING:
    from mcpctl.output import Columns
    from mcpctl.store.records import Records

_LISTS = {
    "server": "list servers with: mcpctl servers ls",
    "tool": "list tools with: mcpctl tools ls",
    "client": "see who was connected with: mcpctl sessions ls",
    "project": "see config.toml, or the field project under --json",
}
_STORE = opt.option(
    "--store", "URL", "Read the records of all machines in PostgreSQL: postgresql://… (also: MCPCTL_STORE).",
    envvar="MCPCTL_STORE", show_envvar=False,
)  # fmt: skip
OF_CALLS_ALONE = ("tool", "hint", "arg", "error", "code", "http_status", "redacted")  # what reads do not have
_MAX_NAME = 200  # longer names are not compared: a comparison takes the product of their lengths


class WhoAndWhen(opt.Options, section="Filters"):
    """The options as they were given, of everything that was recorded; raises `WrongUsage` for impossible values."""

    session: list[str] | None = opt.option("--session", "ID,…", "Only of these; last is the newest.", complete.sessions)
    server: list[str] | None = opt.option("--server", "NAME,…", "Only of these servers.", complete.servers)
    tool: list[str] | None = opt.option("--tool", "TOOL,…", "Names, keys or globs (list_*, github:*).", complete.tools)
    client: list[str] | None = opt.option(
        "--client", "NAME", "Only of this client; repeatable.", complete.recorded_clients
    )
    project: list[str] | None = opt.option("--project", "NAME,…", "Only with these projects.", complete.projects)
    since: str | None = opt.option(
        "--since", "TIME", "Only since 30m, 1h30m, 2d or 1w ago, today, yesterday, 2026-11-20, 2026-11-20T12:00Z."
    )
    until: str | None = opt.option("--until", "TIME", "Only before then; a day means its beginning.")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        _ = self.criteria

    @functools.cached_property
    def criteria(self) -> CallFilter:
        """The filter of calls, with sessions as they were typed."""
        return filters.call_filter(vars(self))

    def resolved(self, records: "Records", paths: "Paths") -> CallFilter:
        """The filter with full ids of sessions; raises `NotFound` for a name that is not configured nor on record."""
        criteria = records.resolved(self.criteria)
        _refuse_strangers(criteria, records, paths)
        return criteria


class RecordFilters(WhoAndWhen, section="Filters"):
    """The filters of calls."""

    status: list[str] | None = opt.option("--status", "STATUS,…", "ok, tool_error, denied, failed, ….", CALL_STATUSES)
    failed: bool = opt.flag("--failed", "Only failed ones: not ok, running or waiting for input.")
    outcome: list[str] | None = opt.option("--outcome", "OUTCOME,…", "done, error or refused.", tuple(OUTCOMES))
    hint: list[str] | None = opt.option(
        "--hint", "HINT,…", "destructive, read-only, idempotent, open-world, no-destructive, …, undeclared.", HINTS
    )
    min_duration: str | None = opt.option(
        "--min-duration", "TIME", "Only those that took at least as long: 500ms, 2s, 1m30s."
    )
    grep: str | None = opt.option("--grep", "TEXT", "Only with this text in arguments, response or error.")
    arg: list[str] | None = opt.option(
        "--arg", "NAME=VALUE", "Only with this argument: city=Oslo, file.id=7; repeated, with all of them."
    )
    error: list[str] | None = opt.option("--error", "TEXT", "Only this error, as calls stats --by error has it.")
    code: list[str] | None = opt.option("--code", "CODE,…", "By the error's code: needs_consent, no-needs_consent, ….")
    http_status: list[str] | None = opt.option(
        "--http-status", "STATUS,…", "By the status of an HTTP API's answer: 404, 4xx."
    )
    redacted: bool = opt.flag("--redacted", "Only those in which a secret was redacted.")

    def refuse(self, kind: str, *options: str) -> None:
        """Raise `WrongUsage` if one of these options was given, which `kind` do not have."""
        given = [f"--{name.replace('_', '-')}" for name in options if getattr(self, name)]
        if given:
            raise WrongUsage(f"{kind} have no {' or '.join(given)}", "leave them out")


class SessionFilters(RecordFilters, section="Filters"):
    """The same for sessions: `--status` is theirs, all other filters are of their calls."""

    status: list[str] | None = opt.option("--status", "STATUS", "The session's: active or closed.", SESSION_STATUSES)
    failed: bool = opt.flag("--failed", "Only with calls that failed.")
    outcome: list[str] | None = opt.option("--outcome", "OUTCOME,…", "Only with calls of these.", tuple(OUTCOMES))

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        _ = self.statuses

    @functools.cached_property
    def criteria(self) -> CallFilter:
        return filters.call_filter(vars(self), of_sessions=True)

    @functools.cached_property
    def statuses(self) -> tuple[str, ...]:
        return filters.session_statuses(vars(self))


class _Stored(opt.Located):
    if TYPE_CHECKING:
        store: str | None

    @contextmanager
    def stored(self) -> "Iterator[Records]":
        """The records of this machine, or with --store those of all."""
        with self.source() or self.records() as records:
            yield records

    def source(self) -> "Records | None":
        """The records that --store names."""
        if not self.store:
            return None
        from mcpctl.store.postgres.connection import PostgresUrl
        from mcpctl.store.postgres.records import PostgresRecords

        return PostgresRecords(PostgresUrl(self.store))

    def columns(self, of_machine: "Columns") -> "Columns":
        """The columns of a list, with one of machines where there are several."""
        if not self.store:
            return of_machine
        also = fields.names(fields.Stored)
        return of_machine._replace(
            fields=(*of_machine.fields, *also), shown=(*of_machine.shown, *also),
            table=(*of_machine.table, *also) if of_machine.table else (),
        )  # fmt: skip


class RecordLocation(_Stored):
    store: str | None = _STORE
    data_dir: Path | None = opt.DATA_DIR


class ConfiguredRecordLocation(_Stored, section="Configuration"):
    store: str | None = _STORE
    config: Path | None = opt.CONFIG
    data_dir: Path | None = opt.DATA_DIR


def _refuse_strangers(criteria: CallFilter, records: "Records", paths: "Paths") -> None:
    named = {"server": criteria.servers, "tool": criteria.tools, "client": criteria.clients}
    for noun, values in (*named.items(), ("project", criteria.projects)):
        left = list(values)
        names = _names(noun, records, paths)
        while left and (name := next(names, None)) is not None:
            left = [value for value in left if not _fits(value, name)]
        if left:
            _refuse(noun, left[0], set(_names(noun, records, paths)))


def _fits(value: str, name: str) -> bool:
    if value == name or not is_glob(value):
        return value == name
    from fnmatch import fnmatchcase

    return fnmatchcase(name, value.replace("[", "[[]"))


def _refuse(noun: str, name: str, names: set[str]) -> None:
    from mcpctl.base.near_names import did_you_mean

    near = sorted(other for other in names if len(other) <= _MAX_NAME)
    hint = did_you_mean(name, near, _LISTS[noun])
    raise NotFound(f"no {noun} '{name}' is configured or on record", hint, f"{noun}_not_found")


def _names(noun: str, records: "Records", paths: "Paths") -> Iterator[str]:
    """The names on record, then the configured ones: most are found before anything else has to be read."""
    from mcpctl.catalog import rows
    from mcpctl.config import config

    yield from _spelled(noun, records.names(noun))
    if noun == "tool":
        with rows.catalog(paths, quiet=True) as catalog:
            yield from _spelled(noun, (tool.key for tool in catalog.known()))
    elif noun != "client":
        loaded = config.load(paths.config)
        if noun == "server":
            yield from (*loaded.servers, *loaded.problems)
        else:
            yield from loaded.projects
            yield from (name for server in loaded.servers.values() for name in server.projects)


def _spelled(noun: str, names: Iterable[str]) -> Iterator[str]:
    """Each name as it may be typed: a tool by its key, with a dot, or alone."""
    from mcpctl.base.tool_keys import split

    for name in names:
        yield name
        if noun == "tool":
            server, tool = split(name)
            yield from (f"{server}.{tool}", tool)
