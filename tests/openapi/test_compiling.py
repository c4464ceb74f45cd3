"""Compiling an entry: its document is read from its place, in a process of its own with bounds."""

import hashlib
import http.server
import json
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from mcpctl.base.errors import McpctlError, NotFound, Refused, Unusable, UpstreamFailed, WrongUsage
from mcpctl.base.paths import Paths
from mcpctl.config.server_settings import Server
from mcpctl.openapi import compiling, snapshot
from mcpctl.openapi.compiling import compile_entry
from mcpctl.openapi.faults import WrongDocument
from mcpctl.openapi.operations import ChosenEntry
from mcpctl.openapi.sources import Sources
from tests.openapi.documents import of_operation, of_paths
from tests.table import for_each

pytestmark = pytest.mark.process
SHOP = of_operation({"requestBody": {"content": {"application/json": {"schema": {"$ref": "schemas/pet.json"}}}}})
PET = {"type": "object", "title": "Pet"}


def write(paths: Paths, content: Any, name: str = "shop.json") -> Path:
    path = paths.config.parent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def compile_shop(paths: Paths, **entry: Any) -> snapshot.CompiledDocument:
    return compile_entry(paths, "shop", Server(**{"openapi": "shop.json", **entry}))


def test_a_document_and_its_files_are_read_from_the_folder_of_the_configuration(paths: Paths) -> None:
    shop, pet = write(paths, SHOP), write(paths, PET, "schemas/pet.json")
    made = compile_shop(paths)
    assert [each.tool for each in made.operations] == ["op"]
    assert b'"title":"Pet"' in bytes(made.operations[0].definition)
    assert (made.source, made.base, made.title) == ("shop.json", "https://api.example.com/v1", "Shop")
    assert made.sha256 == hashlib.sha256(shop.read_bytes() + pet.read_bytes()).hexdigest()
    assert snapshot.load(paths, "shop", Server(openapi="shop.json")) == made


def test_yaml_is_compiled_as_json_is(paths: Paths) -> None:
    servers, paths_ = "[{url: https://api.example.com}]", "{/x: {get: {}}}"
    write(paths, f"openapi: 3.1.1\ninfo: {{title: no}}\nservers: {servers}\npaths: {paths_}\n", "shop.yaml")
    made = compile_shop(paths, openapi="shop.yaml")
    assert ([each.tool for each in made.operations], made.title) == (["get_x"], "no")


def test_a_variable_in_a_document_is_a_text(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    write(paths, {**of_operation({"summary": "${SECRET}"}), "servers": [{"url": "https://example.com/${SECRET}"}]})
    with pytest.raises(WrongDocument, match="its variable 'SECRET' has no default"):
        compile_shop(paths)
    compile_shop(paths, url="https://example.com")
    assert (
        b"s3cret"
        not in snapshot.path_of(paths, "shop", Server(openapi="shop.json", url="https://example.com")).read_bytes()
    )


def test_a_wrong_document_ends_with_status_2_and_leaves_what_there_was(paths: Paths) -> None:
    write(paths, of_operation({}))
    before = compile_shop(paths)
    path = write(paths, of_paths({}))
    with pytest.raises(WrongUsage) as refused:
        compile_shop(paths)
    assert refused.value.message == f"{path}#/paths: no operation is usable"
    assert snapshot.load(paths, "shop", Server(openapi="shop.json")) == before


def test_a_document_that_is_not_there_is_not_found(paths: Paths) -> None:
    with pytest.raises(NotFound, match=r"there is no file .*shop\.json"):
        compile_shop(paths)


def test_no_file_outside_of_the_folder_is_read(paths: Paths) -> None:
    outside = write(paths, PET, "../outside.json")
    write(paths, PET, "../elsewhere/inside.json")
    paths.config.parent.mkdir(exist_ok=True)
    (paths.config.parent / "link.json").symlink_to(outside)
    (paths.config.parent / "folder").symlink_to(outside.parent / "elsewhere")
    names = ["../outside.json", "/etc/passwd", "link.json", "folder/inside.json", "missing.json", "\0.json", "folder"]
    operations: dict[str, Any] = {
        f"/{i}": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": name}}}}}}
        for i, name in enumerate(names)
    }
    write(paths, of_paths({**operations, "/kept": {"get": {}}}))
    made = compile_shop(paths)
    assert [each.tool for each in made.operations] == ["get_kept"]
    assert all(reason.startswith(f"{name}: ") for name, reason in zip(names, made.skipped, strict=True))
    assert sum("outside of the folder" in reason for reason in made.skipped) == 5


def test_more_files_than_may_be_read_are_an_error(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    write(paths, of_operation({"parameters": [{"$ref": f"{i}.json"} for i in range(3)]}))
    for i in range(3):
        write(paths, {"name": f"p{i}", "in": "query"}, f"{i}.json")
    monkeypatch.setattr("mcpctl.base.bounds.OPENAPI_FILES", 3)
    assert len(compile_shop(paths).operations[0].parameters) == 3
    monkeypatch.setattr("mcpctl.base.bounds.OPENAPI_FILES", 2)
    with pytest.raises(WrongDocument, match="refers to more than 2 files"):
        compile_shop(paths)


def test_more_text_than_may_be_read_is_an_error(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    write(paths, SHOP)
    write(paths, {"type": "object", "title": "x" * ((1 << 20) - 50)}, "schemas/pet.json")
    monkeypatch.setattr("mcpctl.base.bounds.OPENAPI_TEXT", 1 << 20)
    with pytest.raises(WrongDocument, match="and its files have more than 1 MB"):
        compile_shop(paths)


class _Site(http.server.BaseHTTPRequestHandler):
    files: ClassVar[dict[str, tuple[int, dict[str, str], bytes]]] = {}
    seen: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        status, headers, content = self.files.get(self.path, (404, {}, b"none"))
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    """The address of a site on loopback, whose files are `_Site.files`."""
    _Site.files, _Site.seen = {}, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def offer(path: str, content: Any = b"", status: int = 200, **headers: str) -> None:
    _Site.files[path] = status, headers, content if isinstance(content, bytes) else json.dumps(content).encode()


def test_a_document_is_fetched_without_the_credentials_of_the_api(paths: Paths, site: str) -> None:
    offer("/api/shop.json", {**SHOP, "servers": [{"url": "/v1"}]})
    offer("/api/schemas/pet.json", PET)
    made = compile_shop(paths, openapi=f"{site}/api/shop.json", headers={"X-Secret": "s"}, auth={"key": "s3cret"})
    assert made.operations[0].base == f"{site}/v1"
    assert [path for path, _ in _Site.seen] == ["/api/shop.json", "/api/schemas/pet.json"]
    assert all("x-secret" not in headers and "authorization" not in headers for _, headers in _Site.seen)


def test_redirects_are_followed_on_the_same_origin_only(paths: Paths, site: str) -> None:
    offer("/old", status=302, location="/new/shop.json")
    offer("/new/shop.json", {**SHOP, "servers": [{"url": "v1"}]})
    offer("/new/schemas/pet.json", PET)
    [operation] = compile_shop(paths, openapi=f"{site}/old").operations
    assert operation.base == f"{site}/new/v1"
    offer("/old", status=302, location=site.replace("127.0.0.1", "localhost") + "/new/shop.json")
    with pytest.raises(McpctlError, match="it redirects to another place"):
        compile_shop(paths, openapi=f"{site}/old")


def test_a_refusal_is_told_with_its_status(paths: Paths, site: str) -> None:
    with pytest.raises(UpstreamFailed, match=r"HTTP 404 Not Found"):
        compile_shop(paths, openapi=f"{site}/none")


def test_a_secret_in_the_address_of_a_document_is_kept_nowhere(paths: Paths, site: str) -> None:
    offer("/shop.json?token=s3cret", of_operation({}))
    compile_shop(paths, openapi=f"{site}/shop.json?token=s3cret")
    [kept] = paths.openapi.iterdir()
    assert b"s3cret" not in kept.read_bytes()
    with pytest.raises(UpstreamFailed) as refused:
        compile_shop(paths, openapi=f"{site}/none?token=s3cret")
    assert "s3cret" not in str(refused.value.body)


@for_each("place", ["http://api.example.com/shop.json", "ftp://localhost/shop.json", "file:///etc/passwd"])
def test_a_document_is_read_by_https_or_from_loopback_only(paths: Paths, place: str) -> None:
    with pytest.raises(WrongDocument, match="neither by https nor from this machine"):
        compile_shop(paths, openapi=place)


def test_a_file_of_another_origin_or_of_a_private_address_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_private = {"https://example.com/shop.json": False, "https://example.com/a.json": True}
    monkeypatch.setattr(Sources, "_fetched", lambda self, url, name: (b"{}", url, is_private[url]))
    sources = Sources("https://example.com/shop.json", tmp_path, "shop")
    assert sources.document() == b"{}"
    with pytest.raises(Refused, match="private address"):
        sources.file("https://example.com/a.json")
    for other in ("https://example.com:8443/a.json", "http://example.com/a.json", "https://10.0.0.1/a.json"):
        with pytest.raises(Refused, match="another origin"):
            sources.file(other)
    is_private["https://example.com/shop.json"] = True
    sources.document()
    assert sources.file("https://example.com/a.json") == b"{}"


def test_an_answer_larger_than_may_be_read_is_refused(paths: Paths, site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpctl.base.bounds.OPENAPI_TEXT", 1 << 20)
    offer("/big", b" " * (1 << 20) + b" ")
    with pytest.raises(McpctlError, match="more than 1 MB"):
        compile_shop(paths, openapi=f"{site}/big")


def test_a_process_that_another_signal_ended_is_told_as_that(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    write(paths, SHOP)
    started: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    def kill(*_: object) -> bytes:
        started[0].kill()
        return b"{}"

    monkeypatch.setattr(subprocess, "Popen", Kept)
    monkeypatch.setattr(Sources, "file", kill)
    with pytest.raises(Unusable, match=r"shop.json was ended by SIGKILL"):
        compile_shop(paths)
    assert not paths.openapi.exists()


def test_the_process_ends_when_nobody_waits_for_its_answer_any_more() -> None:
    command = [sys.executable, "-I", "-S", "-B", compiling.__file__.replace("compiling", "process"), *sys.path[1:]]
    starting = f"import subprocess; subprocess.run({command})"
    parent = subprocess.Popen([sys.executable, "-c", starting], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdin and parent.stdout
    try:
        entry, document = msgspec.json.encode(ChosenEntry("shop.json", "shop.json", "shop.json")), json.dumps(SHOP)
        parent.stdin.write(entry + b'\n{"size":%d}\n%b' % (len(document), document.encode()))
        parent.stdin.flush()
        assert json.loads(parent.stdout.readline()) == {"read": "schemas/pet.json"}, "then it waits for that file"
    finally:
        parent.kill()
    assert select.select([parent.stdout], [], [], 20)[0], "it is still there"
    assert parent.communicate()[0] == b""


@pytest.mark.slow
@for_each("name, content, message", [
    ("shop.json", '{"openapi": "3.1.1", "x": "' + "x" * (60 << 20) + '"}', "no operation is usable"),
    ("shop.json", '{"openapi": "3.1.1", "x": [' + "[]," * (15 << 20) + "[]]}", "512 MB of memory"),
    ("shop.yaml", "openapi: 3.1.1\nx:\n" + "- [a, b, c]\n" * 1_200_000, r"2 s of CPU|512 MB of memory"),
    ("shop.json", "[" * (1 << 20), "nested deeper than 200"),
])  # fmt: skip
def test_a_hostile_document_is_refused_within_the_bounds(paths: Paths, name: str, content: str, message: str) -> None:
    write(paths, content, name)
    with pytest.raises(WrongDocument, match=message) as refused:
        compile_shop(paths, openapi=name)
    assert len(refused.value.message) < 500


@pytest.mark.slow
def test_long_texts_cost_no_more_than_reading_them(paths: Paths) -> None:
    write(
        paths, of_operation({"summary": "<b " * (10 << 20), "description": "x" * (30 << 20), "operationId": "o" * 2000})
    )
    [made] = compile_shop(paths).operations
    assert made.tool == "post_x"
    assert len(made.definition) < 8 << 10
