"""Secrets out of what is recorded, and nothing else."""

import json
import re
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpctl.base.models import Newest
from mcpctl.secrets import redact
from mcpctl.secrets.redact import MARK, cut, is_secret_name
from mcpctl.secrets.redactor import Redactor
from tests.effort import calls
from tests.table import for_each

REDACTOR = Redactor(b"k" * 32)
RUN = "Zz9" * 12
TOKENS = {
    "github": f"ghp_{RUN}",
    "github fine": f"github_pat_{RUN}_{RUN}",
    "gitlab": f"glpat-{RUN}",
    "slack": f"xoxb-{RUN}",
    "npm": f"npm_{RUN}",
    "hugging face": f"hf_{RUN}",
    "openai": f"sk-proj-{RUN}",
    "stripe": f"sk_live_{RUN}",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "google": "AIza" + "x" * 35,
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.{RUN}.{RUN}",
    "key": f"-----BEGIN RSA PRIVATE KEY-----\n{RUN}\n-----END RSA PRIVATE KEY-----",
}
BEARER = f"Bearer {RUN}"
NAMES = (
    "token", "access_token", "GITHUB_TOKEN", "password", "clientSecret", "api_key", "apiKey", "X-Api-Key",
    "Authorization", "cookie", "private_key", "passphrase", "credentials", "db.password",
)  # fmt: skip


def redacted(value: Any) -> Any:
    return json.loads(REDACTOR.json(json.dumps(value).encode()))


@for_each("name", TOKENS)
def test_a_text_of_a_known_shape_is_hidden_wherever_it_is(name: str) -> None:
    token = TOKENS[name]
    for text in (token, f"use {token}, please", f"a\n{token}\nb", json.dumps({"a": token})):
        out = json.dumps(redacted({"x": [text]}))
        assert RUN not in out
        assert token not in out
        assert MARK.search(out)


@for_each("text", [BEARER, f"Authorization: {BEARER}", "https://user:hunter2-x@host/path"])
def test_credentials_in_headers_and_addresses_are_hidden(text: str) -> None:
    out = redacted(text)
    assert RUN not in out
    assert "hunter2" not in out
    assert "host/path" in out or "Bearer " in out


@for_each("name", NAMES)
@for_each("value", ["hunter2", 'a"b\\c', "ü", 12345, 1.5, {"a": ["hunter2"]}, ["hunter2", {}], "{", '["'])
def test_a_value_under_a_telling_name_is_hidden_whatever_it_is(name: str, value: Any) -> None:
    out = redacted({"before": [1], name: value, "after": {"b": True}})
    if isinstance(value, (int, float)) and name.lower().endswith("token"):
        assert out[name] == value  # of tokens there are numbers, too
    else:
        assert MARK.fullmatch(out[name])
    assert (out["before"], out["after"]) == ([1], {"b": True})


@for_each("name", ["max_tokens", "tokens", "tokenizer", "token_count", "passage", "keyword"])
def test_a_name_that_only_looks_telling_hides_nothing(name: str) -> None:
    assert redacted({name: "a value"}) == {name: "a value"}
    assert not is_secret_name(name)


@for_each("value", [None, True, False, ""])
def test_what_is_no_secret_stays_under_a_telling_name(value: Any) -> None:
    assert redacted({"token": value}) == {"token": value}


@for_each("depth", [1, 2, 3, 4])
@for_each("value", ["hunter2", 'hun"ter2', "hunter2\\", {"a": "hunter2", "b": [1]}, ["hunter2"], 4242])
def test_json_within_strings_is_redacted_at_any_depth(depth: int, value: Any) -> None:
    text: Any = {"x": 1, "password": value, "y": [{"z": "w"}]}
    for _ in range(depth):
        text = json.dumps(text)
    out = redacted({"text": text, "after": 1})
    assert out["after"] == 1
    found = out["text"]
    for _ in range(depth):
        found = json.loads(found)
    assert MARK.fullmatch(found["password"])
    assert (found["x"], found["y"]) == (1, [{"z": "w"}])


@for_each("text", ["token=hunter2", "a TOKEN=hunter2&b=1", "PASSWORD=hun[ter2 x", f"secret={'hunter2' * 999}"])
def test_assignments_in_text_are_redacted(text: str) -> None:
    out = redacted({"command": text, "after": 1})
    assert "unter2" not in out["command"]
    assert "ter2" not in out["command"]
    assert out["after"] == 1


def test_backslashes_in_a_value_that_is_no_json_do_not_end_it() -> None:
    text = b'{"token": {"a": [1, \\\\x "hunter2"]}, "b": 1}'
    assert json.loads(REDACTOR.json(text))["b"] == 1
    assert b"hunter2" not in REDACTOR.json(text)


@for_each("end", ["--token ", "--token", "password=", 'password="', "curl -u ", "login x password ", "key: "])
def test_a_string_that_ends_where_a_value_would_begin_ends_there(end: str) -> None:
    for value in ([end, False], {"a": end, "b1c2d3e4": "Zz9Zz9Zz9Zz9"}, json.dumps([end, ["Zz9Zz9Zz9Zz9"]], indent=1)):
        assert redacted(value) == value


def test_a_secret_of_this_process_is_hidden_whatever_it_looks_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "learnt", {})
    redact.learn("me", "horse/battery", "horse/battery/staple", "short", None, "horse/battery")
    text = rb'{"a": "a horse\/battery/staple, a horse/battery", "b": "short"}'
    hidden = json.loads(Redactor(b"k").json(text))
    assert MARK.sub("-", hidden["a"]) == "a -, a -"
    assert hidden["b"] == "short"
    assert redact.mask("of horse/battery/staple") == "of ***"


def test_of_everybody_the_latest_secrets_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gets new ones all the time does not drive out another's, which still hold."""
    monkeypatch.setattr(redact, "learnt", {})
    redact.learn("steady", "horse staple")
    for number in range(100):
        redact.learn("busy", "horse battery refresh", f"horse battery {number:03}")
    shown = redact.mask("horse staple, horse battery refresh, horse battery 091, horse battery 092, horse battery 099")
    assert shown == "***, ***, horse battery 091, ***, ***"


@for_each(
    "token",
    [
        '"content":[{"type"',
        '}],"isError":',
        '{"content":[{',
        "123456789012",
        "1.5,true,false",
        '"horse battery":"',
        "]],[[{},{},{}",
    ],
)
def test_json_stays_json_whatever_a_stranger_calls_a_token(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "learnt", {})
    redact.learn("stranger", token)
    texts = (
        {"type": "text", "text": "hi"},
        [[[], [{}, {}, {}]], 1123456789012, [1.5, True, False]],
        {"horse battery": "x"},
    )
    for space in (None, (",", ":")):
        result = json.dumps({"content": texts, "isError": False}, separators=space).encode()
        json.loads(Redactor(b"k").json(result))
        assert redact.mask("[] {}") == "[] {}"


@given(st.text('nu/\\"tabc019e{}[],:. \n\u202eé\0', min_size=12, max_size=40), st.integers(0, 30), st.booleans())
def test_a_token_that_is_part_of_any_text_leaves_json(text: str, start: int, is_ascii: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact, "learnt", {})
        for written in (json.dumps([text, 1], ensure_ascii=is_ascii), json.dumps([json.dumps([text])])):
            redact.learn("stranger", text[start:], written[start : start + 16])
            json.loads(Redactor(b"k").json(written.encode()))


@pytest.mark.parametrize(
    "value, shown",
    [("\nnorse battery", "\n-"), ("\\norse battery", "\\-"), ("a norse battery", "a -"), ("\norse battery", "\n-")],
)
def test_what_follows_an_escape_is_hidden_and_the_escape_stays(
    value: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redact, "learnt", {})
    redact.learn("me", "norse battery")
    assert MARK.sub("-", json.loads(Redactor(b"k").json(json.dumps(value).encode()))) == shown


def test_a_token_with_quotes_is_hidden_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "learnt", {})
    redact.learn("me", 'horse battery"correct staple')
    assert MARK.sub("-", Redactor(b"k").text(json.dumps('a horse battery"correct staple'))) == '"a -\\"-"'


def test_only_so_many_who_have_secrets_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "learnt", Newest(redact._MOST_LEARNT))
    for number in range(100):
        redact.learn(str(number), f"horse battery {number:03}")
    shown = redact.mask("horse battery 035, horse battery 036, horse battery 099")
    assert shown == "horse battery 035, ***, ***"


def test_names_of_ones_own_are_redacted_too() -> None:
    own = Redactor(b"k" * 32, ["ssn", "plan.b"])
    out = json.loads(own.json(b'{"ssn": "123", "plan.b": "x", "planxb": "y", "PLAN.B": 5}'))
    assert out["planxb"] == "y"
    assert all(MARK.fullmatch(out[name]) for name in ("ssn", "plan.b", "PLAN.B"))


def test_equal_secrets_have_equal_marks_and_others_do_not() -> None:
    out = redacted({"token": "one-one-1", "password": "one-one-1", "secret": "two-2", "text": "token=one-one-1"})
    assert out["token"] == out["password"] != out["secret"]
    assert out["text"] == f"token={out['token']}"


def test_marks_of_another_home_are_others() -> None:
    text = b'{"password": "one"}'
    assert REDACTOR.json(text) != Redactor(b"j" * 32).json(text)
    assert REDACTOR.json(text) == Redactor(b"k" * 32).json(text)


def test_redacting_twice_changes_nothing() -> None:
    once = REDACTOR.json(json.dumps({"token": "a", "b": f"use {TOKENS['github']} password=x"}).encode())
    assert REDACTOR.json(once) == once


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.text(alphabet='\\"{}[]:=, atoken', max_size=30)
    | st.sampled_from(['"token": ', "token=", "password"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=5) | st.sampled_from(NAMES), inner, max_size=4)
    | inner.map(json.dumps),
    max_leaves=15,
)  # fmt: skip


def without_named(value: Any) -> Any:
    """The value as it is where no name is telling; telling ones at the top of any object are left out."""
    if isinstance(value, dict):
        return {name: without_named(item) for name, item in value.items() if not is_secret_name(name)}
    return [without_named(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=4 * settings().max_examples)
@given(value=values, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_what_was_json_is_json_after_and_its_shape_is_the_same(
    value: Any, ascii_only: bool, indent: int | None
) -> None:
    def shape(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: shape(item) for name, item in part.items()}
        return [shape(item) for item in part] if isinstance(part, list) else type(part).__name__

    before = without_named(json.loads(json.dumps(value)))
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    after = without_named(json.loads(REDACTOR.json(text).decode("utf-8", "surrogatepass")))
    names = re.compile(r"token|secret|pass|pwd|key|auth|cred|cookie", re.IGNORECASE)
    if not names.search(json.dumps(list(_names(value)))):
        assert shape(after) == shape(before)


def _names(value: Any) -> Any:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)


harmless = st.text(alphabet=string.ascii_lowercase[:10] + ' "\\{}[]:,', max_size=200)


@settings(max_examples=4 * settings().max_examples)
@given(value=st.recursive(harmless, lambda inner: st.lists(inner) | st.dictionaries(harmless, inner), max_leaves=20))
def test_what_is_no_secret_stays_byte_for_byte(value: Any) -> None:
    text = json.dumps(value).encode()
    assert REDACTOR.json(text) == text


@settings(max_examples=3 * settings().max_examples)
@given(
    token=st.sampled_from(sorted(TOKENS)), before=st.integers(0, 60), after=st.integers(0, 60), at=st.integers(1, 200)
)
def test_a_cut_leaves_no_half_of_a_token(token: str, before: int, after: int, at: int) -> None:
    text = json.dumps({"text": "-" * before + " " + TOKENS[token] + " " + "." * after}).encode()
    out = REDACTOR.json(cut(text, at)).decode()
    assert RUN[:18] not in out
    if token != "key":  # of which no part is told from other text
        assert TOKENS[token][: len(TOKENS[token]) * 2 // 3] not in out


@for_each("size", [5_000, 20_000])
def test_a_long_token_is_not_left_half_either(size: int) -> None:
    token = f"eyJhbGciOiJIUzI1NiJ9.{'Zz9' * (size // 3)}.{RUN}"
    text = json.dumps({"a": "b " + token}).encode()
    assert b"Zz9Zz9" not in REDACTOR.json(cut(text, size - 100))


def test_data_that_is_no_token_is_cut_where_the_limit_is() -> None:
    text = b'{"data":"' + b"A" * 100_000 + b'"}'
    assert len(cut(text, 65_536)) == 65_536


def test_a_cut_never_splits_a_character() -> None:
    text = "ü".encode() * 10
    assert cut(text, 5) == "üü".encode()
    assert cut(text, 20) == text


@for_each("piece", [b"0token: ", b"token: password=", b"password=https://", b"Bearer :"])
@pytest.mark.slow
def test_of_very_many_values_the_further_ones_are_hidden_and_not_looked_at(piece: bytes) -> None:
    REDACTOR.json(piece)
    few, many = (calls(lambda size=size: REDACTOR.json(piece * size)) for size in (400, 8000))  # type: ignore[misc]
    assert many < 13 * few


def test_json_with_very_many_secrets_stays_json() -> None:
    value = [{"token": f"aB3dE6gH9-{number}", "key": "plain", "password": number} for number in range(5000)]
    text = json.dumps(redacted(value))
    assert "aB3dE6gH9" not in text
    assert redacted(value)[0]["key"] == "plain"
