"""Which URIs a template stands for."""

import re

from hypothesis import given
from hypothesis import strategies as st

from mcpctl.base import bounds
from mcpctl.catalog.features import UriTemplate
from tests.table import for_each

VALUES = {
    "{x}": r"[^/]+",
    "{+x}": r".+",
    "{#x}": r".+",
    "{x*}": r".+",
    "{/x}": r"(?:/[^/]*)?",
    "{/x*}": r"(?:/.*)?",
    "{.x}": r"(?:\.[^/]*)?",
    "{;x}": r"(?:;[^/]*)?",
    "{?x,y}": r"(?:\?.*)?",
    "{&x}": r"(?:&.*)?",
}
"""The values of each expression, as a regular expression that may take its time."""


@for_each(
    ("template", "uri", "matches"),
    [
        ("item://{id}", "item://7", True),
        ("item://{id}", "item://7/8", False),
        ("item://{id}", "item://", False),
        ("item://{id}/parts/{part}", "item://7/parts/bolt", True),
        ("item://{id}/parts/{part}", "item://7/parts/", False),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://a/b/contents/src/main.py", True),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://a/b/contents", True),
        ("file:///{+path}", "file:///home/me/notes.md", True),
        ("files://{path*}", "files://a/b/c", True),
        ("find://things{?q,limit}", "find://things?q=a/b&limit=2", True),
        ("find://things{?q,limit}", "find://things", True),
        ("find://things{?q,limit}", "find://thingsx", False),
        ("fixed://uri", "fixed://uri", True),
        ("fixed://uri", "fixed://uri2", False),
        ("Item://{id}", "item://7", False),
        ("item://a%2Fb/{id}", "item://a/b/7", False),
        ("item://{id}.json", "item://7.json", True),
        ("item://aa{id}aa", "item://aaa", False),
        ("item://{a}x{b}y", "item://a1x2xby", True),
    ],
)  # fmt: skip
def test_a_template_stands_for_what_it_expands_to(template: str, uri: str, matches: bool) -> None:
    assert UriTemplate(template).matches(uri) is matches


@for_each("template", ["{+uri}", "{scheme}://x", "", "{", "no scheme {x}"])
def test_one_whose_scheme_is_not_written_out_stands_for_nothing(template: str) -> None:
    """Else one server would be sent whatever no other has."""
    assert not UriTemplate(template).matches("secret://of/another")
    assert not UriTemplate(template).matches(template)


@given(
    st.lists(st.one_of(st.sampled_from([*VALUES]), st.text("ab/.?&;#", max_size=3)), max_size=6),
    st.text("ab/.?&;#", max_size=12),
)
def test_it_is_the_same_as_an_expression_that_goes_back(parts: list[str], rest: str) -> None:
    slow = "s:" + "".join(VALUES.get(part) or re.escape(part) for part in parts)
    assert UriTemplate("s:" + "".join(parts)).matches(f"s:{rest}") is (re.fullmatch(slow, f"s:{rest}") is not None)


@given(st.text("{}+/?*,xs:", max_size=40), st.text(max_size=40))
def test_any_text_is_a_template(template: str, uri: str) -> None:
    assert UriTemplate(template).matches(uri) in (True, False)


def test_no_template_makes_it_go_back() -> None:
    hostile = UriTemplate("s:" + "{a}a" * bounds.EXPRESSIONS + "b")
    assert not hostile.matches("s:" + "a" * (bounds.URI - 2))
    assert not UriTemplate("s:{x}").matches("s:" + "a" * bounds.URI)


def test_one_with_more_expressions_than_are_looked_at_stands_for_nothing() -> None:
    """Thousands of them, compared with a long URI, would keep everybody else waiting."""
    uri = "s:" + "a" * 200
    assert UriTemplate("s:" + "{a}a" * bounds.EXPRESSIONS).matches(uri)
    assert not UriTemplate("s:" + "{a}a" * (bounds.EXPRESSIONS + 1)).matches(uri)
