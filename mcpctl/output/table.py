"""The terminal table. Rich gives the width of characters; its own tables would take half of the time of a list."""

import datetime
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from mcpctl.output.text import PAINTED, PLAIN, RED, is_coloured

_FIRST = 40  # columns that the first one keeps before one of text goes: people copy it
_GAP = 2
_BOLD = "\x1b[1m"


@dataclass(frozen=True)
class Table:
    """A table that fits the terminal: the widths of the columns for which there is room, by their numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    widths: Mapping[int, int]
    gap: int
    room: int

    @property
    def left_out(self) -> list[str]:
        return [heading for number, heading in enumerate(self.headings) if number not in self.widths]

    def lines(self) -> Iterator[str]:
        coloured = is_coloured()
        yield self._line(self.headings, lambda _: _BOLD if coloured else "", mark="")
        for row in self.rows:
            yield self._line(row, lambda cell: RED if coloured and cell in PAINTED else "")

    def _line(self, cells: Sequence[str], style_of: Callable[[str], str], mark: str = "\u2026") -> str:
        line, used = "", 0
        for number, width in self.widths.items():
            cell, style = cells[number], style_of(cells[number])
            width = min(width, self.room - used)
            if width <= 0:
                break
            shown = cell if cell_len(cell) <= width else set_cell_size(cell, width - len(mark)).rstrip() + mark
            space = " " * (width - cell_len(shown) + self.gap)
            line += f"{style}{shown}{PLAIN}{space}" if style else shown + space
            used += width + self.gap
        return line.rstrip()


def fitted(
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    keeps: Mapping[int, int],
    leaving: Sequence[int],
    times: frozenset[int],
) -> Table:
    """The table, none wider than the terminal; columns in `times` show as ages. Columns in `keeps` are cut to as much
    as they keep. If that is not enough, the columns `leaving` go, in that order; before the
    last ones that are in `keeps` go, the first column is cut. Where none may go, all are cut."""
    rows = [[_age(cell) if number in times else cell for number, cell in enumerate(row)] for row in cells]
    room = shutil.get_terminal_size().columns
    natural = [min(room, max(cell_len(heading), _widest(rows, n))) for n, heading in enumerate(headings)]
    least = {n: min(natural[n], max(keep, cell_len(headings[n]))) for n, keep in keeps.items() if n}
    numbers = list(range(len(natural)))
    for place, going in enumerate(leaving):
        first = keeps.get(0, _FIRST) if all(each in keeps for each in leaving[place:]) else room
        if sum(least.get(n, natural[n] if n else min(natural[n], first)) + _GAP for n in numbers) <= room + _GAP:
            break
        numbers.remove(going)
    gap = _GAP if leaving or sum(least.get(n, natural[n]) + _GAP for n in numbers) <= room + _GAP else 1
    space = room - gap * (len(numbers) - 1)
    widths = _narrowed({n: natural[n] for n in numbers}, least, space)
    for more in ({0: 1} if leaving or 0 in keeps else {}, dict.fromkeys(numbers, 1)):
        widths = _narrowed(widths, more, space)
    return Table(headings, rows, widths, gap, room)


def is_too_wide(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> bool:
    widths = (max(cell_len(heading), _widest(cells, n)) + _GAP for n, heading in enumerate(headings))
    return sum(widths) - _GAP > shutil.get_terminal_size().columns


def _narrowed(widths: Mapping[int, int], least: Mapping[int, int], space: int) -> dict[int, int]:
    """The widths, with the columns in `least` made narrower, the widest first, until all fit or none can shrink."""
    widths = dict(widths)
    while sum(widths.values()) > space:
        shrinkable = [n for n, keep in least.items() if n in widths and widths[n] > keep]
        if not shrinkable:
            break
        widths[max(shrinkable, key=lambda n: widths[n])] -= 1
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
