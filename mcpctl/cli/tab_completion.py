"""The answers to the Tab key, for the scripts in completions/.

A script runs `_MCPCTL_COMPLETE=SHELL mcpctl LINE [TEXT]`: the command line up to the cursor as it was typed, and in
bash the part of its last word that bash would replace. The first line of the answer is `words`, `files` or `dirs`;
`words` is followed by one candidate a line, escaped so that the shell can insert it and never runs it.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator, Sequence

import typer
import typer.main
from typer._click.shell_completion import _resolve_context, _resolve_incomplete

from mcpctl.base.texts import one_line

VARIABLE = "_MCPCTL_COMPLETE"
Tree = Callable[[str | None], typer.Typer]
Candidates = Sequence[tuple[str, str]]

_CURSOR = "\0"  # no argument can have it
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TAKES = {"FILE": "files", "COMMAND": "files", "DIR": "dirs"}  # by metavar, where there are no candidates
_MAX_HELP = 120
_SPECIAL = re.compile(r"([^\w./:@%+=,-])")


def answer(tree: Tree, shell: str, request: Sequence[str]) -> str:
    try:
        # A callback that prints must not add its words to the candidates.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            line, *text = request
            kind, items = candidates(tree, line)
            return "".join(f"{row}\n" for row in (kind, *_FORMATS[shell](items, line, *text)))
    except Exception:
        return ""


def candidates(tree: Tree, line: str) -> tuple[str, Candidates]:
    """The kind of answer, `words`, `files` or `dirs`, and for `words` the candidates, each with its description."""
    *words, incomplete = _split(line)[0]
    noun = next((word for word in words if not word.startswith("-")), None)
    context = _resolve_context(typer.main.get_command(tree(noun)), {}, "mcpctl", words)
    if context._protected_args:  # an earlier word is an unknown command, so nothing can follow
        return "words", []
    if "--" in words and getattr(context.command, "takes_program", False):
        return "files", []
    taker, rest = _resolve_incomplete(context, words, incomplete)
    items = taker.shell_complete(context, rest)
    if not items and not rest and taker is context.command:
        items = taker.shell_complete(context, "-")  # every argument is there: only options can follow
    lead = incomplete[: len(incomplete) - len(rest)]
    # Only a candidate on one line, which cannot command a terminal, can be inserted as it is.
    safe = [item for item in items if item.type == "plain" and item.value and item.value.isprintable()]
    result = [(lead + item.value, one_line((item.help or "")[:_MAX_HELP])) for item in safe]
    if result:
        return "words", result
    metavar = re.search(r"(?<!@)\b(FILE|COMMAND|DIR)\b", getattr(taker, "metavar", None) or "")
    return _TAKES[metavar[1]] if metavar else "words", []


def _split(line: str) -> tuple[list[str], str]:
    """The unquoted words between the program's name and the cursor, and the quote that is open at the cursor."""
    lexer = shlex.shlex(line + _CURSOR, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words, quote = [], ""
    try:
        while (word := lexer.get_token()) is not None:
            words.append(word)
    except ValueError:  # a quote is open
        words.append(lexer.token)
        quote = str(vars(lexer)["state"])  # typeshed does not know it
    words[-1] = words[-1].removesuffix(_CURSOR)
    while _ASSIGNMENT.match(words[0]):
        del words[0]
    return words[1:], quote


def _for_bash(candidates: Candidates, line: str, text: str = "") -> Iterator[str]:
    """The parts of candidates that replace `text`: bash ends words at `:` and `=`, unless configured otherwise."""
    words, quote = _split(line)
    last = text if quote else _split(f"mcpctl {text}")[0][-1]
    start = max(0, len(words[-1]) - len(last))
    for value, _ in candidates:
        rest = value[start:]
        if not quote:
            yield _SPECIAL.sub(r"\\\1", rest)
        elif not _SPECIAL.search(rest):
            yield rest


def _for_zsh(candidates: Candidates, line: str) -> Iterator[str]:
    for value, description in candidates:
        escaped = value.replace("\\", "\\\\").replace(":", "\\:")
        yield f"{escaped}:{description}" if description else escaped


def _for_fish(candidates: Candidates, line: str) -> Iterator[str]:
    for value, description in candidates:
        yield f"{value}\t{description}" if description else value


_FORMATS: dict[str, Callable[..., Iterator[str]]] = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}
