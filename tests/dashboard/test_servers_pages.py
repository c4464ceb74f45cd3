"""The pages of servers: what is configured, without secrets, and what they said last."""

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from mcpctl.catalog import cache
from mcpctl.config import config
from mcpctl.store.filters import moment
from mcpctl.store.records import LocalRecords
from mcpctl.store.state import State
from tests import configured, recorded, shop_api
from tests.configured import READ, WRITE, stub
from tests.conftest import Mcpctl
from tests.dashboard import markup
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
    assert "off true off -" in text
    assert "bad cannot be used" in text
    assert text.index("servers.bad.command") > text.index("bad cannot be used")
    assert [text.index(f" {name} ") for name in ("bad", "weather", "notes")] == sorted(
        text.index(f" {name} ") for name in ("bad", "weather", "notes")
    ), "those that do not work are first"
    assert (
        "weather" not in text_of(browser().get("/servers?use=up").text).partition("Filters")[2].partition("off true")[0]
    )


def test_the_number_of_tools_is_that_of_the_list_that_it_leads_to(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"files": {**stub(), "tools": {"write": False}}})
    configured.listed(paths, "files", [READ, WRITE])
    client = browser()
    page = client.get("/servers").text
    assert "1 tool of 2, the others are not permitted 1 destructive" in text_of(page)
    assert links(page, "1 tool") == ["/tools?server=files"]
    assert "files:read" in (tools := text_of(client.get("/tools?server=files").text))
    assert "files:write" not in tools


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


def test_health_is_that_of_the_last_day_and_the_last_success_of_any(browser: Browser, paths: Paths) -> None:
    long = {"command": "/opt/tools/bin/shop-server", "args": ["--root", "/home/anna/shop", "-v"]}
    configured.configure(paths, {"weather": long, "notes": stub(), "idle": stub()})
    configured.listed(paths, "weather", [READ])
    recorded.two_sessions(paths)  # far ahead, which is within the last day
    with LocalRecords(paths) as records:
        health = records.health(moment("since", "24h") or "")["weather"]
    assert health["errors"] and health["last_done"]
    client = browser()
    page = client.get("/servers").text
    text = text_of(page)
    assert "weather shop-server --root …/shop -v works" in text
    assert "/tool-calls?server=weather&since=24h" in links(page, f"{health['calls']} calls")
    (failed,) = links(page, f"{health['errors']} failed")
    shown = markup.seen(client, failed)
    assert len(markup.keys(shown)) == health["errors"], "the number leads to its rows"
    text = text_of(client.get("/servers/weather").text)
    assert f"Calls in 24 h {health['calls']} Failed {health['errors']}" in text
    assert "/opt/tools/bin/shop-server --root /home/anna/shop -v" in text, "whole on its own page"
    assert "Last success never Calls in 24 h 0" in text_of(client.get("/servers/idle").text)


def test_what_was_read_is_on_the_page_of_its_server_and_in_a_list(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"notes": stub()})
    recorded.session(paths, rest=[recorded.was_read(number, number) for number in range(1, 10)])
    recorded.session(paths, recorded.CURSOR, rest=[recorded.was_read(10, 5, recorded.CURSOR, server="other")])
    client = browser()
    page = markup.seen(client, "/servers/notes")
    assert "note://9" in page.text and "note://1 " in page.text
    every = markup.seen(client, "/reads")
    assert "10, newest first" in every.text
    of_one = markup.seen(client, "/reads?server=other")
    assert "1, newest first" in of_one.text


def test_an_api_is_shown_with_its_document_and_a_tool_of_it_with_its_request(
    browser: Browser, paths: Paths, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop_api.compile_here(monkeypatch)
    document = shop_api.shop()
    document["info"]["title"] = "<b>Shop</b>"
    document["paths"]["/orders"]["post"]["deprecated"] = True
    file = shop_api.write(paths.config.parent / "shop.json", document)
    assert mcpctl("servers", "add", "shop", "--openapi", str(file)).code == 0
    client = browser()
    text = text_of(client.get("/servers/shop").text)
    for words in ("Shop 1.0", "http://127.0.0.1:8765/v1", "1: deprecated", "bearerAuth has no value"):
        assert words in text
    text = text_of(client.get("/tools/shop:orders%2Fget").text)
    assert "GET http://127.0.0.1:8765/v1/orders/{id}" in text
    assert "bearerAuth (no value)" in text
    tool = client.get("/api/v1/tools/shop:orders%2Fget").json()
    assert (tool["http"]["path"], tool["security"]) == ("/orders/{id}", [{"bearerAuth": False}])
    (server,) = client.get("/api/v1/servers").json()["servers"]
    assert (server["base"], server["skipped"]) == ("http://127.0.0.1:8765/v1", {"deprecated": 1})
