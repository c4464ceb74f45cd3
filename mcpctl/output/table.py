"""The terminal table: the one module that imports Rich."""

import datetime
import os
import shutil
import sys
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_FAILED = frozenset(("tool_error", "failed", "denied", "interrupted"))
_NARROWEST = 6


def lines(
    headings: Sequence[str], cells: Sequence[Sequence[str]], cut: frozenset[int], times: frozenset[int]
) -> Iterator[str]:
    """The table's lines. Only columns in `cut` are cut to fit the terminal; columns in `times` show as ages."""
    rows = [[_age(cell) if number in times else cell for number, cell in enumerate(row)] for row in cells]
    widths = [max(map(cell_len, column)) for column in zip(headings, *rows, strict=True)]
    room = shutil.get_terminal_size().columns
    gap = 2
    fitted = _fitted(widths, cut, room - gap * (len(widths) - 1))
    if sum(fitted) + gap * (len(widths) - 1) > room:
        gap = 1
        fitted = _fitted(widths, cut, room - gap * (len(widths) - 1))
    widths = fitted
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    for heading, width in zip(headings, widths, strict=True):
        table.add_column(Text(heading), no_wrap=True, width=width, overflow="ellipsis")
    for row in rows:
        # Text, never markup: a value such as "[/bold]" is data.
        table.add_row(*(Text(cell, "red" if cell in _FAILED else "") for cell in row))
    console = _console(max(room, sum(widths) + gap * len(widths)))
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        yield line.rstrip()


def _fitted(widths: list[int], cut: frozenset[int], room: int) -> list[int]:
    """The widths, those that may be cut made narrower, the widest first, until all fit or none can give more."""
    widths = list(widths)
    while sum(widths) > room:
        number = max(cut, key=lambda n: widths[n], default=-1)
        if number < 0 or widths[number] <= _NARROWEST:
            break
        widths[number] -= 1
    return widths


def _console(width: int) -> Console:
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    if plain and not os.environ.get("FORCE_COLOR"):
        # NO_COLOR alone leaves Rich's bold escapes.
        return Console(color_system=None, force_terminal=False, highlight=False, width=width)
    return Console(highlight=False, width=width)


def _age(time: str) -> str:
    try:
        then = datetime.datetime.fromisoformat(time)
    except ValueError:
        return time
    seconds = (datetime.datetime.now(datetime.UTC) - then).total_seconds()
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return f"{max(0, int(seconds))}s ago"
