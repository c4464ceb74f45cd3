"""A person at work: logs in, follows a session while it goes on, opens a call, answers an approval."""

from collections.abc import Callable

import pytest

from tests.browser.chromium import Chromium, Tab
from tests.browser.conftest import Dashboard
from tests.configured import DEMO
from tests.proxy.client import Client
from tests.proxy.conftest import Serve

pytestmark = [pytest.mark.process, pytest.mark.slow]
Started = Callable[..., Dashboard]
Keep = Callable[[Tab, str], None]
SERVERS = {name: [entry["command"], *entry["args"]] for name, entry in DEMO.items()}
PLACE = "document.querySelector('h1').getBoundingClientRect().top"
ROWS = "document.querySelectorAll('#calls tbody tr').length"


@pytest.fixture
def client(serve: Serve) -> Client:
    """A client of two servers, whose tools that destroy need a yes."""
    return serve(SERVERS, policy={"confirm_destructive": True})


def test_a_link_logs_in_once(dashboard: Started, chromium: Chromium, pictures: Keep) -> None:
    here = dashboard()
    first = chromium.person().tab().go(here.link)
    assert (first.status, first.see("location.pathname"), first.text("h1")) == (200, "/", "Overview")
    assert first.see("document.cookie") == ""
    second = chromium.person().tab().go(here.link)
    assert (second.status, "each does so once" in second.text()) == (401, True)
    pictures(second, "used")
    assert second.go(here.url + "/sessions").status == 401
    assert first.go(here.url + "/sessions").status == 200


def test_a_session_is_followed_and_one_of_its_calls_opened(client: Client, dashboard: Started, pictures: Keep) -> None:
    visitor = dashboard().person()
    client.call("weather:get_forecast", {"city": "Oslo"})
    tab = visitor.tab("/")
    tab.follow('a[href^="/tool-calls?sessionId="]')
    assert tab.see(ROWS) == 1
    tab.until("document.getElementById('live').innerText === 'live'")
    tab.see("window.isSamePage = true; 0")
    tab.size(768)
    place = tab.see(PLACE)
    client.call("notes:add_note", {"title": "Umbrella", "text": "for Oslo"})
    tab.until(f"{ROWS} === 2")
    assert tab.see("window.isSamePage")
    tab.until("document.getElementById('said').textContent === '1 new call'")
    assert tab.see(PLACE) == place, "what is new moves nothing"
    assert "2 calls" in tab.text("#calls")
    pictures(tab, "followed")
    tab.follow('#calls a[href^="/tool-calls/"]')
    assert "Umbrella" in tab.text()
    tab.click("button[data-copy]")
    tab.until("document.querySelector('button[data-copy]').innerText === 'Copied'")
    assert tab.see("navigator.clipboard.readText()") == tab.text("#replay")
    assert tab.text("#replay").startswith("mcpctl calls replay ")
    pictures(tab, "call")
    assert tab.faults == []


def test_a_call_that_waits_goes_through_once_it_is_approved(client: Client, dashboard: Started, pictures: Keep) -> None:
    visitor = dashboard().person()
    tab = visitor.tab("/approvals")
    assert "Nothing waits" in tab.text()
    client.call("notes:add_note", {"title": "Umbrella", "text": "for Oslo"})
    refused = client.call("notes:delete_note", {"id": "note-1"})
    assert refused.is_error
    tab.go(visitor.url + "/")
    tab.follow('a[href="/approvals"] strong')
    pictures(tab, "asked")
    tab.follow("button[value=once]")
    assert "Nothing waits" in tab.text()
    pictures(tab, "approved")
    assert not client.call("notes:delete_note", {"id": "note-1"}).is_error
    assert client.call("notes:delete_note", {"id": "note-1"}).is_error
    assert tab.faults == []


def test_the_seventh_tab_loads_while_others_follow(client: Client, dashboard: Started) -> None:
    visitor = dashboard().person()
    tabs = [visitor.tab("/tool-calls") for _ in range(7)]
    assert [tab.status for tab in tabs] == [200] * 7
    said = [tab.until("document.getElementById('live').innerText") for tab in tabs]
    assert sorted(said) == ["live"] * 4 + ["updated every 30 s"] * 3
