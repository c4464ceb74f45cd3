"""The lines of journals as events are read of them: from files, wherever they begin and end."""

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from mcpctl.store import index, journal, journal_lines
from mcpctl.store.journal_lines import AnyLine
from mcpctl.store.sqlite import SqliteDatabase

AT_FIRST = 1 << 12
AT_ONCE = 1 << 16  # bytes of a journal that are read at once, or one line where that is longer


class JournalLine(NamedTuple):
    journal: str
    begin: int
    end: int
    entry: AnyLine


class JournalSource(Protocol):
    """The place that journals are read at."""

    name: str
    """The SQL of a journal's name in a row of `sessions`."""

    def ends(self) -> Mapping[str, int]:
        """How far each journal has been read into the tables."""

    def look(self, growing: Iterable[str]) -> object:
        """A value that differs once one of these gained something, or journals came or went."""

    def written(self, names: Collection[str]) -> Mapping[str, int]:
        """When each was written to last, in nanoseconds, or later."""

    def read(self, name: str, begin: int, end: int, *, from_middle: bool = False) -> Iterator[JournalLine]:
        """The lines of a journal, those that can be read; none of one that is gone. Nothing stays open between them."""

    def last_line(self, name: str, end: int) -> int:
        """The start of the line that ends there."""


class JournalFiles(JournalSource):
    """The journals of a data directory."""

    name = "journal"

    def __init__(self, db: SqliteDatabase, folder: Path) -> None:
        self._db = db
        self._folder = folder

    def ends(self) -> Mapping[str, int]:
        return index.offsets(self._db)

    def look(self, growing: Iterable[str]) -> object:
        return _status(self._folder, "st_mtime_ns"), [_status(self._folder / name, "st_size") for name in growing]

    def written(self, names: Collection[str]) -> Mapping[str, int]:
        return {name: _status(self._folder / name, "st_mtime_ns") for name in names}

    def read(self, name: str, begin: int, end: int, *, from_middle: bool = False) -> Iterator[JournalLine]:
        size = min(AT_FIRST, AT_ONCE)  # of many journals little is held until it is their turn
        while begin < end and (text := _chunk(self._folder / name, begin, min(end, begin + size))):
            size = min(4 * size, AT_ONCE)
            rest = text.partition(b"\n")[2] if from_middle else text
            begin += len(text) - len(rest)
            from_middle = False
            for line in rest.split(b"\n")[:-1]:
                after = begin + len(line) + 1
                # Unreadable lines were reported when the index took them.
                for _, entry in journal_lines.decode_all(line + b"\n", begin, lambda _: None):
                    yield JournalLine(name, begin, after, entry)
                begin = after

    def last_line(self, name: str, end: int) -> int:
        lines = deque(self.read(name, max(0, end - AT_FIRST), end, from_middle=end > AT_FIRST), maxlen=1)
        return lines[0].begin if lines else end


def _status(path: Path, what: str) -> int:
    try:
        return int(getattr(path.stat(), what))
    except OSError:
        return 0


def _chunk(path: Path, begin: int, end: int) -> bytes:
    """The whole lines in this part of a journal, or its next line where that is longer."""
    try:
        with os.fdopen(journal.open_file(path, os.O_RDONLY), "rb") as file:
            file.seek(begin)
            text = file.read(end - begin)
            if b"\n" not in text:
                text += file.readline()
    except OSError:
        return b""
    return text[: text.rfind(b"\n") + 1]
