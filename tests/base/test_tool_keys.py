"""Tool keys are split in one place, and refused names compared as servers may read them."""

from mcpctl.base.tool_keys import folded, is_plain, join, split, split_typed
from tests.table import for_each


@for_each(
    "key, parts, typed",
    [
        ("s:t", ("s", "t"), ("s", "t")),
        ("s:t:u", ("s", "t:u"), ("s", "t:u")),
        ("s.t", ("s.t", ""), ("s", "t")),
        ("s.t:u", ("s.t", "u"), ("s.t", "u")),
        ("s", ("s", ""), ("s", "")),
        ("", ("", ""), ("", "")),
    ],
)
def test_a_key_is_split_at_its_first_separator(key: str, parts: tuple[str, str], typed: tuple[str, str]) -> None:
    assert split(key) == parts
    assert split_typed(key) == typed
    assert join(*parts) == key


SPELLINGS = ["Delete", "DELETE", " delete\t", "de\u200dlete", "\ufeffdelete", "\uff44elete", "delete\u00ad"]


@for_each("name", SPELLINGS)
def test_names_that_look_alike_are_the_same_to_a_refusal(name: str) -> None:
    assert folded(name) == folded("delete") == "delete"


@for_each("one, other", [("delete", "deletes"), ("a b", "ab"), ("a-b", "a_b")])
def test_names_that_differ_stay_apart(one: str, other: str) -> None:
    assert folded(one) != folded(other)


PLAIN = [("s:get_it", True), ("s", True), ("s:a b", False), ("s:", False), ("s:\n", False)]


@for_each("key, plain", PLAIN)
def test_only_names_of_the_grammar_stand_in_sentences(key: str, plain: bool) -> None:
    assert is_plain(key) is plain
