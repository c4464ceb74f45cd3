"""The pages of sessions and the overview, by what they say and where they lead; and what every page keeps to."""

import re
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from mcpctl.base.fields import CALL_STATUSES, DECISIONS, SESSION_STATUSES
from mcpctl.base.paths import Paths
from mcpctl.catalog import loosening
from mcpctl.config import config
from mcpctl.dashboard.dashboard import Summaries, Summary
from mcpctl.policy import approvals
from mcpctl.policy.approvals import Grant
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import journal_lines
from mcpctl.store.records import LocalRecords
from mcpctl.store.state import State
from tests import configured, recorded
from tests.conftest import Mcpctl
from tests.dashboard import markup

Browser = Callable[..., TestClient]
HOSTILE = "\u202eevil\u2066{{7777*7777}}<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
LONG = "n" * 1000
TIMES = "\N{MULTIPLICATION SIGN}"
ZALGO = "a" + "\u0301\u0316" * 300


def hostile(paths: Paths) -> None:
    """A session in which every text that a server, client or model chooses is bad."""
    for_call = {"server": HOSTILE, "client_name": HOSTILE, "project": LONG, "toolset": HOSTILE}
    texts = recorded.raw({"content": [{"type": "text", "text": f"</pre>{HOSTILE}" + "w" * 40_000}]})
    lines = [
        *recorded.call(1, 1, tool=LONG, **for_call, arguments=recorded.raw({HOSTILE: "javascript:alert(1)"})),
        *recorded.call(2, 2, tool=ZALGO, **for_call, response=texts),
        *recorded.call(3, 3, tool=HOSTILE, **for_call, error=recorded.raw({"message": HOSTILE, "big": "w" * 200_000})),
        recorded.searched(
            4, 4, query=recorded.raw([HOSTILE, LONG]), context=HOSTILE, provider=HOSTILE, fallback=HOSTILE,
            results=recorded.raw([{"key": HOSTILE, "relevance": "high"}, {"key": 7}, "x"]),
        ),
        recorded.decided(recorded.call_id(3), key=HOSTILE, rule=HOSTILE, rule_place=HOSTILE),
    ]  # fmt: skip
    first = recorded.created(client_name=HOSTILE, client_version=HOSTILE, project=LONG, toolset=HOSTILE)
    journal = recorded.opened(paths, first, lines)
    journal.close(journal_lines.encode(recorded.closed()))


def waiting(paths: Paths, count: int, key: str = "notes:delete_note") -> None:
    """Calls that wait for consent."""
    with PolicyFile.connect(paths) as file:
        for number in range(count):
            approvals.open_for(
                file,
                approvals.CallApproval(
                    f"b{number}", *Grant(key, "pin", "", "", "s"), "destructive", "", f'{{"id": {number}}}', "h",
                    "ask = destructive", "config.toml:3",
                ),
            )  # fmt: skip


# ---- the overview


def test_the_overview_has_links_from_sessions_to_their_calls(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    page = markup.seen(browser(), "/")
    assert page.target("cursor, its calls in session 2c025020") == f"/tool-calls?sessionId={recorded.CURSOR}"
    assert page.target("2c025020") == f"/sessions/{recorded.CURSOR}"
    assert "None is active" in page.text


def test_active_sessions_come_first(browser: Browser, paths: Paths) -> None:
    journal = recorded.opened(paths, recorded.created(), recorded.call(1, 1))
    recorded.session(paths, recorded.CURSOR, 10)
    page = markup.seen(browser(), "/")
    journal.close()
    assert markup.keys(page) == [recorded.CLAUDE, recorded.CURSOR]
    assert page.target("1 active") == "/sessions?status=active"


def test_what_waits_for_consent_is_counted_and_named(browser: Browser, paths: Paths) -> None:
    waiting(paths, 7)
    page = markup.seen(browser(), "/")
    assert page.target("7 calls wait for your yes") == "/approvals"
    assert page.text.count("notes:delete_note") == 5
    assert "id=6" in page.text and "id=1" not in page.text


def test_what_is_held_is_named_and_led_to(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"notes": configured.stub()}, policy={"mode": "enforce"})
    configured.listed(paths, "notes", [configured.READ])
    configured.pinned(paths, "notes")
    configured.listed(paths, "notes", [configured.READ | {"description": "Reads and mails."}, configured.WRITE])
    page = markup.seen(browser(), "/")
    assert page.target("2 held until you review them") == "/review"
    assert "notes:read changed" in page.text
    assert "2 are held" in markup.seen(browser(), "/review").text


def test_a_configuration_that_cannot_be_read_spoils_no_page(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text("[servers", encoding="utf-8")
    page = markup.seen(browser(), "/")
    assert "config.toml cannot be used" in page.text and "Nothing to do" not in page.text
    assert "Not known:" in markup.seen(browser(), f"/tool-calls/{recorded.call_id(1)}").text


def test_every_number_of_today_leads_to_just_so_many_calls(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    client = browser()
    page = markup.seen(client, "/")
    assert "Calls 6 Done 3 Failed 2 40.0 % Refused 1 p50 12 ms p95 12 ms" in page.text
    of_today = [(text, address) for address, text in page.links if address.startswith("/tool-calls?since=today")]
    assert [text for text, _ in of_today] == ["6", "3", "2", "1", "12 ms", "12 ms"]
    for count, address in of_today[:4]:
        assert [each["data-count"] for each in markup.seen(client, address).of("section")] == [count]


def test_nothing_to_do_is_said_only_where_that_is_so(browser: Browser, paths: Paths) -> None:
    said = "Nothing to do: no call waits for your yes, nothing is held, and every server that was used has started."
    assert said not in markup.seen(browser(), "/").text, "a client is still to be connected"
    configured.demo_tools(paths)
    recorded.two_sessions(paths)
    assert said in markup.seen(browser(), "/").text
    waiting(paths, 1)
    assert said not in markup.seen(browser(), "/").text


def test_hours_lead_to_their_calls(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    client = browser()
    page = markup.seen(client, "/")
    hour = "since=2100-01-01T12%3A00&until=2100-01-01T13%3A00"
    assert page.target("2 failed") == f"/tool-calls?{hour}&outcome=error"
    assert page.target("1 refused") == f"/tool-calls?{hour}&outcome=refused"
    plotted = [text for address, text in page.links if address == f"/tool-calls?{hour}"]
    assert plotted == [
        "2100-01-01 12:00: 6 calls, 2 failed, 1 refused",
        "2100-01-01 12:00: p50 12 ms, p95 12 ms",
        "6 calls",
    ]
    for address, count in ((page.target("2 failed"), "2"), (f"/tool-calls?{hour}", "6")):
        assert [each["data-count"] for each in markup.seen(client, address).of("section")] == [count]


def test_failures_are_told_with_their_first_line_and_what_fails_most_with_its_calls(
    browser: Browser, paths: Paths
) -> None:
    recorded.two_sessions(paths)
    texts = ("row 1 is locked\nby another", "row 22 is locked")
    answers = [recorded.raw({"content": [{"type": "text", "text": text}], "isError": True}) for text in texts]
    failed = [recorded.call(n, n, status="tool_error", response=answer) for n, answer in enumerate(answers, 7)]
    recorded.session(paths, "3c025020-0000-4000-8000-000000000003", 20, [*failed[0], *failed[1]])
    client = browser()
    page = markup.seen(client, "/")
    assert "weather:get_forecast row 1 is locked 2100" in page.text and "by another" not in page.text
    assert "2 failed weather:get_forecast row # is locked" in page.text
    found = markup.seen(client, next(address for address, _ in page.links if "error=row+%23+is+locked" in address))
    assert markup.keys(found) == [recorded.call_id(8), recorded.call_id(7)]
    assert "delete_note is not permitted" not in page.text, "a refusal has not failed"


def test_what_searching_saved_is_what_the_command_line_says(browser: Browser, paths: Paths, mcpctl: Mcpctl) -> None:
    configured.demo_tools(paths)
    recorded.two_sessions(paths)
    rows = mcpctl("sessions", "stats", "--saved", "--since", "14d", "--json").json
    saved, without = (sum(row[name] for row in rows) for name in ("saved_tokens", "definitions_tokens"))
    page = markup.seen(browser(), "/stats")
    assert f"Tokens {'saved' if saved > 0 else 'lost'} by searching {abs(saved):,} " in page.text
    assert (
        f"2 sessions read {without - saved:,} tokens for two tools, searches and keys, in place of {without:,}"
        in page.text
    )
    of_one = markup.seen(browser(), f"/sessions/{recorded.CURSOR}").text
    assert f"{'Saved' if rows[0]['saved_tokens'] > 0 else 'Lost'} {abs(rows[0]['saved_tokens']):,} tokens" in of_one


def test_what_searching_lost_is_said_so(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths)
    recorded.session(paths, rest=[*recorded.call(1, 1), recorded.searched(2, 2, tokens=100_000)])
    assert re.search(r"Tokens lost by searching \d\d,\d{3} ", markup.seen(browser(), "/stats").text)
    assert re.search(r"Lost \d\d,\d{3} tokens", markup.seen(browser(), f"/sessions/{recorded.CLAUDE}").text)


def test_nothing_is_said_of_what_was_saved_where_it_is_not_known(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    assert "by searching" not in markup.seen(browser(), "/stats").text


def test_nothing_is_said_of_what_was_saved_where_it_would_be_counted_for_too_long(
    browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured.demo_tools(paths)
    recorded.two_sessions(paths)
    assert "by searching" in markup.seen(browser(), "/stats").text
    monkeypatch.setattr("mcpctl.dashboard.dashboard._FEW", 5)
    assert "by searching" not in markup.seen(browser(), "/stats").text


def test_hours_that_were_counted_before_say_when(
    browser: Browser, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded.two_sessions(paths)
    with LocalRecords(paths) as records:
        counted = {by: Summary(records.totals(*by), recorded.at(30)) for by in ((), ("hour",))}
    monkeypatch.setattr(Summaries, "totals", lambda _, __, *by, **___: counted[by])
    assert "As counted 2100-01-01 12:30:00 ; more has come since" in markup.seen(browser(), "/").text


# ---- sessions


def test_sessions_are_filtered_by_links(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    client = browser()
    page = markup.seen(client, "/sessions?status=closed")
    address = page.target("cursor")
    assert address == "/sessions?status=closed&client=cursor"
    page = markup.seen(client, address)
    assert markup.keys(page) == [recorded.CURSOR]
    assert page.target(f"{TIMES} without client") == "/sessions?status=closed"
    assert "No session matches these filters" in markup.seen(client, "/sessions?status=active").text


def test_sessions_have_pages(browser: Browser, paths: Paths) -> None:
    for number in range(53):
        recorded.session(paths, f"{number:08}-0000-4000-8000-000000000000", number)
    client = browser()
    first = markup.seen(client, "/sessions")
    assert "1\N{EN DASH}50 of 53" in first.text
    second = markup.seen(client, first.target("Older →"))
    assert len(markup.keys(second)) == 3
    assert second.target("← Newer") == "/sessions"
    assert not [each for each in second.of("section") if "data-live" in each]
    assert "There are only 53 sessions" in markup.seen(client, "/sessions?offset=1000").text


def test_a_session_says_who_did_what(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths)
    lines = [
        recorded.searched(9, 0.5),
        *recorded.call(1, 1, output_tokens=100),
        *recorded.call(2, 2, status="tool_error"),
        recorded.decided(None, decision="held", enforced=False),
    ]
    recorded.session(paths, rest=lines)
    client = browser()
    page = markup.seen(client, f"/sessions/{recorded.CLAUDE}")
    for said in ("claude-code", "2.0", "2025-11-25", "closed", "122 of calls, 40 of searches", "only recorded",
                 "2 calls 1 failed 0 refused 1 search 162 tokens"):  # fmt: skip
        assert said in page.text
    of_tool = f"/tool-calls?sessionId={recorded.CLAUDE}&tool=weather%3Aget_forecast"
    assert page.target("2 calls") == of_tool
    assert markup.keys(markup.seen(client, of_tool)) == [recorded.call_id(2), recorded.call_id(1)]
    failed = markup.seen(client, page.target("1 failed"))
    assert markup.keys(failed) == [recorded.call_id(2)]
    assert page.target("weather in a city").startswith("/tool-calls/90d15c00")


def test_a_session_is_told_from_its_beginning_with_questions_answers_and_gaps(browser: Browser, paths: Paths) -> None:
    asked = recorded.decided(recorded.call_id(1), "asked", channel="client", rule="ask = notes:*")
    yes = recorded.decided(recorded.call_id(1), "approved", channel="client", waited_ms=4200, rule="ask = notes:*")
    begun = recorded.started(1, 2, server="notes", tool="add_note", arguments=recorded.raw({"title": "Oslo"}))
    lines = [
        recorded.searched(9, 0.5), begun, asked, yes, recorded.finished(1, 2.2, duration_ms=6000),
        *recorded.call(2, 4, server="notes", tool="add_note", status="denied",
                       error=recorded.raw({"code": "denied", "message": "not now\nor ever"})),
        recorded.decided(recorded.call_id(2), "declined", channel="client", waited_ms=900),
        recorded.was_read(3, 5),
        recorded.decided(None, "held", key="notes:drop"),
    ]  # fmt: skip
    recorded.session(paths, rest=lines)
    page = markup.seen(browser(), f"/sessions/{recorded.CLAUDE}")
    told = (
        "+ 30 s search weather in a city weather:get_forecast → 1 found 3 ms",
        "+ 1 min 30 s notes:add_note title=Oslo asked in the client ask = notes:* , /home/anna/config.toml:12"
        " yes: approved by the user in the client, after 4.2 s ✓ done 6 s",
        "+ 1 min 50 s notes:add_note city=Oslo no: declined by the user in the client, after 900 ms deny = weather:* ,"
        " /home/anna/config.toml:12 not now ⊘ refused 12 ms",
        "resource notes note://3 ✓ done 7 ms",
        "attempt notes:drop held",
    )
    places = [page.text.index(each) for each in told]
    assert places == sorted(places)
    rows = [each["data-key"] for each in page.of("tr") if "data-key" in each]
    assert rows == [line.id for line in (lines[0], begun, lines[5], lines[8], lines[9])]


def test_a_long_session_begins_on_its_first_page_and_has_ten_tools_before_all(browser: Browser, paths: Paths) -> None:
    lines = [line for n in range(120) for line in recorded.call(f"{n:08}-x", n / 10, tool=f"tool_{n % 40}")]
    recorded.session(paths, rest=lines)
    client = browser()
    first = markup.seen(client, f"/sessions/{recorded.CLAUDE}")
    assert markup.keys(first) == [f"{number:08}-x" for number in range(50)]
    assert (
        first.text.index("weather:tool_0 3") < first.text.index("All 40 tools") < first.text.index("weather:tool_9 3")
    )
    second = markup.seen(client, first.target("Later →"))
    assert markup.keys(second)[0] == "00000050-x"
    assert second.target("← Earlier") == f"/sessions/{recorded.CLAUDE}"
    live = [each["id"] for each in first.of("section") if "data-live" in each]
    assert "timeline" not in live, "news come at its end"
    last = markup.seen(client, f"/sessions/{recorded.CLAUDE}?offset=100")
    assert "timeline" in [each["id"] for each in last.of("section") if "data-live" in each]
    assert "There are only 120 events" in markup.seen(client, f"/sessions/{recorded.CLAUDE}?offset=500").text


def test_servers_that_do_not_work_wait_for_a_person_too(browser: Browser, paths: Paths) -> None:
    configured.configure(paths, {"bad": {"comand": "x"}, "down": configured.stub(), "ok": configured.stub()})
    with State.connect(paths) as state:
        entry = config.load(paths.config).servers["down"]
        state.remember_failure("down", entry.fingerprint, "server 'down' did not start: it ended (exit 3)")
    page = markup.seen(browser(), "/")
    assert page.target("2 servers do not work") == "/servers?use=down"
    assert "2 servers do not work bad" in page.text
    listed = markup.seen(browser(), "/servers?use=down")
    assert [address for address, text in listed.links if text in ("bad", "down", "ok")] == [
        "/servers/bad",
        "/servers/down",
    ]
    assert "down did not start: it ended (exit 3)" in page.text
    assert "Nothing to do" not in page.text
    assert page.target("down") == "/servers/down"
    servers = markup.seen(browser(), "/servers").text
    assert "down true does not start it ended (exit 3)" in servers
    assert servers.count("does not start") == 1


@pytest.mark.parametrize("address", ["/", "/tool-calls?status=denied", "/tools", "/approvals", "/tool-calls/10ca1100"])
def test_every_page_says_that_a_call_waits(browser: Browser, paths: Paths, address: str) -> None:
    recorded.session(paths, rest=recorded.call(1, 1))
    assert "waiting for you" not in markup.seen(browser(), address).text
    waiting(paths, 2)
    page = markup.seen(browser(), address)
    assert "Approvals 2 waiting for you" in page.text
    assert page.text.startswith("(2) ")
    (pages,) = [each for each in page.of("ul") if each.get("id") == "pages"]
    assert "data-live" in pages, "the script reads it again at news"
    assert page.of("main")[0]["data-events"].startswith("/api/v1/events?payloads=false")


def test_a_tool_that_there_is_not_has_neither_a_link_nor_hints(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths)
    lines = [
        *recorded.call(1, 1, server="notes", tool="add_nte", status="failed"),
        recorded.decided(recorded.call_id(1), key="notes:add_nte", rule="unknown_tool", rule_place=""),  # of old ones
        *recorded.call(2, 2, server="notes", tool="add_note"),
    ]
    recorded.session(paths, rest=lines)
    for address in (f"/sessions/{recorded.CLAUDE}", "/stats?since=all", f"/tool-calls/{recorded.call_id(1)}"):
        page = markup.seen(browser(), address)
        assert "notes:add_nte" in page.text
        assert not [each for each, _ in page.links if each == "/tools/notes%3Aadd_nte"]
    assert "Then There is no such tool." in page.text
    assert "denied" not in page.text
    assert markup.seen(browser(), "/tool-calls").text.count("Not declared") == 1
    assert page.of("li") and "Not declared" not in page.text


def test_what_was_loosened_is_to_be_looked_at_until_it_is_taken_back(browser: Browser, paths: Paths) -> None:
    asked = {"name": "wipe", "annotations": {"destructiveHint": True}}
    read = {"name": "look", "annotations": {"readOnlyHint": True, "openWorldHint": False}}
    configured.configure(paths, {"shop": configured.stub()}, policy={})
    configured.listed(paths, "shop", [asked, read])
    with State.connect(paths):
        loosening.record(paths, ["shop:*"], "config.toml", "new", "terminal")
    assert "called without a question, or more often, since then: shop:look " in markup.seen(browser(), "/").text
    configured.configure(paths, {"shop": configured.stub()}, policy={"ask": ["shop:*"]})
    configured.listed(paths, "shop", [asked, read])
    assert "Loosened" not in markup.seen(browser(), "/").text


# ---- everything


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/", "Connect a client"),
        ("/sessions", "No session is on record yet"),
        ("/tool-calls", "No call is on record yet"),
        ("/tool-calls?status=ok", "No call matches these filters"),
    ],
)
def test_nothing_on_record_is_said(browser: Browser, address: str, said: str) -> None:
    assert said in markup.seen(browser(), address).text


@pytest.mark.parametrize(
    "address",
    [
        "/", "/sessions", f"/sessions/{recorded.CLAUDE}", "/tool-calls", f"/tool-calls?sessionId={recorded.CLAUDE}",
        *(f"/tool-calls/{recorded.call_id(number)}" for number in (1, 2, 3)),
        "/tool-calls/40d15c00-0000-4000-8000-000000000004",
    ],
)  # fmt: skip
def test_texts_of_strangers_stay_texts(browser: Browser, paths: Paths, address: str) -> None:
    hostile(paths)
    waiting(paths, 1, HOSTILE)
    text = browser().get(address).text
    page = markup.read(text)
    assert not page.of("img")
    assert "<script>alert" not in text and "javascript:" not in str(page.links)
    assert not set("\u202e\u2066").intersection(text)
    assert "\\u202eevil\\u2066{{7777*7777}}<script>alert(1)</script>" in page.text
    assert str(7777 * 7777) not in text
    assert max(map(len, text.split("\n"))) < 70_000


def test_a_filter_of_a_stranger_stays_a_filter(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    bad = "\"><script>alert(1)</script>&status=ok#x'"
    answer = browser().get("/tool-calls", params={"server": bad, "tool": bad})
    page = markup.read(answer.text)
    assert "<script>alert" not in answer.text
    assert page.target(f"{TIMES} without tool").startswith("/tool-calls?server=%22%3E%3Cscript%3E")
    assert bad in page.text


@pytest.mark.parametrize("name", ["live", "countdown", "bar"])
def test_a_script_makes_no_markup_of_what_it_is_told(name: str, browser: Browser) -> None:
    script = browser().get(f"/static/{name}.js").text
    assert len(script.splitlines()) <= 250
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", ".data."):
        assert word not in script


def test_no_page_has_a_style_or_a_script_of_its_own(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    for address in ("/", "/sessions", "/tool-calls", f"/tool-calls/{recorded.call_id(1)}"):
        page = markup.seen(browser(), address)
        assert not page.of("style")


@pytest.mark.parametrize(
    "address",
    ["/", "/sessions", "/tool-calls", "/tools", "/tools/notes:delete_note", "/servers", "/servers/notes", "/approvals",
     "/stats"],
)  # fmt: skip
def test_what_changes_outside_is_followed(browser: Browser, paths: Paths, address: str) -> None:
    configured.demo_tools(paths)
    page = markup.seen(browser(), address)
    assert page.of("main")[0]["data-events"].startswith("/api/v1/events?payloads=false")
    live = [each for _, each in page.elements if "data-live" in each]
    assert live and all(each.get("id") for each in live), "the script finds them again by their ids"


def test_titles_say_which_one_it_is(browser: Browser, paths: Paths) -> None:
    configured.demo_tools(paths)
    recorded.two_sessions(paths)
    client = browser()
    for address, title in {
        f"/sessions/{recorded.CURSOR}": "cursor, session 2c025020",
        f"/tool-calls?sessionId={recorded.CURSOR}": "Calls of session 2c025020",
        f"/tool-calls/{recorded.call_id(1)}": f"weather:get_forecast, call {recorded.call_id(1)[:8]}",
        "/tools/notes:delete_note": "notes:delete_note, tool",
        "/servers/notes": "notes, server",
    }.items():
        assert f"<title>{title} · mcpctl</title>" in client.get(address).text
    assert "<title>No session &#39;nobody&#39;" in client.get("/sessions/nobody").text


def test_the_style_sheet_paints_only_statuses_that_there_are(browser: Browser) -> None:
    painted = set(re.findall(r"\.status\.(\w+)", browser().get("/static/style.css").text))
    of_approvals = {approvals.PENDING, approvals.ALLOWED, approvals.DENIED}
    assert painted <= {*CALL_STATUSES, *SESSION_STATUSES, *DECISIONS, *of_approvals}


def test_every_page_says_that_everything_is_paused(browser: Browser, paths: Paths, mcpctl: Mcpctl) -> None:
    pages = browser()
    assert "Nothing is called" not in pages.get("/").text
    mcpctl("policy", "pause")
    for address in ("/", "/tool-calls", "/approvals", "/stats"):
        assert "Nothing is called: paused since" in pages.get(address).text
    assert "Nothing is called" not in pages.get("/no-such-page").text
