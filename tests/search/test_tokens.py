"""How names and prose become words."""

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.search.tokens import MAX_RUN, MAX_TEXT, folded, meaning_words, stem, tokens, words
from tests.table import for_each


@for_each(
    ("name", "expected"),
    [
        ("create_issue", ["create", "issue"]),
        ("git-log.show", ["git", "log", "show"]),
        ("getWeather", ["get", "weather", "getweather"]),
        ("parseJSONFile", ["parse", "json", "file", "parsejsonfile"]),
        ("listURLs", ["list", "urls", "listurls"]),
        ("base64", ["base", "64", "base64"]),
        ("s3Bucket", ["s3", "bucket", "s3bucket"]),
        ("mp3", ["mp3"]),
        ("k8s i18n e2e h264 S3", ["k8s", "i18n", "e2e", "h264", "s3"]),
        ("listK8sPods", ["list", "k8s", "pods", "listk8spods"]),
        ("text2image", ["text", "2", "image", "text2image"]),
        ("oauth2 utf8 ipv4", ["oauth", "oauth2", "utf", "utf8", "ipv", "ipv4"]),
        ("ПолучитьДанные", ["получить", "данные", "получитьданные"]),
    ],
)
def test_an_identifier_is_its_parts_and_a_joined_one_also_the_whole(name: str, expected: list[str]) -> None:
    assert [form for forms in words(name) for form in forms] == expected


@pytest.mark.parametrize(("text", "expected"), [("查询天气", ["查询", "询天", "天气"]), ("图 x", ["图", "x"])])
def test_cjk_text_is_pairs_and_a_lone_character_stays(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("天気を調べてください", ["天気", "調べ"]),
        ("ファイルの一覧を表示する", ["ファ", "ァイ", "イル", "一覧", "表示"]),
        ("図を描く", ["図", "描く"]),
        ("查询的天气", ["查询", "天气"]),
        ("目的", ["目的"]),
        ("する", []),
    ],
)
def test_particles_are_no_words_and_part_those_around_them(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_the_meaning_of_cjk_is_also_in_its_characters() -> None:
    assert list(meaning_words("查询天气 listing")) == ["查询", "询天", "天气", "查", "询", "天", "气", "list"]
    assert list(meaning_words("調べる")) == ["調べ", "調"]


def test_cjk_text_and_latin_words_need_no_space_between_them() -> None:
    assert tokens("用GitHub搜索") == ["用", "git", "hub", "github", "搜索"]


def test_compatible_characters_are_the_same_word() -> None:
    assert tokens("\uff46\uff55\uff4c\uff4c \ufb01le cafe\u0301") == tokens("full file café")


@for_each(
    "forms",
    [
        ("query", "queries"),
        ("create", "creates", "created", "creating"),
        ("map", "maps", "mapped", "mapping"),
        ("code", "codes", "coded", "coding"),
        ("search", "searches", "searching"),
        ("modify", "modified", "modifies", "modifying"),
        ("box", "boxes"),
        ("api", "apis"),
        ("call", "calls", "called", "calling"),
    ],
)
def test_the_endings_of_a_word_do_not_matter(forms: tuple[str, ...]) -> None:
    assert {stem(form) for form in forms} == {stem(forms[0])}


@for_each("word", ["ping", "string", "feed", "news", "status", "class", "data", "s3", "天气"])
def test_what_only_looks_like_an_ending_stays(word: str) -> None:
    assert stem(word) == word


def test_words_without_meaning_are_left_out_but_not_those_that_tell_tools_apart() -> None:
    assert tokens("Can you turn the light on or off for me?") == ["turn", "light", "on", "off"]


@pytest.mark.parametrize("piece", ["a\u0316\u0300", "\u0316\u0300", "aB", "a1", "天", "\ufdfa", "\ud800 x"])
def test_of_megabytes_of_odd_text_the_beginning_is_read(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    normalized: list[str] = []

    def normalize(form: Literal["NFKC"], text: str, by: Callable[..., str] = unicodedata.normalize) -> str:
        normalized.append(text)
        return by(form, text)

    monkeypatch.setattr(unicodedata, "normalize", normalize)
    text = piece * 1_000_000
    assert tokens(text) == tokens(text[:MAX_TEXT])
    for each in normalized:
        assert len(each) <= MAX_TEXT
        # Sorting longer runs of marks takes the square of their length.
        assert all(len(run) <= 31 for run in re.findall(r"[\u0300-\u036f]+", each))


@given(st.text())
def test_words_are_never_empty_spaced_or_without_end(text: str) -> None:
    for word in tokens(text):
        assert word
        assert not any(char.isspace() for char in word)
        assert len(word) <= 3 * MAX_RUN


@given(st.text())
def test_the_same_text_has_the_same_words(text: str) -> None:
    assert tokens(text) == tokens(text)


@pytest.mark.parametrize("name", ["create-issue", "Create Issue", "createIssue", "CREATE.ISSUE"])
def test_a_folded_name_has_neither_case_nor_separators(name: str) -> None:
    assert folded(name) == "createissue"


def test_a_name_of_separators_alone_is_not_folded_to_nothing() -> None:
    assert folded("--") == "--"
