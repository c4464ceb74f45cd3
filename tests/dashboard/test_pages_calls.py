"""The pages of calls, by what they say and where they lead."""

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from tests import configured, recorded
from tests.dashboard import markup
from tests.table import for_each

Browser = Callable[..., TestClient]
TIMES = "\N{MULTIPLICATION SIGN}"


def test_calls_of_a_session_are_chosen_from_a_list(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    page = markup.seen(browser(), f"/tool-calls?sessionId={recorded.CURSOR}&status=denied")
    assert "1 call, newest first" in page.text
    assert [each["value"] for each in page.of("option") if "selected" in each] == ["denied", recorded.CURSOR]
    assert "cursor, 2100-01-01 12:14:06, 3 calls (2c025020)" in page.text
    assert page.target(f"{TIMES} without sessionId") == "/tool-calls?status=denied"
    assert page.of("main")[0]["data-events"] == (
        f"/api/v1/events?payloads=false&session_id={recorded.CURSOR}&approvals=true"
    )


@pytest.mark.parametrize(
    ("asked", "calls"),
    [
        ("", 6),
        ("failed=true", 3),
        ("failed=false", 6),
        ("status=failed", 1),
        ("outcome=error", 2),
        ("outcome=refused", 1),
        ("error=server 'weather' died", 1),
        ("grep=Oslo&min_duration=5ms", 3),
        ("server=notes", 3),
        ("server=notes&tool=list_notes", 1),
        ("tool=weather:*", 3),
        ("hint=destructive", 1),
        ("hint=undeclared", 1),
        ("client=cursor", 3),
        ("since=2100-01-01T12:10Z&until=2100-01-01T12:12Z", 1),
        ("sessionId=last", 3),
        (f"session_id={recorded.CLAUDE}", 3),
    ],
)
def test_calls_are_filtered(browser: Browser, paths: Paths, asked: str, calls: int) -> None:
    recorded.two_sessions(paths)
    page = markup.seen(browser(), f"/tool-calls?{asked}")
    assert len(markup.keys(page)) == calls
    assert f"{calls} call{'s' * (calls != 1)}, newest first" in page.text


@pytest.mark.parametrize(
    "asked",
    ["", "failed=true", "status=ok,denied", "server=weather&hint=read-only", "tool=notes:*", "client=cursor",
     "since=2100-01-01T12:10Z", "session_id=last", "session_id=1c1&status=ok", f"before={recorded.call_id(4)}"],
)  # fmt: skip
def test_a_page_lists_the_calls_that_rest_answers(browser: Browser, paths: Paths, asked: str) -> None:
    recorded.two_sessions(paths)
    client = browser()
    answer = client.get(f"/api/v1/tool-calls?{asked}").json()
    page = markup.seen(client, f"/tool-calls?{asked}")
    assert markup.keys(page) == [call["id"] for call in answer["tool_calls"]]
    assert [each["data-count"] for each in page.of("section")] == [str(answer["total"])]


@pytest.mark.parametrize(
    "asked", ["", "failed=true", "status=closed", "status=active", "server=weather", "until=2100-01-01T12:05Z"]
)
def test_a_page_lists_the_sessions_that_rest_answers(browser: Browser, paths: Paths, asked: str) -> None:
    recorded.two_sessions(paths)
    client = browser()
    answer = client.get(f"/api/v1/sessions?{asked}").json()
    page = markup.seen(client, f"/sessions?{asked}")
    assert markup.keys(page) == [session["id"] for session in answer["sessions"]]
    assert [each["data-count"] for each in page.of("section")] == [str(answer["total"])]


def test_a_name_with_a_comma_is_one_name(browser: Browser, paths: Paths) -> None:
    of_calls = {"server": "a,b", "tool": "c,d", "project": "e,f"}
    recorded.session(paths, rest=[*recorded.call(1, 1, **of_calls), *recorded.call(2, 2)])
    page = markup.seen(browser(), "/tool-calls?server=a%2Cb&tool=c%2Cd&project=e%2Cf")
    assert "1 call, newest first" in page.text
    assert page.of("main")[0]["data-events"] == "/api/v1/events?payloads=false", "it takes several, with commas"


def test_one_bar_has_every_filter_with_the_calls_that_each_value_would_leave(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    page = markup.seen(browser(), "/tool-calls?client=cursor&server=notes")
    fields = ["grep", "tool", "server", "bar", "client", "project", "status", "hint", "since", "sessionId"]
    assert sorted(each["name"] for tag in ("input", "select") for each in page.of(tag)) == sorted(fields)
    for said in (
        "cursor (2) claude-code (1)",
        "done (1) failed (0) refused (1)",
        "tool error (0)",
        "last hour",
        "today",
    ):
        assert said in page.text
    values = {each["value"] for each in page.of("option")}
    assert {"notes:delete_note", "error", "tool_error", "15m", "7d", "range", "no-destructive", "undeclared"} <= values


def test_what_is_set_stands_as_chips_with_the_calls_of_each_alone(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    page = markup.seen(browser(), "/tool-calls?client=cursor&outcome=refused&since=2100-01-01&until=2100-01-02")
    assert f"client cursor 3 {TIMES} without client outcome refused 1 {TIMES}" in page.text
    assert f"since 2100-01-01 6 {TIMES} without since until 2100-01-02 6 {TIMES}" in page.text
    assert page.target(f"{TIMES} without outcome") == "/tool-calls?client=cursor&since=2100-01-01&until=2100-01-02"
    assert page.target("Take all away") == "/tool-calls"
    times = [each["value"] for each in page.of("input") if each.get("type") == "datetime-local"]
    assert times == ["2100-01-01T00:00", "2100-01-02T00:00"]


@for_each(
    ("asked", "address"),
    [
        ("grep=&tool=&status=&since=", ""),
        ("grep=Oslo&tool=notes:*&status=&server=notes", "?grep=Oslo&tool=notes%3A%2A&server=notes"),
        ("status=error&failed=true", "?outcome=error"),
        ("status=tool_error&outcome=done", "?status=tool_error"),
        ("since=range&client=", "?since=range"),
        ("since=range&from=2026-11-20T08:00&until=", "?since=2026-11-20T08%3A00"),
        ("since=range&from=&until=2026-11-20T08:00", "?until=2026-11-20T08%3A00"),
        ("since=1h&from=2026-11-20T08:00&until=2026-11-21T08:00", "?since=1h"),
        ("since=&from=2026-11-20T08:00&until=2026-11-21T08:00&client=zed", "?client=zed"),
    ],
)
def test_the_form_leads_to_the_address_that_it_means(browser: Browser, asked: str, address: str) -> None:
    answer = browser().get(f"/tool-calls?{asked}&bar=1", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/tool-calls{address}")


def test_a_text_is_looked_for_in_many_calls_a_part_at_a_time(
    browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    cities = ["Oslo" if number in (3, 117) else "Rome" for number in range(120)]
    calls = [
        line for number, city in enumerate(cities)
        for line in recorded.call(f"{number:08}-x", number / 10, arguments=recorded.raw({"city": city}))
    ]  # fmt: skip
    recorded.session(paths, rest=calls)
    client = browser()
    assert "2 calls, newest first" in markup.seen(client, "/tool-calls?grep=oslo").text
    monkeypatch.setattr("mcpctl.dashboard.dashboard._FEW_TEXTS", 10)
    monkeypatch.setattr("mcpctl.dashboard.calls._AT_ONCE", 10)
    for asked in ("grep=oslo", "arg=city%3DOslo"):
        whole = markup.seen(client, f"/tool-calls?{asked}")
        assert markup.keys(whole) == ["00000117-x", "00000003-x"]
        assert "2 calls, newest first" in whole.text
    many = markup.seen(client, "/tool-calls?grep=rome")
    assert "The newest calls with it" in many.text and len(markup.keys(many)) == 50
    assert markup.keys(markup.seen(client, many.target("Older →")))[0] == "00000068-x"
    monkeypatch.setattr("mcpctl.dashboard.calls._MOMENT_S", 0)
    part = markup.seen(client, "/tool-calls?grep=oslo")
    assert markup.keys(part) == ["00000117-x"] and "1 call among those since 2100-01-01 12:10:54" in part.text
    pages = 1
    while links := [address for address, text in part.links if text == "look at older ones"]:
        part, pages = markup.seen(client, links[0]), pages + 1
    assert markup.keys(part) == ["00000003-x"] and pages > 5


def test_a_range_of_time_is_asked_for_where_it_is_wanted(browser: Browser) -> None:
    page = markup.seen(browser(), "/tool-calls?since=range")
    assert [each["name"] for each in page.of("input") if each.get("type") == "datetime-local"] == ["from", "until"]
    for since in ("today", "24h", "yesterday"):
        page = markup.seen(browser(), f"/tool-calls?since={since}")
        assert "datetime-local" not in str(page.elements), "it moves on"
        assert [each["value"] for each in page.of("option") if "selected" in each] == [since]


def test_rows_say_why_they_failed_or_what_was_asked(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    page = markup.seen(browser(), "/tool-calls").text
    assert "notes:delete_note tool 'notes:delete_note' is not permitted \u2298 refused" in page
    assert "weather:convert_temperature server 'weather' died \u2715 failed" in page
    assert "notes:add_note city=Oslo \u2713 done" in page


def test_calls_go_on_after_the_last_one_that_was_shown(browser: Browser, paths: Paths) -> None:
    calls = [line for number in range(120) for line in recorded.call(f"{number:08}-x", number / 10)]
    recorded.session(paths, rest=calls)
    client = browser()
    first = markup.seen(client, "/tool-calls?server=weather")
    assert "120 calls, newest first" in first.text
    second = markup.seen(client, first.target("Older →"))
    assert "120 calls, newest first" in second.text
    assert markup.keys(second)[0] == "00000069-x"
    third = markup.seen(client, second.target("Older →"))
    assert markup.keys(third)[-1] == "00000000-x"
    assert third.target("← Newest") == "/tool-calls?server=weather"
    assert "Older →" not in [text for _, text in third.links]
    assert "There are no older ones" in markup.seen(client, "/tool-calls?offset=500").text


def test_the_newest_rows_are_live_and_others_are_not(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    (live,) = [each for each in markup.seen(browser(), "/tool-calls").of("section") if "data-live" in each]
    assert (live["data-live"], live["data-count"]) == ("call", "6")
    older = markup.seen(browser(), f"/tool-calls?before={recorded.call_id(3)}")
    assert not [each for each in older.of("section") if "data-live" in each]


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/tool-calls?status=wrong", 400),
        ("/tool-calls?hint=wrong", 400),
        ("/tool-calls?since=wrong", 400),
        ("/tool-calls?offset=-1", 400),
        ("/tool-calls?offset=" + "9" * 5000, 400),
        ("/tool-calls?offset=" + "0" * 5000 + "9", 400),
        ("/tool-calls?failed=true&status=ok", 400),
        ("/tool-calls?sessionId=wrong", 404),
        ("/tool-calls?before=wrong", 404),
        ("/tool-calls/wrong", 404),
        ("/sessions?status=wrong", 400),
        ("/sessions/wrong", 404),
    ],
)
def test_what_is_not_there_is_said(browser: Browser, paths: Paths, address: str, status: int) -> None:
    recorded.two_sessions(paths)
    answer = browser().get(address)
    assert answer.status_code == status
    said = next((word for word in ("wrong", "offset") if word in address), "failed and status are both given")
    assert said in markup.read(answer.text).text.lower()


# ---- one call, or one search


def test_a_call_is_shown_whole(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths)
    hints = recorded.hints(True, None, None, True)
    call = recorded.call(1, 1, annotations=hints, project="site", toolset="triage", output_tokens=1234)
    recorded.session(
        paths, rest=[*call, recorded.decided(recorded.call_id(1), "approved", channel="terminal", waited_ms=4200)]
    )
    page = markup.seen(browser(), f"/tool-calls/{recorded.call_id(1)}")
    for said in ("ok", "12 ms", "5 in, 1,234 out", "site", "triage", '"city": "Oslo"', "cloudy", "Read-only",
                 "approved", "approved by the user in the terminal, after 4.2 s", "deny = weather:*",
                 "/home/anna/config.toml:12",
                 f"mcpctl calls replay {recorded.call_id(1)}"):  # fmt: skip
        assert said in page.text
    assert page.target("weather:get_forecast") == "/tools/weather%3Aget_forecast"
    assert page.target("1c1a0de0") == f"/sessions/{recorded.CLAUDE}"


def test_a_call_that_waits_leads_to_what_waits_for_consent(browser: Browser, paths: Paths) -> None:
    decided = [recorded.decided(recorded.call_id(1), "unanswerable"), recorded.decided(recorded.call_id(2), "denied")]
    recorded.session(paths, rest=[*recorded.call(1, 1), *recorded.call(2, 2), *decided])
    page = markup.seen(browser(), f"/tool-calls/{recorded.call_id(1)}")
    assert page.target("see what waits for yours") == "/approvals"
    assert "waits for yours" not in markup.seen(browser(), f"/tool-calls/{recorded.call_id(2)}").text


def test_the_command_that_calls_again_what_does_more_than_read_says_so(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths)
    recorded.session(paths, rest=[*recorded.call(1, 1), *recorded.call(2, 2, server="notes", tool="delete_note")])
    for number, options in ((1, ""), (2, "--execute")):
        page = markup.seen(browser(), f"/tool-calls/{recorded.call_id(number)}")
        assert f"mcpctl calls replay {recorded.call_id(number)} {options}".rstrip() in page.text
        assert page.text.count("--execute") == len(options) // 9


def test_hints_that_have_changed_since_are_shown_beside_those_of_then(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"weather": configured.stub()})
    tool = {"name": "get_forecast", "inputSchema": {"type": "object"}}
    recorded.session(paths, rest=recorded.call(1, 1, annotations=recorded.hints(True, None, None, None)))
    address = f"/tool-calls/{recorded.call_id(1)}"
    assert "does not list this tool any more" in markup.seen(browser(), address).text
    configured.listed(paths, "weather", [{**tool, "annotations": {"readOnlyHint": True}}])
    assert "Now The same" in markup.seen(browser(), address).text
    configured.listed(paths, "weather", [{**tool, "annotations": {"destructiveHint": True}}])
    page = markup.seen(browser(), address)
    assert "Read-only" in page.text and "Destructive" in page.text
    assert "They have changed since this call" in page.text


def test_what_is_long_is_cut_and_has_a_link_to_the_whole(browser: Browser, paths: Paths) -> None:
    large = recorded.raw({"text": "w" * 300_000})
    recorded.session(paths, rest=recorded.call(1, 1, arguments=large, response=large))
    answer = browser().get(f"/tool-calls/{recorded.call_id(1)}")
    assert len(answer.text) < 150_000
    page = markup.read(answer.text)
    assert page.target("The whole call as JSON") == f"/api/v1/tool-calls/{recorded.call_id(1)}"
    assert "The first 65,536 of 300,016 characters" in page.text


def test_the_rounds_of_a_call_lead_to_each_other(browser: Browser, paths: Paths) -> None:
    later = recorded.call(2, 2, parent_id=recorded.call_id(1))
    recorded.session(paths, rest=[*recorded.call(1, 1, status="input_required"), *later])
    assert f"/tool-calls/{recorded.call_id(2)}" in dict(
        markup.seen(browser(), f"/tool-calls/{recorded.call_id(1)}").links
    )
    page = markup.seen(browser(), f"/tool-calls/{recorded.call_id(2)}")
    assert page.target("10ca1100") == f"/tool-calls/{recorded.call_id(1)}"
    assert f"It cannot be called again: it is a later round of the call {recorded.call_id(1)}" in page.text


def test_a_call_in_several_rounds_is_listed_in_all_and_counted_once(browser: Browser, paths: Paths) -> None:
    asking = recorded.call(1, 1, status="input_required", error=recorded.raw(None))
    recorded.session(paths, rest=[*asking, *recorded.call(2, 2, parent_id=recorded.call_id(1)), *recorded.call(3, 3)])
    client = browser()
    assert "2 calls in 3 rounds, newest first" in markup.seen(client, "/tool-calls").text
    assert "2 calls, newest first" in markup.seen(client, "/tool-calls?outcome=done").text
    assert "Calls 2 Done 2 Failed 0" in markup.seen(client, "/stats?since=all").text


def test_a_call_that_runs_is_said_to(browser: Browser, paths: Paths) -> None:
    journal = recorded.opened(paths, recorded.created(), [recorded.started(1, 1)])
    page = markup.seen(browser(), f"/tool-calls/{recorded.call_id(1)}")
    journal.close()
    assert "It has not come yet" in page.text
    assert page.of("main")[0]["data-events"].endswith(f"{recorded.CLAUDE}&approvals=true")


def test_letters_stand_for_their_escapes_and_numbers_stay(browser: Browser, paths: Paths) -> None:
    arguments = recorded.raw({"name": "Zoë", "id": 123456789012345678901234567890})
    recorded.session(paths, rest=recorded.call(1, 1, arguments=arguments, response=recorded.raw([["x"]])))
    text = markup.seen(browser(), f"/tool-calls/{recorded.call_id(1)}").text
    assert '"name": "Zoë", "id": 123456789012345678901234567890' in text


def test_a_search_is_shown_with_links_to_the_tools_that_there_still_are(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    gone = markup.seen(browser(), "/tool-calls/10d15c00-0000-4000-8000-000000000001")
    assert "weather:get_forecast 0.91" in gone.text
    assert "weather:get_forecast" not in [text for _, text in gone.links]
    configured.demo_tools(paths)
    page = markup.seen(browser(), "/tool-calls/10d15c00-0000-4000-8000-000000000001")
    assert "Search for weather in a city" in page.text and "bm25" in page.text and "0.91" in page.text
    assert page.target("weather:get_forecast") == "/tools/weather%3Aget_forecast"
    assert "No tool was found" in markup.seen(browser(), "/tool-calls/20d15c00-0000-4000-8000-000000000002").text
