"""The options that say which calls, searches and sessions are meant, the same for every command that reads records."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpctl.commands import complete
from mcpctl.errors import WrongUsage
from mcpctl.models import CALL_STATUSES, SESSION_STATUSES
from mcpctl.store import asking
from mcpctl.store.filters import EVERYTHING, HINTS, CallFilter

if TYPE_CHECKING:
    from mcpctl.store.records import Records


def _several(option: str, metavar: str, help: str, completer: Callable[..., Any] | None = None) -> Any:
    return typer.Option(option, metavar=metavar, help=help, show_default=False, autocompletion=completer)


def _one(option: str, metavar: str, help: str) -> Any:
    return typer.Option(option, metavar=metavar, help=help, show_default=False)


@dataclass(frozen=True)
class Asked:
    """The options as they were given; raises `WrongUsage` for values that cannot be meant."""

    session: Annotated[
        list[str] | None,
        _several("--session", "ID,…", "Only of these sessions; last is the newest.", complete.sessions),
    ] = None
    server: Annotated[list[str] | None, _several("--server", "NAME,…", "Only of these servers.", complete.servers)] = (
        None
    )
    tool: Annotated[
        list[str] | None,
        _several("--tool", "TOOL,…", "Only of these tools: names, keys or globs (list_*, github:*).", complete.tools),
    ] = None
    status: Annotated[
        list[str] | None,
        _several("--status", "STATUS,…", "ok, tool_error, denied, failed, ….", complete.choices(*CALL_STATUSES)),
    ] = None
    failed: Annotated[
        bool, typer.Option("--failed", help="Only what failed: not ok, not running, not waiting for input.")
    ] = False
    client: Annotated[
        list[str] | None,
        _several("--client", "NAME", "Only of this client; may be repeated.", complete.recorded_clients),
    ] = None
    project: Annotated[
        list[str] | None, _several("--project", "NAME,…", "Only with these projects in force.", complete.projects)
    ] = None
    hint: Annotated[
        list[str] | None,
        _several(
            "--hint",
            "HINT,…",
            "destructive, read-only, idempotent, open-world, no-destructive, …, undeclared.",
            complete.choices(*HINTS),
        ),
    ] = None
    since: Annotated[
        str | None,
        _one(
            "--since", "TIME", "Only since 30m, 1h30m, 2d or 1w ago, today, yesterday, 2026-11-20, 2026-11-20T12:00Z."
        ),
    ] = None
    until: Annotated[str | None, _one("--until", "TIME", "Only before then; a day is its beginning.")] = None
    min_duration: Annotated[str | None, _one("--min-duration", "TIME", "Only what took as long: 500ms, 2s, 1m30s.")] = (
        None
    )
    grep: Annotated[
        str | None, _one("--grep", "TEXT", "Only with this text in arguments, response or error, in whatever case.")
    ] = None

    def __post_init__(self) -> None:
        _ = self.wanted

    @functools.cached_property
    def wanted(self) -> CallFilter:
        """Which calls are meant; its sessions are as they were typed."""
        return asking.wanted(vars(self))

    def refuse(self, kind: str, *options: str) -> None:
        """Raise `WrongUsage` if one of the options was given, which `kind` cannot be asked by."""
        given = [f"--{name.replace('_', '-')}" for name in options if getattr(self, name)]
        if given:
            raise WrongUsage(f"{kind} have no {' or '.join(given)}", "leave them out")

    def resolved(self, records: "Records") -> CallFilter:
        """Which calls are meant, each session by its full id; raises `NotFound` for one that is not on record."""
        return records.resolved(self.wanted)


@dataclass(frozen=True)
class AskedOfSessions(Asked):
    """The same for sessions: `--status` is theirs, everything else is of their calls."""

    status: Annotated[
        list[str] | None,
        _several("--status", "STATUS", "Of the session: active or closed.", complete.choices(*SESSION_STATUSES)),
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
        return asking.wanted(vars(self), of_sessions=True)

    @functools.cached_property
    def statuses(self) -> tuple[str, ...]:
        """Those of the sessions."""
        return asking.session_statuses(vars(self))


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of its first parameter's class, an `Asked`, in place of that parameter."""

    first, *others = inspect.signature(command).parameters.values()
    kind: type[Asked] = first.annotation
    options = inspect.signature(kind).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(kind(**{name: given.pop(name) for name in options}), **given)

    run.__signature__ = inspect.Signature([*options.values(), *others])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*options.values(), *others)}
    return run
