"""A person's agreement to a change that is shown as a diff."""

import sys
from collections.abc import Iterable

import typer


def show(diff: Iterable[str]) -> None:
    """Print a diff on stderr, where it is in nobody's data."""
    from mcpctl.output.text import line_of

    for line in diff:
        typer.echo(line_of(line), err=True)


def ask(question: str) -> None:
    """Ask about a change that was shown; raises `Refused` if the answer is no."""
    from mcpctl.base.errors import Refused

    try:
        said = typer.confirm(question, err=True)
    except typer.Abort:  # Ctrl-C or Ctrl-D, which leave the terminal in the line of the question
        typer.echo(err=True)
        said = False
    if not said:
        raise Refused("nothing was written: you said no", "see the change again with: --dry-run", "declined")


def is_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
