"""What `servers add`, `servers import` and `install` say of the logins that are needed."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import server_logins
from mcpctl.commands.server_logins import say_needed
from mcpctl.oauth.token_store import TokenStore
from tests.conftest import Mcpctl
from tests.oauth import sites
from tests.oauth.logins import login
from tests.oauth.sites import Sites


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sites]:
    monkeypatch.setattr("mcpctl.commands.server_logins.say_needed", say_needed)
    with sites.running() as found:
        yield found


def clients_file(folder: Path, **servers: object) -> str:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return str(path)


def test_an_import_names_the_servers_that_need_a_login(mcpctl: Mcpctl, at: Sites, tmp_path: Path) -> None:
    source = clients_file(
        tmp_path, wants={"url": at.url}, open={"url": at.open_url}, mine={"url": at.url, "headers": {"X-Key": "k"}},
        gone={"url": "http://127.0.0.1:1/mcp"}, later={"url": "https://${NOT_SET}/mcp"}, local={"command": "true"},
        bad={"url": "ftp://x"},
    )  # fmt: skip
    dry = mcpctl("servers", "import", "--from", source, "--dry-run")
    assert "login" not in dry.err
    ran = mcpctl("servers", "import", "--from", source)
    assert ran.code == 5  # for the bad one
    assert [line for line in ran.err.splitlines() if "login" in line] == [
        "'wants' needs a login: mcpctl servers login wants"
    ]
    rows = {row["name"]: (row["login"], row["problem"]) for row in mcpctl("servers", "ls", "--json").json}
    assert rows["wants"] == ("needed", "needs a login: mcpctl servers login wants")
    assert rows["open"] == (None, None)


def test_an_install_names_them_too(mcpctl: Mcpctl, at: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cursor").mkdir()
    clients_file(tmp_path / ".cursor", wants={"url": at.url}, open={"url": at.open_url})
    assert "login" not in mcpctl("install", "cursor", "--dry-run").err
    ran = mcpctl("install", "cursor", "--yes")
    assert [line for line in ran.err.splitlines() if "login" in line] == [
        "'wants' needs a login: mcpctl servers login wants"
    ]
    assert "login" not in mcpctl("install", "cursor", "--yes").err


def test_so_does_who_takes_the_servers_of_a_client_over(
    mcpctl: Mcpctl, at: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cursor").mkdir()
    clients_file(tmp_path / ".cursor", wants={"url": at.url}, local={"command": "true"})
    said = "'wants' needs a login: mcpctl servers login wants"
    assert said not in mcpctl("install", "cursor", "--dry-run").err
    assert said in mcpctl("install", "cursor").err
    assert said not in mcpctl("install", "cursor").err


def test_who_is_logged_in_already_need_not_do_it_again(mcpctl: Mcpctl, paths: Paths, at: Sites, tmp_path: Path) -> None:
    TokenStore(paths).keep(login(server_url=at.url))
    assert "login" not in mcpctl("servers", "import", "--from", clients_file(tmp_path, wants={"url": at.url})).err


def test_a_server_that_does_not_answer_is_not_waited_for(
    mcpctl: Mcpctl, at: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_logins, "_PROBE_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        ran = mcpctl("servers", "import", "--from", clients_file(tmp_path, silent={"url": url}))
    assert (ran.code, ran.out.split("\t")[:2]) == (0, ["silent", "added"])


def test_a_server_that_is_added_is_asked_unless_nobody_is_to_be(mcpctl: Mcpctl, at: Sites) -> None:
    said = "'wants' needs a login: mcpctl servers login wants"
    assert said in mcpctl("servers", "add", "wants", "--url", at.url).err
    assert "login" not in mcpctl("servers", "add", "other", "--url", at.url, "--no-check").err
    assert "login" not in mcpctl("servers", "add", "open", "--url", at.open_url).err
