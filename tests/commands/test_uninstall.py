"""`mcpctl uninstall`"""

import json
import shutil
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from tests.commands.test_install import PLACES, Put, cursor, put, said, servers_of, user, write  # noqa: F401
from tests.conftest import Mcpctl

pytestmark = pytest.mark.usefixtures("programs")


@pytest.mark.parametrize("client", PLACES)
def test_a_setting_changed_since_stays_and_all_else_is_as_it_was(mcpctl: Mcpctl, put: Put, client: str) -> None:  # noqa: F811
    path = put(client)
    before = path.read_bytes()
    mcpctl("install", client)
    if client == "codex":
        change = (b'model = "gpt-5"', b'model = "gpt-6" # newer')
    else:
        change = (b"{", b'{\n  "new": [1], // mine')
    path.write_bytes(path.read_bytes().replace(*change, 1))
    (row,) = mcpctl("uninstall", client, "--json").json
    assert row["action"] == "merged"
    assert path.read_bytes() == before.replace(*change, 1)


@pytest.mark.parametrize("client", PLACES)
@pytest.mark.parametrize("ends", [(b"\n", b"\r\n"), (b"\r\n", b"\n")])
def test_line_ends_changed_since_stay_and_all_else_is_as_it_was(
    mcpctl: Mcpctl,
    put: Put,  # noqa: F811
    client: str,
    ends: tuple[bytes, bytes],
) -> None:
    path = put(client)
    plain = path.read_bytes().replace(b"\r\n", b"\n")
    first, second = ends
    path.write_bytes(plain.replace(b"\n", first))
    mcpctl("install", client)
    path.write_bytes(path.read_bytes().replace(first, second))
    mcpctl("uninstall", client)
    assert path.read_bytes() == plain.replace(b"\n", second)


@pytest.mark.parametrize("client", PLACES)
def test_a_server_added_since_stays_beside_those_that_come_back(mcpctl: Mcpctl, put: Put, client: str) -> None:  # noqa: F811
    path = put(client)
    before = servers_of(client, path)
    mcpctl("install", client)
    if client == "codex":
        added = b'\n[mcp_servers.added]\ncommand = "added" # by me\n'
        path.write_bytes(path.read_bytes() + added)
    else:
        added = b'"added": { "command": "added" }, // by me\n  "mcpctl": {'
        path.write_bytes(path.read_bytes().replace(b'"mcpctl": {', added))
    mcpctl("uninstall", client)
    before.pop("mcpctl", None)
    after = servers_of(client, path)
    after.pop("mcpctl", None)
    assert after == {**before, "added": {"command": "added"}}
    assert b"by me" in path.read_bytes()


@pytest.mark.parametrize("client", [client for client in PLACES if client != "codex"])
def test_a_file_that_its_client_wrote_anew_gets_its_servers_back(mcpctl: Mcpctl, put: Put, client: str) -> None:  # noqa: F811
    path = put(client)
    before = said(path)
    mcpctl("install", client)
    path.write_text(json.dumps({**said(path), "numStartups": 43}, indent=4), encoding="utf-8")
    mcpctl("uninstall", client)
    assert said(path) == {**before, "numStartups": 43}


def test_a_new_server_of_an_old_name_is_not_overwritten(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}, "b": {"command": "b"}})
    mcpctl("install", "cursor")
    document = said(path)
    document["mcpServers"]["a"] = {"command": "newer"}
    path.write_text(json.dumps(document), encoding="utf-8")
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {"a": {"command": "newer"}, "b": {"command": "b"}}


def test_an_entry_of_mcpctl_that_was_edited_since_goes(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    path.write_bytes(path.read_bytes().replace(b'"serve"', b'"serve", "--split-execute"'))
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {"a": {"command": "a"}}


def test_a_server_taken_over_by_a_second_installation_comes_back_too(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    document = said(path)
    document["mcpServers"]["later"] = {"command": "later"}
    path.write_text(json.dumps(document), encoding="utf-8")
    (row,) = mcpctl("install", "cursor", "--json").json
    assert (row["action"], row["servers"]) == ("updated", ["later"])
    assert list(servers_of("cursor", path)) == ["mcpctl"]
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {"a": {"command": "a"}, "later": {"command": "later"}}


@pytest.mark.parametrize("name", [None, "renamed"])
def test_former_servers_come_back_after_a_second_installation_whose_entry_was_lost(
    mcpctl: Mcpctl,
    user: Path,  # noqa: F811
    name: str | None,
) -> None:
    path = cursor(user, {"a": {"command": "a"}, "b": {"command": "b"}})
    before = path.read_bytes()
    mcpctl("install", "cursor")
    entry = servers_of("cursor", path)["mcpctl"]
    cursor(user, {name: entry} if name else {})
    mcpctl("install", "cursor")
    assert list(servers_of("cursor", path)) == ["mcpctl"]
    mcpctl("uninstall", "cursor")
    assert said(path) == json.loads(before)


def test_an_installation_that_was_undone_by_hand_is_over(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}, "b": {"command": "b"}})
    mcpctl("install", "cursor")
    cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {"a": {"command": "a"}}


def test_an_entry_under_another_name_goes_too(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    path.write_bytes(path.read_bytes().replace(b'"mcpctl": {', b'"proxy": {'))
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {"a": {"command": "a"}}


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("place", ["first", "last"])
def test_a_server_that_somebody_put_back_is_there_once(
    mcpctl: Mcpctl,
    user: Path,  # noqa: F811
    place: str,
    again: bool,
) -> None:
    path = cursor(user, {"a": {"command": "a"}, "b": {"command": "b"}})
    mcpctl("install", "cursor")
    old, ours = {"a": {"command": "a"}}, servers_of("cursor", path)
    cursor(user, {**old, **ours} if place == "first" else {**ours, **old})
    if again:
        mcpctl("install", "cursor")
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {"a": {"command": "a"}, "b": {"command": "b"}}
    assert path.read_text(encoding="utf-8").count('"a": {') == 1


def test_what_was_installed_by_hand_goes_and_nothing_else(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}, "mcpctl": {"command": "mcpctl", "args": ["serve"]}})
    ran = mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {"a": {"command": "a"}}
    assert "there is no record of the file before mcpctl" in ran.err


def test_without_its_record_only_the_entry_goes(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    shutil.rmtree(paths.data)
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {}
    assert list(config.load(paths.config).servers) == ["a"]


@pytest.mark.parametrize("name", ["before", "after", "about.json"])
def test_a_record_that_was_changed_is_not_believed(mcpctl: Mcpctl, user: Path, paths: Paths, name: str) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    (kept,) = paths.installs.glob(f"*/{name}")
    kept.write_bytes(b"{}")
    mcpctl("uninstall", "cursor")
    assert servers_of("cursor", path) == {}


def test_it_says_that_servers_stay(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:  # noqa: F811
    cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    ran = mcpctl("uninstall", "cursor")
    assert "the servers stay in config.toml too; remove one with: mcpctl servers rm NAME" in ran.err
    assert list(config.load(paths.config).servers) == ["a"]


def test_where_nothing_is_installed_nothing_is_done(mcpctl: Mcpctl, user: Path, home: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    before = path.read_bytes()
    ran = mcpctl("uninstall", "cursor", "zed")
    assert "Cursor: mcpctl is not installed there" in ran.err
    assert "Zed: mcpctl is not installed there" in ran.err
    assert path.read_bytes() == before
    assert not home.exists()


def test_a_file_that_is_gone_stays_gone(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    path.unlink()
    assert "is gone; nothing is made of it" in mcpctl("uninstall", "cursor").err
    assert not path.exists()


def test_a_file_that_cannot_be_read_any_more_is_left_alone(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    write(path, '{"mcpServers": {')
    assert mcpctl("uninstall", "cursor").code == 5
    assert path.read_bytes() == b'{"mcpServers": {'


def test_without_a_name_the_clients_that_have_it_are_listed(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    ran = mcpctl("uninstall", tty=True)
    assert (ran.code, ran.out, ran.err) == (0, "", "mcpctl is in no client here\n")
    write(user / ".config/zed/settings.json", "{}")
    mcpctl("install", "cursor")
    before = path.read_bytes()
    (row,) = mcpctl("uninstall", "--json").json
    assert (row["client"], row["command"]) == ("cursor", "mcpctl uninstall cursor")
    assert mcpctl("uninstall", tty=True).err == "take it out with: mcpctl uninstall cursor\n"
    assert mcpctl("uninstall", "--yes").code == 2
    assert path.read_bytes() == before


def test_copies_are_kept_in_a_number(mcpctl: Mcpctl, user: Path, paths: Paths) -> None:  # noqa: F811
    cursor(user, {"a": {"command": "a"}})
    for _ in range(4):
        mcpctl("install", "cursor")
        mcpctl("uninstall", "cursor")
    copies = list(paths.installs.glob("*/copies/*"))
    assert len(copies) == 5
    assert {copy.stat().st_mode & 0o777 for copy in copies} == {0o600}


def test_a_dry_run_says_what_would_come_back(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = cursor(user, {"a": {"command": "a"}})
    mcpctl("install", "cursor")
    before = path.read_bytes()
    assert '+    "a": {' in mcpctl("uninstall", "cursor", "--dry-run").out
    assert path.read_bytes() == before


def test_tables_come_back_before_the_one_that_stayed(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    text = '[mcp_servers.a]\r\ncommand = "a"\r\n\r\n[mcp_servers.b]\r\ncommand = "b"\r\ncwd = "${workspaceFolder}"\r\n'
    path = write(user / ".codex/config.toml", text)
    mcpctl("install", "codex")
    assert list(servers_of("codex", path)) == ["b", "mcpctl"]
    path.write_bytes(path.read_bytes().replace(b'"serve"', b'"serve", "--split-execute"'))
    mcpctl("uninstall", "codex")
    assert list(servers_of("codex", path)) == ["a", "b"]
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"")


def test_the_header_of_a_section_that_somebody_wrote_since_stays(mcpctl: Mcpctl, user: Path) -> None:  # noqa: F811
    path = write(user / ".codex/config.toml", 'model = "x"\n')
    mcpctl("install", "codex")
    path.write_text(path.read_text(encoding="utf-8") + "[mcp_servers]\n", encoding="utf-8")
    assert mcpctl("uninstall", "codex").code == 0
    assert said(path) == {"model": "x", "mcp_servers": {}}
