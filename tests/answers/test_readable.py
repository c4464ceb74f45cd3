"""The parts of a result that can be read: exactly as written, and in little more memory than it takes."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.answers import readable
from mcpctl.answers.readable import of_result
from tests.table import for_each

MB = 1_000_000
_ODD = st.sampled_from(["\\", '"', "\n", "\x00", "x" * 13, "\u4e2d", "\U0001f600", "\\u0041", "\ud83d", " "])


@given(st.lists(st.one_of(_ODD, st.text(max_size=20)), max_size=30).map("".join), st.booleans(), st.integers(1, 40))
@pytest.mark.slow
def test_a_long_text_is_read_in_pieces_as_it_is_read_in_one(text: str, escapes: bool, piece: int) -> None:
    has_half = any("\ud800" <= character <= "\udfff" for character in text)
    result = json.dumps({"content": [{"type": "text", "text": text}]}, ensure_ascii=escapes or has_half).encode()
    whole = json.loads(result)["content"][0]["text"].encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(readable, "_PIECE", piece)
        assert of_result(result).text == of_result(memoryview(result)).text == whole


@for_each("text", ["x" * 4 * MB, "x" * 4 * MB + "\U0001f600", "\u4e2d" * MB, "a b,\n" * MB])
@pytest.mark.slow
def test_a_large_text_is_in_memory_twice_and_not_more(text: str) -> None:
    result = memoryview(json.dumps({"content": [{"type": "text", "text": text}]}, ensure_ascii=False).encode())
    tracemalloc.start()
    try:
        of_result(result)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2.4 * len(result)


@for_each(
    "block",
    ['{"type":"text"}', '{"type":"text","text":""}', '{"type":"text","text":"\\ud83d"}', '{"type":"text","text":7}'],
)
def test_a_block_of_text_without_a_text_of_its_own_is_taken_as_decoders_take_it(block: str) -> None:
    parts = of_result(f'{{"content":[{block}]}}'.encode())
    assert (parts.text, len(parts.others)) == (b"?" if "d83d" in block else b"", 1 if "7" in block else 0)
