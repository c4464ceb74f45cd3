"""The last lines of servers' stderr: a file of JSON lines for each server, without secrets and kept short.

Any number of processes may write to one file: a line is added with the file's shared lock, and the file is replaced by
its end under the exclusive one. Nothing waits for the writing, and nothing fails where it cannot be done.
"""

import contextlib
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field

from mcpctl.base import files, posix
from mcpctl.base.errors import McpctlError, NotFound
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths, private_dir
from mcpctl.config.settings import RecordSettings
from mcpctl.secrets.redact import cut
from mcpctl.store import clock
from mcpctl.store.recordable import redaction_key

FIELDS = ("time", "pid", "text")
KEPT = 200  # lines of a server that are kept; its file is trimmed to them when it has twice as many
_LINE = 1000  # bytes of a line that are kept
_WAITING = 1 << 18  # bytes of one process that wait to be written; the end of more is kept
_GATHER_S = 0.05  # lines of one moment are written together, so that a secret of several lines is seen whole
_LINE_S = 1 / KEPT  # seconds that are waited after a line before more is written: a flood costs no more than that
_PIECE = 8192  # bytes that are searched for secrets at once: nothing else can run meanwhile
_REST = 4  # others have the processor so many times longer than that took
_LAST_S = 0.2
_HINT = "the stderr of servers is not kept there"
_MOST_OF_PIECE = 4 * _PIECE
_GOES_ON = (b":", b"=", b",", b"\\", b"{", b"[")
_TELLING = 10  # as many lines tell an end from others


class _LogLine(msgspec.Struct):
    time: str
    pid: int
    text: str


_encoder, _decoder = msgspec.json.Encoder(), msgspec.json.Decoder(_LogLine)


class _Stderr(Struct):
    data: deque[bytes] = field(default_factory=deque)
    size: int = 0
    left_out: int = 0
    at: float = 0.0
    has_ended: bool = False

    def add(self, data: bytes) -> None:
        self.data.append(data)
        self.size += len(data)
        self.at = time.time()
        self.has_ended = self.has_ended or not data
        while self.size > _WAITING:
            gone = len(self.data.popleft())
            self.size -= gone
            self.left_out += gone


class ServerLogs:
    def __init__(self, paths: Paths, settings: Callable[[], RecordSettings]) -> None:
        self._paths = paths
        self._settings = settings
        self._key = b""
        self._changed = threading.Condition()
        self._waiting: dict[tuple[str, int], _Stderr] = {}
        self._begun: dict[tuple[str, int], bytes | None] = {}  # lines without an end yet; None if begun on disk
        self._lines: Counter[str] = Counter()  # how many lines the files have, as far as this process knows
        self._thread: threading.Thread | None = None
        self._is_closing = False

    def take(self, server: str, pid: int, data: bytes) -> None:
        """Keep what a process of a server has written; nothing, where it has ended."""
        with self._changed:
            if not data and self._thread is None:
                return  # nobody has said anything
            is_first = not self._waiting
            self._waiting.setdefault((server, pid), _Stderr()).add(data)
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="server-logs", daemon=True)
                self._thread.start()
            if is_first:  # of a flood nobody is woken for each piece
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread:
            self._thread.join(_LAST_S)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closing)
                if not self._waiting:
                    return
                self._changed.wait_for(lambda: self._is_closing, _GATHER_S)
                waiting, self._waiting = self._waiting, {}
            lines = 0
            for (server, pid), stderr in waiting.items():
                with contextlib.suppress(OSError, McpctlError):
                    lines += self._write(server, pid, stderr)
            with self._changed:
                self._changed.wait_for(lambda: self._is_closing, lines * _LINE_S)

    def _write(self, server: str, pid: int, stderr: _Stderr) -> int:
        lines = [line for line in (line.strip(b"\r") for line in self._whole((server, pid), stderr)) if line]
        if not lines:
            return 0
        texts = self._without_secrets(  # more than are kept: a private key of many lines is known by its first
            [line if len(line) <= _LINE else cut(line, _LINE) + "…".encode() for line in lines[-2 * KEPT :]]
        )
        if stderr.left_out or len(lines) > KEPT:
            left_out = "[mcpctl: lines before this one were left out: there were too many at once]"
            texts = [left_out, *texts[-KEPT:]]
        when = clock.iso(stderr.at)
        self._add(server, _encoder.encode_lines([_LogLine(when, pid, text) for text in texts]))
        return len(texts)

    def _whole(self, process: tuple[str, int], stderr: _Stderr) -> list[bytes]:
        """The lines that are whole now, and the beginning of one that is too long; a private key is one thing."""
        from mcpctl.secrets import shapes  # not for `serve` before a server says something

        begun, data = self._begun.pop(process, b""), b"".join(stderr.data)
        if begun is None or stderr.left_out:
            begun, (_, end_of_line, data) = b"", data.partition(b"\n")  # it may be half a secret that nobody knows
            if not end_of_line:
                self._begun[process] = None
        text = begun + data
        end = len(text)
        last = text.rfind(b"\n") + 1
        whole = min(last if end - last <= _LINE else end, shapes.end_or_open_key(text))
        if stderr.has_ended:
            self._begun.pop(process, None)
            whole = end
        elif whole < end or last < end:
            self._begun[process] = text[whole:] or None
        return text[:whole].split(b"\n")

    def _without_secrets(self, lines: list[bytes]) -> list[str]:
        self._key = self._key or redaction_key(self._paths)
        from mcpctl.secrets.redactor import Redactor

        redactor = Redactor(self._key, self._settings().redact_keys)
        texts: list[str] = []
        for piece in _pieces(lines):
            begun = time.thread_time()
            texts += redactor.text(piece.decode("utf-8", "replace")).split("\n")
            with self._changed:
                self._changed.wait_for(lambda: self._is_closing, _REST * (time.thread_time() - begun))
        return texts

    def _add(self, server: str, lines: bytes) -> None:
        path = self._paths.log(server)
        private_dir(path.parent)
        if server not in self._lines:
            self._lines[server] = _text(self._paths, server).count(b"\n")
        while not _append(path, lines):
            pass
        self._lines[server] += lines.count(b"\n")
        if self._lines[server] >= 2 * KEPT:
            files.edit(path, lambda before: _last_lines(before or b"", KEPT), _HINT)
            self._lines[server] = KEPT


def _pieces(lines: list[bytes]) -> Iterator[bytes]:
    """Pieces of the lines, none of which ends within a private key, or between a name and its value."""
    from mcpctl.secrets import shapes

    piece = b""
    for line in lines:
        piece = piece + b"\n" + line if piece else line
        if len(piece) < _PIECE:
            continue
        is_apart = not line.rstrip().endswith(_GOES_ON) and shapes.end_or_open_key(piece) == len(piece)
        if is_apart or len(piece) > _MOST_OF_PIECE:
            yield piece
            piece = b""
    if piece:
        yield piece


def _append(path: Path, lines: bytes) -> bool:
    """Add lines; False where the file has been replaced meanwhile."""
    with posix.opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
        posix.lock(fd, shared=True, wait=True)
        return files.is_at(path, fd) and os.write(fd, lines) > 0


def remove(paths: Paths, server: str) -> None:
    with contextlib.suppress(OSError):
        paths.log(server).unlink(missing_ok=True)


def read(paths: Paths, server: str, most: int = KEPT) -> list[Row]:
    return _last(_rows(_text(paths, server)), most)


def hint(paths: Paths, server: str) -> str:
    try:
        return f"see what it wrote with: mcpctl servers logs {server}" if read(paths, server, 1) else ""
    except McpctlError:
        return ""


def followed(paths: Paths, server: str, most: int, pause: Callable[[], object]) -> Iterator[list[Row]]:
    """The last lines, and then those that come, though the file is replaced; `pause` ends it by raising."""
    rows = _last(_rows(seen := _text(paths, server)), most)
    while True:
        yield rows
        pause()
        text = _text(paths, server)
        rows = _rows(_since(seen, text))
        seen = text


def _since(seen: bytes, text: bytes) -> bytes:
    """The bytes that a file has gained, though its beginning may be gone."""
    if text.startswith(seen):
        return text[len(seen) :]
    place = text.rfind(end := _last_lines(seen, _TELLING))
    return text[place + len(end) :] if place >= 0 else text


def _last_lines(text: bytes, most: int) -> bytes:
    return b"".join(text.splitlines(keepends=True)[-most:])


def _text(paths: Paths, server: str) -> bytes:
    try:
        text = files.read(paths.log(server), code="log_unreadable")
    except NotFound:
        return b""
    return text[: text.rfind(b"\n") + 1]


def _last(rows: list[Row], most: int) -> list[Row]:
    return rows[max(len(rows) - most, 0) :]


def _rows(text: bytes) -> list[Row]:
    rows: list[Row] = []
    for line in text.splitlines():
        with contextlib.suppress(msgspec.MsgspecError):
            rows.append(msgspec.structs.asdict(_decoder.decode(line)))
    return rows
