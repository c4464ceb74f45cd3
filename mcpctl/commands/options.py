"""Options that several commands share."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcpctl.base.paths import chosen
from mcpctl.commands import complete

if TYPE_CHECKING:
    from mcpctl.base.models import Row
    from mcpctl.base.paths import Paths
    from mcpctl.catalog.rows import ToolFilter
    from mcpctl.commands.confirmation import Gate
    from mcpctl.output import ListOptions
    from mcpctl.store.records import Records


def option(
    names: str,
    metavar: str,
    help: str,
    completer: Callable[..., Any] | None = None,
    *,
    show_default: bool = False,
    **settings: Any,
) -> Any:
    """An option with a value; `names` are separated by a space."""
    return typer.Option(
        *names.split(), metavar=metavar, help=help, show_default=show_default, autocompletion=completer, **settings
    )


def flag(names: str, help: str) -> Any:
    return typer.Option(*names.split(), help=help)


def argument(metavar: str, help: str, completer: Callable[..., Any] | None = None) -> Any:
    """A word of a command line, or several."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=completer)


class Options:
    """Options that commands share: in place of a parameter of such a class, a command has the class's fields."""


ConfigFile = Annotated[Path | None, option("--config", "FILE", "Read servers from FILE (also: MCPCTL_CONFIG).")]
DataDir = Annotated[Path | None, option("--data-dir", "DIR", "Keep data in DIR (also: MCPCTL_DATA_DIR).")]
Verbose = Annotated[bool, flag("--verbose -v", "Copy the stderr of the servers to stderr.")]

paths = chosen
"""The paths of the configuration and the data, from `--config`, `--data-dir` and the environment."""
READING = "reading records"


@contextmanager
def records(data_dir: Path | None) -> "Iterator[Records]":
    """The records, brought up to date; a terminal shows the progress if it takes long.

    A data directory that was named must exist: a mistyped name is not an empty record.
    """
    from mcpctl import output
    from mcpctl.store.records import Records

    if data_dir and not data_dir.exists():
        from mcpctl.base.errors import Unusable

        hint = "check the name; a new one is made by mcpctl serve --data-dir"
        raise Unusable(f"there is no data directory {data_dir}", hint, "data_missing")
    with output.progress(READING) as on_progress, Records(paths(None, data_dir), on_progress) as records:
        yield records


def say_project(project: str | None) -> None:
    """Name the project in force on a terminal: a person may have set it long ago, and it hides other servers."""
    if project is not None:
        from mcpctl import output

        output.say(f"only the servers of project '{project}'")


def moment(text: str | None, now: float, option: str = "--expires") -> float | None:
    """The moment that `--expires` or `--for` names, in seconds since the epoch; None where there is none."""
    import datetime
    import re

    from mcpctl.base.errors import WrongUsage

    if text is None:
        return None
    after = re.fullmatch(r"(\d{1,9})([mhdw])", text)
    units = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
    try:
        until = now + int(after[1]) * units[after[2]] if after else datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise WrongUsage(f"'{text}' is not a time", f"give {option} as 12h, 30d, 8w, or 2026-12-31") from None
    if not now < until < now + 100 * 365 * 86400:
        raise WrongUsage(f"'{text}' is not a time to come", f"give {option} a time within a hundred years")
    return until


Json = Annotated[bool, flag("--json", "Print one JSON array, or one object for a single thing.")]
FromScript = Annotated[
    bool, flag("--from-script", "Allow changes that let more be called without a question, where no person runs this.")
]
Jsonl = Annotated[bool, flag("--jsonl", "Print one JSON object a line.")]
Format = Annotated[
    str,
    option(
        "--format", "FORMAT", "table, tsv, json or jsonl.", complete.choices("table", "tsv", "json", "jsonl"),
        show_default=True,
    ),
]  # fmt: skip
Fields = Annotated[
    str | None,
    option("--fields", "A,B", "Print these fields, or columns by their headings, in this order.", complete.fields),
]
Limit = Annotated[int | None, option("--limit", "N", "Print at most N rows; 0: all.", min=0)]
Offset = Annotated[int, option("--offset", "N", "Leave out the first N rows.", min=0, show_default=True)]
Count = Annotated[bool, flag("--count", "Print only the number of rows.")]


@dataclass(frozen=True)
class Rows(Options):
    """How all rows are printed."""

    fields: Fields = None
    json: Json = False
    jsonl: Jsonl = False
    format: Format = "auto"

    def chosen(self) -> "ListOptions":
        """The options as one value; raises `WrongUsage` if they contradict each other."""
        from mcpctl import output

        return output.ListOptions(output.chosen_format(self.json, self.jsonl, self.format), self.fields)


@dataclass(frozen=True)
class Listing(Rows):
    """How rows are printed, and which of them."""

    limit: Limit = None
    offset: Offset = 0
    count: Count = False

    def chosen(self) -> "ListOptions":
        from mcpctl.output import MOST

        limit = None if self.limit is None else min(self.limit, MOST)
        return replace(super().chosen(), limit=limit, offset=min(self.offset, MOST), count=self.count)


@dataclass(frozen=True)
class OneThing(Options):
    """How one thing is printed."""

    fields: Fields = None
    json: Json = False

    def write(self, row: "Row", text: "Callable[[Row], Iterator[str]]") -> None:
        from mcpctl import output

        output.write_row(row, self.json, lambda: text(row), self.fields)


ServerFilter = Annotated[list[str] | None, option("--server", "NAME,…", "Only of these servers.", complete.servers)]
ServerName = Annotated[str, argument("NAME", "The server's name.", complete.servers)]
NewServerName = Annotated[str, argument("NAME", "The server's name.")]
ToolKey = Annotated[str, argument("KEY", "The tool: server:tool.", complete.tools)]
CallId = Annotated[str, argument("ID", "An id, its beginning, or last.", complete.calls)]
Project = Annotated[
    str | None,
    option(
        "--project", "NAME", "The project in force: only its servers are seen (also: MCPCTL_PROJECT).",
        complete.projects, envvar="MCPCTL_PROJECT", show_envvar=False,
    ),
]  # fmt: skip
Toolset = Annotated[
    str | None,
    option(
        "--toolset", "NAME|PATH",
        "The toolset in force, or none (also: MCPCTL_TOOLSET; else the project's or the equipped one).",
        complete.toolsets,
    ),
]  # fmt: skip


class _Located(Options):
    """Options that say where the configuration and the data are."""

    config: Path | None
    data_dir: Path | None

    def paths(self, *, creates: bool = False) -> "Paths":
        """Their paths; a command that `creates` the configuration file may name one that is missing."""
        return chosen(self.config, self.data_dir, creates=creates)


@dataclass(frozen=True)
class Location(_Located):
    """Where the configuration and the data are."""

    config: ConfigFile = None
    data_dir: DataDir = None


@dataclass(frozen=True)
class JsonLocation(_Located):
    """The same, and whether the result is printed as JSON."""

    json: Json = False
    config: ConfigFile = None
    data_dir: DataDir = None


@dataclass(frozen=True)
class Change(_Located):
    """The same for a change that may let more be called."""

    from_script: FromScript = False
    json: Json = False
    config: ConfigFile = None
    data_dir: DataDir = None

    def gate(self, paths: "Paths", *, dry: bool = False) -> "Gate":
        from mcpctl.commands.confirmation import Gate

        return Gate(paths, self.from_script, dry)


@dataclass(frozen=True)
class ProjectLocation(_Located):
    """Where the configuration and the data are, and the project in force."""

    project: Project = None
    config: ConfigFile = None
    data_dir: DataDir = None


@dataclass(frozen=True)
class ToolsetLocation(_Located):
    """Where the configuration and the data are, and the project and the toolset in force."""

    toolset: Toolset = None
    project: Project = None
    config: ConfigFile = None
    data_dir: DataDir = None


OpenApprovalId = Annotated[str, argument("ID", "An id, or its beginning.", complete.open_approvals)]
ToolsetName = Annotated[str, argument("NAME|PATH", "The toolset: a name, or the path of a file.", complete.toolsets)]
ToolKeys = Annotated[
    list[str] | None, argument("KEY...|-", "Tools: server:tool or server:*; - reads keys from stdin.", complete.tools)
]
Timeout = Annotated[
    float | None,
    option("--timeout", "S", "Seconds that the call may take, in place of the server's call_timeout_s.", min=0.1),
]
Rename = Annotated[
    list[str] | None,
    option("--rename", "OLD=NEW", "Call the server OLD NEW; of several OLD, the one that cannot stay OLD."),
]
DryRun = Annotated[bool, flag("--dry-run", "Print the changes as a diff; write nothing.")]
Yes = Annotated[bool, flag("--yes -y", "Write without asking.")]
NoCheck = Annotated[bool, flag("--no-check", "Do not ask servers with a URL whether they need a login.")]


@dataclass(frozen=True)
class WhichTools(Options):
    """The filters of tool lists."""

    server: ServerFilter = None
    read_only: Annotated[
        bool | None, flag("--read-only/--no-read-only", "Only read-only tools; with --no-read-only, only the others.")
    ] = None
    destructive: Annotated[
        bool | None, flag("--destructive/--no-destructive", "Only tools that may destroy; or only the others.")
    ] = None
    idempotent: Annotated[
        bool | None, flag("--idempotent/--no-idempotent", "Only tools that are safe to repeat; or only the others.")
    ] = None
    open_world: Annotated[
        bool | None, flag("--open-world/--no-open-world", "Only tools that reach outside; or only the others.")
    ] = None

    def wanted(self) -> "ToolFilter":
        from mcpctl.catalog.rows import ToolFilter

        servers = listed("server", self.server)
        return ToolFilter(servers, self.read_only, self.destructive, self.idempotent, self.open_world)


def one_of(option: str, value: str | None, values: tuple[str, ...]) -> None:
    """Raise `WrongUsage` for a value that an option does not have."""
    from mcpctl.store import filters

    filters.one_of(f"--{option}", value, values)


def listed(option: str, given: Sequence[str] | None, allowed: Sequence[str] | None = None) -> tuple[str, ...]:
    """The values of an option that may be repeated or take several with commas between them, each once."""
    from mcpctl.store import filters

    return filters.values_of(f"--{option}", given, allowed)
