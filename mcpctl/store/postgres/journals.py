"""The lines of journals on their way to PostgreSQL: each once, since where the next one begins is moved with them."""

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mcpctl.base import bounds, files
from mcpctl.base.errors import warn
from mcpctl.store import index, journal, journal_lines

if TYPE_CHECKING:
    import psycopg

_GROUP = 4 << 20  # bytes that are put in at once
_JOURNALS = 500  # of which they are at most
_AT_ONCE = 1 << 18  # bytes that are made ready at once
_COPY = "COPY journal_lines (machine, journal, position, line) FROM STDIN"
_KNOWN = "SELECT name, shipped FROM journals WHERE machine = $1 AND name = ANY($2)"
_INSERT = """INSERT INTO journals SELECT $1::uuid, name, session_id, 0, false
    FROM unnest($2::text[], $3::text[]) AS new (name, session_id) ON CONFLICT DO NOTHING"""
_PROJECTED = """INSERT INTO projected SELECT $1::uuid, name, 0 FROM unnest($2::text[]) AS new (name)
    ON CONFLICT DO NOTHING"""
_LOCK = "SELECT name, shipped FROM journals WHERE machine = $1 AND name = ANY($2) ORDER BY name FOR UPDATE"
_LAST = """SELECT journals.name, last.position, last.line FROM journals CROSS JOIN LATERAL (
    SELECT position, line FROM journal_lines WHERE machine = journals.machine AND journal = journals.name
    ORDER BY position DESC LIMIT 1) AS last WHERE journals.machine = $1 AND journals.name = ANY($2)"""
_MOVE = """UPDATE journals SET shipped = moved.shipped, is_closed = moved.is_closed
    FROM unnest($2::text[], $3::bigint[], $4::boolean[]) AS moved (name, shipped, is_closed)
    WHERE machine = $1 AND journals.name = moved.name"""
Stamp = tuple[int, int, int] | None


class _NewLines(NamedTuple):
    """Whole lines of one journal, from `begin` on."""

    name: str
    begin: int
    text: bytes
    size: int  # of the journal

    @property
    def end(self) -> int:
        return self.begin + len(self.text)

    @property
    def is_closed(self) -> bool:
        with suppress(msgspec.DecodeError):
            last = self.text[self.text.rfind(b"\n", 0, -1) + 1 : -1]
            return isinstance(journal_lines.decode(last), journal_lines.SessionClosed)
        return False


class ShippedJournals:
    """The journals of one data directory, and how far each has been put into a database."""

    def __init__(self, folder: Path, machine: str) -> None:
        self._folder = folder
        self._machine = machine
        self._seen: dict[str, Stamp] = {}  # how the journals were that have nothing more to give
        self.positions: dict[str, int] = {}  # by journal that is here, how far it is in the database
        self.behind: set[str] | None = None  # those with lines of which rows are to be made; None is all
        self.problems: set[str] = set()  # the journals that cannot be read, or are not what was put in before

    def begin(self) -> None:
        """Ask the next database how far it is: it may be another one, or as it was before."""
        self.positions.clear()
        self._seen.clear()
        self.behind = None

    def ship(self, db: "psycopg.Connection[Any]") -> Iterator[int]:
        """Put in all that is there now, a group in each transaction: the lines of each. Lines that come meanwhile are
        for the next time: a busy session must not be chased."""
        present = index.sizes(self._folder)
        for name in [name for name in present if not _is_text(os.fsencode(name))]:
            del present[name]
            self._report(name, "its name is not text")
        self._seen = {name: stamp for name, stamp in self._seen.items() if name in present}
        self.positions = {name: at for name, at in self.positions.items() if name in present}
        if unknown := [name for name in present if name not in self.positions]:
            self.positions |= db.execute(_KNOWN, (self._machine, unknown)).fetchall()
        due = {
            name: size for name, size in sorted(present.items())
            if name not in self._seen or self._seen[name] != files.stamp(self._folder / name)
        }  # fmt: skip
        while due:
            group: dict[str, int] = {}
            size = 0
            for name in due:
                group[name] = due[name]
                size += due[name] - self.positions.get(name, 0)
                if size >= _GROUP or len(group) == _JOURNALS:
                    break
            yield self._put(db, group)
            left = {name for name in group if name not in self._seen and self.positions.get(name, 0) < due[name]}
            due = {name: size for name, size in due.items() if name not in group or name in left}

    def _put(self, db: "psycopg.Connection[Any]", sizes: Mapping[str, int]) -> int:
        """Put in the next lines of these journals, which had these sizes; returns their number."""
        names = list(sizes)
        stamps = {name: files.stamp(self._folder / name) for name in names}
        with db.transaction():
            if new := [name for name in names if name not in self.positions]:
                sessions = [name.removesuffix(".jsonl").partition("_")[2] for name in new]
                db.execute(_INSERT, (self._machine, new, sessions))
                db.execute(_PROJECTED, (self._machine, new))
            begins = dict(db.execute(_LOCK, (self._machine, names)).fetchall())
            last = {name: (at, line) for name, at, line in db.execute(_LAST, (self._machine, names)).fetchall()}
            parts = list(self._parts(begins, last, sizes))
            lines = 0
            with db.cursor().copy(_COPY) as copy:
                for rows in itertools.chain.from_iterable(map(self._rows, parts)):
                    copy.write(b"".join(rows))
                    lines += len(rows)
            moved = [part for part in parts if part.text]
            ends = [part.end for part in moved], [part.is_closed for part in moved]
            db.execute(_MOVE, (self._machine, [part.name for part in moved], *ends))
        self.positions |= {part.name: part.end for part in parts}
        if self.behind is not None:
            self.behind.update(part.name for part in moved)
        left = {part.name for part in parts if part.text and part.end < part.size}
        left |= begins.keys() - {part.name for part in parts}  # there was no room for these
        for name, stamp in stamps.items():
            if name in left:
                self._seen.pop(name, None)
            else:
                self._seen[name] = stamp
        return lines

    def _parts(
        self, begins: Mapping[str, int], last: Mapping[str, tuple[int, str]], sizes: Mapping[str, int]
    ) -> Iterator[_NewLines]:
        room = _GROUP
        for name, begin in begins.items():
            if room > 0:
                yield (part := self._part(name, begin, room, last.get(name), sizes[name]))
                room -= len(part.text)

    def _part(self, name: str, begin: int, room: int, last: tuple[int, str] | None, size: int) -> _NewLines:
        """Its next whole lines; none of one that cannot be shipped, which is said."""
        text, problem = b"", ""
        try:
            with os.fdopen(journal.open_file(self._folder / name, os.O_RDONLY), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if not (problem := _problem(file.fileno(), size, begin, last)):
                    file.seek(begin)
                    text = file.read(room)
                    while text and b"\n" not in text and len(text) < bounds.ENDLESS and (rest := file.read(_GROUP)):
                        text += rest
        except FileNotFoundError:
            problem = "it was removed before it was shipped whole" if begin < size else ""
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
        if len(text) >= bounds.ENDLESS and b"\n" not in text:
            problem = f"the line at byte {begin} does not end"
        if problem:
            self._report(name, problem)
        else:
            self.problems.discard(name)
        return _NewLines(name, begin, text[: text.rfind(b"\n") + 1], size)

    def _report(self, name: str, problem: str) -> None:
        self.problems.add(name)
        warn(f"{name} is not shipped any further: {problem}")

    def _rows(self, part: _NewLines) -> Iterator[list[bytes]]:
        """The lines as COPY takes them, some at a time: the database puts in what it has while others are made."""
        prefix = b"%b\t%b\t" % (self._machine.encode(), _escaped(part.name.encode()).replace(b"\n", b"\\n"))
        position, rest = part.begin, part.text
        while rest:
            end = rest.find(b"\n", _AT_ONCE) + 1 or len(rest)
            text, rest = rest[:end], rest[end:]
            lines = text.split(b"\n")[:-1]
            begins = list(itertools.accumulate(map(len, lines), lambda begin, size: begin + size + 1, initial=position))
            position = begins.pop()
            written = _escaped(text if _is_text(text) else self._readable(part.name, begins[0], text)).split(b"\n")
            yield [b"%b%d\t%b\n" % (prefix, begin, line) for begin, line in zip(begins, written, strict=False)]

    def _readable(self, name: str, position: int, text: bytes) -> bytes:
        """The lines, with a mark in place of what is not text, which no database takes."""
        lines = list[bytes]()
        for line in text.split(b"\n"):
            if not _is_text(line):
                mark = "\N{REPLACEMENT CHARACTER}"
                warn(f"{name}: the line at byte {position} is not text; it is shipped with {mark} in it")
            lines.append(_as_text(line).encode())
            position += len(line) + 1
        return b"\n".join(lines)


def _problem(fd: int, size: int, begin: int, last: tuple[int, str] | None) -> str:
    """Why a journal is not the one whose lines up to `begin` are there; `last` is the begin and text of the last."""
    if size < begin:
        return f"it has shrunk to {size} bytes, and {begin} were shipped"
    at, line = last or (begin - 1, "")
    before = os.pread(fd, begin - at, at) if begin else b"\n"
    if before[-1:] != b"\n" or _as_text(before[:-1]) != line:
        return "it was replaced: the last line that was shipped is not there any more"
    return ""


def _is_text(line: bytes) -> bool:
    try:
        return b"\0" not in line and line.decode() is not None
    except UnicodeDecodeError:
        return False


def _as_text(line: bytes) -> str:
    return line.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _escaped(text: bytes) -> bytes:
    """Lines as COPY takes them."""
    for special, letter in ((b"\\", b"\\"), (b"\t", b"t"), (b"\r", b"r")):
        text = text.replace(special, b"\\" + letter)
    return text
