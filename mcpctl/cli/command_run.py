"""One command line, run: failures become messages and exit codes."""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from mcpctl.base.errors import ExitCode, McpctlError, UnknownCommand, Unusable, WrongUsage

_AS_JSON = frozenset(("--json", "--jsonl", "--format=json", "--format=jsonl"))
_SURE = 0.85  # how alike a noun is that is meant, though the word is a verb
_MEANT = {  # words of other programs, each with the verb or command here
    "delete": "rm", "describe": "show", "exec": "call", "execute": "call", "find": "search", "info": "show",
    "inspect": "show", "invoke": "call", "list": "ls", "log": "logs", "ps": "sessions ls", "query": "search",
    "remove": "rm", "run": "call", "watch": "tail", "update": "refresh",
    "history": "calls ls", "mcp": "serve", "proxy": "serve", "session": "sessions",
    "setup": "init", "start": "serve", "status": "doctor", "test": "servers check",
    "configure": "config edit", "settings": "config edit", "validate": "config check",
    "ui": "dashboard", "usage": "calls stats", "verify": "doctor", "web": "dashboard",
}  # fmt: skip
_INSTEAD = {  # words for which there is no command, each with a sentence on what there is
    "completion": "completion for bash, zsh and fish comes with the package; see: mcpctl help setup-guide",
    "upgrade": "upgrade it as it was installed, such as with: pip install --upgrade; then restart the clients",
}
_SAME = {"completions": "completion", "self-update": "upgrade"}


def run(words: Sequence[str]) -> int:
    """The exit status."""
    if shell := os.environ.get("_MCPCTL_COMPLETE"):
        _complete(shell, words)
    try:
        _run(words)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else ExitCode.FAILED
    except UnknownCommand as error:
        error.hint = _hint(error.word, error.noun)
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

    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise WrongUsage("an argument is not UTF-8", "pass UTF-8 text") from None
    tree(*words[:2])(args=words, prog_name="mcpctl")


def _hint(word: str, noun: str) -> str:
    """The commands that an unknown `word` may have meant, first in its line or behind a `noun`; none is ever run."""
    from mcpctl.cli.command_tree import ALONE, NOUNS, verbs

    if (known := _SAME.get(word, word)) in _INSTEAD and not noun:
        return _INSTEAD[known]
    tree: dict[str, tuple[str, ...]] = dict.fromkeys((*ALONE, "help"), ())
    tree |= {name: verbs(name) for name in NOUNS}
    if meant := list(dict.fromkeys(_meant(word, tree, noun)))[:3]:
        return f"did you mean: {' or '.join(f'mcpctl {command}' for command in meant)}?"
    return f"list commands with: mcpctl {f'{noun} ' if noun else ''}-h"


def _meant(word: str, verbs: Mapping[str, tuple[str, ...]], noun: str) -> Iterator[str]:
    """The likeliest command first."""
    from mcpctl.base.near_names import alike

    meant = _MEANT.get(word, word)
    own = verbs.get(noun, ())
    if noun and (near := [meant] if meant in own else alike(word, own)):
        yield from (f"{noun} {verb}" for verb in near)
        return
    by_verb: dict[str, list[str]] = {}
    for name in ("tools", "servers", "calls", *verbs):  # their verbs are meant most often
        for verb in verbs[name]:
            by_verb.setdefault(verb, []).append(f"{name} {verb}")
    if meant in by_verb:
        yield from by_verb[meant]
        yield from alike(word, verbs, cutoff=_SURE)
    elif meant != word or meant in verbs:
        yield meant
    else:
        for name in alike(word, [*verbs, *by_verb]):
            yield from [name] if name in verbs else by_verb[name]


def _complete(shell: str, request: Sequence[str]) -> NoReturn:
    from mcpctl.cli import tab_completion
    from mcpctl.cli.command_tree import tree

    print(tab_completion.answer(tree, shell, request), end="", flush=True)
    os._exit(ExitCode.OK)  # skips the clean-up of the interpreter, a tenth of the time of a Tab


def _report(error: McpctlError, args: Sequence[str]) -> int:
    from mcpctl import output

    options = list(args[: args.index("--")] if "--" in args else args)
    forms = {*options, *(f"{name}={value}" for name, value in itertools.pairwise(options))}
    output.report(error, as_json=not forms.isdisjoint(_AS_JSON))
    return error.exit_code
