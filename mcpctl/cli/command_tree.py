"""The command tree: a command is the function that its file is named after, a noun the folder of its commands."""

import functools
import inspect
import keyword
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from mcpctl import __version__
from mcpctl import commands as package
from mcpctl.cli.parsing import Commands, Group
from mcpctl.commands import complete
from mcpctl.commands import options as opt

GROUPS = {  # of the help, in its order, as are all that follow: each noun and command is in one
    "Use": ("serve", "tools", "prompts", "resources", "toolsets", "annotate"),
    "Look": ("dashboard", "sessions", "calls", "records", "db"),
    "Decide": ("policy", "approvals", "tokens"),
    "Set up": ("init", "install", "uninstall", "servers", "config", "doctor"),
    "Learn": ("demo", "help", "version"),
}
COMMANDS = ("serve", "init", "install", "uninstall", "doctor", "demo", "help", "version")  # the commands without a noun
NOUNS = tuple(name for names in GROUPS.values() for name in names if name not in COMMANDS)
GUIDES = (  # section 7 of the manual
    "audit", "dashboard", "direct", "openapi", "policy", "projects", "sandbox", "search", "setup", "team", "toolsets",
)  # fmt: skip
ALONE = tuple(name for name in COMMANDS if name != "help")  # those of them that need no other; `help` tells of all
_FIRST = ("ls", "show", "search", "call", "build", "create", "add", "set", "edit", "rm")  # these verbs come first
_CLIENTS = "{clients}"  # in a docstring of a command: the names of all clients
_FOLDER = Path(package.__path__[0])
_SETTINGS: dict[str, Any] = {"rich_markup_mode": None, "context_settings": {"help_option_names": ["-h", "--help"]}}


class _Program(Group):
    """The commands and nouns of the program in the order of its help; typer has all commands first."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        names = (name for names in GROUPS.values() for name in names)
        self.commands = {name: self.commands[name] for name in names if name in self.commands}


def version(json: bool = opt.JSON) -> None:
    """Print the version, like --version.

    Example:
      mcpctl version
    """
    from mcpctl import output

    output.write_done(json, lambda: {"version": __version__}, f"mcpctl {__version__}")


def help(
    ctx: typer.Context,
    words: list[str] | None = opt.argument(
        "[WORD]...", "The words of a command, such as: calls ls, or a guide.", complete.commands, default=None
    ),
) -> None:
    """Print the help of a command, like -h, or a guide.

    The guides are section 7 of the manual: audit, dashboard, direct, openapi, policy, projects, sandbox, search, setup,
    team and toolsets. One that is not called like a command may be named without -guide.

    Examples:
      mcpctl help
      mcpctl help calls ls
      mcpctl help policy-guide
    """
    program = ctx.find_root().command
    name = words[0].removesuffix("-guide") if words and len(words) == 1 else ""
    if name in GUIDES and (words != [name] or name not in NOUNS):
        from mcpctl.cli import guides

        guides.write(name)
    else:
        program([*(words or []), "--help"], prog_name="mcpctl")


_HERE: dict[str, Callable[..., Any]] = {"version": version, "help": help}


def tree(noun: str | None = None, verb: str | None = None) -> typer.Typer:
    """The command tree, with a noun only its branch, with a verb only that command: others are modules to import."""
    app = Commands(
        cls=_Program,
        help="One MCP entry in front of all your MCP servers, and a toolkit around it.",
        epilog="Environment: MCPCTL_HOME, MCPCTL_CONFIG, MCPCTL_DATA_DIR, MCPCTL_PROJECT, MCPCTL_TOOLSET, MCPCTL_TOKEN,"
        " MCPCTL_STORE, MCPCTL_DEBUG, NO_COLOR.\n\n"
        f"Guides: mcpctl help NAME-guide, where NAME is {', '.join(GUIDES[:-1])} or {GUIDES[-1]}.",
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        add_completion=False,  # the scripts in completions/ never run a tool name that a server chose
        **_SETTINGS,
    )
    app.callback()(_root)
    if noun in ALONE:
        app.command(noun)(_function(noun))
    elif noun in NOUNS:
        app.add_typer(_branch(noun, verb), name=noun)
    else:
        for group, names in GROUPS.items():
            for name in names:
                if name in COMMANDS:
                    app.command(name, rich_help_panel=group)(_function(name))
                else:
                    app.add_typer(_branch(name), name=name, rich_help_panel=group)
    return app


def verbs(noun: str) -> tuple[str, ...]:
    files = {path.stem.rstrip("_") for path in (_FOLDER / noun).glob("[a-z]*.py")} - {noun}
    return (*(verb for verb in _FIRST if verb in files), *sorted(files.difference(_FIRST)))


def _branch(noun: str, verb: str | None = None) -> typer.Typer:
    """A noun with that verb; with all of them if it has no such verb, so that it can list them."""
    if (_FOLDER / noun / f"{noun}.py").is_file():  # the noun is a command by itself
        app = Commands(subcommand_metavar="[COMMAND]", **_SETTINGS)
        app.callback(invoke_without_command=True)(_function(noun, noun))
    else:
        app = Commands(help=import_module(f"mcpctl.commands.{noun}").__doc__, no_args_is_help=True, **_SETTINGS)
    for name in (verb,) if verb and _has(noun, verb) else verbs(noun):
        app.command(name)(_function(noun, name))
    return app


def _has(noun: str, verb: str) -> bool:
    """Whether the noun has this verb, told by its file alone: listing the folder takes longer."""
    return verb.isalpha() and verb.islower() and verb != noun and (_FOLDER / noun / f"{_stem(verb)}.py").is_file()


def _stem(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


@functools.cache
def _function(*words: str) -> Callable[..., Any]:
    *nouns, name = words
    if words[0] in _HERE:
        return _expanded(_HERE[words[0]])
    return _expanded(getattr(import_module(".".join(("mcpctl.commands", *nouns, _stem(name)))), _stem(name)))


def _expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the fields of `Options` in place of each parameter of such a class."""
    expanded: list[inspect.Parameter] = []
    shared: dict[str, tuple[type[opt.Options], list[str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, opt.Options):
            fields = kind.defaults()
            shared[parameter.name] = kind, list(fields)
            expanded.extend(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)
                for name, (type_, default) in fields.items()
            )
        else:
            expanded.append(parameter)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, fields) in shared.items():
            given[name] = kind(**{field: given.pop(field) for field in fields})
        command(**given)

    named = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in expanded]
    about = inspect.getdoc(command) or ""
    if _CLIENTS in about:
        from mcpctl.clients.client_kinds import CLIENTS

        about = about.replace(_CLIENTS, ", ".join(CLIENTS))
    run.__doc__ = about.replace("\n\nExample", "\n\n\b\nExample")  # \b: not wrapped
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in named}
    return run


def _show_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"mcpctl {__version__}")
        raise typer.Exit()


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
    no_color: bool = opt.flag("--no-color", "Print without colour (also: NO_COLOR)."),
) -> None:
    if no_color:
        os.environ["NO_COLOR"] = "1"
        os.environ.pop("FORCE_COLOR", None)
