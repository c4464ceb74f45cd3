"""What is wrong with text that is not JSON."""

from mcpctl.jsonc import JsonFault, fault, fault_in_words
from tests.table import for_each


@for_each(
    ("text", "line", "column", "message"),
    [
        ("\n ", 1, 1, "it is empty"),
        ("{'a': 1}", 1, 2, "a name in double quotes is missing here"),
        ('{"a": }', 1, 7, "a value is missing here"),
        ('{\n"a": 1 "b": 2}', 2, 8, "a comma or a closing bracket is missing here"),
        ('{"a" 1}', 1, 6, "a colon is missing here"),
        ('["a]', 1, 2, "the string that begins here has no end"),
        ('["a\n"]', 1, 4, "a string has a line break or another control character here"),
        ('["\\q"]', 1, 3, "a backslash is wrong here; a backslash itself is written \\\\"),
        ('["\\u12"]', 1, 4, "a backslash is wrong here; a backslash itself is written \\\\"),
        ("{} x", 1, 4, "there is something after the end of the JSON"),
        ("[\n<<<<<<< HEAD\n1]", 2, 1, "a merge conflict is not resolved here"),
    ],
)
def test_a_fault_has_a_place_and_plain_words(text: str, line: int, column: int, message: str) -> None:
    assert fault(text) == JsonFault(line, column, message)


def test_what_pythons_parser_takes_is_no_fault() -> None:
    assert fault("[NaN]") is None
    assert fault("[" * 100_000) is None


def test_a_sentence_has_the_place_if_there_is_one() -> None:
    assert fault_in_words("{} x", "?") == "line 1, column 4: there is something after the end of the JSON"
    assert fault_in_words(" ", "?") == "line 1, column 1: it is empty"
    assert fault_in_words("[NaN]", "it is not strict") == "it is not strict"
