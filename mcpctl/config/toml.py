"""The TOML of config.toml: its tables as structs, with problems in the words of a user, and the lines of its keys.

The TOML library tells no lines.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, get_args

import msgspec

from mcpctl.base import bounds
from mcpctl.base.errors import Unusable
from mcpctl.base.near_names import did_you_mean

_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_Section = TypeVar("_Section", bound="Section")

MAX_S = 1e7
_AT = re.compile(r"(.*?)(?: - at `\$(.*)`)?\Z", re.DOTALL)
_TYPES = {"str": "text", "array": "a list", "object": "a table", "bool": "true or false", "int": "a whole number"}
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = rf"(?m)(?:^|[\[{{,])[ \t]*+{_PART}(?:\.[ \t]*+{_PART}){{{bounds.KEY_PARTS}}}"
_FORMS = {"limit": ', such as limit = { "shop:refund*" = "10/h" }'}  # of keys that are easily taken for a text


class KeyTooLong(tomllib.TOMLDecodeError):
    def __init__(self, line: int) -> None:
        ValueError.__init__(self, f"a key has more than {bounds.KEY_PARTS} parts (at line {line}, column 1)")


def loads(text: str) -> dict[str, Any]:
    """As the library does it, which takes as many times longer for a key as it has parts."""
    if text.count(".") >= bounds.KEY_PARTS and (key := re.search(_LONG_KEY, text)):
        raise KeyTooLong(text.count("\n", 0, key.start()) + 1)
    return tomllib.loads(text)


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of settings, whose numbers are positive, or 0 where they may be; the JSON Schema is made from it too."""

    may_be_0: ClassVar[Collection[str]] = ()
    one_of: ClassVar[Mapping[str, Sequence[str]]] = {}  # by key, the values that it may have
    some_of: ClassVar[Mapping[str, Sequence[str]]] = {}  # by key, the values that may be in its list

    def check(self, name: str) -> None:
        """Raises ValueError with the key and its problem, such as `.deny[0]: …`; `name` is that of the table."""


def check_values(table: Section, where: str = "") -> None:
    """Raises ValueError where a value is none of those that are allowed, or a number out of its bounds."""
    values = msgspec.structs.asdict(table)
    for key, allowed in table.one_of.items():
        if values[key] is not None and values[key] not in allowed:
            raise ValueError(f".{where}{key}: must be {', '.join(allowed[:-1])} or {allowed[-1]}")
    for key, allowed in table.some_of.items():
        if not set(values[key] or ()).issubset(allowed):
            raise ValueError(f".{where}{key}: may have {', '.join(allowed[:-1])} and {allowed[-1]}")
    for key, value in values.items():
        least = 0 if key in table.may_be_0 else 1
        if isinstance(value, int) and not isinstance(value, bool) and value < least:
            raise ValueError(f".{where}{key}: must be {least} or more")
        if isinstance(value, float) and not (0 <= value < MAX_S and (value or not least)):
            raise ValueError(f".{where}{key}: must be a number of seconds, {'more than 0' if least else '0 or more'}")


def converted(table: Any, kind: type[_Struct]) -> _Struct:
    """`table` as a `kind`; raises ValueError in the words of a user, such as `.args: must be a list`."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        match = _AT.match(str(error))
        what, where = match.groups() if match else (str(error), None)
    where = (where or "").replace("[...]", "")
    if expected := re.match(r"Expected `([^`]*)`", what):
        kinds = [_TYPES.get(name, name) for name in expected[1].split(" | ") if name != "null"]
        form = _FORMS.get(where.rpartition(".")[2], "")
        raise ValueError(f"{where}: must be {' or '.join(dict.fromkeys(kinds)).replace('float', 'a number')}{form}")
    if unknown := re.search(r"unknown field `([^`]*)`", what):
        names = [f.name for f in msgspec.structs.fields(_kind_at(where, kind))]
        hint = did_you_mean(unknown[1], names, f"known are {', '.join(names)}")
        raise ValueError(f"{where}.{unknown[1]}: unknown key; {hint}")
    if missing := re.search(r"missing required field `([^`]*)`", what):
        raise ValueError(f"{where}.{missing[1]}: is missing")
    raise ValueError(f"{where}: {what}")


def _kind_at(where: str, kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    for name in where.split(".")[1:]:
        annotation: Any = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
        kind = next(part for part in _parts(annotation) if isinstance(part, type) and issubclass(part, msgspec.Struct))
    return kind


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def tables(path: Path, section: str, document: dict[str, Any]) -> dict[str, Any]:
    members = document.get(section, {})
    if not isinstance(members, dict):
        raise Unusable(f"{path}: {section} must be tables, [{section}.NAME]", "fix it there", code="config_key")
    return members


def checked(table: Any, kind: type[_Section], name: str) -> _Section:
    """The table of this name as a `kind`; raises ValueError as `Section.check` does."""
    values = converted(table, kind)
    check_values(values)
    values.check(name)
    return values


def section(path: Path, table: Any, kind: type[_Section], *names: str) -> _Section:
    """The table of these names as a `kind`; raises `Unusable`."""
    try:
        return checked(table, kind, names[-1])
    except ValueError as error:
        name = ".".join(names)
        raise Unusable(f"{path}: {name}{error}", f"fix [{name}] there", code="config_key") from error


_TOKEN = re.compile(
    r"#[^\n]*|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\[\]{}\n=]|[^\s#\"'\[\]{}=]+",
    re.DOTALL,
)
_OPEN, _CLOSED = "[{", "]}"


class Statement(NamedTuple):
    table: tuple[str, ...]  # the table that it begins, or that it is in
    is_header: bool
    tokens: list[tuple[int, str]]  # its words, each with its line
    last_line: int

    @property
    def line(self) -> int:
        return self.tokens[0][0]

    @property
    def key(self) -> str:
        """The key of `key = value`, as it is written, or the header."""
        words = [word for _, word in self.tokens]
        return "".join(words[: words.index("=")] if "=" in words else words)

    @property
    def items(self) -> list[int]:
        """The lines of the texts in the list of `key = [value, …]`."""
        return [line for line, token in self.tokens[1:] if token[0] in "\"'"]

    @property
    def place(self) -> tuple[str, ...]:
        return self.table if self.is_header else (*self.table, *_names(self.key))


def line_of(text: str, table: tuple[str, ...], key: str, index: int | None = None) -> int | None:
    """The line of a key of a table, or of an item of its list; None where it is written in another form."""
    for statement in statements(text):
        if not statement.is_header and statement.table == table and _names(statement.tokens[0][1]) == (key,):
            if index is None:
                return statement.line
            return statement.items[index] if index < len(statement.items) else None
    return None


class Lines:
    """The lines of the keys of a text, for many questions."""

    def __init__(self, text: str) -> None:
        self._statements: dict[tuple[str, ...], Statement] = {}
        for statement in statements(text):
            place = statement.place
            for length in range(1, len(place) + 1):
                self._statements.setdefault(place[:length], statement)

    def nearest(self, place: tuple[str, ...], index: int | None = None) -> int:
        """The line of a key, or of an item of its list; else of the nearest table around it, and at worst the first."""
        for length in range(len(place), 0, -1):
            if statement := self._statements.get(place[:length]):
                items = statement.items if statement.place == place else []
                return items[index] if index is not None and index < len(items) else statement.line
        return 1


def statements(text: str) -> Iterator[Statement]:
    """Every header and every `key = value`, in order; lines are counted from 1."""
    header: tuple[str, ...] = ()
    line, depth, tokens = 1, 0, list[tuple[int, str]]()
    for match in _TOKEN.finditer(f"{text}\n"):
        token = match.group()
        depth += (token in _OPEN) - (token in _CLOSED)
        if token != "\n" and not token.startswith("#"):
            tokens.append((line, token))
        elif token == "\n" and depth <= 0 and tokens:
            words = "".join(token for _, token in tokens)
            is_header = words.startswith("[")
            header = _names(words.strip("[]")) if is_header else header
            if is_header or len(tokens) > 1:
                yield Statement(header, is_header, tokens, line)
            depth, tokens = 0, []
        line += token.count("\n")


def told_twice(text: str) -> str:
    """A sentence on the first table or key that is written twice; empty where none is."""
    seen: dict[tuple[tuple[str, ...], bool], int] = {}
    for statement in statements(text):
        key, words = statement.key, [word for _, word in statement.tokens]
        line = seen.setdefault((statement.place, statement.is_header), statement.line)
        if line != statement.line:
            lines = f"in lines {line} and {statement.line}"
            if statement.is_header:
                return f"{key} is written twice, {lines}: put the keys of both under one"
            where = f" in [{'.'.join(statement.table)}]" if statement.table else ""
            return f"'{key}' is written twice{where}, {lines}: write {'one list' if '[' in words else 'it once'}"
    return ""


def _names(dotted: str) -> tuple[str, ...]:
    try:
        table = tomllib.loads(f"{dotted} = 1")
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(table, dict):
        name, table = next(iter(table.items()))
        names.append(name)
    return tuple(names)
