"""The entry point: runs the command tree; failures become messages and exit codes."""

import atexit
import codecs
import copy
import gc
import importlib
import io
import itertools
import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from mcpctl import __version__
from mcpctl.commands import options as opt
from mcpctl.commands.command_line import Commands, UnknownCommand
from mcpctl.commands.demo import demo
from mcpctl.commands.doctor import doctor
from mcpctl.commands.help import help
from mcpctl.commands.install import install
from mcpctl.commands.serve import serve
from mcpctl.commands.uninstall import uninstall
from mcpctl.commands.version import version
from mcpctl.errors import ExitCode, McpctlError, Unusable, WrongUsage

# Without this the interpreter collects garbage before it ends, a tenth of the time of a short command.
atexit.register(gc.freeze)

ALONE = {command.__name__: command for command in (serve, install, uninstall, demo, doctor, version)}
"""The commands without a noun that need no other; `help` tells of all."""
NOUNS = (
    "servers", "tools", "prompts", "resources", "toolsets", "annotate", "policy", "approvals", "tokens", "sessions",
    "calls", "dashboard", "db",
)  # fmt: skip


def tree(noun: str | None = None, verb: str | None = None) -> typer.Typer:
    """The command tree; with a noun only that branch or command, with a verb only that command, since others cost
    start-up time."""
    app = Commands(
        help="One MCP entry in front of all your MCP servers, and a toolkit around it.",
        epilog="Environment: MCPCTL_HOME, MCPCTL_CONFIG, MCPCTL_DATA_DIR, MCPCTL_PROJECT, MCPCTL_TOOLSET, MCPCTL_TOKEN,"
        " MCPCTL_DEBUG, NO_COLOR.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings=opt.HELP,
        add_completion=False,  # the scripts in completions/ never run a tool name that a server chose
    )
    app.callback()(root)
    if noun in ALONE:
        app.command()(ALONE[noun])
        return app
    if noun not in NOUNS:
        for command in (serve, install, uninstall, demo, doctor, help, version):
            app.command()(command)
    for name in (noun,) if noun in NOUNS else NOUNS:
        branch = importlib.import_module(f"mcpctl.commands.{name}").app
        app.add_typer(_only(verb, branch) if name == noun else branch, name=name)
    return app


def _only(verb: str | None, branch: typer.Typer) -> typer.Typer:
    """The branch with only that command; the whole branch if it has no such command, so that it can list its
    commands."""
    commands = branch.registered_commands
    matches = [command for command in commands if verb in (command.name, getattr(command.callback, "__name__", None))]
    if verb is None or not matches:
        return branch
    smaller = copy.copy(branch)
    smaller.registered_commands = matches
    return smaller


def _show_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"mcpctl {__version__}")
        raise typer.Exit()


def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colour (also: NO_COLOR).")] = False,
) -> None:
    if no_color:
        os.environ["NO_COLOR"] = "1"
        os.environ.pop("FORCE_COLOR", None)


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit status."""
    words = list(sys.argv[1:] if args is None else args)
    if sys.platform == "win32":
        print("mcpctl: Windows is not supported yet; use it in WSL", file=sys.stderr)
        return ExitCode.FAILED
    _prepare_streams()
    if shell := os.environ.get("_MCPCTL_COMPLETE"):
        _complete(shell, words)
    try:
        _refuse_bytes(words)
        tree(*words[:2])(args=words, prog_name="mcpctl")
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else ExitCode.FAILED
    except UnknownCommand as error:
        error.hint = _meant(error)
        return _report(error, words)
    except McpctlError as error:
        return _report(error, words)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else "the system"
        hint = "check its owner and permissions, or choose another place with MCPCTL_HOME, --config or --data-dir"
        return _report(Unusable(f"{where}: {error.strerror or error}", hint, "system_error"), words)
    except Exception as error:
        if os.environ.get("MCPCTL_DEBUG"):
            raise
        bug = McpctlError(f"internal error: {error!r}", "run again with MCPCTL_DEBUG=1 to see where", "internal")
        return _report(bug, words)
    return ExitCode.OK


def _meant(error: UnknownCommand) -> str:
    """What an unknown command may have meant, of the whole tree."""
    from mcpctl.commands import unknown_commands

    verbs: dict[str, tuple[str, ...]] = dict.fromkeys((*ALONE, "help"), ())
    for noun in NOUNS:
        commands = importlib.import_module(f"mcpctl.commands.{noun}").app.registered_commands
        verbs[noun] = tuple(command.name or command.callback.__name__ for command in commands)
    return unknown_commands.hint(error.word, verbs, error.noun)


def _complete(shell: str, request: Sequence[str]) -> NoReturn:
    from mcpctl import tab_completion

    print(tab_completion.answer(tree, shell, request), end="", flush=True)
    os._exit(ExitCode.OK)  # skips the clean-up of the interpreter, a tenth of the time of a Tab


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: >&-
            setattr(sys, name, pathlib.Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for the life of the process
        elif hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    codecs.register_error("refuse", _refuse_stdin)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="refuse")


def _refuse_stdin(_: UnicodeError) -> NoReturn:
    raise WrongUsage("stdin is not UTF-8", "pass UTF-8 text")


def _refuse_bytes(args: Sequence[str]) -> None:
    try:
        "".join(args).encode()
    except UnicodeEncodeError:
        raise WrongUsage("an argument is not UTF-8", "pass UTF-8 text") from None


def _report(error: McpctlError, args: Sequence[str]) -> int:
    from mcpctl import output

    options = list(args[: args.index("--")] if "--" in args else args)
    forms = {*options, *(f"{name}={value}" for name, value in itertools.pairwise(options))}
    output.report(error, as_json=not forms.isdisjoint(_AS_JSON))
    return error.exit_code


_AS_JSON = frozenset(("--json", "--jsonl", "--format=json", "--format=jsonl"))
"""The options that ask for failures as JSON too; an option and its value are compared as one word."""
