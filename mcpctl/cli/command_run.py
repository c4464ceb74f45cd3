"""One command line, run: failures become messages and exit codes."""

import itertools
import os
from collections.abc import Sequence
from typing import NoReturn

from mcpctl.base.errors import ExitCode, McpctlError, UnknownCommand, Unusable, WrongUsage


def run(words: Sequence[str]) -> int:
    """Run the command line; returns its exit status."""
    if shell := os.environ.get("_MCPCTL_COMPLETE"):
        _complete(shell, words)
    try:
        _run(words)
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


def _run(words: Sequence[str]) -> None:
    if words == ["serve"]:  # as clients start it: the parser of options takes half of the start, and 2 MB
        from mcpctl.base import paths
        from mcpctl.proxy import process

        process.run(paths.chosen(), project=os.environ.get("MCPCTL_PROJECT") or None)
        return
    from mcpctl.cli.command_tree import tree

    _refuse_bytes(words)
    tree(*words[:2])(args=words, prog_name="mcpctl")


def _meant(error: UnknownCommand) -> str:
    """What an unknown command may have meant, of the whole tree."""
    from mcpctl.cli.command_tree import ALONE, NOUNS, verbs
    from mcpctl.commands import unknown_commands

    known: dict[str, tuple[str, ...]] = dict.fromkeys((*ALONE, "help"), ())
    known |= {noun: verbs(noun) for noun in NOUNS}
    return unknown_commands.hint(error.word, known, error.noun)


def _complete(shell: str, request: Sequence[str]) -> NoReturn:
    from mcpctl.cli import tab_completion
    from mcpctl.cli.command_tree import tree

    print(tab_completion.answer(tree, shell, request), end="", flush=True)
    os._exit(ExitCode.OK)  # skips the clean-up of the interpreter, a tenth of the time of a Tab


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
