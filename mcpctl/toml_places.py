"""The lines of config.toml on which tables, keys and the items of lists stand, which the TOML library does not tell."""

import re
import tomllib
from collections.abc import Iterator

_TOKEN = re.compile(
    r"#[^\n]*|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\[\]{}\n=]|[^\s#\"'\[\]{}=]+",
    re.DOTALL,
)
_OPEN, _CLOSED = "[{", "]}"


def line_of(text: str, table: tuple[str, ...], key: str, index: int | None = None) -> int | None:
    """The line of a key of a table, or of an item of its list; None where it is written in another form."""
    for line, header, statement in _statements(text):
        if header == table and _names(statement[0][1]) == (key,):
            return line if index is None else _item(statement, index)
    return None


def _item(statement: list[tuple[int, str]], index: int) -> int | None:
    """The line of the item of a list of texts."""
    lines = [line for line, token in statement[1:] if token[0] in "\"'"]
    return lines[index] if index < len(lines) else None


def _statements(text: str) -> Iterator[tuple[int, tuple[str, ...], list[tuple[int, str]]]]:
    """Every `key = value`: its line, the table that it is in, and its tokens with their lines."""
    header: tuple[str, ...] = ()
    line, depth, statement = 1, 0, list[tuple[int, str]]()
    for found in _TOKEN.finditer(f"{text}\n"):
        token = found.group()
        depth += (token in _OPEN) - (token in _CLOSED)
        if token != "\n" and not token.startswith("#"):
            statement.append((line, token))
        elif token == "\n" and depth <= 0 and statement:
            words = "".join(token for _, token in statement)
            if words.startswith("["):
                header = _names(words.strip("[]"))
            elif len(statement) > 1:
                yield statement[0][0], header, statement
            depth, statement = 0, []
        line += token.count("\n")


def _names(dotted: str) -> tuple[str, ...]:
    """The names of a key that may be dotted and quoted."""
    try:
        table = tomllib.loads(f"{dotted} = 1")
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(table, dict):
        name, table = next(iter(table.items()))
        names.append(name)
    return tuple(names)
