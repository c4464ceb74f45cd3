"""JSON text changed in one place: it says what it should afterwards, and every byte besides is as it was."""

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpctl import jsonc
from mcpctl.jsonc import edit as json_edit
from tests.table import for_each

few = settings(max_examples=settings().max_examples // 2)

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)
STYLES: st.SearchStrategy[dict[str, Any]] = st.sampled_from([
    {"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}, {"separators": (",", ":")},
    {"indent": 2, "ensure_ascii": False},
])  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, Any]:
    """A text and what it says."""
    value = draw(st.dictionaries(st.text(max_size=4), VALUES, max_size=5))
    text = json.dumps(value, **draw(STYLES))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\n", "  "])) + text + draw(st.sampled_from(["", "\n"])), value


def places(value: Any, kind: type, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where in a value there are lists, or objects."""
    found = [at] if isinstance(value, kind) else []
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [place for name, member in members for place in places(member, kind, (*at, name))]


def inside(value: Any, place: tuple[str | int, ...]) -> Any:
    for name in place:
        value = value[name]
    return value


def is_one_insertion(before: str, after: str) -> bool:
    """Whether nothing but one piece is new."""
    start = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    rest = len(before) - start
    return len(after) > len(before) and after[len(after) - rest :] == before[start:]


@few
@given(documents(), VALUES, st.data())
@pytest.mark.slow
def test_an_item_is_appended_and_nothing_else_changes(
    document: tuple[str, Any], item: Any, data: st.DataObject
) -> None:
    text, value = document
    if lists := places(value, list):
        place = data.draw(st.sampled_from(lists))
        after = json_edit.append(text, place, item)
        expected = copy.deepcopy(value)
        inside(expected, place).append(item)
        assert json.loads(after) == expected
        assert is_one_insertion(text, after) or not inside(value, place)


@few
@given(documents(), st.lists(st.tuples(st.integers(0, 5), VALUES), max_size=4), st.data())
def test_items_are_inserted_before_those_that_have_their_numbers(
    document: tuple[str, Any], items: list[tuple[int, Any]], data: st.DataObject
) -> None:
    text, value = document
    if lists := places(value, list):
        place = data.draw(st.sampled_from(lists))
        old = inside(value, place)
        after = json_edit.insert(text, place, *items)
        expected = copy.deepcopy(value)
        new = [[item for number, item in sorted(items, key=lambda each: each[0]) if min(number, len(old)) == at]
               for at in range(len(old) + 1)]  # fmt: skip
        inside(expected, place)[:] = [each for at, item in enumerate(old) for each in (*new[at], item)] + new[-1]
        assert json.loads(after) == expected
        if old:
            kept = [place_ for place_, item in enumerate(inside(json.loads(after), place))]
            starts = [at + sum(len(before) for before in new[: at + 1]) for at in range(len(old))]
            dropped = [(*place, number) for number in kept if number not in starts]
            assert not dropped or json_edit.drop(after, *dropped) == text


@few
@given(documents(), VALUES, st.text(max_size=4), st.data())
def test_a_member_is_put_in_and_the_order_of_the_others_stays(
    document: tuple[str, Any], member: Any, name: str, data: st.DataObject
) -> None:
    text, value = document
    place = data.draw(st.sampled_from(places(value, dict)))
    after = json_edit.put(text, (*place, name), member)
    expected = copy.deepcopy(value)
    inside(expected, place)[name] = member
    assert json.dumps(json.loads(after)) == json.dumps(expected)


@few
@given(documents(), st.data())
def test_what_is_dropped_is_gone_and_nothing_else(document: tuple[str, Any], data: st.DataObject) -> None:
    text, value = document
    full = [place for kind in (list, dict) for place in places(value, kind) if inside(value, place)]
    if full:
        place = data.draw(st.sampled_from(full))
        container = inside(value, place)
        names: Any = list(container) if isinstance(container, dict) else range(len(container))
        name = data.draw(st.sampled_from(names))
        expected = copy.deepcopy(value)
        del inside(expected, place)[name]
        assert json.dumps(json.loads(json_edit.drop(text, (*place, name)))) == json.dumps(expected)


@few
@given(documents(), VALUES, st.data())
def test_what_is_appended_and_dropped_again_leaves_no_trace(
    document: tuple[str, Any], item: Any, data: st.DataObject
) -> None:
    text, value = document
    if lists := [place for place in places(value, list) if inside(value, place)]:
        place = data.draw(st.sampled_from(lists))
        after = json_edit.append(text, place, item)
        assert json_edit.drop(after, (*place, len(inside(value, place)))) == text


@for_each(
    ("before", "after"),
    [
        ('{\n  "a": []\n}', '{\n  "a": [\n    {\n      "b": 1\n    }\n  ]\n}'),
        ('{\n   "a": [\n      1\n   ]\n}\n', '{\n   "a": [\n      1,\n      {\n         "b": 1\n      }\n   ]\n}\n'),
        ('{"a":[1]}', '{"a":[1,{"b":1}]}'),
        ('{"a": [1]}', '{"a": [1, {"b": 1}]}'),
        ('{\n\t"a": [1, 2]\n}', '{\n\t"a": [1, 2, {"b": 1}]\n}'),
        ('{ "a" : [ ] }', '{ "a" : [{"b":1}] }'),
        ('{"a": 1, "a": []}', '{"a": 1, "a": [{"b": 1}]}'),
    ],
)  # fmt: skip
def test_what_is_new_is_written_as_its_surroundings_are(before: str, after: str) -> None:
    assert json_edit.append(before, ["a"], {"b": 1}) == after


@for_each(
    ("before", "after"),
    [
        ('{\n   "a": [\n      1,\n      3\n   ]\n}\n', '{\n   "a": [\n      1,\n      2,\n      3\n   ]\n}\n'),
        ('{"a":[1,3]}', '{"a":[1,2,3]}'),
        ('{"a": [1, 3]}', '{"a": [1, 2, 3]}'),
        ('{"a": [1,\n 3]}', '{"a": [1,\n 2,\n 3]}'),
        ('{"a": []}', '{"a": [2]}'),
    ],
)
def test_what_is_inserted_is_written_as_its_surroundings_are(before: str, after: str) -> None:
    assert json_edit.insert(before, ["a"], (1, 2)) == after


# ---- comments and trailing commas

WRITTEN = """{
  // one
  "a": 1, // after a
  /* two */ "b": { "c": [1, 2,], }, // after b
  // three
  "d": 4,
  // the end
}
"""


def comments(text: str) -> list[str]:
    return re.findall(r"//[^\n]*|/\*.*?\*/", text)


@for_each("names", ["a", "b", "d", "ab", "ad", "bd", "abd"])
@for_each("text", [WRITTEN, WRITTEN.replace("4,", "4"), WRITTEN.replace("\n", "\r\n")])
def test_comments_beside_what_is_dropped_stay(text: str, names: str) -> None:
    after = json_edit.drop(text, *((name,) for name in names))
    assert jsonc.decoded(after.encode()) == {
        name: value for name, value in jsonc.decoded(text.encode()).items() if name not in names
    }
    assert comments(after) == comments(text)
    assert "\n\n" not in after


@for_each(
    ("before", "after"),
    [
        ('{\n  "a": 1, // one\n}', '{\n  "a": 1, // one\n  "n": 2,\n}'),
        ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "n": 2\n}'),
        ('{\n  // none\n}', '{\n  // none\n  "n": 2\n}'),
        ('{ "a": 1, }', '{ "a": 1, "n": 2, }'),
        ('{"a": 1 // one\n}', '{"a": 1, // one\n"n": 2\n}'),
        ("{ /* none */ }", '{ /* none */"n": 2}'),
    ],
)  # fmt: skip
def test_a_member_is_put_behind_the_last_and_its_comment(before: str, after: str) -> None:
    assert json_edit.put(before, ["n"], 2) == after
    assert jsonc.decoded(after.encode())["n"] == 2


def test_the_text_of_a_member_comes_back_where_it_was() -> None:
    text = json_edit.text_at(WRITTEN, ["b"])
    assert text == '{ "c": [1, 2,], }'
    back = json_edit.put_text(json_edit.drop(WRITTEN, ["b"]), ["b"], text, "d")
    assert list(jsonc.decoded(back.encode()).items()) == list(jsonc.decoded(WRITTEN.encode()).items())
    assert text in back
    assert comments(back) == comments(WRITTEN)


def test_values_are_replaced_in_their_places() -> None:
    assert json_edit.replaced(WRITTEN, {("a",): "x", ("b", "c", 1): 3, ("no",): 1}) == WRITTEN.replace(
        '"a": 1', '"a": "x"'
    ).replace("2,]", "3,]")
