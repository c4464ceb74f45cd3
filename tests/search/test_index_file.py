"""The index on disk: the same answers, and never those of other tools."""

import stat
from pathlib import Path

import pytest

from mcpctl.base.models import Tool
from mcpctl.search.bm25 import WORTH_KEEPING, Bm25
from mcpctl.search.index_file import mark
from mcpctl.search.providers import build

TOOLS = [
    Tool(f"s{n % 7}", f"{verb}_{noun}{n}", {"description": f"{verb} the {noun} 图片 {n % 5}"}, f"{verb}{noun}{n}")
    for n in range(WORTH_KEEPING)
    for verb, noun in [(("open", "close", "list")[n % 3], ("issue", "file", "channel", "alert")[n % 4])]
]
QUERIES = ["open an issue", "list channels 3", "图片", "closefile", "isue"]


def answers(provider: object) -> list[object]:
    assert isinstance(provider, Bm25)
    return [provider.search([query], context="alert") for query in QUERIES]


def test_a_kept_index_gives_the_same_answers_and_is_not_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "data" / "index.npz"
    first = answers(build(TOOLS, index_path=kept))
    assert first == answers(build(TOOLS))
    monkeypatch.setattr(Bm25, "_build", lambda _: pytest.fail("it is built again"))
    assert answers(build(TOOLS, index_path=kept)) == first


def test_other_tools_or_notes_have_an_index_of_their_own(tmp_path: Path) -> None:
    kept = tmp_path / "index.npz"
    build(TOOLS, index_path=kept)
    changed = [*TOOLS[1:], Tool("zoo", "feed_lion", {}, "")]
    assert [hit.key for hit in build(changed, index_path=kept).search(["lion"]).hits] == ["zoo:feed_lion"]
    noted = build(changed, {"s1:close_file1": "Ask the caretaker."}, index_path=kept)
    assert [hit.key for hit in noted.search(["caretaker"]).hits] == ["s1:close_file1"]
    assert build(changed, index_path=kept).search(["caretaker"]).hits == ()


@pytest.mark.parametrize("left", [b"", b"PK\x03\x04 torn", b"no archive"])
def test_a_file_that_cannot_be_read_is_made_anew(tmp_path: Path, left: bytes) -> None:
    kept = tmp_path / "index.npz"
    kept.write_bytes(left)
    assert answers(build(TOOLS, index_path=kept)) == answers(build(TOOLS))
    assert kept.stat().st_size > 1000


def test_a_torn_index_is_made_anew(tmp_path: Path) -> None:
    kept = tmp_path / "index.npz"
    build(TOOLS, index_path=kept)
    whole = kept.read_bytes()
    middle = len(whole) // 2
    kept.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
    assert answers(build(TOOLS, index_path=kept)) == answers(build(TOOLS))


@pytest.mark.parametrize(("place", "value"), [(8, 0x01), (10, 0x63), (6, 0xFF)])
def test_a_bit_in_the_directory_of_the_archive_may_be_wrong(tmp_path: Path, place: int, value: int) -> None:
    kept = tmp_path / "index.npz"
    build(TOOLS, index_path=kept)
    data = bytearray(kept.read_bytes())
    data[data.index(b"PK\x01\x02") + place] ^= value  # encrypted, compressed in an unknown way, of a later version
    kept.write_bytes(data)
    assert answers(build(TOOLS, index_path=kept)) == answers(build(TOOLS))


def test_only_its_owner_can_read_it_and_nothing_else_is_left(tmp_path: Path) -> None:
    build(TOOLS, index_path=tmp_path / "index.npz")
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_where_it_cannot_be_kept_the_answer_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert answers(build(TOOLS, index_path=tmp_path / "file" / "index.npz")) == answers(build(TOOLS))


def test_an_index_of_a_few_tools_is_not_kept(tmp_path: Path) -> None:
    build(TOOLS[:-1], index_path=tmp_path / "index.npz")
    assert not list(tmp_path.iterdir())


def test_the_mark_tells_what_belongs_to_which_tool() -> None:
    one, other = [Tool("s", "ab", {}, "c")], [Tool("s", "a", {}, "bc")]
    assert mark(one, {}) != mark(other, {}) != mark(other, {"s:a": "x"})


def test_an_index_of_words_that_were_split_otherwise_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = mark(TOOLS, {})
    monkeypatch.setattr("mcpctl.search.index_file.LAYOUT", -1)
    assert mark(TOOLS, {}) != before


def test_another_table_of_words_makes_another_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mark([], {})
    (tmp_path / "made.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("mcpctl.search.index_file.FOLDER", tmp_path)
    assert mark([], {}) != before
