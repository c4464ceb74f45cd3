"""A shape says what JSON is like, in bounds, and nothing in the words of a server."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.answers.excerpts import example, shape
from tests.table import for_each

TIMES = "\N{MULTIPLICATION SIGN}"
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@for_each(
    "value, said, path",
    [
        ({"items": [{"id": 1, "title": "a"}] * 1204, "next": "x"},
         f"{{items: [1,204 {TIMES} {{id, title}}], next: string}}", "items[0:20].{id: id, title: title}"),
        ([1, 2], f"[2 {TIMES} number]", "[0:20]"),
        ([], "[]", ""),
        ({}, "{}", ""),
        ("text", "string", ""),
        ({"a": {"b": {"c": {"d": 1}}}}, "{a: {b: {c}}}", "a"),
        ({"a": [[{"b": True}]]}, f"{{a: [1 {TIMES} [1 {TIMES} object]]}}", "a[0:20]"),
        ({str(n): n for n in range(5)}, "{…5 keys}", ""),
        ({f"n{n}": None for n in range(20)}, "{" + ", ".join(f"n{n}: null" for n in range(8)) + ", …12 keys}", "n0"),
    ],
)  # fmt: skip
def test_a_shape_and_a_path_that_selects_of_it(value: Any, said: str, path: str) -> None:
    text = json.dumps(value).encode()
    assert (shape(text), example(text)) == (said, path)


@given(JSON)
def test_every_json_has_a_short_one(value: Any) -> None:
    text = json.dumps(value).encode()
    assert len(shape(text)) <= 600
    assert len(example(text)) < 400


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":', b"[1,", b'{"a":NaN}', b"[\xff]", b"", b"[,]"])
def test_what_is_not_json_has_one_too(text: bytes) -> None:
    assert len(shape(text)) < 40
    assert len(example(text)) < 40


def test_what_has_very_many_items_or_bytes_is_not_counted() -> None:
    assert shape(b"[" + b"0," * 1_000_001 + b"0]") == f"[many {TIMES} number]"
    assert shape(b'["' + b"x" * (17 << 20) + b'"]') == "array (more than 16 MB, not looked into)"
