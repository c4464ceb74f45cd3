"""The quick look at a text: it lets nothing pass in which the full one finds a secret."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcpctl.secrets import named_values, redact
from mcpctl.secrets.redactor import LONGEST, Redactor, is_plain
from mcpctl.secrets.token_shapes import TOKENS
from tests.table import for_each

KEY = b"k" * 32
OWN = ("pin", "my secret")
PIECES = (
    *(shape.example.decode() for shape in TOKENS),
    "password", "api_key", "token", "pin", "my secret", "Authorization", "name", "key", "value", "city", "text",
    "hunter2-hunter2", "Zz9" * 8, "horse battery staple", "Oslo", "12:30", "user:hunter2", "a/b/c", "x" * 40,
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "Private-Lines: 1\n", "eyJhbGciOiJIUzI1NiJ9.", ".",
    "https://", "@host", "Bearer ", "Basic ", "--token ", "--", "curl -u ", "login ", " password ", "basic ",
    '"', "'", "`", "\\", "\\n", "\\/", "\\u0070", "\\u003d", "%3D", "%26", "=", ":", ": ", ",", "{", "}", "[", "]",
    " ", "\n",
)  # fmt: skip
"""What secrets are made of, and what stands around them."""
JSON = st.recursive(
    st.sampled_from(PIECES) | st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(PIECES), inner, max_size=3),
    max_leaves=8,
).map(json.dumps)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | JSON | JSON.map(json.dumps) | st.text()


def looked_at_whole(redactor: Redactor, text: bytes) -> bytes:
    return redact.without(text, redactor._named.find, redactor._marker)


@given(st.lists(TEXTS, min_size=1, max_size=3))
@example(['{"password": "hunter2-hunter2"}'])
@example(['{"my secret": "Oslo"}'])
@example(["a=1\\npassword=hunter2-hunter2"])
@settings(max_examples=12 * settings().max_examples)
def test_a_text_that_passes_the_quick_look_has_nothing_that_the_full_one_hides(texts: list[str]) -> None:
    redactor, encoded = Redactor(KEY, OWN), [text.encode("utf-8", "replace") for text in texts]
    for text in (*encoded, *encoded):  # the names of a text are known the second time
        whole = looked_at_whole(redactor, text)
        assert not is_plain(text, redactor._named.quiet) or whole == text
        assert redactor.json(text) == whole


@for_each("shape", TOKENS)
def test_a_token_of_every_kind_is_seen_at_a_glance(shape: object) -> None:
    (example_,) = (each.example for each in TOKENS if each is shape)
    assert not is_plain(b'{"city":"use %b"}' % example_, {b"ytic"})


def test_a_secret_of_this_process_is_hidden_in_a_text_that_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "learnt", {})
    redactor, text = Redactor(KEY), b'{"city":"horse battery"}'
    assert redactor.json(text) == text
    redact.learn("me", "horse battery")
    assert b"horse" not in redactor.json(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"path":"/srv/data/reports/november.md","lines":[1,200],"case":false}',
        b'{"content":[{"type":"text","text":"one\\ntwo: 100%, see https://example.org/a -- and log in"}]}',
        b"{}",
    ],
)
def test_an_ordinary_text_is_looked_at_once_and_quickly(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    redactor = Redactor(KEY, OWN)
    assert redactor.json(text) == text
    monkeypatch.setattr(named_values.NamedValues, "find", None)
    assert redactor.json(text) == text


def test_a_long_text_is_looked_at_once() -> None:
    assert not is_plain(b"x" * (LONGEST + 1), set())
    assert is_plain(b"x " * (LONGEST // 2), set())
