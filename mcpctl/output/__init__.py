"""The printing of results: the only code that prints, except for warnings.

A terminal gets a table, a pipe tab-separated values, `--json` an array and `--jsonl` lines; `--fields` chooses and
orders the columns in every format.
"""

import itertools
import os
import re
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcpctl.base.errors import ExitCode, McpctlError, UpstreamFailed, before_warning, folded, inert
from mcpctl.base.models import Found, Progress, RawJson, Row, unseen
from mcpctl.output.columns import FORMATS as FORMATS
from mcpctl.output.columns import KEPT, members
from mcpctl.output.columns import MOST as MOST
from mcpctl.output.columns import Columns as Columns
from mcpctl.output.columns import ListOptions as ListOptions
from mcpctl.output.columns import chosen_fields as chosen_fields
from mcpctl.output.columns import chosen_format as chosen_format
from mcpctl.output.text import TIMES, here, line_of, pairs, plain_json, quoted

if TYPE_CHECKING:
    from mcpctl.output.progress_line import ProgressLine

_PIECES_AT_ONCE = 500
_PAUSE_S = 0.25
_SHORT_ID = 8


def write_list(results: Found, columns: Columns, options: ListOptions) -> None:
    names = chosen_fields(columns, options)
    if options.count:
        write_text(str(results.count()))
        return
    kind = options.effective
    limit = options.limit or None
    if kind == "table" and options.limit is None and sys.stdout.isatty():
        limit = columns.newest
    rows = results.rows(limit, options.offset)
    if kind in ("json", "jsonl"):
        from mcpctl.output import json_text

        write_lines(json_text.lines(rows, names, as_array=kind == "json"))
    elif kind == "tsv":
        write_lines("\t".join(line_of(_cell(row, name, columns)) for name in names) for row in rows)
    else:
        _write_table(list(rows), names, columns, results, options)


def write_row(row: Row | RawJson, json: bool, text: Callable[[], Iterator[str]], fields: str | None = None) -> None:
    """Print an object, or its text, with these `fields`; a `Found` in it is an array. Raises `WrongUsage`."""
    if fields is not None and not isinstance(row, RawJson):
        row = chosen = members(row, fields)
        text = lambda: pairs({name: _in_memory(value) for name, value in chosen.items()})  # noqa: E731
    if not json:
        write_lines(text())
    elif isinstance(row, RawJson):
        write_lines(iter([to_json(row)]))
    else:
        from mcpctl.output import json_text

        _write_pieces(json_text.pieces(row))


def write_done(json: bool, row: Callable[[], Any], *lines: str) -> None:
    """Print what a command has written: the names of it, or with `--json` the thing itself."""
    if json:
        write_lines(iter([to_json(row())]))
    else:
        write_lines(map(line_of, lines))


def _in_memory(value: Any) -> Any:
    return list(value.rows(None, 0)) if isinstance(value, Found) else value


def write_text(text: str) -> None:
    write_lines(iter([text]))


def write_lines(lines: Iterator[str], *, coloured: bool = False, live: bool = False) -> None:
    """Print lines, as `cat` does; `coloured` ones have only our escapes, `live` ones go out by the next `pause`."""
    _write_pieces((f"{line}\n" for line in lines), coloured=coloured, at_once=1 if live else _PIECES_AT_ONCE)


def pause() -> None:
    """Let the reader have what was printed, and wait a moment; raises BrokenPipeError once the reader has gone."""
    sys.stdout.buffer.flush()
    mode = os.fstat(sys.stdout.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):  # not every system can wait for a terminal so
        time.sleep(_PAUSE_S)
        return
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)
    if reader.poll(_PAUSE_S * 1000):
        raise BrokenPipeError


def say(message: str, *, always: bool = False) -> None:
    """Print a remark for a person at a terminal on stderr; in a pipe only if `always`."""
    indent = 4 if message.startswith("  ") else 0  # a line of a list
    at_terminal = sys.stderr.isatty()
    if always or at_terminal:
        print(folded(inert(line_of(here(message, at_terminal=at_terminal))), indent), file=sys.stderr)


@contextmanager
def progress(task: str, unit: str = "") -> Iterator[Progress]:
    """A callback that shows long work on a terminal as a count of `unit` or a percentage, and clears its line."""
    with _progress_line(task, unit) as line:
        yield line or unseen


@contextmanager
def telling(task: str) -> Iterator[Callable[[str], None] | None]:
    with _progress_line(task, "") as line:
        yield line.tell if line else None


@contextmanager
def _progress_line(task: str, unit: str) -> "Iterator[ProgressLine | None]":
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from mcpctl.output.progress_line import ProgressLine

    line = ProgressLine(task, unit)
    before_warning.append(line.clear)
    try:
        yield line
    finally:
        before_warning.remove(line.clear)
        line.clear()


def report(error: McpctlError, *, as_json: bool) -> None:
    if as_json:
        # "##[" can only be in a string: with its last character escaped it is the same JSON, and not a CI command.
        print(re.sub(r"##(vso)?\[", r"##\1\\u005b", plain_json(to_json(error.body)), flags=re.I), file=sys.stderr)
        return
    # A server's text may have several lines; none may look like ours, or like a command of a CI system.
    safe = quoted if isinstance(error, UpstreamFailed) else line_of
    message = f"mcpctl: {inert(safe(error.message))}"
    print("\n".join(folded(line) for line in message.split("\n")), file=sys.stderr)
    if error.hint:
        print(folded(f"hint: {inert(line_of(error.hint))}"), file=sys.stderr)


def to_json(value: Any) -> str:
    from mcpctl.output import json_text

    return json_text.line(value)


def _cell(row: Row, name: str, columns: Columns) -> str:
    value = row[name]
    if name in columns.render:
        return columns.render[name](value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return to_json(value) if isinstance(value, Mapping | list | tuple | RawJson) else str(value)


def _write_table(rows: list[Row], names: Sequence[str], columns: Columns, results: Found, options: ListOptions) -> None:
    if not rows:
        say(columns.empty if columns.empty and not results.filtered else f"no {columns.noun} match")
        return
    from mcpctl.output import table

    cells = [[line_of(_cell(row, name, columns)) for name in names] for row in rows]
    headings = [columns.heading(name) for name in names]
    if options.fields is None or table.is_too_wide(headings, cells):
        for number in (number for number, name in enumerate(names) if name in columns.ids):
            ids = {row[number] for row in cells}
            length = next(n for n in itertools.count(_SHORT_ID) if len({id_[:n] for id_ in ids}) == len(ids))
            for row in cells:
                row[number] = row[number][:length]
    may_shrink = columns.cut | columns.keeps.keys()
    keeps = {n: columns.keeps.get(name, KEPT) for n, name in enumerate(names) if name in may_shrink}
    leaving = [names.index(name) for name in columns.leaving] if options.fields is None else []
    leaving.sort(key=lambda number: any(row[number] for row in cells))  # empty ones go first
    times = frozenset(number for number, name in enumerate(names) if name in TIMES)
    fitted = table.fitted(headings, cells, keeps, leaving, times)
    lines = fitted.lines()
    write_lines(_under_headings(lines, rows, columns, results) if columns.group else lines, coloured=True)
    if fitted.left_out:
        say(f"no room for {', '.join(fitted.left_out).lower()}; see {columns.more}")
    if options.limit is None and len(rows) == columns.newest:
        say_more(len(rows), results, columns, options)


def say_more(shown: int, results: Found, columns: Columns, options: ListOptions) -> None:
    if (total := results.count()) > shown + options.offset:
        say(f"{shown} of {total:,} {columns.noun}; --limit 0 shows all")


def _under_headings(lines: Iterator[str], rows: list[Row], columns: Columns, results: Found) -> Iterator[str]:
    from collections import Counter

    totals = Counter(row[columns.group] for row in results.rows(None, 0))
    yield next(lines)
    group = None
    for row, line in zip(rows, lines, strict=True):
        if row[columns.group] != group:
            group = row[columns.group]
            noun = columns.noun if totals[group] > 1 else columns.noun.removesuffix("s")
            yield ""
            yield f"{line_of(str(group))}: {totals[group]:,} {noun}"
        yield line


def write_bytes(data: bytes) -> None:
    _write_chunks(iter([data]))


def _write_pieces(pieces: Iterator[str], *, coloured: bool = False, at_once: int = _PIECES_AT_ONCE) -> None:
    visible = plain_json if sys.stdout.isatty() and not coloured else str
    joined = iter(lambda: "".join(itertools.islice(pieces, at_once)), "")
    _write_chunks(visible(some).encode("utf-8", "backslashreplace") for some in joined)


def _write_chunks(chunks: Iterator[bytes]) -> None:
    try:
        for data in chunks:
            while data:  # through the buffer: an unbuffered stream takes a part of what it is given and says nothing
                data = data[sys.stdout.buffer.write(data) :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Python flushes stdout at its end; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(ExitCode.PIPE_CLOSED) from None
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise McpctlError(
            f"cannot write to stdout: {error.strerror}", "make room, or write to another place"
        ) from error
