"""Options that several commands share."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcpctl.commands import complete
from mcpctl.commands.command_line import Commands
from mcpctl.paths import Paths, find

if TYPE_CHECKING:
    from mcpctl.store.records import Records

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Read servers from FILE (also: MCPCTL_CONFIG).", show_default=False),
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Keep data in DIR (also: MCPCTL_DATA_DIR).", show_default=False),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Copy the stderr of the servers to stderr.")]


def paths(config: Path | None, data_dir: Path | None, *, creates: bool = False) -> Paths:
    """The paths of the configuration and the data, from the options and the environment.

    A configuration file that was named must exist, unless the command `creates` it: a mistyped name is not an empty
    configuration.
    """
    result = find(config, data_dir)
    if (config or os.environ.get("MCPCTL_CONFIG")) and not creates and not result.config.exists():
        from mcpctl.errors import Unusable

        hint = "check the name; mcpctl servers add creates a new file"
        raise Unusable(f"there is no configuration file {result.config}", hint, "config_missing")
    return result


READING = "reading records"


@contextmanager
def records(data_dir: Path | None) -> "Iterator[Records]":
    """The records, brought up to date; a terminal shows the progress if it takes long.

    A data directory that was named must exist: a mistyped name is not an empty record.
    """
    from mcpctl import output
    from mcpctl.store.records import Records

    if data_dir and not data_dir.exists():
        from mcpctl.errors import Unusable

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
    typer.Option(
        "--fields", metavar="A,B", show_default=False,
        help="Print these fields, or columns by their headings, in this order.",
        autocompletion=complete.fields,
    ),
]  # fmt: skip
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="GROUP",
        help="Group the rows by this: risk.",
        show_default=False,
        autocompletion=complete.choices("risk"),
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="FIELD",
        help="Sort the rows by key, tool, usage or last_used.",
        show_default=False,
        autocompletion=complete.choices("key", "tool", "usage", "last_used"),
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=0, help="Print at most N rows; 0: all.", show_default=False),
]
Offset = Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Leave out the first N rows.")]
Count = Annotated[bool, typer.Option("--count", help="Print only the number of rows.")]

ServerFilter = Annotated[
    list[str] | None,
    typer.Option(
        "--server", metavar="NAME,…", help="Only of these servers.", show_default=False, autocompletion=complete.servers
    ),
]


ServerName = Annotated[str, typer.Argument(metavar="NAME", help="The server's name.", autocompletion=complete.servers)]
ServerNames = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="The servers' names.", autocompletion=complete.servers)
]
NewServerName = Annotated[str, typer.Argument(metavar="NAME", help="The server's name.")]
ToolKey = Annotated[str, typer.Argument(metavar="KEY", help="The tool: server:tool.", autocompletion=complete.tools)]
TheseTools = Annotated[
    list[str], typer.Argument(metavar="KEY...", help="The tools: server:tool.", autocompletion=complete.tools)
]
BarredTools = Annotated[
    list[str], typer.Argument(metavar="KEY...", help="The tools: server:tool.", autocompletion=complete.barred_tools)
]
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
    typer.Option(
        "--toolset", metavar="NAME|PATH", show_default=False, autocompletion=complete.toolsets,
        help="The toolset in force, or none (also: MCPCTL_TOOLSET; else the project's or the equipped one).",
    ),
]  # fmt: skip
ApprovalId = Annotated[
    str, typer.Argument(metavar="ID", help="An id, its beginning, or last.", autocompletion=complete.approvals)
]
OpenApprovalId = Annotated[
    str, typer.Argument(metavar="ID", help="An id, or its beginning.", autocompletion=complete.open_approvals)
]
ToolsetName = Annotated[
    str,
    typer.Argument(
        metavar="NAME|PATH", help="The toolset: a name, or the path of a file.", autocompletion=complete.toolsets
    ),
]
ToolKeys = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY...|-",
        help="Tools: server:tool or server:*; - reads keys from stdin.",
        autocompletion=complete.tools,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", min=0.1, help="Seconds that the call may take, in place of the server's call_timeout_s."),
]
Rename = Annotated[
    list[str] | None,
    typer.Option(
        "--rename", metavar="OLD=NEW", help="Call the server OLD NEW; of several OLD, the one that cannot stay OLD.",
        show_default=False,
    ),
]  # fmt: skip
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


def group(help: str) -> typer.Typer:
    """A noun, to which its verbs are added."""
    return Commands(help=help, no_args_is_help=True, rich_markup_mode=None, context_settings=HELP)


HELP = {"help_option_names": ["-h", "--help"]}


def one_of(option: str, value: str | None, values: tuple[str, ...]) -> None:
    """Raise `WrongUsage` for a value that an option does not have."""
    from mcpctl.store import asking

    asking.one_of(f"--{option}", value, values)


def listed(option: str, given: Sequence[str] | None, allowed: Sequence[str] | None = None) -> tuple[str, ...]:
    """The values of an option that may be repeated or take several with commas between them, each once."""
    from mcpctl.store import asking

    return asking.listed(f"--{option}", given, allowed)
