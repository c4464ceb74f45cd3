"""The terminal table. Rich knows how wide a character is; its tables would cost a list half of its time."""

import datetime
import os
import shutil
import sys
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

_FAILED = frozenset(("tool_error", "failed", "denied", "interrupted"))
_NARROWEST = 6
_BOLD, _RED, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[0m"


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
    coloured = _is_coloured()
    yield _line(headings, fitted, gap, [_BOLD if coloured else ""] * len(headings))
    for row in rows:
        yield _line(row, fitted, gap, [_RED if coloured and cell in _FAILED else "" for cell in row])


def _line(cells: Sequence[str], widths: Sequence[int], gap: int, styles: Sequence[str]) -> str:
    line = ""
    for cell, width, style in zip(cells, widths, styles, strict=True):
        shown = cell if cell_len(cell) <= width else set_cell_size(cell, width - 1).rstrip() + "\N{HORIZONTAL ELLIPSIS}"
        room = " " * (width - cell_len(shown) + gap)
        line += f"{style}{shown}{_PLAIN}{room}" if style else shown + room
    return line.rstrip()


def _fitted(widths: list[int], cut: frozenset[int], room: int) -> list[int]:
    """The widths, those that may be cut made narrower, the widest first, until all fit or none can give more."""
    widths = list(widths)
    while sum(widths) > room:
        number = max(cut, key=lambda n: widths[n], default=-1)
        if number < 0 or widths[number] <= _NARROWEST:
            break
        widths[number] -= 1
    return widths


def _is_coloured() -> bool:
    """Whether stdout is a terminal that shows colours and whose user wants them (no-color.org)."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in (None, "", "dumb")


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
