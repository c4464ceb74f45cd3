"""The lines of a TOML file on which tables, keys and the items of lists stand, which the TOML library does not tell."""

import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"#[^\n]*|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\[\]{}\n=]|[^\s#\"'\[\]{}=]+",
    re.DOTALL,
)
_OPEN, _CLOSED = "[{", "]}"


class Statement(NamedTuple):
    table: tuple[str, ...]
    """The table that it begins, or that it is in."""
    is_header: bool
    tokens: list[tuple[int, str]]
    """Its words, each with its line."""
    last_line: int


def line_of(text: str, table: tuple[str, ...], key: str, index: int | None = None) -> int | None:
    """The line of a key of a table, or of an item of its list; None where it is written in another form."""
    for each in statements(text):
        if not each.is_header and each.table == table and _names(each.tokens[0][1]) == (key,):
            return each.tokens[0][0] if index is None else _item(each.tokens, index)
    return None


def _item(tokens: list[tuple[int, str]], index: int) -> int | None:
    lines = [line for line, token in tokens[1:] if token[0] in "\"'"]
    return lines[index] if index < len(lines) else None


def statements(text: str) -> Iterator[Statement]:
    """Every header and every `key = value`, in order; lines are counted from 1."""
    header: tuple[str, ...] = ()
    line, depth, tokens = 1, 0, list[tuple[int, str]]()
    for found in _TOKEN.finditer(f"{text}\n"):
        token = found.group()
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
    for each in statements(text):
        words = [word for _, word in each.tokens]
        key = "".join(words[: words.index("=")] if "=" in words else words)
        place = each.table if each.is_header else (*each.table, *_names(key))
        line = seen.setdefault((place, each.is_header), each.tokens[0][0])
        if line != each.tokens[0][0]:
            lines = f"in lines {line} and {each.tokens[0][0]}"
            if each.is_header:
                return f"{key} stands twice, {lines}: put what is in both under one"
            where = f" in [{'.'.join(each.table)}]" if each.table else ""
            return f"'{key}' stands twice{where}, {lines}: write {'one list' if '[' in words else 'it once'}"
    return ""


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
