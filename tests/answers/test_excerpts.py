"""Pieces of a text are in it, in bounds, without half a character, and together all of it."""

from hypothesis import given
from hypothesis import strategies as st

from mcpctl.answers import excerpts
from tests.effort import calls

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
