"""The terminal table. Rich gives the width of characters; its own tables would take half of the time of a list."""

import datetime
import shutil
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from mcpctl.output.text import PLAIN, RED, is_coloured

_FAILED = frozenset(("tool_error", "failed", "denied", "interrupted"))
_NARROWEST = 6
"""The least width of a column that may be cut; if that is too wide, the last such column is left out."""
_ROOMY = 20
"""The least width of such a column as long as headings can be cut instead."""
_HEADING = 4
_BOLD = "\x1b[1m"


def lines(
    headings: Sequence[str], cells: Sequence[Sequence[str]], cut: frozenset[int], times: frozenset[int]
) -> Iterator[str]:
    """The table's lines, none wider than the terminal; columns in `times` show as ages.

    To fit, columns in `cut` are cut first, then headings, then the other columns. In a narrow terminal the last column
    is left out if it is in `cut`, so that the others stay readable.
    """
    rows = [[_age(cell) if number in times else cell for number, cell in enumerate(row)] for row in cells]
    room = shutil.get_terminal_size().columns
    widths, gap = _fitted([(cell_len(heading), _widest(rows, n)) for n, heading in enumerate(headings)], cut, room)
    coloured = is_coloured()
    yield _line(headings, widths, gap, [_BOLD if coloured else ""] * len(headings), room, mark="")
    for row in rows:
        yield _line(row, widths, gap, [RED if coloured and cell in _FAILED else "" for cell in row], room)


def _line(
    cells: Sequence[str], widths: Sequence[int], gap: int, styles: Sequence[str], room: int, mark: str = "\u2026"
) -> str:
    line, used = "", 0
    for cell, width, style in zip(cells, widths, styles, strict=False):
        width = min(width, room - used)
        if width <= 0:
            break
        room_for_text = width - len(mark)
        shown = cell if cell_len(cell) <= width else set_cell_size(cell, room_for_text).rstrip() + mark
        space = " " * (width - cell_len(shown) + gap)
        line += f"{style}{shown}{PLAIN}{space}" if style else shown + space
        used += width + gap
    return line.rstrip()


def _fitted(natural: Sequence[tuple[int, int]], cut: frozenset[int], room: int) -> tuple[list[int], int]:
    """The widths of the columns and the gap between them, from the natural widths of headings and cells.

    There are fewer widths than columns if the last column has no room.
    """
    whole = [max(heading, cell) for heading, cell in natural]
    # Headings are cut before cells.
    tight = [max(min(heading, _HEADING), cell) for heading, cell in natural]
    last = len(natural) - 1
    for gap, widths, narrowest in ((2, whole, _ROOMY), (2, tight, _ROOMY), (1, tight, _NARROWEST)):
        space = room - gap * last
        fitted = _narrowed(widths, cut, space, narrowest)
        if sum(fitted) <= space:
            return fitted, gap
    if last in cut and last:
        return _fitted(natural[:last], cut, room)
    bare = _narrowed([cell or 1 for _, cell in natural], cut, room - last, _NARROWEST)
    return _narrowed(bare, frozenset(range(last + 1)), room - last, 1), 1


def _narrowed(widths: Sequence[int], narrowable: frozenset[int], space: int, narrowest: int) -> list[int]:
    """The widths, with the `narrowable` columns made narrower, the widest first, until all fit or none can shrink."""
    widths = list(widths)
    while sum(widths) > space:
        number = max((n for n in narrowable if n < len(widths)), key=lambda n: widths[n], default=-1)
        if number < 0 or widths[number] <= narrowest:
            break
        widths[number] -= 1
    return widths


def _widest(rows: Sequence[Sequence[str]], number: int) -> int:
    return max((cell_len(row[number]) for row in rows), default=0)


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
