"""The answer to a Tab: what the scripts in completions/ ask, and what they are told.

A script runs `_MCPCTL_COMPLETE=SHELL mcpctl LINE [TEXT]`: the command line up to the cursor as it was typed, and in
bash the part of its last word that bash would replace. The first line of the answer is `words`, `files` or `dirs`;
`words` is followed by one candidate a line, made so that the shell can insert it and nothing in it is ever run.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator, Sequence

import typer
import typer.main
from typer._click.shell_completion import CompletionItem, _resolve_context, _resolve_incomplete

VARIABLE = "_MCPCTL_COMPLETE"
Tree = Callable[[str | None], typer.Typer]
Found = Sequence[tuple[str, str]]

_CURSOR = "\0"  # no argument can have it
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TAKES = {"FILE": "files", "COMMAND": "files", "DIR": "dirs"}
"""What the metavar of an option or argument without candidates says that it takes."""
_TOLD = 120
_SPECIAL = re.compile(r"([^\w./:@%+=,-])")


def answer(tree: Tree, shell: str, asked: Sequence[str]) -> str:
    """What to tell the script of `shell`; empty when there is nothing to say, for whatever reason."""
    try:
        # Not even a callback that prints puts its words among the candidates.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            line, *text = asked
            kind, found = candidates(tree, line)
            return "".join(f"{row}\n" for row in (kind, *_FORMATS[shell](found, line, *text)))
    except Exception:
        return ""


def candidates(tree: Tree, line: str) -> tuple[str, Found]:
    """What may stand at the end of `line`: `words` and these, each with what it is, or `files` or `dirs`."""
    *given, incomplete = _split(line)[0]
    noun = next((word for word in given if not word.startswith("-")), None)
    context = _resolve_context(typer.main.get_command(tree(noun)), {}, "mcpctl", given)
    if context._protected_args:  # a word before names no command, so that nothing can follow
        return "words", []
    taker, rest = _resolve_incomplete(context, given, incomplete)
    items = taker.shell_complete(context, rest)
    if not items and not rest and taker is context.command:
        items = taker.shell_complete(context, "-")  # no argument is left: only options can follow
    lead = incomplete[: len(incomplete) - len(rest)]
    found = [(lead + item.value, _told(item)) for item in items if _is_whole(item)]
    if found:
        return "words", found
    takes = re.search(r"\b(FILE|COMMAND|DIR)\b", getattr(taker, "metavar", None) or "")
    return _TAKES[takes[1]] if takes else "words", []


def _split(line: str) -> tuple[list[str], str]:
    """The words after the program's name, unquoted, the last ending at the cursor; and the quote that is open there."""
    lexer = shlex.shlex(line + _CURSOR, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words, quote = [], ""
    try:
        while (word := lexer.get_token()) is not None:
            words.append(word)
    except ValueError:  # a quote is open
        words.append(lexer.token)
        quote = str(vars(lexer)["state"])  # which typeshed does not know
    words[-1] = words[-1].removesuffix(_CURSOR)
    while _ASSIGNMENT.match(words[0]):
        del words[0]
    return words[1:], quote


def _is_whole(item: CompletionItem) -> bool:
    """Whether a candidate can be inserted as it is: what could command a terminal, or be two lines, cannot."""
    return item.type == "plain" and bool(item.value) and item.value.isprintable()


def _told(item: CompletionItem) -> str:
    told = (item.help or "")[:_TOLD]
    return told if told.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in told).split())


def _for_bash(found: Found, line: str, text: str = "") -> Iterator[str]:
    """Only what comes in place of `text`: bash takes `:` and `=` for the ends of words, unless told otherwise."""
    words, quote = _split(line)
    replaced = text if quote else _split(f"mcpctl {text}")[0][-1]
    kept = max(0, len(words[-1]) - len(replaced))
    for value, _ in found:
        rest = value[kept:]
        if not quote:
            yield _SPECIAL.sub(r"\\\1", rest)
        elif not _SPECIAL.search(rest):
            yield rest


def _for_zsh(found: Found, line: str) -> Iterator[str]:
    for value, told in found:
        escaped = value.replace("\\", "\\\\").replace(":", "\\:")
        yield f"{escaped}:{told}" if told else escaped


def _for_fish(found: Found, line: str) -> Iterator[str]:
    for value, told in found:
        yield f"{value}\t{told}" if told else value


_FORMATS: dict[str, Callable[..., Iterator[str]]] = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}
