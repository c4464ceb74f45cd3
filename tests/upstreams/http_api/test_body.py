"""The bodies that reach an API: their bytes, their media types, and what is refused before anything is sent."""

import base64
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from mcpctl.base import bounds
from mcpctl.base.paths import Paths
from mcpctl.openapi.snapshot import Body, Content, Encoding
from tests.table import for_each
from tests.upstreams.http_api.own_api import OwnApi, called, document, operation, own_api, refusal

MULTIPART = "multipart/form-data"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def own() -> Any:
    """One API for all tests of this module; each looks at its own last request."""
    with own_api() as served:
        yield served


def post(paths: Paths, own: OwnApi, content: Content, body: Any, **settings: Any) -> bytes:
    """The body that the API gets."""
    given = body if isinstance(body, bytes) else json.dumps(body).encode()
    of = operation("POST", "/x", body=Body([content]))
    called(paths, document(own.url, of), b'{"body": %b}' % given, **settings)
    return own.body


def refused(paths: Paths, own: OwnApi, content: Content, body: Any, **settings: Any) -> tuple[str, str]:
    """The code and the reason; nothing has been sent."""
    before = len(own.requests)
    of = operation("POST", "/x", body=Body([content]))
    failure = refusal(paths, document(own.url, of), {"body": body}, **settings)
    assert len(own.requests) == before
    assert not failure.was_sent
    return failure.code, failure.facts["reason"]


def parts(own: OwnApi) -> list[tuple[dict[str, str], bytes]]:
    """The headers and the bytes of each part of the last request."""
    kind = own.header("Content-Type") or ""
    boundary = kind.partition("boundary=")[2].encode()
    assert own.body.endswith(b"--%b--\r\n" % boundary)
    result = []
    for part in own.body.split(b"--%b\r\n" % boundary)[1:]:
        head, _, data = part.partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode().split("\r\n")]
        result.append(({name: value for name, _, value in lines}, re.split(b"\r\n(?:--.*)?\\Z", data, flags=re.S)[0]))
    return result


# ---- JSON and texts


def test_json_is_sent_as_the_bytes_that_came(paths: Paths, own: OwnApi) -> None:
    text = b'{ "n": 12345678901234567890123, "f": 1.50, "e":1e400, "s": "\\u00e4\\/", "null": null,\t"a":[ ] }'
    for kind in ("application/json", "application/merge-patch+json", "application/json; charset=utf-8"):
        assert post(paths, own, Content(kind, "json"), text) == text
        assert own.header("Content-Type") == kind


def test_a_text_is_sent_in_the_charset_of_its_media_type(paths: Paths, own: OwnApi) -> None:
    assert post(paths, own, Content("text/plain", "text"), "ä\nb") == "ä\nb".encode()
    assert post(paths, own, Content("text/csv; charset=latin-1", "text"), "ä") == b"\xe4"
    assert own.header("Content-Type") == "text/csv; charset=latin-1"
    assert refused(paths, own, Content("text/x; charset=latin-1", "text"), "€")[0] == "bad_argument"


@for_each("charset", ["punycode", "idna", "utf-7", "unicode_escape", "rot13", "zip", "nonsense"])
def test_a_text_is_not_written_in_what_is_no_charset(paths: Paths, own: OwnApi, charset: str) -> None:
    code, reason = refused(paths, own, Content(f"text/plain; charset={charset}", "text"), "ab")
    assert (code, reason) == ("bad_argument", f"body cannot be written in {charset}, which its API wants")
    assert refused(paths, own, Content("application/xml", "text"), {"a": 1})[0] == "bad_argument"


def test_the_first_content_is_sent_unless_the_argument_names_another(paths: Paths, own: OwnApi) -> None:
    contents = [Content("application/json", "json"), Content("text/plain", "text")]
    of = document(own.url, operation("PATCH", "/x", body=Body(contents, chosen_by="contentType")))
    called(paths, of, {"body": "a"})
    assert (own.header("Content-Type"), own.body) == ("application/json", b'"a"')
    called(paths, of, {"body": "a", "contentType": "text/plain"})
    assert (own.header("Content-Type"), own.body) == ("text/plain", b"a")
    failure = refusal(paths, of, {"body": "a", "contentType": "text/plian"})
    assert failure.facts["reason"] == "contentType cannot be 'text/plian': did you mean 'text/plain'?"


def test_a_delete_sends_its_body(paths: Paths, own: OwnApi) -> None:
    of = operation("DELETE", "/x", body=("application/json", "json"))
    called(paths, document(own.url, of), b'{"body":{"a":1}}')
    assert (own.last.split()[0], own.body) == (b"DELETE", b'{"a":1}')


# ---- forms


def test_a_form_has_texts_repeated_arrays_and_json_of_the_rest(paths: Paths, own: OwnApi) -> None:
    body = b'{"s":"a b&c=\xc3\xa4","n":1.50,"t":true,"null":null,"l":["x",2],"o":{"k": [1]},"m":[{"a":1}],"e":[]}'
    text = post(paths, own, Content(FORM, "form"), body).decode()
    assert own.header("Content-Type") == FORM
    assert text.startswith("s=a%20b%26c%3D%C3%A4&n=1.50&t=true&")
    assert parse_qsl(text)[3:] == [("l", "x"), ("l", "2"), ("o", '{"k": [1]}'), ("m", '[{"a":1}]')]


def test_a_form_follows_its_encodings(paths: Paths, own: OwnApi) -> None:
    encodings = {
        "expand": Encoding(style="deepObject", explode=True), "metadata": Encoding(style="deepObject", explode=True),
        "ids": Encoding(style="form"), "tags": Encoding(style="pipeDelimited"),
        "url": Encoding(style="form", explode=True, allow_reserved=True),
        "list": Encoding(media_type="application/json"),
    }  # fmt: skip
    body: dict[str, Any] = {"expand": ["a", "b"], "metadata": {"k": {"l": "v"}}, "ids": [1, 2], "tags": ["x", "y"]}
    body |= {"url": "a/b", "list": [1, 2]}
    assert post(paths, own, Content(FORM, "form", encodings), body) == (
        b"expand%5B%5D=a&expand%5B%5D=b&metadata%5Bk%5D%5Bl%5D=v&ids=1,2&tags=x%7Cy&url=a/b&list=%5B1%2C%202%5D"
    )


def test_an_object_is_sent_as_no_other_type_than_json(paths: Paths, own: OwnApi) -> None:
    encodings = {"x": Encoding(media_type="application/xml")}
    for kind, name in ((FORM, "form"), (MULTIPART, "multipart")):
        for value in ({"a": 1}, [{"a": 1}]):
            code, message = refused(paths, own, Content(kind, name, encodings), {"x": value})
            assert (code, "x must be one text, which is sent as application/xml" in message) == ("bad_argument", True)


def test_a_form_that_is_no_object_is_refused(paths: Paths, own: OwnApi) -> None:
    for kind, name in ((FORM, "form"), (MULTIPART, "multipart")):
        for body in ("a=b", [1], 1):
            assert refused(paths, own, Content(kind, name), body)[0] == "bad_argument"


# ---- parts


def test_a_multipart_body_has_a_part_for_each_member_and_item(paths: Paths, own: OwnApi) -> None:
    body = b'{"s":"a\\r\\nb","n":1.50,"null":null,"l":["x",true],"o":{"k": 1.50},"m":[{"a":1},{"b":2}]}'
    post(paths, own, Content(MULTIPART, "multipart", {"m": Encoding(is_json=True)}), body)
    assert [(head["Content-Disposition"], head.get("Content-Type"), data) for head, data in parts(own)] == [
        ('form-data; name="s"', None, b"a\r\nb"), ('form-data; name="n"', None, b"1.50"),
        ('form-data; name="l"', None, b"x"), ('form-data; name="l"', None, b"true"),
        ('form-data; name="o"', "application/json", b'{"k": 1.50}'),
        ('form-data; name="m"', "application/json", b'{"a":1}'),
        ('form-data; name="m"', "application/json", b'{"b":2}'),
    ]  # fmt: skip


def test_parts_follow_their_encodings(paths: Paths, own: OwnApi) -> None:
    encodings = {
        "x": Encoding(media_type="application/xml; charset=utf-8"), "j": Encoding(media_type="application/json"),
        "h": Encoding(headers={"X-Part": "1", "Content-Disposition": "evil"}),
        "d": Encoding(style="deepObject", explode=True),
        "u": Encoding(style="form"),
    }  # fmt: skip
    body = {"x": "<a/>", "j": [1, 2], "h": "v", "d": {"k": "a b"}, "u": ["a", "b"]}
    post(paths, own, Content(MULTIPART, "multipart", encodings), body)
    assert parts(own) == [
        ({"Content-Disposition": 'form-data; name="x"', "Content-Type": "application/xml; charset=utf-8"}, b"<a/>"),
        ({"Content-Disposition": 'form-data; name="j"', "Content-Type": "application/json"}, b"[1, 2]"),
        ({"Content-Disposition": 'form-data; name="h"', "X-Part": "1"}, b"v"),
        ({"Content-Disposition": 'form-data; name="d[k]"'}, b"a b"),
        ({"Content-Disposition": 'form-data; name="u"'}, b"a,b"),
    ]


def test_names_of_parts_and_files_end_no_header(paths: Paths, own: OwnApi) -> None:
    body = {'a"\r\nX: 1': {"text": "t", "filename": 'f"\r\nY\0\u202e: 2'}}
    post(paths, own, Content(MULTIPART, "multipart", {'a"\r\nX: 1': Encoding(is_binary=True)}), body)
    assert parts(own)[0][0]["Content-Disposition"] == ('form-data; name="a%22%0D%0AX: 1"; filename="f%22%0D%0AY: 2"')


def test_binary_values_are_base64_a_text_or_a_file(paths: Paths, own: OwnApi, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.png").write_bytes(b"\x89PNG\r\n")
    data = bytes(range(256)) * 9000  # decoded in several pieces
    body = {
        "f": [
            {"base64": base64.b64encode(data).decode()},
            {"text": "hé", "filename": "n.txt", "contentType": "text/plain"},
            {"file": "sub/a.png", "contentType": "image/png"},
        ]
    }
    encodings = {"f": Encoding(is_binary=True)}
    post(paths, own, Content(MULTIPART, "multipart", encodings), body, upload_root=str(tmp_path))
    assert [(head["Content-Disposition"], head["Content-Type"], data) for head, data in parts(own)] == [
        ('form-data; name="f"; filename="f"', "application/octet-stream", data),
        ('form-data; name="f"; filename="n.txt"', "text/plain", "hé".encode()),
        ('form-data; name="f"; filename="a.png"', "image/png", b"\x89PNG\r\n"),
    ]
    assert post(paths, own, Content("image/*", "binary"), body["f"][2], upload_root=str(tmp_path)) == b"\x89PNG\r\n"
    assert own.header("Content-Type") == "image/png"
    assert post(paths, own, Content("application/octet-stream", "binary"), {"text": "t"}) == b"t"
    assert own.header("Content-Type") == "application/octet-stream"


@for_each("value", [
    "AAAA", 1, [1], {}, {"base64": "AAAA", "text": "a"}, {"base64": "A"}, {"base64": "AA=A"}, {"base64": "AA==AA=="},
    {"base64": "A\nAAA"}, {"base64": "ä==="}, {"text": 1}, {"path": "a"}, {"text": "a", "x": 1},
    {"text": "a", "contentType": "a/b\r\nX: 1"}, {"text": "a", "contentType": "text"},
])  # fmt: skip
def test_anything_else_for_a_binary_value_is_refused(paths: Paths, own: OwnApi, value: Any) -> None:
    assert refused(paths, own, Content("application/octet-stream", "binary"), value)[0] == "bad_argument"
    if not isinstance(value, list):
        content = Content(MULTIPART, "multipart", {"f": Encoding(is_binary=True)})
        assert refused(paths, own, content, {"f": value})[0] == "bad_argument"


# ---- files of this machine


BINARY = Content("application/octet-stream", "binary")


def test_without_upload_root_no_file_is_sent(paths: Paths, own: OwnApi) -> None:
    assert refused(paths, own, BINARY, {"file": "/etc/hostname"}) == (
        "upload_refused", "no file of this machine is sent: its entry has no upload_root"
    )  # fmt: skip


def test_only_regular_files_below_upload_root_are_sent(paths: Paths, own: OwnApi, tmp_path: Path) -> None:
    root, secret = tmp_path / "up", tmp_path / "secret"
    (root / "sub").mkdir(parents=True)
    secret.write_text("secret")
    (root / "ok").write_text("ok")
    (root / "out").symlink_to(secret)
    (root / "in").symlink_to("ok")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    for name in ("../secret", str(secret), str(root / "ok"), "out", "folder/secret", "sub/../../secret", "pipe", "sub",
                 "missing", "", ".", "a\x00b", "ok/x", "~/x"):  # fmt: skip
        assert refused(paths, own, BINARY, {"file": name}, upload_root=str(root))[0] == "upload_refused", name
    assert post(paths, own, BINARY, {"file": "sub/../ok"}, upload_root=str(root)) == b"ok"
    assert post(paths, own, BINARY, {"file": "in"}, upload_root=str(root)) == b"ok"


def test_a_file_that_is_too_large_is_refused(
    paths: Paths, own: OwnApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x" * 100)
    monkeypatch.setattr(bounds, "UPLOAD", 99)
    assert refused(paths, own, BINARY, {"file": "f"}, upload_root=str(tmp_path))[0] == "too_large"
    monkeypatch.setattr(bounds, "UPLOAD", 100)
    monkeypatch.setattr(bounds, "UPLOADS", 150)
    content = Content(MULTIPART, "multipart", {"f": Encoding(is_binary=True)})
    files = {"f": [{"file": "f"}, {"file": "f"}]}
    assert refused(paths, own, content, files, upload_root=str(tmp_path))[0] == "too_large"
    assert len(post(paths, own, BINARY, {"file": "f"}, upload_root=str(tmp_path))) == 100
