"""The texts of others as they are put on record, and whether they can be sent again; the key of redaction marks."""

import errno
import json
import os
import re
import sqlite3
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from mcpctl.base import files, posix
from mcpctl.base.errors import Unusable, warn
from mcpctl.base.models import Row
from mcpctl.base.paths import Paths, private_dir
from mcpctl.base.tool_keys import OWN
from mcpctl.config.settings import RecordSettings
from mcpctl.secrets.redact import MARK, cut
from mcpctl.store import journal, sqlite
from mcpctl.store.journal_lines import REPLAY

if TYPE_CHECKING:
    from mcpctl.secrets.redactor import Redactor

_NAMES_KEPT = 1000
_READ_OF_NAME = 8192
_ROOM = 200
_SHOWN = 2048
_WHOLE = 1 << 20
_LONGEST_NUMBER = 19  # a longer number may be a secret, and is more than some readers take
LONGEST_NAME = 512  # bytes of a name, or of another short text; one that is longer is recorded cut, and says so
_KEY_LENGTH = 32
_CUT = re.compile(r"… \[cut: [0-9,]+ characters\]$")
OWN_READ = "it read a resource for the model of that session"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_PATH = 200
_json: msgspec.json.Decoder[Raw] = msgspec.json.Decoder(Raw)
_Name = TypeVar("_Name", str, str | None)
_Names = TypeVar("_Names", bound=tuple[str | None, ...])
Json = bytes | memoryview


class ShownJson(NamedTuple):
    beginning: str
    whole: str
    hidden: int  # hidden values
    left_out: int  # bytes


class Recordable:
    def __init__(self, paths: Paths, settings: RecordSettings) -> None:
        self._paths = paths
        self._settings = settings
        self.limit = settings.max_response_kb * 1024  # bytes of a text
        self._names: dict[tuple[str | None, ...], Any] = {}

    def json(self, json: Json) -> bytes:
        """A text that is too long becomes a JSON string of its beginning."""
        if len(json) > self.limit:
            beginning = cut(bytes(json[: self.limit + 1]), self.limit)
            return msgspec.json.encode(self._redactor.json(beginning).decode("utf-8", "replace"))
        text = bytes(json)
        if text in (b"null", b"{}"):
            return text
        return _readable(self._redactor.json(text))

    def short(self, json: bytes) -> bytes:
        """A short value, such as a request's id; one too long becomes a string."""
        if len(json) < _LONGEST_NUMBER and json.isdigit() and (json == b"0" or not json.startswith(b"0")):
            return json  # as nearly every request's id
        if len(json) > LONGEST_NAME:
            return msgspec.json.encode(self.name(json.decode("utf-8", "replace")))
        return _readable(self._redactor.json(json))

    def name(self, name: _Name) -> _Name:
        """A name, or another short text that a client, server or model chose."""
        return self.names((name,))[0]

    def names(self, names: _Names) -> _Names:
        """Several names at once: those of a call are nearly always those of calls before it."""
        recorded: _Names | None = self._names.get(names)
        if recorded is None:
            every: Any = tuple(map(self._name, names))
            recorded = every
            if len(self._names) < _NAMES_KEPT and all(len(name or "") <= LONGEST_NAME for name in names):
                self._names[names] = recorded
        return recorded

    def _name(self, name: str | None) -> str | None:
        if name is None:
            return None
        # Redacted first, so that the cut leaves no half of a secret.
        redacted = self._redactor.json(name[:_READ_OF_NAME].encode("utf-8", "replace"))
        recorded = redacted[:LONGEST_NAME].decode("utf-8", "ignore")
        if len(redacted) > LONGEST_NAME or len(name) > _READ_OF_NAME:
            recorded += f"… [cut: {len(name):,} characters]"
        return recorded

    def text(self, text: str) -> str:
        return self._redactor.json(cut(text.encode("utf-8", "replace"), self.limit)).decode("utf-8", "replace")

    def shown(self, json: bytes) -> "ShownJson":
        """JSON for a person who is asked about it: without secrets, and with the size of what is left out."""
        kept = cut(json[: _WHOLE + 1], _WHOLE)
        redacted = self._redactor.json(kept)
        text, left_out = redacted.decode("utf-8", "replace"), len(json) - len(kept)
        hidden = len(MARK.findall(text)) - len(MARK.findall(kept.decode("utf-8", "replace")))
        if left_out:
            text = f"{text} … {left_out:,} more bytes are not kept"
        beginning = cut(redacted[: _SHOWN + 1], _SHOWN).decode("utf-8", "replace")
        if len(redacted) > _SHOWN:
            beginning = f"{beginning} … {len(json) - _SHOWN:,} more bytes"
        return ShownJson(beginning, text, max(0, hidden), left_out)

    def masked(self, json: bytes) -> bytes:
        """JSON without secrets, but whole; the rest of it is as it was."""
        return self._redactor.json(json)

    @cached_property
    def _redactor(self) -> "Redactor":
        # Made where something is recorded first: the key may have to be made, too.
        from mcpctl.secrets.redactor import Redactor

        return Redactor(redaction_key(self._paths), self._settings.redact_keys)


def _readable(text: bytes) -> bytes:
    """Texts that strict readers refuse (NaN, half characters) become a string."""
    if not text.isascii():
        text = text.decode("utf-8", "replace").encode()
    # Readers differ in how deep they go: what is nested nearly too deep for this one is too deep for some.
    room = _ROOM if len(text) > _ROOM and text.count(b"[") + text.count(b"{") > _ROOM else 0
    try:
        _json.decode(b"[" * room + text + b"]" * room if room else text)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.json.encode(text.decode("utf-8", "replace"))
    return text


def redaction_key(paths: Paths) -> bytes:
    """The key, made where there is none; else one of this process, whose marks compare within one session only."""
    try:
        return _kept_key(paths.redaction_key) or _made_key(paths)
    except (OSError, Unusable):
        return os.urandom(_KEY_LENGTH)


def _kept_key(path: Path) -> bytes | None:
    try:
        fd = journal.open_file(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        key = os.read(fd, _KEY_LENGTH + 1)
    finally:
        os.close(fd)
    if len(key) != _KEY_LENGTH:
        warn(f"{path} is damaged: redaction marks are comparable within one session only; remove the file")
        raise OSError(errno.EINVAL, "not a key")
    return key


def _made_key(paths: Paths) -> bytes:
    path = paths.redaction_key
    key = _key_of_older_versions(paths.state) or os.urandom(_KEY_LENGTH)
    private_dir(path.parent)
    try:
        with files.beside(path) as (fd, beside):
            os.write(fd, key)
            os.fsync(fd)
            posix.put(beside, path)
    except FileExistsError:
        return _kept_key(path) or key  # another process was first
    return key


def _key_of_older_versions(state: Path) -> bytes | None:
    """The key that older versions kept in state.db; raises OSError while that is locked, rather than make another."""
    if not state.exists():
        return None
    try:
        with closing(sqlite.connect_unchanged(state, patience_s=0)) as db:
            row = db.execute("SELECT value FROM settings WHERE name = 'redaction_key'").fetchone()
    except sqlite3.DatabaseError as error:
        if sqlite.is_held(error):
            raise OSError(errno.EBUSY, str(error)) from error
        return None  # it has no settings, or is damaged
    return bytes(row[0]) if row and isinstance(row[0], bytes) and len(row[0]) == _KEY_LENGTH else None


def obstacle(row: Row) -> str:
    """Why a call cannot be called again; empty if it can."""
    if row["server"] == OWN:
        return "it read a stored answer, which only that session can read" if row["parent_id"] else OWN_READ
    if row["parent_id"] and row["via"] != REPLAY:
        return f"it is a later round of the call {row['parent_id']}"
    if any(MARK.search(row[name]) or _CUT.search(row[name]) for name in ("server", "tool")):
        return "its name was redacted or cut"
    try:
        arguments = json.loads(row["arguments"] or "{}")
    except (ValueError, RecursionError):
        return "its arguments cannot be read"
    if not isinstance(arguments, dict):
        return "its arguments were cut, or are not a JSON object"
    path = redacted_at(arguments)
    return f"redacted at {path}" if path else ""


def redacted_at(value: Any) -> str:
    """The path of the first redacted value or name, such as `$.auth.token`; empty if there is none."""
    waiting: list[tuple[str, Any]] = [("$", value)]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, str):
            if MARK.search(each):
                return path
        elif isinstance(each, dict):
            if any(map(MARK.search, each)):
                return f"{path} (a name in it)"
            for name, member in reversed(each.items()):
                step = f".{name}" if _PLAIN.fullmatch(name) else f"[{json.dumps(name)}]"
                waiting.append((_short_path(path + step), member))
        elif isinstance(each, list):
            waiting += [(_short_path(f"{path}[{number}]"), item) for number, item in reversed([*enumerate(each)])]
    return ""


def _short_path(path: str) -> str:
    """Paths are made for each value, and so have a longest length."""
    return path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 1]}…"
