"""Options that several commands share."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import OptionInfo

from mcpctl.base.errors import WrongUsage
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths, chosen
from mcpctl.commands import complete

if TYPE_CHECKING:
    from mcpctl.catalog.rows import ToolFilter
    from mcpctl.commands.confirmation import Gate
    from mcpctl.output import ListOptions
    from mcpctl.store.records import LocalRecords


def option(
    names: str,
    metavar: str,
    help: str,
    completer: Callable[..., Any] | Sequence[str] | None = None,
    *,
    default: Any = None,
    **settings: Any,
) -> Any:
    """An option with a value, whose default is shown; `names` are separated by a space. Choices may be a sequence."""
    settings = {"show_default": default not in (None, "", ...), "autocompletion": _completer(completer), **settings}
    return typer.Option(default, *names.split(), metavar=metavar, help=help, **settings)


def _completer(completer: Callable[..., Any] | Sequence[str] | None) -> Callable[..., Any] | None:
    return completer if completer is None or callable(completer) else complete.choices(*completer)


def flag(names: str, help: str, *, default: Any = False) -> Any:
    return typer.Option(default, *names.split(), help=help)


def argument(
    metavar: str, help: str, completer: Callable[..., Any] | Sequence[str] | None = None, *, default: Any = ...
) -> Any:
    """A word of a command line, or several; required without a default."""
    return typer.Argument(default, metavar=metavar, help=help, autocompletion=_completer(completer))


class Options:
    """Options that commands share: in place of a parameter of such a class, a command has the class's fields. Every
    command imports some, and a dataclass of each would take a tenth of its start."""

    def __init_subclass__(cls, section: str | None = None) -> None:
        """The options of a class are in one section of a long help, unless they are in another already."""
        for each in vars(cls).values():
            if isinstance(each, OptionInfo):
                each.rich_help_panel = each.rich_help_panel or section

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    @classmethod
    def defaults(cls) -> dict[str, tuple[Any, Any]]:
        """The types and defaults of the fields, in their order."""
        classes = [each for each in reversed(cls.__mro__) if issubclass(each, Options)]
        types = {name: type_ for each in classes for name, type_ in vars(each).get("__annotations__", {}).items()}
        return {name: (type_, getattr(cls, name)) for name, type_ in types.items()}


CONFIG = option("--config", "FILE", "Read servers from FILE (also: MCPCTL_CONFIG).")
DATA_DIR = option("--data-dir", "DIR", "Keep data in DIR (also: MCPCTL_DATA_DIR).")
JSON = flag("--json", "Print one JSON array, or one object for a single thing.")
JSONL = flag("--jsonl", "Print one JSON object a line.")
FROM_SCRIPT = flag("--from-script", "Allow what only a person may: more calls without a question.")
FIELDS = option("--fields", "A,B", "Print these fields or columns, in this order.", complete.fields)
SERVERS = option("--server", "NAME,…", "Only of these servers.", complete.servers)
PROJECT = option(
    "--project", "NAME", "The project in force: only its servers are seen (also: MCPCTL_PROJECT).", complete.projects,
    envvar="MCPCTL_PROJECT", show_envvar=False,
)  # fmt: skip
PROJECT_OR_HERE = option(
    "--project", "[NAME]",
    "The project in force: only its servers are seen (also: MCPCTL_PROJECT). Without NAME: write the client's file of"
    " this repository.", complete.projects, envvar="MCPCTL_PROJECT", show_envvar=False,
)  # fmt: skip
HERE = ""  # in place of the project's name
TOOLSET = option(
    "--toolset", "NAME|PATH",
    "The toolset in force, or none (also: MCPCTL_TOOLSET; else the project's or the equipped one).", complete.toolsets,
)  # fmt: skip
TIMEOUT = option("--timeout", "S", "Seconds for the call, in place of the server's call_timeout_s.", min=0.1)
RENAME = option("--rename", "OLD=NEW", "Call the server OLD NEW; of several OLD, the one that cannot stay OLD.")
DRY_RUN = flag("--dry-run", "Print the changes as a diff; write nothing.")
YES = flag("--yes -y", "Write without asking.")
DIFF = flag("--diff", "Show the change of each file as a diff, too.")
NO_CHECK = flag("--no-check", "Do not ask servers with a URL whether they need a login.")
ServerName = Annotated[str, argument("NAME", "The server's name.", complete.servers)]
ServerNames = Annotated[list[str], argument("NAME...", "The servers' names.", complete.servers)]
ToolKey = Annotated[str, argument("KEY", "The tool: server:tool.", complete.tools)]
CallId = Annotated[str, argument("ID", "An id, its beginning, or last.", complete.calls)]
SessionId = Annotated[str, argument("ID", "An id, its beginning, or last.", complete.sessions)]
ApprovalId = Annotated[str, argument("ID", "An id, its beginning, or last.", complete.approvals)]
OpenApprovalId = Annotated[str, argument("ID", "An id, or its beginning.", complete.open_approvals)]
Standing = Annotated[str, argument("KEY|ID", "A tool, or the id of one yes.", complete.standing)]
TokenIds = Annotated[list[str], argument("ID...", "The tokens' ids or names.", complete.tokens)]
ToolsetName = Annotated[str, argument("NAME|PATH", "The toolset: a name, or the path of a file.", complete.toolsets)]
ToolKeys = Annotated[
    list[str] | None, argument("KEY...|-", "Tools: server:tool or server:*; - reads keys from stdin.", complete.tools)
]
READING = "reading records"
_FORMATS = ("table", "tsv", "json", "jsonl")


PROGRAM = "mcpctl.program"  # the words after `--`, in the context of a command


def _program(context: typer.Context) -> list[str]:
    return list(context.meta.get(PROGRAM, ()))


class AdHocServer(Options, section="A server that is not in config.toml"):
    url: str | None = option("--url", "URL", "The server at this address.")
    transport: str | None = option("--transport", "http|sse", "Streamable HTTP, or the older SSE.", ("http", "sse"))
    header: list[str] | None = option("--header", "NAME=VALUE", "A header; 'Bearer ${VAR}' keeps secrets out.")
    env: list[str] | None = option("--env", "NAME=VALUE", "A variable of the command; '${VAR}' keeps secrets out.")
    program: list[str] | None = option("--", "COMMAND [ARGS]...", "The server that it starts.", callback=_program)

    @property
    def is_given(self) -> bool:
        """Whether the command line has a server; raises `WrongUsage` where it has only a part of one."""
        if self.url is None and not self.program and (self.transport or self.header or self.env):
            raise WrongUsage("these options are for a server that is not in config.toml", "name it: --url URL")
        return self.url is not None or bool(self.program)


class Rows(Options, section="Output"):
    fields: str | None = FIELDS
    json: bool = JSON
    jsonl: bool = JSONL
    format: str = option("--format", "FORMAT", "table, tsv, json or jsonl.", _FORMATS, default="auto")

    def chosen(self) -> "ListOptions":
        """The options as one value; raises `WrongUsage` if they contradict each other."""
        from mcpctl import output

        return output.ListOptions(output.chosen_format(self.json, self.jsonl, self.format), self.fields)


class Listing(Rows, section="Output"):
    limit: int | None = option("--limit", "N", "Print at most N rows; 0: all.", min=0)
    offset: int = option("--offset", "N", "Leave out the first N rows.", min=0, default=0)
    count: bool = flag("--count", "Print only the number of rows.")

    def chosen(self) -> "ListOptions":
        from mcpctl.output import MOST

        limit = None if self.limit is None else min(self.limit, MOST)
        return replace(super().chosen(), limit=limit, offset=min(self.offset, MOST), count=self.count)


class OneThing(Options, section="Output"):
    fields: str | None = FIELDS
    json: bool = JSON

    def write(self, row: "Row", text: "Callable[[Row], Iterator[str]]") -> None:
        from mcpctl import output

        output.write_row(row, self.json, lambda: text(row), self.fields)


class Located(Options):
    if TYPE_CHECKING:
        config: Path | None
        data_dir: Path | None

    def paths(self, *, creates: bool = False) -> "Paths":
        """The paths of both; a command that `creates` the configuration file may name one that is missing."""
        return chosen(getattr(self, "config", None), self.data_dir, creates=creates)

    @contextmanager
    def records(self) -> "Iterator[LocalRecords]":
        """The records, brought up to date; a terminal shows the progress if it takes long. A data directory that was
        named must exist: a mistyped name is not an empty record."""
        from mcpctl import output
        from mcpctl.store.records import LocalRecords

        if self.data_dir and not self.data_dir.exists():
            from mcpctl.base.errors import Unusable

            hint = "check the name; a new one is made by mcpctl serve --data-dir"
            raise Unusable(f"there is no data directory {self.data_dir}", hint, "data_missing")
        paths = chosen(None, self.data_dir)
        with output.progress(READING) as on_progress, LocalRecords(paths, on_progress) as records:
            yield records


class DataLocation(Located):
    data_dir: Path | None = DATA_DIR


class Location(Located, section="Configuration"):
    config: Path | None = CONFIG
    data_dir: Path | None = DATA_DIR


class JsonLocation(Located):
    json: bool = JSON
    config: Path | None = CONFIG
    data_dir: Path | None = DATA_DIR


class ChangeOptions(Located):
    from_script: bool = FROM_SCRIPT
    json: bool = JSON
    config: Path | None = CONFIG
    data_dir: Path | None = DATA_DIR

    def gate(self, paths: "Paths", *, dry: bool = False) -> "Gate":
        from mcpctl.commands.confirmation import Gate

        return Gate(paths, self.from_script, dry)

    def preview(self, paths: "Paths", name: str, before: str, after: str) -> None:
        """Print the change of a server's entry as a diff, and warn of one that would be refused; nothing is written."""
        from mcpctl import output
        from mcpctl.base.errors import warn
        from mcpctl.clients import import_preview
        from mcpctl.output.text import block_of

        diff = import_preview.between(paths.config, before, after)
        self.gate(paths, dry=True).config(before, after)
        if self.json:
            output.write_done(True, lambda: {"name": name, "changed": before != after, "diff": diff})
            return
        output.write_lines(map(block_of, diff))
        if before != after and not diff:
            warn("only what is not shown here, such as the value of a variable, would change")


class ProjectLocation(Located, section="Configuration"):
    project: str | None = PROJECT
    config: Path | None = CONFIG
    data_dir: Path | None = DATA_DIR


class ToolsetLocation(Located, section="Configuration"):
    toolset: str | None = TOOLSET
    project: str | None = PROJECT
    config: Path | None = CONFIG
    data_dir: Path | None = DATA_DIR


class WhichTools(Options, section="Filters"):
    server: list[str] | None = SERVERS
    read_only: bool | None = flag("--read-only/--no-read-only", "Only read-only tools, or only others.", default=None)
    destructive: bool | None = flag(
        "--destructive/--no-destructive", "Only tools that may destroy, or only others.", default=None
    )
    idempotent: bool | None = flag(
        "--idempotent/--no-idempotent", "Only tools safe to repeat, or only others.", default=None
    )
    open_world: bool | None = flag(
        "--open-world/--no-open-world", "Only tools that reach outside, or only others.", default=None
    )

    def chosen(self) -> "ToolFilter":
        from mcpctl.catalog.rows import ToolFilter

        servers = listed("server", self.server)
        return ToolFilter(servers, self.read_only, self.destructive, self.idempotent, self.open_world)


def one_of(option: str, value: str | None, values: Sequence[str]) -> None:
    from mcpctl.store import filters

    filters.one_of(f"--{option}", value, values)


def refuse_with(option: str, value: object, other: str) -> None:
    """Raise `WrongUsage` where the option is given beside another that has no use for it."""
    if value is not None:
        raise WrongUsage(f"{option} and {other} are both given", "leave one of them out")


def listed(option: str, given: Sequence[str] | None, allowed: Sequence[str] | None = None) -> tuple[str, ...]:
    """The values of an option that may be repeated or take several with commas between them, each once."""
    from mcpctl.store import filters

    return filters.values_of(f"--{option}", given, allowed)


def say_project(project: str | None) -> None:
    """Name the project in force on a terminal: a person may have set it long ago, and it hides other servers."""
    if project is not None:
        from mcpctl import output

        output.say(f"only the servers of project '{project}'")


def moment(text: str | None, now: float, option: str = "--expires") -> float | None:
    """The moment that `--expires` or `--for` names, in seconds since the epoch; None where there is none."""
    import datetime
    import re

    if text is None:
        return None
    after = re.fullmatch(r"(\d{1,9})([mhdw])", text)
    units = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
    try:
        until = now + int(after[1]) * units[after[2]] if after else datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise WrongUsage(f"'{text}' is not a time", f"give {option} as 12h, 30d, 8w, or 2026-12-31") from None
    if not now < until < now + 100 * 365 * 86400:
        raise WrongUsage(f"'{text}' is not a time in the future", f"give {option} a time within a hundred years")
    return until
