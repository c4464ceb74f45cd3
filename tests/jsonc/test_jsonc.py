"""JSON as editors write it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.jsonc import decoded
from tests.table import for_each

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@for_each(
    ("text", "value"),
    [
        ('{"a": 1} // the end', {"a": 1}),
        ('/* a */ {"a": /* b */ 1,}', {"a": 1}),
        ('{"a": [1, 2, // two\n ], /* c */ }', {"a": [1, 2]}),
        ('{"url": "https://a//b/*c*/", "x": ",]"}', {"url": "https://a//b/*c*/", "x": ",]"}),
        (r'{"a": "\"//", "b": "\\"} // c', {"a": '"//', "b": "\\"}),
        ('{"a": 1}\r\n// windows\r\n', {"a": 1}),
        ("[/**/]", []),
        ("[1 /* no // comment in one */, 2]", [1, 2]),
        ('// "a string in a comment\n{}', {}),
    ],
)
def test_comments_and_trailing_commas_are_no_part_of_the_value(text: str, value: Any) -> None:
    assert decoded(text.encode()) == value


@for_each("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_any_unicode_encoding_is_read(encoding: str) -> None:
    assert decoded('{"é": 1}'.encode(encoding)) == {"é": 1}


@for_each(
    ("text", "where"),
    [
        ('{\n  // one\n  "a": 1\n  "b": 2\n}', "line 4, column 3"),
        ('{"a": 1 /* never ended', "line 1, column 9"),
        ('{\n /* a\n b */ "a" 1}', "line 3, column 11"),
        ('{"a": "not ended\n}', "line 1, column 17"),
        ("[1,,]", "line 1, column 4"),
        ("[,]", "line 1, column 2"),
        ("{} x", "line 1, column 4"),
    ],
)
def test_an_error_has_the_line_and_column_of_the_text_as_it_is(text: str, where: str) -> None:
    with pytest.raises(ValueError, match=where):
        decoded(text.encode())


def test_a_text_nested_too_deeply_is_an_error_like_any_other() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        decoded(b"[" * 200_000)


@given(VALUES)
def test_plain_json_is_read_as_it_is(value: Any) -> None:
    assert decoded(json.dumps(value).encode()) == value
    assert decoded(json.dumps(value, indent=1, ensure_ascii=False).encode()) == value


@for_each("text", ["/* " * 300_000, '{"a": 1} /*' + "*" * 300_000, "// \n" * 150_000, ", " * 150_000])
def test_what_never_ends_costs_no_more_than_its_length(text: str) -> None:
    """Hours, were each beginning looked at to the end."""
    with pytest.raises(ValueError, match=r"line|column|Expecting|Extra"):
        decoded(text.encode())


@for_each("text", ['{"a": 1} /* never ends', '{"a": 1, /*/}', "/*"])
def test_a_comment_without_an_end_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        decoded(text.encode())
