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
    from mcpctl.base.paths import Paths
    from mcpctl.catalog.rows import ToolFilter
    from mcpctl.output import ListOptions
    from mcpctl.store.records import Records


def option(name: str, metavar: str, help: str, completer: Callable[..., Any] | None = None) -> Any:
    """An option with a value, and no default that its help would show."""
    return typer.Option(name, metavar=metavar, help=help, show_default=False, autocompletion=completer)


def argument(metavar: str, help: str, completer: Callable[..., Any] | None = None) -> Any:
    """A word of a command line, or several."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=completer)


class Options:
    """Options that commands share: in place of a parameter of such a class, a command has the class's fields."""


ConfigFile = Annotated[Path | None, option("--config", "FILE", "Read servers from FILE (also: MCPCTL_CONFIG).")]
DataDir = Annotated[Path | None, option("--data-dir", "DIR", "Keep data in DIR (also: MCPCTL_DATA_DIR).")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Copy the stderr of the servers to stderr.")]


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


Json = Annotated[bool, typer.Option("--json", help="Print one JSON array, or one object for a single thing.")]
FromScript = Annotated[
    bool,
    typer.Option(
        "--from-script", help="Write also what lets more be called without a question, where no person runs this."
    ),
]
Jsonl = Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")]
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="FORMAT", help="table, tsv, json or jsonl.",
        autocompletion=complete.choices("table", "tsv", "json", "jsonl"),
    ),
]  # fmt: skip
Fields = Annotated[
    str | None,
    option("--fields", "A,B", "Print these fields, or columns by their headings, in this order.", complete.fields),
]
By = Annotated[str | None, option("--by", "GROUP", "Group the rows by this: risk.", complete.choices("risk"))]
Sort = Annotated[
    str | None,
    option(
        "--sort",
        "FIELD",
        "Sort the rows by key, tool, usage or last_used.",
        complete.choices("key", "tool", "usage", "last_used"),
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=0, help="Print at most N rows; 0: all.", show_default=False),
]
Offset = Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Leave out the first N rows.")]
Count = Annotated[bool, typer.Option("--count", help="Print only the number of rows.")]


@dataclass(frozen=True)
class Rows(Options):
    """How rows are printed, all of them."""

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
        """The same with the window."""
        from mcpctl.output import MOST

        limit = None if self.limit is None else min(self.limit, MOST)
        return replace(super().chosen(), limit=limit, offset=min(self.offset, MOST), count=self.count)


ServerFilter = Annotated[list[str] | None, option("--server", "NAME,…", "Only of these servers.", complete.servers)]


ServerName = Annotated[str, argument("NAME", "The server's name.", complete.servers)]
ServerNames = Annotated[list[str], argument("NAME...", "The servers' names.", complete.servers)]
NewServerName = Annotated[str, argument("NAME", "The server's name.")]
ToolKey = Annotated[str, argument("KEY", "The tool: server:tool.", complete.tools)]
TheseTools = Annotated[list[str], argument("KEY...", "The tools: server:tool.", complete.tools)]
BarredTools = Annotated[list[str], argument("KEY...", "The tools: server:tool.", complete.barred_tools)]
Project = Annotated[
    str | None,
    typer.Option(
        "--project", metavar="NAME", show_default=False, autocompletion=complete.projects,
        envvar="MCPCTL_PROJECT", show_envvar=False,
        help="The project in force: only its servers are seen (also: MCPCTL_PROJECT).",
    ),
]  # fmt: skip
Toolset = Annotated[
    str | None,
    option(
        "--toolset",
        "NAME|PATH",
        "The toolset in force, or none (also: MCPCTL_TOOLSET; else the project's or the equipped one).",
        complete.toolsets,
    ),
]


class _Placed(Options):
    """Options that say where the configuration and the data are."""

    config: Path | None
    data_dir: Path | None

    def paths(self, *, creates: bool = False) -> "Paths":
        """Their paths; a command that `creates` the configuration file may name one that is missing."""
        return chosen(self.config, self.data_dir, creates=creates)


@dataclass(frozen=True)
class Place(_Placed):
    """Where the configuration and the data are."""

    config: ConfigFile = None
    data_dir: DataDir = None


@dataclass(frozen=True)
class ProjectPlace(_Placed):
    """The same, with the project in force."""

    project: Project = None
    config: ConfigFile = None
    data_dir: DataDir = None


@dataclass(frozen=True)
class ToolsetPlace(_Placed):
    """The same, with the project and the toolset in force."""

    toolset: Toolset = None
    project: Project = None
    config: ConfigFile = None
    data_dir: DataDir = None


ApprovalId = Annotated[str, argument("ID", "An id, its beginning, or last.", complete.approvals)]
OpenApprovalId = Annotated[str, argument("ID", "An id, or its beginning.", complete.open_approvals)]
ToolsetName = Annotated[str, argument("NAME|PATH", "The toolset: a name, or the path of a file.", complete.toolsets)]
ToolKeys = Annotated[
    list[str] | None, argument("KEY...|-", "Tools: server:tool or server:*; - reads keys from stdin.", complete.tools)
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", min=0.1, help="Seconds that the call may take, in place of the server's call_timeout_s."),
]
Rename = Annotated[
    list[str] | None,
    option("--rename", "OLD=NEW", "Call the server OLD NEW; of several OLD, the one that cannot stay OLD."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the changes as a diff; write nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]
NoCheck = Annotated[bool, typer.Option("--no-check", help="Do not ask servers with a URL whether they need a login.")]

ReadOnly = Annotated[
    bool | None, typer.Option("--read-only/--no-read-only", help="Only tools that (do not) only read.")
]
Destructive = Annotated[
    bool | None, typer.Option("--destructive/--no-destructive", help="Only tools that may (not) destroy.")
]
Idempotent = Annotated[
    bool | None, typer.Option("--idempotent/--no-idempotent", help="Only tools that are (not) safe to repeat.")
]
OpenWorld = Annotated[
    bool | None, typer.Option("--open-world/--no-open-world", help="Only tools that (do not) reach outside.")
]


@dataclass(frozen=True)
class WhichTools(Options):
    """The filters of tool lists."""

    server: ServerFilter = None
    read_only: ReadOnly = None
    destructive: Destructive = None
    idempotent: Idempotent = None
    open_world: OpenWorld = None

    def wanted(self) -> "ToolFilter":
        """Which tools are meant."""
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
