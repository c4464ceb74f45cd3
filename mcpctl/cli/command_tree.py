"""The command tree: a command is the function that its file is named after; a noun has `HELP` and `VERBS`."""

import functools
import inspect
import keyword
import os
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from mcpctl import __version__
from mcpctl.commands.command_line import Commands
from mcpctl.commands.options import Options

COMMANDS = ("serve", "install", "uninstall", "demo", "doctor", "help", "version")
"""The commands without a noun."""
ALONE = tuple(name for name in COMMANDS if name != "help")
"""Those of them that need no other; `help` tells of all."""
NOUNS = (
    "servers", "tools", "prompts", "resources", "toolsets", "annotate", "policy", "approvals", "tokens", "sessions",
    "calls", "dashboard", "db",
)  # fmt: skip
_SETTINGS: dict[str, Any] = {"rich_markup_mode": None, "context_settings": {"help_option_names": ["-h", "--help"]}}


def tree(noun: str | None = None, verb: str | None = None) -> typer.Typer:
    """The command tree; with a noun only that branch or command, with a verb only that command, since each other one
    is a module more to import."""
    app = Commands(
        help="One MCP entry in front of all your MCP servers, and a toolkit around it.",
        epilog="Environment: MCPCTL_HOME, MCPCTL_CONFIG, MCPCTL_DATA_DIR, MCPCTL_PROJECT, MCPCTL_TOOLSET, MCPCTL_TOKEN,"
        " MCPCTL_DEBUG, NO_COLOR.",
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
        for command in COMMANDS:
            app.command(command)(_function(command))
        for each in NOUNS:
            app.add_typer(_branch(each), name=each)
    return app


def verbs(noun: str) -> tuple[str, ...]:
    """The verbs of a noun, as its help lists them."""
    listed: tuple[str, ...] = import_module(f"mcpctl.commands.{noun}").VERBS
    return listed


def _branch(noun: str, verb: str | None = None) -> typer.Typer:
    """A noun with that verb; with all of them if it has no such verb, so that it can list them."""
    if help_ := import_module(f"mcpctl.commands.{noun}").HELP:
        app = Commands(help=help_, no_args_is_help=True, **_SETTINGS)
    else:
        app = Commands(subcommand_metavar="[COMMAND]", **_SETTINGS)
        app.callback(invoke_without_command=True)(_function(noun, noun))
    every = verbs(noun)
    for each in (verb,) if verb in every else every:
        app.command(each)(_function(noun, each))
    return app


@functools.cache
def _function(*words: str) -> Callable[..., Any]:
    """The function of a command, imported from its file, with each of its options as a parameter."""
    *nouns, name = words
    name += "_" if keyword.iskeyword(name) else ""
    return _expanded(getattr(import_module(".".join(("mcpctl.commands", *nouns, name))), name))


def _expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the fields of `Options` in place of each parameter of such a class."""
    expanded: list[inspect.Parameter] = []
    shared: dict[str, tuple[type[Options], list[str]]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, Options):
            fields = inspect.signature(kind).parameters
            shared[parameter.name] = kind, list(fields)
            expanded.extend(fields.values())
        else:
            expanded.append(parameter)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, (kind, fields) in shared.items():
            given[name] = kind(**{field: given.pop(field) for field in fields})
        command(**given)

    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in expanded]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in named}
    return run


def _show_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"mcpctl {__version__}")
        raise typer.Exit()


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colour (also: NO_COLOR).")] = False,
) -> None:
    if no_color:
        os.environ["NO_COLOR"] = "1"
        os.environ.pop("FORCE_COLOR", None)
