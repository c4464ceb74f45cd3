"""The file of a compiled document: JSON with an operation a line, and words where it cannot be read."""

import json
import os
import re
import stat

import pytest

from mcpctl.base.errors import Unusable
from mcpctl.base.paths import Paths
from mcpctl.config.server_settings import Server
from mcpctl.openapi import snapshot
from tests.openapi.documents import compiled, of_paths
from tests.table import for_each

SERVER = Server(openapi="shop.json")
DOCUMENT = compiled(of_paths({f"/{i}": {"get": {"operationId": f"op\n{i}" if i == 2 else f"op{i}"}} for i in range(3)}))


def save(paths: Paths, name: str = "shop", server: Server = SERVER) -> None:
    snapshot.save(paths, name, server, snapshot.encoded(DOCUMENT))


def test_it_is_read_as_it_was_written(paths: Paths) -> None:
    save(paths)
    assert snapshot.load(paths, "shop", SERVER) == DOCUMENT


def test_it_is_json_with_one_operation_a_line_for_its_owner_alone(paths: Paths) -> None:
    save(paths)
    path = snapshot.path_of(paths, "shop", SERVER)
    assert path.parent == paths.data / "openapi"
    assert re.fullmatch(r"shop-[0-9a-f]{64}\.json", path.name)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    whole = json.loads(path.read_bytes())
    assert [each["tool"] for each in whole["operations"]] == ["op0", "op1", "get_2"]
    lines = path.read_text().splitlines()
    assert [json.loads(line.removesuffix(","))["tool"] for line in lines[1:-1]] == ["op0", "op1", "get_2"]


def test_of_older_ones_of_its_entry_alone_the_last_few_are_kept(paths: Paths) -> None:
    servers = [Server(openapi="shop.json", include=[str(number)]) for number in range(6)]
    others = [snapshot.path_of(paths, name, SERVER) for name in ("shop-2", "sho")]
    paths.openapi.mkdir(parents=True)
    for age, path in enumerate([*others, *(snapshot.path_of(paths, "shop", server) for server in servers)], 1):
        path.touch()
        os.utime(path, (age, age))
    save(paths)
    kept = [snapshot.path_of(paths, "shop", server) for server in (*servers[3:], SERVER)]
    assert {*paths.openapi.iterdir()} == {*others, *kept}
    snapshot.remove(paths, "shop", SERVER)
    assert {*paths.openapi.iterdir()} == {*others, *kept[:-1]}


def test_the_same_relative_file_of_another_configuration_is_another_document(paths: Paths) -> None:
    save(paths)
    elsewhere = Paths(config=paths.config.parent / "other" / "config.toml", data=paths.data)
    assert snapshot.path_of(elsewhere, "shop", SERVER) != snapshot.path_of(paths, "shop", SERVER)
    remote = Server(openapi="https://example.com/shop.json")
    assert snapshot.path_of(elsewhere, "shop", remote) == snapshot.path_of(paths, "shop", remote)


@for_each("server", [
    Server(openapi="other.json"), Server(openapi="shop.json", url="https://example.com"),
    Server(openapi="shop.json", include=["a"]), Server(openapi="shop.json", exclude=["a"]),
    Server(openapi="shop.json", deprecated=True), Server(openapi="shop.json", parameters={"a": 1}),
    Server(openapi="shop.json", headers={"A": "1"}), Server(openapi="shop.json", origins=["https://example.com"]),
])  # fmt: skip
def test_all_that_a_compiled_document_depends_on_is_in_its_name(paths: Paths, server: Server) -> None:
    save(paths)
    with pytest.raises(Unusable) as refused:
        snapshot.load(paths, "shop", server)
    assert refused.value.code == "snapshot_missing"


@for_each("server", [
    Server(openapi="shop.json", auth={"key": "1"}), Server(openapi="shop.json", slash_in=["a"], upload_root="x"),
    Server(openapi="shop.json", call_timeout_s=5, only=["a"], enabled=False),
])  # fmt: skip
def test_no_more_than_that_is(paths: Paths, server: Server) -> None:
    save(paths)
    assert snapshot.load(paths, "shop", server)


WHOLE = snapshot.encoded(DOCUMENT)


@for_each("content, code", [
    (None, "snapshot_missing"),
    (b"", "snapshot_damaged"),
    (WHOLE[:-3], "snapshot_damaged"),
    (WHOLE[: len(WHOLE) // 2], "snapshot_damaged"),
    (WHOLE.replace(b'"method":"GET"', b'"method":7'), "snapshot_damaged"),
    (b"\xff" + WHOLE, "snapshot_damaged"),
    (WHOLE.replace(b'"format":1', b'"format":0'), "snapshot_outdated"),
    (b'{"format":99,"other":[\n]}', "snapshot_outdated"),
])  # fmt: skip
def test_one_that_cannot_be_read_names_the_command_that_makes_it(
    paths: Paths, content: bytes | None, code: str
) -> None:
    path = snapshot.path_of(paths, "shop", SERVER)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unusable) as refused:
        snapshot.load(paths, "shop", SERVER)
    assert (refused.value.code, refused.value.hint) == (code, "run: mcpctl tools refresh shop")
