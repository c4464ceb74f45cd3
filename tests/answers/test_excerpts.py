"""Pieces of a text are in bounds, without half a character; a shape says what JSON is like, in no words of a server."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.answers import excerpts
from mcpctl.answers.excerpts import example, shape
from tests.effort import calls
from tests.table import for_each

TEXTS = st.text(st.sampled_from('aé€😀\n",\\{}[]: '), max_size=300)


@given(TEXTS, st.integers(0, 400), st.booleans())
def test_a_beginning_is_one_of_whole_characters(text: str, most: int, is_json: bool) -> None:
    head = excerpts.head(text.encode(), most, is_json=is_json)
    assert text.startswith(head.decode())
    assert len(head) <= most


@given(TEXTS, st.integers(16, 64))
def test_pieces_are_all_of_the_text(text: str, limit: int) -> None:
    whole, offset, read = text.encode(), 0, ""
    while offset < len(whole):
        piece = excerpts.piece(whole, offset, limit)
        assert (piece.start, piece.end > offset, len(piece.text) <= limit) == (offset, True, True)
        offset, read = piece.end, read + piece.text.decode()
    assert read == text


@given(TEXTS, st.text(st.sampled_from('aAé😀\n".*+('), min_size=1, max_size=3), st.integers(0, 3), st.integers(16, 200))
def test_every_match_is_shown_once(text: str, sought: str, context: int, limit: int) -> None:
    whole, offset, number = text.encode(), 0, 0
    while True:
        piece, found = excerpts.matches(whole, sought, offset, limit, context)
        piece.text.decode()
        number += found
        if piece.end >= len(whole):
            break
        assert offset < piece.end
        offset = piece.end
    assert number == whole.lower().count(sought.encode().lower())


def test_a_beginning_ends_with_a_line_or_an_element() -> None:
    assert excerpts.head(b"one\ntwo\nthree", 9, is_json=False) == b"one\ntwo\n"
    assert excerpts.head(b'[{"a":"x,y"},{"a":"z,y"}]', 21, is_json=True) == b'[{"a":"x,y"},'
    assert excerpts.head(b'["a\\",b","c"]', 7, is_json=True) == b'["a\\",b'
    assert excerpts.head(b"no end anywhere", 9, is_json=True) == b"no end an"


def test_long_lines_are_cut_around_the_words() -> None:
    whole = b"x" * 5000 + b"needle" + b"y" * 5000
    piece, number = excerpts.matches(whole, "Needle", 0, 8000, 0)
    assert piece.text == b"4800: " + b"x" * 200 + b"needle" + b"y" * 200
    assert number == 1


def test_a_search_takes_time_in_proportion_to_the_text() -> None:
    def work(size: int) -> int:
        return calls(lambda: excerpts.matches(b"ab\n" * size, "b", 0, 10**9, 1))

    assert work(2000) < 2.5 * work(1000)


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
@pytest.mark.slow
def test_every_json_has_a_short_one(value: Any) -> None:
    text = json.dumps(value).encode()
    assert len(shape(text)) <= 600
    assert len(example(text)) < 400


@for_each("text", [b"[" * 100_000, b'{"a":', b"[1,", b'{"a":NaN}', b"[\xff]", b"", b"[,]"])
def test_what_is_not_json_has_one_too(text: bytes) -> None:
    assert len(shape(text)) < 40
    assert len(example(text)) < 40


def test_what_has_very_many_items_or_bytes_is_not_counted() -> None:
    assert shape(b"[" + b"0," * 1_000_001 + b"0]") == f"[many {TIMES} number]"
    assert shape(b'["' + b"x" * (17 << 20) + b'"]') == "array (more than 16 MB, not looked into)"
