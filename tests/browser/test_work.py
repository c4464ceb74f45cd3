"""A person at work: logs in, follows a session while it goes on, opens a call, answers an approval."""

import json
from collections.abc import Callable

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals
from mcpctl.policy.policy_file import PolicyFile
from tests import recorded
from tests.browser.chromium import Chromium, Tab
from tests.browser.conftest import Dashboard
from tests.commands.approvals.waiting import wanted
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


def test_a_question_is_read_whole_before_it_is_answered(paths: Paths, dashboard: Started, pictures: Keep) -> None:
    edit = {"oldText": "all\nis\nwell", "newText": "all\nis\nover"}
    asked = wanted()._replace(whole=json.dumps({"content": "a line\n" * 500 + "rm -rf ~/", "edits": [edit]}))
    with PolicyFile.connect(paths) as file:
        approvals.open_for(file, asked)
    tab = dashboard().person().tab("/approvals")
    tab.until(r"/\(9:[0-5]\d left\)/.test(document.querySelector('[data-until]').innerText)")
    assert "477 lines not shown" in tab.text()
    assert tab.see("getComputedStyle(document.querySelector('.diff .gone')).backgroundColor !== 'rgba(0, 0, 0, 0)'")
    pictures(tab, "cut")
    tab.follow("article .notice a")
    assert tab.text("pre").count("a line") == 500
    assert "rm -rf ~/" in tab.text("pre")
    assert not tab.see("document.querySelector('button[value=always]').checkVisibility()")
    tab.click("summary")
    tab.until("document.querySelector('button[value=always]').checkVisibility()")
    pictures(tab, "whole")
    tab.follow("button[value=deny]")
    assert "Nothing waits" in tab.text()
    assert tab.faults == []


def test_the_seventh_tab_loads_while_others_follow(client: Client, dashboard: Started) -> None:
    visitor = dashboard().person()
    tabs = [visitor.tab("/tool-calls") for _ in range(7)]
    assert [tab.status for tab in tabs] == [200] * 7
    said = [tab.until("document.getElementById('live').innerText") for tab in tabs]
    assert sorted(said) == ["live"] * 4 + ["updated every 30 s"] * 3


def test_a_filter_that_changes_is_sent_at_once(paths: Paths, dashboard: Started) -> None:
    recorded.two_sessions(paths)
    visitor = dashboard().person()
    tab = visitor.tab("/tool-calls")
    for name, value, query, rows in (
        ("status", "error", "?outcome=error", 2),
        ("client", "cursor", "?client=cursor&outcome=error", 1),
        ("status", "", "?client=cursor", 3),
        ("since", "range", "?client=cursor&since=range", 3),
    ):
        tab.see(f"document.querySelector('select[name={name}]').value = '{value}'; 0")
        with tab.leads_on():
            tab.see(
                f"document.querySelector('select[name={name}]').dispatchEvent(new Event('change', {{bubbles: true}}))"
            )
        assert (tab.see("location.search"), tab.see(ROWS)) == (query, rows), name
        assert tab.see("document.activeElement.name") == name, "one goes on where one was"
    tab.see("document.querySelector('[name=from]').value = '2100-01-01T12:11'; 0")
    tab.see("document.querySelector('[name=until]').value = '2100-01-01T12:13'; 0")
    tab.follow("form.bar button")
    assert tab.see("[...document.querySelectorAll('[type=datetime-local]')].map(e => e.value)") == [
        "2100-01-01T12:11", "2100-01-01T12:13",
    ]  # fmt: skip
    assert tab.see(ROWS) == 2


def test_the_first_call_of_a_long_session_is_in_sight(paths: Paths, dashboard: Started, pictures: Keep) -> None:
    calls = (recorded.call(f"{number:08}-x", number / 20, tool=f"tool_{number % 248}") for number in range(1000))
    recorded.session(paths, rest=[line for lines in calls for line in lines])
    tab = dashboard().person().tab(f"/sessions/{recorded.CLAUDE}")
    for width in (1440, 1024, 390):
        tab.size(width, 900)
        assert tab.see("document.querySelector('.timeline tbody tr').getBoundingClientRect().bottom < 900"), width
    pictures(tab, "session")
    assert tab.see("document.querySelectorAll('#tools > .wide tbody tr').length") == 10
    assert not tab.see("document.querySelector('#tools details').open")


def test_an_hour_in_a_plot_leads_to_its_calls(paths: Paths, dashboard: Started) -> None:
    recorded.two_sessions(paths)
    tab = dashboard().person().tab("/")
    tab.follow(".plot a:last-of-type")
    assert tab.see("location.search") == "?since=2100-01-01T12%3A00&until=2100-01-01T13%3A00"
    assert tab.see(ROWS) == 6
