"""The first line of an error, and the group of those that are alike."""

from mcpctl.store import error_texts
from tests.table import for_each


@for_each(
    ("message", "line"),
    [
        (None, None),
        ("", None),
        (" \n\t\n", None),
        ("\n  no  such\ttable \nmore", "no such table"),
        ("a" * 200, "a" * 200),
        ("a" * 201, "a" * 199 + "…"),
        ("\n" * 5000 + "late", None),
    ],
)
def test_the_first_line_with_text_is_shown_and_a_long_one_cut(message: str | None, line: str | None) -> None:
    assert error_texts.first_line(message) == line


@for_each(
    ("line", "group"),
    [
        (None, None),
        ("row 17 of 3,000 took 1.5 s", "row # of # took # s"),
        ("no answer from 10.0.0.7:8080", "no answer from #"),
        ("order 7d9f1c00-1111-4a22-8b33-123456789abc is gone", "order # is gone"),
        ("commit 3f2a9bc and 0xdeadbeef", "commit # and #"),
        ("the facade is added, deadbeef too", "the facade is added, deadbeef too"),
        ("tool_7 of server2", "tool_# of server#"),
    ],
)
def test_numbers_and_ids_are_folded_and_words_are_not(line: str | None, group: str | None) -> None:
    assert error_texts.group(line) == group


@for_each(
    ("error", "code"),
    [
        ({"code": "needs_consent", "message": "x"}, "needs_consent"),
        ({"code": -32602}, "-32602"),
        ({"code": True}, None),
        ({"code": ["a"]}, None),
        ({"code": "a" * 100}, "a" * 64),
        ({}, None),
        ("cut", None),
        (None, None),
    ],
)
def test_a_code_is_a_short_text_or_none(error: object, code: str | None) -> None:
    assert error_texts.code(error) == code
