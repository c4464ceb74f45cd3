"""Calls by a value among their arguments, by what was redacted, and the largest first."""

import pytest

from mcpctl.base.paths import Paths
from mcpctl.store import arguments
from tests.conftest import Mcpctl
from tests.recorded import CLAUDE, call, call_id, raw, session
from tests.table import for_each

MARK = "[redacted:1a2b3c4d]"


@pytest.fixture
def calls(paths: Paths) -> None:
    """Nine calls with arguments of many kinds."""
    given = [
        {"city": "Oslo", "days": 3},
        {"city": "oslo", "days": "3"},
        {"city": "Zürich", "file": {"id": 7, "tags": ["a", "b"]}},
        {"file.id": 7, "on": True, "none": None},
        {"n": 1, "deep": {"on": 1, "x.y": {"z": 'a "quoted" \\ text'}}},
        {"token": MARK},
        '{"city": "Oslo", "days": 3, "text": "cut',
        {},
        {"city": "a/b", "n": 1.0, "big": 123456789012345678901234567890},
    ]
    journal = [
        line
        for number, value in enumerate(given, 1)
        for line in call(
            number, number, arguments=raw(value), duration_ms=number * 7 % 10, response_bytes=number * 3 % 10,
            response=raw({"content": [{"type": "text", "text": f"key {MARK}" if number == 2 else "fine"}]}),
        )
    ]  # fmt: skip
    session(paths, CLAUDE, 0, journal)


@for_each(
    ("options", "numbers"),
    [
        (["city=Oslo"], [1]),
        (["city=Zürich"], [3]),
        (["days=3"], [2, 1]),
        (['days="3"'], [2]),
        (["city=Oslo", "days=3"], [1]),
        (["city=Oslo", "days=4"], []),
        (["file.id=7"], [4, 3]),
        (['file.tags=["a","b"]'], [3]),
        (['file.tags=["b","a"]'], []),
        (["on=true"], [4]),
        (["on=1"], []),
        (["deep.on=1"], [5]),
        (["deep.on=true"], []),
        (["none=null"], [4]),
        (['deep.x.y.z=a "quoted" \\ text'], []),
        (['x.y={"z": "a"}'], []),
        ([f"token={MARK}"], [6]),
        (["city=a/b"], [9]),
        (["n=1"], [5]),
        (["n=1.0"], [9]),
        (["big=123456789012345678901234567890"], [9]),
        (["city="], []),
        (["*=Oslo"], []),
    ],
)
def test_calls_are_chosen_by_the_value_of_an_argument(
    mcpctl: Mcpctl, calls: None, options: list[str], numbers: list[int]
) -> None:
    words = [word for option in options for word in ("--arg", option)]
    assert [row["id"] for row in mcpctl("calls", "ls", "--json", *words).json] == [call_id(each) for each in numbers]
    assert mcpctl("calls", "ls", "--count", *words).out == f"{len(numbers)}\n"


@for_each("option", ["city", "=Oslo", "."])
def test_an_argument_without_a_name_or_a_value_is_refused(mcpctl: Mcpctl, option: str) -> None:
    failed = mcpctl("calls", "ls", "--arg", option)
    assert failed.code == 2
    assert f"--arg '{option}' is not NAME=VALUE" in failed.err


def test_calls_in_which_something_was_redacted_say_where(mcpctl: Mcpctl, calls: None) -> None:
    rows = mcpctl("calls", "ls", "--redacted", "--fields", "id,arguments_redacted,response_redacted").out
    assert rows == f"{call_id(6)}\ttrue\tfalse\n{call_id(2)}\tfalse\ttrue\n"
    assert mcpctl("calls", "stats", "--redacted", "--json").json[0]["calls"] == 2


@for_each(
    ("field", "numbers"),
    [("duration_ms", [7, 4, 1, 8, 5, 2, 9, 6, 3]), ("response_bytes", [3, 6, 9, 2, 5, 8, 1, 4, 7])],
)
def test_the_largest_come_first(mcpctl: Mcpctl, calls: None, field: str, numbers: list[int]) -> None:
    rows = mcpctl("calls", "ls", "--sort", field, "--json").json
    assert [row["id"] for row in rows] == [call_id(each) for each in numbers]
    first = mcpctl("calls", "ls", "--sort", field, "--limit", "2", "--offset", "1", "--json").json
    assert [row["id"] for row in first] == [call_id(each) for each in numbers[1:3]]


def test_sorted_by_time_is_the_order_without(mcpctl: Mcpctl, calls: None) -> None:
    assert mcpctl("calls", "ls", "--sort", "started_at").out == mcpctl("calls", "ls").out


@for_each("depth", [500, 200_000])  # a hundred thousand is too deep for every Python
def test_what_is_nested_too_deep_to_be_compared_is_not_found(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    assert arguments.has(f'{{"a": {nested}}}', "a", nested) is (depth == 500)
    assert not arguments.has(f'{{"a": {nested}}}', "a", "x")


@for_each(
    ("recorded", "line"),
    [
        (None, None),
        ("{}", ""),
        ('{"city": "Oslo", "days": 3}', "city=Oslo, days=3"),
        ('{"a": {"b": [1, null, "\\u00fc"]}}', 'a={"b": [1, null, "ü"]}'),
        ('{"a": "one\\n  two\\tthree"}', "a=one two three"),
        ('"a text that was cut', '"a text that was cut'),
        ('["a"]', '["a"]'),
        (f'{{"a": "{"b" * 300}"}}', f"a={'b' * 197}…"),
        (f'{{"a": {"[" * 100_000}{"]" * 100_000}}}', f'{{"a": {"[" * 193}…'),
    ],
)
def test_arguments_are_told_in_one_line(recorded: str | None, line: str | None) -> None:
    assert arguments.line(recorded) == line
