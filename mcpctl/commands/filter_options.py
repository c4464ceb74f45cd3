"""The options that say which calls, searches and sessions are meant, the same for every command that reads records."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mcpctl.base.errors import WrongUsage
from mcpctl.base.fields import CALL_STATUSES, SESSION_STATUSES
from mcpctl.commands import complete
from mcpctl.commands import options as opt
from mcpctl.store import filters
from mcpctl.store.filters import EVERYTHING, HINTS, CallFilter

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths
    from mcpctl.store.records import Records


@dataclass(frozen=True)
class Asked(opt.Options):
    """The options as they were given; raises `WrongUsage` for values that cannot be meant."""

    session: Annotated[
        list[str] | None,
        opt.option("--session", "ID,…", "Only of these sessions; last is the newest.", complete.sessions),
    ] = None
    server: Annotated[
        list[str] | None, opt.option("--server", "NAME,…", "Only of these servers.", complete.servers)
    ] = None
    tool: Annotated[
        list[str] | None,
        opt.option("--tool", "TOOL,…", "Only of these tools: names, keys or globs (list_*, github:*).", complete.tools),
    ] = None
    status: Annotated[
        list[str] | None,
        opt.option("--status", "STATUS,…", "ok, tool_error, denied, failed, ….", complete.choices(*CALL_STATUSES)),
    ] = None
    failed: Annotated[
        bool, typer.Option("--failed", help="Only what failed: not ok, not running, not waiting for input.")
    ] = False
    client: Annotated[
        list[str] | None,
        opt.option("--client", "NAME", "Only of this client; may be repeated.", complete.recorded_clients),
    ] = None
    project: Annotated[
        list[str] | None, opt.option("--project", "NAME,…", "Only with these projects in force.", complete.projects)
    ] = None
    hint: Annotated[
        list[str] | None,
        opt.option(
            "--hint",
            "HINT,…",
            "destructive, read-only, idempotent, open-world, no-destructive, …, undeclared.",
            complete.choices(*HINTS),
        ),
    ] = None
    since: Annotated[
        str | None,
        opt.option(
            "--since", "TIME", "Only since 30m, 1h30m, 2d or 1w ago, today, yesterday, 2026-11-20, 2026-11-20T12:00Z."
        ),
    ] = None
    until: Annotated[str | None, opt.option("--until", "TIME", "Only before then; a day is its beginning.")] = None
    min_duration: Annotated[
        str | None, opt.option("--min-duration", "TIME", "Only what took as long: 500ms, 2s, 1m30s.")
    ] = None
    grep: Annotated[
        str | None,
        opt.option("--grep", "TEXT", "Only with this text in arguments, response or error, in whatever case."),
    ] = None

    def __post_init__(self) -> None:
        _ = self.wanted

    @functools.cached_property
    def wanted(self) -> CallFilter:
        """Which calls are meant; its sessions are as they were typed."""
        return filters.call_filter(vars(self))

    def refuse(self, kind: str, *options: str) -> None:
        """Raise `WrongUsage` if one of the options was given, which `kind` cannot be asked by."""
        given = [f"--{name.replace('_', '-')}" for name in options if getattr(self, name)]
        if given:
            raise WrongUsage(f"{kind} have no {' or '.join(given)}", "leave them out")

    def resolved(self, records: "Records", paths: "Paths") -> CallFilter:
        """Which calls are meant, each session by its full id; raises `NotFound` for a name that nobody knows."""
        from mcpctl.commands import names

        wanted = records.resolved(self.wanted)
        names.refuse_strangers(wanted, records, paths)
        return wanted


@dataclass(frozen=True)
class AskedOfSessions(Asked):
    """The same for sessions: `--status` is theirs, everything else is of their calls."""

    status: Annotated[
        list[str] | None,
        opt.option("--status", "STATUS", "Of the session: active or closed.", complete.choices(*SESSION_STATUSES)),
    ] = None
    failed: Annotated[bool, typer.Option("--failed", help="Only with calls that failed.")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.statuses

    @property
    def is_any(self) -> bool:
        """Whether anything was asked for."""
        return self.wanted != EVERYTHING or bool(self.statuses)

    @functools.cached_property
    def wanted(self) -> CallFilter:
        """Which calls they are to have; its sessions are as they were typed."""
        return filters.call_filter(vars(self), of_sessions=True)

    @functools.cached_property
    def statuses(self) -> tuple[str, ...]:
        """Those of the sessions."""
        return filters.session_statuses(vars(self))
