"""A search service: what it is sent, that its answer is checked, and words where it has none."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpctl.base.models import Tool
from mcpctl.search import cloud as module
from mcpctl.search.cloud import Cloud
from mcpctl.search.providers import build
from mcpctl.search.ranking import Hit
from tests.search.conftest import Made
from tests.search.test_bm25 import CATALOG, tool
from tests.servers.service import Service, running

ALERTS, ISSUES, SEND = "weather:alerts", "github:list_issues", "slack:send_message"


def results(*pairs: tuple[Any, Any]) -> Any:
    return {"results": [{"toolKey": key, "relevance": relevance} for key, relevance in pairs]}


@pytest.fixture
def cloud() -> Iterator[Service]:
    """The service; without being told otherwise it finds one tool."""
    with running(lambda asked: results((ALERTS, 0.7))) as found:
        yield found


@pytest.fixture
def search(made: Made, cloud: Service) -> Callable[..., Any]:
    """The provider's search."""

    def search(*queries: str, tools: Any = CATALOG, context: str | None = None, limit: int = 10, **more: Any) -> Any:
        provider = made(tools, "cloud", **{"cloud_url": f"{cloud.url}/catalog/search", **more})
        return provider.search(queries, context=context, limit=limit)

    return search


def test_the_queries_and_the_tools_are_sent_and_its_results_are_the_answer(
    search: Callable[..., Any], cloud: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCPCTL_CLOUD_TOKEN", " s3cret\n")
    tools = [tool(ALERTS, "Storms 図"), tool(ISSUES, "Issues")]
    found = search("storm", "flood", context="a trip", tools=tools, limit=3)
    assert found.hits == (Hit(ALERTS, 0.7),)
    assert (found.provider, found.fallback, found.weak, found.notice) == ("cloud", None, False, "")
    (asked,) = cloud.asked
    assert asked.path == "/catalog/search"
    assert (asked.headers["authorization"], asked.headers["content-type"]) == ("Bearer s3cret", "application/json")
    github, weather = (
        {"toolKey": ISSUES, "toolName": "list_issues", "serverName": "github", "description": "Issues"},
        {"toolKey": ALERTS, "toolName": "alerts", "serverName": "weather", "description": "Storms 図"},
    )
    assert asked.body == {"query": ["storm", "flood"], "context": "a trip", "tools": [github, weather], "maxResults": 3}


def test_without_a_token_or_a_context_none_is_sent(search: Callable[..., Any], cloud: Service) -> None:
    search("storm", limit=500)
    assert "authorization" not in cloud.asked[0].headers
    assert "context" not in cloud.asked[0].body
    assert cloud.asked[0].body["maxResults"] == 50


def test_results_are_put_in_order_once_each_and_no_more_than_asked(search: Callable[..., Any], cloud: Service) -> None:
    cloud.answer = lambda asked: results((SEND, 0.5), (ISSUES, 0.9), (SEND, 0.8), (ALERTS, 1), (ISSUES, 0.1))
    assert search("storm", limit=2).hits == (Hit(ALERTS, 0.99), Hit(ISSUES, 0.9))
    assert search("storm").notice == "2 of the search service's 5 results cannot be used and are left out."


@pytest.mark.parametrize(
    "odd",
    [
        ("other:tool", 0.9), ("", 0.9), (None, 0.9), (["x"], 0.9), (SEND, 1.01), (SEND, -0.1), (SEND, "0.9"),
        (SEND, True), (SEND, None), (SEND, 10**400),
    ],
)  # fmt: skip
def test_what_was_not_offered_or_has_no_relevance_is_left_out_and_said(
    search: Callable[..., Any], cloud: Service, odd: Any
) -> None:
    cloud.answer = lambda asked: results(odd, (ALERTS, 0.7))
    found = search("storm")
    assert (found.hits, found.provider) == ((Hit(ALERTS, 0.7),), "cloud")
    assert found.notice == "1 of the search service's 2 results cannot be used and are left out."


def test_what_the_query_names_is_first_whatever_the_service_says(search: Callable[..., Any], cloud: Service) -> None:
    assert search("slack:send_message").hits == (Hit(SEND, 1.0), Hit(ALERTS, 0.7))
    cloud.answer = lambda asked: results()
    assert search("slack:send_message").hits == (Hit(SEND, 1.0),)


def test_no_results_are_an_answer(search: Callable[..., Any], cloud: Service) -> None:
    cloud.answer = lambda asked: results()
    found = search("storm")
    assert (found.hits, found.provider, found.fallback, found.weak) == ((), "cloud", None, True)


def test_what_it_says_of_a_result_is_its_explanation(search: Callable[..., Any], cloud: Service) -> None:
    said = {"toolKey": ALERTS, "relevance": 0.7, "explanation": "storms " * 200}
    cloud.answer = lambda asked: {"results": [said, {"toolKey": SEND, "relevance": 0.2, "explanation": 5}]}
    found = search("github:create_issue")
    named, storms, silent = found.explain(found.hits)
    assert named.short == "the query is its key"
    assert storms.short.startswith("storms storms")
    assert len(storms.short) == 500
    assert silent.short == ""
    assert [why.key for why in found.explain(found.hits[1:])] == [ALERTS, SEND]


FAILURES: dict[str, Any] = {
    "HTTP 500 Internal Server Error: no more": (500, {}, b'{"error": {"message": "no more"}}'),
    "HTTP 401 Unauthorized; MCPCTL_CLOUD_TOKEN is not set": (401, {}, b""),
    "its answer is not a JSON object with results": (200, {}, b"<html>"),
    "its answer is not a JSON object with results ": (200, {}, b"[]"),
    "its answer is not a JSON object with results  ": (200, {}, b'"results"'),
    "its answer is not a JSON object with results   ": (200, {}, b'{"results": [{"toolKey": "\xff"}]}'),
    "the results in its answer are not a list": (200, {}, b'{"results": {}}'),
    "none of its results is a tool that it was sent, with a relevance from 0 to 1": results(("other:tool", 1)),
    "it redirects to another place: http://192.0.2.1/; write that as its url if it is right": (
        307,
        {"location": "http://192.0.2.1/"},
        b"",
    ),
    "its answer is longer than 0 MB": results(*[(ALERTS, 0.5)] * 4_000),
    "HTTP 403 Forbidden: not ***; try another": (403, {}, b'{"message": "not t0ken-12345; try another"}'),
}


@pytest.mark.parametrize("why", FAILURES)
def test_a_service_that_fails_leaves_the_words(
    search: Callable[..., Any], cloud: Service, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(module, "_MAX_ANSWER", 100_000)
    if "***" in why:
        monkeypatch.setenv("MCPCTL_CLOUD_TOKEN", "t0ken-12345")
    cloud.answer = lambda asked: FAILURES[why]
    found = search("storm warnings")
    assert found.hits == build(CATALOG).search(["storm warnings"]).hits
    assert (found.provider, found.fallback) == ("bm25", f"cloud: {why.strip()}")
    assert found.explain(found.hits)[0].parts


def test_a_service_that_is_slow_leaves_the_words(search: Callable[..., Any], cloud: Service) -> None:
    ended = threading.Event()
    cloud.answer = lambda asked: ended.wait(30)
    try:
        assert search("storm", cloud_timeout_s=0.2).fallback == "cloud: no answer within 0.2 s"
    finally:
        ended.set()


def test_a_service_that_is_slow_twice_is_left_alone_for_a_while(
    made: Made, cloud: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = made(CATALOG, "cloud", cloud_url=cloud.url, cloud_timeout_s=0.1)
    ended = threading.Event()
    quick, cloud.answer = cloud.answer, lambda asked: ended.wait(30)
    try:
        for _ in range(2):
            assert provider.search(["storm"]).fallback == "cloud: no answer within 0.1 s"
    finally:
        ended.set()
    cloud.answer = quick
    asked = len(cloud.asked)
    assert provider.search(["storm"]).fallback == "cloud: no answer in time, 2 times in a row; the next try is in 5 s"
    assert len(cloud.asked) == asked
    later = time.monotonic() + 6
    monkeypatch.setattr("mcpctl.search.json_service.time.monotonic", lambda: later)
    assert provider.search(["storm"]).fallback is None


@pytest.mark.parametrize("token", ["two\nlines", "schlüssel"])
def test_a_token_that_no_header_may_have_is_told(
    search: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("MCPCTL_CLOUD_TOKEN", token)
    assert search("storm").fallback == "cloud: MCPCTL_CLOUD_TOKEN has characters that a header cannot have"


def test_what_a_stranger_says_is_words_on_one_line(search: Callable[..., Any], cloud: Service) -> None:
    cloud.answer = lambda asked: {
        "results": [{"toolKey": ALERTS, "relevance": 0.7, "explanation": "a\x1b[31m\nred\x07 one\u202e"}]
    }
    found = search("storm")
    assert found.explain(found.hits)[0].short == "a\ufffd[31m red\ufffd one\ufffd"


def test_the_time_is_that_of_the_whole_answer(made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = listener.accept()
            with connection:
                while not ended.wait(0.02):
                    connection.send(b"H" if connection.recv(1 << 20, socket.MSG_PEEK) else b"")

        dripping = threading.Thread(target=drip)
        dripping.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        found = made(CATALOG, "cloud", cloud_url=url, cloud_timeout_s=0.3).search(["storm"])
        ended.set()
        dripping.join()
    assert found.fallback == "cloud: no answer within 0.3 s"


def test_a_service_that_is_not_there_or_not_named_leaves_the_words(search: Callable[..., Any], made: Made) -> None:
    assert search("storm", cloud_url="http://127.0.0.1:9/").fallback == (
        "cloud: nothing listens there (connection refused)"
    )
    assert made(CATALOG, "cloud").search(["storm"]).fallback == "cloud: [search] has no cloud_url"


def test_a_refusal_without_an_end_is_not_read_to_its_end(made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sent = 0

        def flood() -> None:
            nonlocal sent
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(1 << 20)
                connection.sendall(b"HTTP/1.1 500 No\r\ncontent-length: 1000000000000\r\n\r\n")
                while sent < 1 << 28:
                    sent += connection.send(b"x" * 65_536)

        flooding = threading.Thread(target=flood)
        flooding.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        found = made(CATALOG, "cloud", cloud_url=url).search(["storm"])
        flooding.join()
    assert found.fallback is not None
    assert found.fallback.startswith("cloud: HTTP 500 Internal Server Error: xxx")
    assert sent < 1 << 26


def test_a_connection_that_was_closed_meanwhile_is_no_failure(made: Made, cloud: Service) -> None:
    provider = made(CATALOG, "cloud", cloud_url=cloud.url)
    for _ in range(3):
        assert provider.search(["storm"]).fallback is None
        cloud.hang_up()


def test_notes_of_a_toolset_are_not_sent(search: Callable[..., Any], cloud: Service) -> None:
    note = "\n\nAsk the caretaker."
    search("storm", tools=[Tool("weather", "alerts", {"description": f"Storms{note}"}, "", note)])
    assert [tool["description"] for tool in cloud.asked[0].body["tools"]] == ["Storms"]


def test_a_service_is_asked_over_one_connection(made: Made, cloud: Service) -> None:
    provider = made(CATALOG, "cloud", cloud_url=cloud.url)
    for query in ("storm", "flood", "rain"):
        provider.search([query])
    assert len(cloud.asked) == 3
    assert len({asked.peer for asked in cloud.asked}) == 1


class _Says:
    """A service that answers these bytes."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def post(self, body: bytes, seconds: float) -> bytes:
        json.loads(body)
        return self.answer


anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from([each.key for each in CATALOG]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["results", "toolKey", "relevance", "x"]), inner),
)


@given(anything | anything.map(lambda value: {"results": [value]}), st.text())
def test_whatever_it_answers_only_what_was_offered_is_found_and_relevance_never_rises(answer: Any, query: str) -> None:
    said: Any = _Says(json.dumps(answer).encode())
    found = Cloud(WORDS, said, 1).search([query])
    assert {hit.key for hit in found.hits} <= {each.key for each in CATALOG}
    relevances = [hit.relevance for hit in found.hits]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)


WORDS: Any = build(CATALOG)


def test_off_finds_nothing_and_says_why(made: Made) -> None:
    found = made(CATALOG, "off").search(["slack:send_message"])
    assert (found.hits, found.provider, found.weak) == ((), "off", False)
    assert found.notice == 'Search is turned off by the user\'s configuration: optimization = "off".'
