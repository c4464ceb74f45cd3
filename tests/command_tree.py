"""The command line, made once for all tests: to make it takes longer than most commands."""

from functools import lru_cache
from typing import Any

import typer

from mcpctl.main import ALONE, NOUNS, tree


@lru_cache(maxsize=100)
def _made(noun: str | None, verb: str | None) -> Any:
    return typer.main.get_command(tree(noun, verb))


def of(noun: str | None = None, verb: str | None = None) -> Any:
    """What runs a command line that begins with these words, as `main` makes it in each process."""
    if noun in NOUNS:
        return _made(noun, verb)
    return _made(noun if noun in ALONE else None, None)
