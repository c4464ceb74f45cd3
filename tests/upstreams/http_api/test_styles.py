"""The standard's own table of styles, each row, and what is serialised read back."""

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcpctl.base.failure import Failed
from mcpctl.upstreams.http_api.styles import as_it_is, percent, reserved, written
from tests.table import for_each

STRING, ARRAY = "blue", ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}
ROWS: list[tuple[str, bool, Any, str]] = [
    # https://spec.openapis.org/oas/v3.1.1#style-examples; 3.0.4 and 3.2.0 have the same ones.
    ("matrix", False, STRING, ";color=blue"), ("matrix", True, STRING, ";color=blue"),
    ("matrix", False, ARRAY, ";color=blue,black,brown"), ("matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
    ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"), ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
    ("matrix", False, "", ";color"), ("matrix", True, "", ";color"),
    ("label", False, STRING, ".blue"), ("label", True, STRING, ".blue"),
    ("label", False, ARRAY, ".blue,black,brown"), ("label", True, ARRAY, ".blue.black.brown"),
    ("label", False, OBJECT, ".R,100,G,200,B,150"), ("label", True, OBJECT, ".R=100.G=200.B=150"),
    ("label", False, "", "."),
    ("simple", False, STRING, "blue"), ("simple", True, STRING, "blue"),
    ("simple", False, ARRAY, "blue,black,brown"), ("simple", True, ARRAY, "blue,black,brown"),
    ("simple", False, OBJECT, "R,100,G,200,B,150"), ("simple", True, OBJECT, "R=100,G=200,B=150"),
    ("form", False, STRING, "color=blue"), ("form", True, STRING, "color=blue"), ("form", True, "", "color="),
    ("form", False, ARRAY, "color=blue,black,brown"), ("form", True, ARRAY, "color=blue&color=black&color=brown"),
    ("form", False, OBJECT, "color=R,100,G,200,B,150"), ("form", True, OBJECT, "R=100&G=200&B=150"),
    ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
    ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
    ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, OBJECT, "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", False, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("cookie", False, STRING, "color=blue"), ("cookie", True, ARRAY, "color=blue; color=black; color=brown"),
    ("cookie", True, OBJECT, "R=100; G=200; B=150"),
    # The column `undefined` (3.0.4: `empty`) for an array and an object that are empty.
    ("matrix", False, [], ";color"), ("matrix", True, [], ";color"), ("matrix", True, {}, ";color"),
    ("label", False, [], "."), ("label", True, {}, "."), ("simple", False, [], ""), ("simple", True, {}, ""),
    ("form", False, [], "color="), ("form", True, [], "color="), ("form", True, {}, "color="),
    ("spaceDelimited", False, [], "color="), ("pipeDelimited", False, [], "color="), ("deepObject", True, {}, ""),
    # What the standard calls undefined (`n/a`): without delimiters these are forms.
    ("spaceDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
    ("pipeDelimited", True, STRING, "color=blue"),
    # RFC 6570, 3.2.7: no sign after the name of an empty value; 2.3: null is left out.
    ("matrix", True, {"R": "", "G": 1}, ";R;G=1"), ("matrix", True, ["", "a"], ";color;color=a"),
    ("simple", True, {"R": ""}, "R="), ("form", False, ["a", None, "b"], "color=a,b"), ("form", True, None, ""),
]  # fmt: skip


@for_each("style, explode, value, expected", ROWS)
def test_every_row_of_the_standards_table_is_written_as_it_stands_there(
    style: str, explode: bool, value: Any, expected: str
) -> None:
    assert written(style, explode, "color", json.dumps(value).encode(), percent) == expected


def test_a_header_has_no_percent_encoding() -> None:
    assert written("simple", False, "", b'["a b", "c/d"]', as_it_is) == "a b,c/d"


def test_numbers_keep_the_text_that_came_and_booleans_are_their_json() -> None:
    for text in ("12345678901234567890123", "1.50", "1e400", "-0", "true", "false"):
        assert written("form", True, "n", f" {text} ".encode(), percent) == f"n={text}"
        assert written("form", False, "n", f"[{text} , {text}]".encode(), percent) == f"n={text},{text}"


def test_what_the_standard_leaves_open_in_deep_objects_is_the_same_everywhere() -> None:
    cases = [
        ({"b": {"c": 1}}, "a[b][c]=1"),
        ([{"b": 1}, {"b": 2}], "a[0][b]=1&a[1][b]=2"),
        ({"tags": ["x", "y"]}, "a[tags][]=x&a[tags][]=y"),
        (["x", "y"], "a[]=x&a[]=y"),
        ({"k": [{"d": True}], "n": None, "e": []}, "a[k][0][d]=true"),
        ("plain", "a=plain"),
    ]
    for value, expected in cases:
        assert unquote(written("deepObject", True, "a", json.dumps(value).encode(), percent)) == expected


def test_values_inside_values_of_other_styles_are_json() -> None:
    assert unquote(written("form", True, "a", b'{"b":{"c": 1.50}}', percent)) == 'b={"c": 1.50}'
    assert unquote(written("form", False, "a", b"[[1,2],3]", percent)) == "a=[1,2],3"


def test_a_value_is_taken_apart_to_a_bounded_depth() -> None:
    with pytest.raises(Failed, match="more than 32 values in each other"):
        written("deepObject", True, "a", b'{"a":' * 40 + b"1" + b"}" * 40, percent)
    assert written("form", True, "a", b"[" * 5000 + b"]" * 5000, percent)


def test_reserved_characters_stay_only_where_they_end_nothing() -> None:
    assert reserved("https://a.example/?b=c;d,e'(f)*!@:$") == "https://a.example/?b=c;d,e'(f)*!@:$"
    assert reserved("%41%zz%") == "%41%25zz%25"
    assert reserved("a&admin=1#x+y[z] ä") == "a%26admin=1%23x%2By%5Bz%5D%20%C3%A4"


# ---- read back

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FULL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


def read(style: str, explode: bool, kind: type, text: str) -> Any:
    """The value that a style was made of, as the standard's table says it."""
    first, between, named = {
        "simple": ("", ",", False), "label": (".", ".", False), "matrix": (";", ";", True), "form": ("", "&", True),
        "spaceDelimited": ("", "&", True), "pipeDelimited": ("", "&", True),
    }[style]  # fmt: skip
    assert text.startswith(first)
    text = text.removeprefix(first)
    inner = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(style, ",")
    if kind is str:
        return unquote(text.partition("=")[2] if named else text)
    if explode:
        cut = [each.partition("=") for each in text.split(between)]
        pairs = [(unquote(name), unquote(value)) for name, _, value in cut]
        if kind is dict:
            return dict(pairs)
        return [value if named else name for name, value in pairs]
    parts = [unquote(part) for part in (text.partition("=")[2] if named else text).split(inner)]
    return parts if kind is list else dict(zip(parts[::2], parts[1::2], strict=True))


@given(
    style=st.sampled_from(["simple", "matrix", "form", "spaceDelimited", "pipeDelimited"]), explode=st.booleans(),
    value=st.one_of(TEXT, st.lists(FULL, min_size=1, max_size=4), st.dictionaries(FULL, FULL, min_size=1, max_size=4)),
)  # fmt: skip
def test_what_is_written_in_a_style_reads_back_as_the_value(style: str, explode: bool, value: Any) -> None:
    text = written(style, explode, "käse", json.dumps(value).encode(), percent)
    assert text.isascii()
    delimiter = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(style)
    # A delimiter is percent-encoded as one in a value is: these styles cannot carry it.
    assume(explode or isinstance(value, str) or not any(delimiter and delimiter in each for each in _texts(value)))
    assert read(style, explode, type(value), text) == value


def _texts(value: Any) -> list[str]:
    return [*value, *(value.values() if isinstance(value, dict) else ())]


NO_DOTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=".="), min_size=1, max_size=12)


@given(explode=st.booleans(), value=st.one_of(NO_DOTS, st.lists(NO_DOTS, min_size=1), st.dictionaries(NO_DOTS, NO_DOTS, min_size=1)))  # fmt: skip # noqa: E501
def test_a_label_reads_back_where_no_value_has_a_dot(explode: bool, value: Any) -> None:
    text = written("label", explode, "x", json.dumps(value).encode(), percent)
    assert read("label", explode, type(value), text) == value


SCALARS = FULL.filter(lambda text: not set("[]") & set(text))
DEEP = st.recursive(SCALARS, lambda inner: st.dictionaries(SCALARS, inner, min_size=1, max_size=3), max_leaves=6)


@given(value=st.dictionaries(SCALARS, DEEP, min_size=1, max_size=3))
def test_a_deep_object_reads_back(value: Any) -> None:
    text = written("deepObject", True, "a", json.dumps(value).encode(), percent)
    result: dict[str, Any] = {}
    for pair in text.split("&"):
        name, _, given_value = pair.partition("=")
        keys = [unquote(key).removesuffix("]") for key in name.replace("%5B", "[").split("[")[1:]]
        at = result
        for key in keys[:-1]:
            at = at.setdefault(key, {})
        at[keys[-1]] = unquote(given_value)
    assert result == value
