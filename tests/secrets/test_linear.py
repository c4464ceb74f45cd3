"""Redaction takes time in proportion to the text, whatever stands in it. Seen from what is done, not from a clock."""

import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial
from re import _compiler, _parser  # type: ignore[attr-defined]  # no other way to look into an expression
from typing import Any

import pytest

from mcpctl.secrets import json_text, named_values, redactor, secret_values, shapes
from mcpctl.secrets.redact import mask
from mcpctl.secrets.redactor import Redactor
from mcpctl.secrets.token_shapes import TOKENS
from tests.effort import calls
from tests.table import for_each

REDACTOR = Redactor(b"k" * 32, ["pin"])
_LONG = 32
SEARCHED: dict[str, re.Pattern[Any]] = {
    "names before a colon": named_values._BEFORE_COLON,
    "names before an equals sign": named_values._BEFORE_EQUALS,
    "delimiters": json_text._DELIMITER,
    # That of netrc reads 128 bytes in vain, and no more.
    **{f"sign {number}": sign for number, sign in enumerate(redactor.SIGNS) if sign is not named_values._NETRC},
    **{f"heads {number}": heads for number, (_, heads) in enumerate(shapes.HEADS)},
}
"""What is looked for from every place of a text on."""
MATCHED: dict[str, re.Pattern[Any]] = {
    "quoted": json_text._quotation(1),
    "quoted deeper": json_text._quotation(4),
    "scalar": json_text._SCALAR,
    "separator": named_values._SEPARATED,
    "gap": named_values._GAP,
    "annotation": named_values._ANNOTATION,
    "opening": named_values._OPENING,
    "single quotes": named_values._IN_SINGLE,
    "bare": named_values._BARE,
    "cookies": named_values._COOKIES,
    "scheme": named_values._SCHEME,
    "prose": named_values._PROSE,
    "part of a web token": shapes._JWT_PART,
    "rest of a web token": shapes._JWT_REST,
    "characters of a key": shapes._KEY_CHARACTERS,
    "key to its end": shapes._KEY_TO_END,
    "end of a key": shapes._KEY_END,
    "path": secret_values._PATH,
    **{f"rest of {shape.name}": re.compile(shape.rest) for shape in TOKENS},
}
"""What is tried at one place only."""


def sequences(tree: Any) -> Iterator[list[tuple[Any, Any]]]:
    """Every way through an expression, by its groups and alternatives. Lookarounds, all short here, are left out."""
    parts: list[list[list[tuple[Any, Any]]]] = []
    for op, value in tree:
        name = str(op)
        if name == "SUBPATTERN":
            parts.append(list(sequences(value[-1])))
        elif name == "BRANCH":
            parts.append([way for branch in value[1] for way in sequences(branch)])
        elif name not in ("ASSERT", "ASSERT_NOT", "AT"):
            parts.append([[(op, value)]])
    for ways in itertools.product(*parts):
        yield [item for way in ways for item in way]


def is_long(item: tuple[Any, Any]) -> bool:
    return "REPEAT" in str(item[0]) and item[1][1] > _LONG


def takes(item: tuple[Any, Any], character: int) -> bool:
    """Whether a repetition may begin with this character."""
    compiled = _compiler.compile(item[1][2], 0)
    pattern: re.Pattern[Any] = compiled
    try:
        return pattern.match(bytes([character])) is not None
    except TypeError:
        return pattern.match(chr(character)) is not None


def ways(pattern: re.Pattern[Any]) -> list[list[tuple[Any, Any]]]:
    return list(sequences(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)))


def in_vain(pattern: re.Pattern[Any]) -> list[list[tuple[Any, Any]]]:
    """The ways on which much is read from a place before it is clear that nothing begins there, and then read again."""
    found = []
    for way in ways(pattern):
        while str(way[-1][0]).endswith("REPEAT") and way[-1][1][0] == 0:
            way.pop()  # what need not be there
        op, value = way[0]
        # Another place at which it may begin must not be within what is read from this one.
        if len(way) > 1 and (str(op) != "LITERAL" or any(is_long(item) and takes(item, value) for item in way[:-1])):
            found.append(way)
    return found


@for_each("pattern", SEARCHED.values())
def test_what_is_looked_for_reads_nothing_long_in_vain(pattern: re.Pattern[Any]) -> None:
    assert in_vain(pattern) == []


@for_each("bad", [rb"[a-z_]{0,64}(?:token|key)=", rb"eyJ[A-Za-z0-9_-]{8,4096}\.[a-z]{8}", rb"a|k(?:k*:)"])
def test_what_would_is_noticed(bad: bytes) -> None:
    assert in_vain(re.compile(bad))


@for_each("pattern", MATCHED.values())
def test_what_is_tried_at_a_place_gives_nothing_long_back(pattern: re.Pattern[Any]) -> None:
    for way in ways(pattern):
        for item in way[:-1]:
            assert not is_long(item) or str(item[0]) == "POSSESSIVE_REPEAT", way


HOSTILE = {
    "backslashes": (b'"key', b"\\"),
    "brackets": (b'"token": ', b"["),
    "pairs of brackets": (b'"token": [', b"[]"),
    "nested brackets": (b'"token": [', b"[[]]"),
    "objects": (b"", b'"token":{'),
    "schemas": (b"", b'"token":{"type":"string",'),
    "escaped quotes": (b'"token": "', b'\\"'),
    "quotes deeper": (b'\\"token\\": \\"', b'\\\\\\"'),
    "assignments": (b"", b"token="),
    "assignments of hints": (b"", b"key="),
    "assignments in quotes": (b"", b'key=\\"'),
    "assignments in single quotes": (b"", b"key='"),
    "lines": (b"", b"password: "),
    "colons": (b"", b"key:"),
    "separators": (b"", b"="),
    "quotes and colons": (b"", b'":'),
    "secrets": (b"", b"pwd=x123 "),
    "members": (b"{", b'"pwd":1,'),
    "names that are none": (b"", b'pwd":'),
    "underscores": (b"key", b"_"),
    "dashes": (b"key", b"-"),
    "dots": (b"key", b"."),
    "rows of a table": (b"key", b"|---|---|\n"),
    "escaped slashes": (b"", b"\\/"),
    "escaped letters": (b"", b"\\u0070"),
    "escaped in addresses": (b"", b"%3D"),
    "pairs": (b"[", b'{"name":"token","value":"x"},'),
    "beginnings of pairs": (b"", b'"name":"a",'),
    "options": (b"", b"--token "),
    "logins": (b"curl", b" -u a:b"),
    "machines": (b"", b"login "),
    "blanks": (b"login", b" "),
    "cookies": (b"", b"cookie: a=b;"),
    "schemes": (b"", b"authorization: a "),
    "addresses": (b"", b"://"),
    "addresses with colons": (b"", b"://:"),
    "addresses with passwords": (b"", b"://a:a"),
    "signs": (b"://", b"@"),
    "addresses in a value": (b'"dsn": "x://', b":"),
    "heads of tokens": (b"", b"ghp_"),
    "heads in capitals": (b"", b"EAA "),
    "beginnings of web tokens": (b"", b"eyJ"),
    "parts of web tokens": (b"", b"eyJaaaaaaaa."),
    "long parts of web tokens": (b"", b"eyJ" * 2000 + b"."),
    "web tokens": (b"", b"eyJaaaaaaaa.aaaaaaaa.aaaaaaaa "),
    "tokens in a web token": (b"eyJaaaaaaaa", b"AKIAIOSFODNN7EXAMPLE"),
    "beginnings of keys": (b"", b"-----BEGIN "),
    "keys": (b"", b"-----BEGIN PRIVATE KEY-----"),
    "ends of keys": (b"-----BEGIN PRIVATE KEY-----", b"\\-----END PRIVATE KEY-----"),
    "dashes in a key": (b"-----BEGIN PRIVATE KEY-----", b"-"),
    "keys of PuTTY": (b"", b"Private-Lines: 1\nA"),
    "headers": (b"", b"Bearer "),
}


def masked(text: bytes) -> str:
    return mask(text.decode())


@for_each("hostile", HOSTILE.values())
@for_each("work", [REDACTOR.json, masked])
@pytest.mark.slow
def test_a_text_of_twice_the_length_takes_twice_the_steps(
    work: Callable[[bytes], object], hostile: tuple[bytes, bytes]
) -> None:
    begin, unit = hostile
    short, long = (calls(partial(work, begin + unit * (size // len(unit)))) for size in (6_250, 12_500))
    # Beyond some hundred telling names values are hidden unseen, which takes more steps than to look at them.
    assert long <= 3 * short + 25
