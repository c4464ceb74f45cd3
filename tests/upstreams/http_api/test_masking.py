"""Credentials that an API repeats: a model sees none of them, in whichever part of an answer they come."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from mcpctl.base.paths import Paths
from mcpctl.openapi.snapshot import Scheme
from mcpctl.upstreams.http_api import answer as http_answer
from mcpctl.upstreams.http_api import masking as http_masking
from mcpctl.upstreams.http_api.masking import Masking
from tests.table import for_each
from tests.upstreams.http_api.own_api import OwnApi, answer, called, document, operation, own_api, parameter

SECRET = "Secret-Key/3"
JSON = "application/json"


@pytest.fixture(scope="module")
def own() -> Iterator[OwnApi]:
    """One API for all tests of this module."""
    with own_api() as served:
        yield served


def result(paths: Paths, own: OwnApi, given: bytes, secret: str = SECRET) -> dict[str, Any]:
    """The result of a call with this answer and this credential."""
    own.respond = lambda *_: given
    of = operation("GET", "/x", parameter("page"), security=[{"k": []}])
    return called(paths, document(own.url, of, schemes={"k": Scheme("apiKey", "header", "X-Key")}), auth={"k": secret})


@for_each("given", [
    answer(b"[]", Link=f"<?page={SECRET}>; rel=next"),
    answer(b"[]", Link=f"<?page={quote(SECRET, safe='')}>; rel=next"),
    answer(b"[]", ETag=SECRET), answer(b"[]", "201 Created", Location=f"/{SECRET}"),
    answer(b"x", Content_Type=f"text/plain; boundary={SECRET}"), answer(b"\x00", Content_Type=f"image/{SECRET}"),
    answer(b"\x00", Content_Type=f"application/{SECRET}"), answer(b"\x00", Content_Type="x" * 190 + SECRET),
    answer(b"[]", ETag="x" * 4090 + SECRET), answer(b"[]", Link=f"<?page={'x' * 195}{SECRET}>; rel=next"),
    answer(f"a {SECRET} b".encode("utf-16"), Content_Type="text/plain; charset=utf-16"),
    answer(f"a {SECRET} b".encode("cp037"), Content_Type="text/plain; charset=cp037"),
    answer(f"a {SECRET} b".encode(), Content_Type="text/plain"), answer(f"a {SECRET} b".encode(), "404 Not Found"),
    answer(b'{"a":"Secret-Key\\/3"}', Content_Type=JSON),
    answer(f"\x00\x00\x00{SECRET}".encode(), Content_Type="image/png"),
    *(answer(b"x" * (65_536 - at) + SECRET.encode(), "500 No", Content_Type="text/plain") for at in range(4, 12)),
    answer(("x" * 32_762 + SECRET).encode("utf-16-le"), "500 No", Content_Type="text/plain; charset=utf-16-le"),
])  # fmt: skip
def test_a_credential_that_an_api_repeats_is_masked(paths: Paths, own: OwnApi, given: bytes) -> None:
    text = json.dumps(result(paths, own, given))
    assert "***" in text or "Kioq" in text  # which is the same in base64
    assert "secr" not in text.lower()


@for_each("given", [
    answer(b"[]", "302 Found", Location="https://topsecret7.example.com/"), answer(b"[]", Retry_After="TopSecret7"),
    answer(b"\x00", Content_Type="image/TopSecret7"), answer(b"topsecret7", Content_Type="text/plain"),
])  # fmt: skip
def test_a_credential_is_masked_where_its_letters_are_made_small(paths: Paths, own: OwnApi, given: bytes) -> None:
    text = json.dumps(result(paths, own, given, "TopSecret7"))
    assert "***" in text
    assert "secret" not in text.lower()


def test_a_credential_is_masked_as_others_write_json_and_addresses() -> None:
    masking = Masking(["a/b+c=&d"])
    for text in ("a/b%2Bc%3D%26d", "a%2Fb%2Bc%3D%26d", "a/b\\u002bc\\u003d\\u0026d", "a/b\\u002Bc\\u003D\\u0026d"):
        assert masking.text(f"<{text}>") == "<***>"
        assert "".join(masking.pieces([f"<{text}>"])) == "<***>"


def test_an_escape_before_a_credential_stays_whole(paths: Paths, own: OwnApi) -> None:
    given = answer(b"a\necret-7 necret-7", Content_Type="text/plain")
    assert result(paths, own, given, "necret-7")["content"][0]["text"] == "a\necret-7 ***"


def test_a_credential_is_found_across_pieces() -> None:
    masking = Masking([SECRET])
    for at in range(len(SECRET) + 2):
        body = b"x" * (http_answer._PIECE - at) + SECRET.encode() * 2 + b"yz"
        block = json.loads(b"".join(http_answer._text_block("", masking, body)))
        assert block["text"] == "x" * (http_answer._PIECE - at) + "******yz"


def test_bytes_that_are_no_text_are_masked_in_pieces() -> None:
    at = http_masking._PIECE - 4
    body = b"\xff" * at + SECRET.encode() * 2 + b"\xff"
    assert Masking([SECRET]).raw(body) == b"\xff" * at + b"******\xff"
    assert Masking([SECRET]).raw(plain := body[:at]) is plain


def test_a_text_without_credentials_is_as_it_came() -> None:
    body = ('ä€\U0001f600"\\\n' * 9000).encode()
    for secrets in ([], [SECRET]):
        assert json.loads(b"".join(http_answer._text_block("", Masking(secrets), body)))["text"] == body.decode()
