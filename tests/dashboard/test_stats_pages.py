"""The page of totals: the numbers of `calls stats`, and charts that say the same."""

import re
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from mcpctl.dashboard.dashboard import Summaries, Summary
from tests import configured, recorded
from tests.dashboard import markup
from tests.dashboard.test_tools_pages import links, text_of

Browser = Callable[..., TestClient]


def test_totals_are_those_of_the_records(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths)
    recorded.two_sessions(paths)
    page = browser().get("/stats?since=all").text
    text = text_of(page)
    assert (
        "Calls 6 Done 3 Failed 2 40.0 % Refused 1 p50 12 ms p95 12 ms Tokens of arguments 30 Tokens of responses 72"
        in text
    )
    assert "notes:delete_note 1 calls 0 1 refused - - 17" in text
    assert "claude-code 3 calls 1 failed 0" in text
    assert "2100-01-01 6 calls 2 failed 1 refused 12 ms 12 ms 102" in text, "the plot's numbers are in a table too"
    assert links(page, "weather:get_forecast") == ["/tools/weather%3Aget_forecast"]
    assert "<title>2100-01-01: 6 calls, 2 failed, 1 refused</title>" in page
    assert "style=" not in page


def test_the_time_and_the_order_are_links(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    client = browser()
    page = client.get("/stats?since=7d&sort=p95_ms").text
    assert links(page, "All") == ["/stats?since=all&sort=p95_ms"]
    assert links(page, "30 days") == ["/stats?sort=p95_ms"]
    assert re.search(r'aria-current="true"[^>]*><bdi>7 days', page)
    by_failures = text_of(client.get("/stats?sort=errors").text)
    assert by_failures.index("weather:convert_temperature") < by_failures.index("notes:delete_note")


def leads_to_just_so_many(client: TestClient, address: str, least: int) -> None:
    """Each number of calls on a page is a link to a list of just so many."""
    page = markup.seen(client, address)
    numbers = {(text, to) for to, text in page.links if re.fullmatch(r"\d+( calls| failed| refused)?", text)}
    assert len(numbers) >= least
    for text, to in numbers:
        counted = [each["data-count"] for each in markup.seen(client, to).of("section")]
        assert counted == [text.partition(" ")[0]], (text, to)


def test_a_number_of_failures_leads_to_just_so_many(browser: Browser, paths: Paths) -> None:
    refused = recorded.raw({"code": "denied", "message": "no"})
    recorded.session(paths, rest=[*recorded.call(1, 1), *recorded.call(2, 2, status="denied", error=refused)])
    leads_to_just_so_many(browser(), "/stats?since=all", 10)


@pytest.mark.slow
@pytest.mark.parametrize("since", ["all", "7d", "today"])
def test_every_number_of_calls_leads_to_just_so_many(browser: Browser, paths: Paths, since: str) -> None:
    configured.demo_tools(paths)
    recorded.two_sessions(paths)
    leads_to_just_so_many(browser(), f"/stats?since={since}", 20)


def test_failures_of_a_tool_with_the_same_text_are_one_line(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    text = markup.seen(browser(), "/stats?since=all").text
    assert "1 failed weather:convert_temperature server 'weather' died" in text
    assert "1 refused notes:delete_note tool 'notes:delete_note' is not permitted" in text


def test_a_day_or_two_are_shown_by_the_hour(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    client = browser()
    for since, name in (("today", "2100-01-01 12:00"), ("yesterday", "2100-01-01 12:00"), ("7d", "2100-01-01")):
        page = markup.seen(client, f"/stats?since={since}")
        assert f"By {'day' if since == '7d' else 'hour'}" in page.text
        assert f"{name}: 6 calls, 2 failed, 1 refused" in page.text


def test_nothing_on_record_is_said(browser: Browser) -> None:
    page = browser().get("/stats").text
    assert "No call is on record in this time." in page
    assert "<svg" not in page


def test_old_totals_say_when_they_were_counted(browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded.two_sessions(paths)
    at = recorded.at(1)
    monkeypatch.setattr(
        Summaries, "totals", lambda self, records, *by, wanted, **how: Summary(records.totals(*by, criteria=wanted), at)
    )
    answer = browser().get("/stats")
    assert "As counted 2100-01-01 12:01:00 ; more has come since." in text_of(answer.text)


def test_totals_that_take_long_come_in_a_moment(
    browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded.two_sessions(paths)
    monkeypatch.setattr(Summaries, "in_a_moment", lambda *_: (None, None))
    answer = browser().get("/stats")
    assert "are being counted, and are here in a moment" in markup.read(answer.text).text
    assert '<meta http-equiv="refresh" content="2">' in answer.text


def test_hostile_names_are_only_shown(browser: Browser, paths: Paths) -> None:
    hostile = "</title><script>alert(1)</script>\u202e"
    calls = recorded.call(1, 1, server=hostile, tool=hostile, client_name=hostile)
    recorded.session(paths, rest=calls)
    page = browser().get("/stats").text
    assert "<script>alert" not in page
    assert "\u202e" not in page
