"""What a strict decoder refuses is taken apart as a lenient one would, and nothing that no decoder takes passes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.wire import loose_json
from mcpctl.wire.loose_json import NotJson
from tests.table import for_each

SCALARS = st.sampled_from(["1", "-2.5e3", "true", "null", '"a"', r'"\u0041\"x"', "NaN", "-Infinity", r'"\ud800"', '""'])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]")
        | st.lists(inner, max_size=3).map(
            lambda items: "{" + ",".join(f'"k{n}":{v}' for n, v in enumerate(items)) + "}"
        )
    ),
    max_leaves=20,
)


def lenient(text: str) -> Any:
    """What Python's decoder makes of it; None where it refuses it."""
    try:
        return [json.loads(text, strict=False)]
    except ValueError:
        return None


def members(text: str) -> Any:
    """The members, each decoded; None where there are none to be had."""
    data = text.encode()
    try:
        found = loose_json.members(data, 100)
    except NotJson:
        return None
    return [{name: json.loads(data[start:end], strict=False) for name, (start, end) in found.items()}]


@given(VALUES, st.integers(0, 200), st.integers(0, 1), st.sampled_from(["", ",", "[", "}", '"', "1", ":", " ", "\\"]))
def test_an_object_is_taken_apart_as_a_lenient_decoder_does(value: str, place: int, cut: int, put: str) -> None:
    for text in (f'{{"x":{value},"x":{value}, "y" : [{value}] }}', f'{{"x":{value}}}'):
        broken = text[:place] + put + text[place + cut :]
        for each in (text, broken):
            decoded = lenient(each)
            expected = decoded if decoded and isinstance(decoded[0], dict) else None
            assert str(members(each)) == str(expected)  # NaN equals nothing, itself included


@given(VALUES, st.integers(0, 200), st.sampled_from(["", ",", "[", "}", '"', "1", ":"]))
def test_what_is_too_deep_for_decoders_is_looked_through_all_the_same(value: str, place: int, put: str) -> None:
    broken = value[:place] + put + value[place + 1 :]
    for each in (value, broken):
        deep = '{"a":' + "[" * 2000 + each + "]" * 2000 + "}"
        try:
            loose_json.members(deep.encode(), 100)
            taken = True
        except NotJson:
            taken = False
        assert taken == (lenient(f"[{each}]") is not None)


@for_each("text", [b"[1,2", b"[1,,2]", b"[1]2", b"{}", b"", b"[1,2,3]"])
def test_parts_are_bounded_and_whole(text: bytes) -> None:
    with pytest.raises(NotJson):
        list(loose_json.parts(text, b"[", 2))


@for_each("line", [b"\xff", b"caf\xc3\xa9", b"\xef\xbb\xbf{}", b"a" * (1 << 20) + b"\xc3\xa9\xff", b"\xc3"])
def test_a_line_is_utf_8_whatever_its_length(line: bytes) -> None:
    whole = line.removeprefix(b"\xef\xbb\xbf")
    assert bytes(loose_json.well_formed(line)) == whole.decode("utf-8", "replace").encode()
