"""The command line, made once for all tests: to make it takes longer than most commands."""

from functools import lru_cache
from typing import Any
from unittest import mock

from typer.main import get_command

from mcpctl.cli import tab_completion
from mcpctl.cli.command_tree import ALONE, NOUNS, tree


@lru_cache(maxsize=100)
def _made(noun: str | None, verb: str | None) -> Any:
    return get_command(tree(noun, verb))


def of(noun: str | None = None, verb: str | None = None) -> Any:
    """What runs a command line that begins with these words, as `main` makes it in each process."""
    if noun in NOUNS:
        return _made(noun, verb)
    return _made(noun if noun in ALONE else None, None)


def candidates(line: str) -> tuple[str, tab_completion.Candidates]:
    """What Tab offers after these words."""
    with mock.patch("typer.main.get_command", lambda made: made):
        return tab_completion.candidates(of, f"mcpctl {line}")
