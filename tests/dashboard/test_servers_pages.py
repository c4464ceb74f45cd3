"""The pages of servers: what is configured, without secrets, and what they said last."""

import json
from collections.abc import Callable

from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.config import config
from mcpctl.store.state import State
from tests import configured
from tests.configured import READ, WRITE, stub
from tests.dashboard.test_tools_pages import links, text_of

Browser = Callable[..., TestClient]


def failed(paths: Paths, server: str, why: str) -> None:
    with State.connect(paths) as state:
        fingerprint = config.load(paths.config).servers[server].fingerprint
        cache.remember_failures(state, [(server, fingerprint, why, "")])


def wrote(paths: Paths, server: str, *lines: str) -> None:
    file = paths.log(server)
    file.parent.mkdir(parents=True)
    rows = ({"time": "2100-01-01T12:00:00.000Z", "pid": 7, "text": line} for line in lines)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def test_servers_are_listed_with_what_their_tools_may_do(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths, {**configured.DEMO, "off": {**stub(), "enabled": False}, "bad": {"args": ["x"]}})
    failed(paths, "weather", "server 'weather' ended with <status> 1")
    page = browser().get("/servers").text
    text = text_of(page)
    assert links(page, "notes") == ["/servers/notes"]
    assert links(page, "2 read only") == ["/tools?server=notes&risk=read-only"]
    assert "ended with <status> 1" in text
    assert "off stdio true off -" in text
    assert "bad unusable" in text
    assert text.index("servers.bad.command") > text.index("bad unusable")


def test_no_server_is_said(browser: Browser) -> None:
    assert "No server is configured yet" in browser().get("/servers").text


def test_a_server_has_its_entry_its_tools_and_its_last_words(browser: Browser, paths: Paths) -> None:
    entry = {
        **stub("--token", "swordfish"), "env": {"KEY": "swordfish", "HOME": "${HOME}"}, "tools": {"write": False},
        "projects": ["acme"],
    }  # fmt: skip
    configured.configure(paths, {"files": entry}, projects={"acme": {}})
    configured.listed(paths, "files", [READ, WRITE])
    wrote(paths, "files", "ready", "\x1b[31m<b>bad</b>\x1b[0m")
    page = browser().get("/servers/files").text
    text = text_of(page)
    assert "swordfish" not in page
    assert "KEY=*** HOME=${HOME}" in text
    assert "Permissions write not permitted" in text
    assert "Projects acme" in text
    assert "1 tool of the 2 that it lists; the others are not permitted: 1 destructive" in text
    assert links(page, "files:read") == ["/tools/files%3Aread"]
    assert "ready 2100-01-01 12:00:00 \\x1b[31m<b>bad</b>\\x1b[0m" in text


def test_a_server_that_cannot_be_used_has_a_page(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"bad": {"args": ["x"]}, "new": stub()})
    client = browser()
    assert "is missing, and so is a url" in client.get("/servers/bad").text
    text = text_of(client.get("/servers/new").text)
    assert "None is known; list them with mcpctl tools refresh new" in text
    assert "Nothing that it wrote is kept." in text


def test_a_name_that_cannot_be_one_is_only_shown(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"<b>/../x": stub()})
    client = browser()
    page = client.get("/servers").text
    (target,) = links(page, "<b>/../x")
    assert target == "/servers/%3Cb%3E%2F..%2Fx"
    answer = client.get(target)
    assert answer.status_code == 200
    assert "<b>/" not in page + answer.text


def test_a_server_that_there_is_not(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"files": stub()})
    assert browser().get("/servers/fiels").status_code == 404
