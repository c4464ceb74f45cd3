"""Searches of `serve` are ranked by the configured provider, by words where it fails, and the record says by which."""

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.client import MODERN, journal_lines, until
from tests.proxy.conftest import BOTH, Serve
from tests.servers import command, service
from tests.servers.service import Asked

pytestmark = [BOTH, pytest.mark.process, pytest.mark.slow]

SERVERS = {"counter": command("counter"), "pages": command("pages", "5")}


def discoveries(home: Path) -> list[dict[str, Any]]:
    return [line for line in journal_lines(home) if line["type"] == "discoveries.finished"]


def keys(answer: Any) -> list[str]:
    return [result["toolKey"] for result in answer["results"]]


def cloud(url: str, seconds: float = 5) -> dict[str, Any]:
    return {"optimization": "cloud", "cloud_url": f"{url}/catalog/search", "cloud_timeout_s": seconds}


def test_a_service_ranks_and_explains(serve: Serve, home: Path) -> None:
    def answer(asked: Asked) -> Any:
        found = next(tool for tool in asked.body["tools"] if tool["toolKey"] == "counter:echo")
        return {"results": [{**found, "relevance": 0.75, "explanation": "it gives back"}]}

    with service.running(answer) as found:
        client = serve(SERVERS, search=cloud(found.url), env={"MCPCTL_CLOUD_TOKEN": "s3cret"})
        got = client.discover("say it again", context="a test", maxResults=4, detail="full")
        asked = found.asked[0]
    assert keys(got) == ["counter:echo"]
    assert (got["results"][0]["relevance"], got["results"][0]["explanation"]) == (0.75, "it gives back")
    assert got["results"][0]["inputSchema"]
    assert "notice" not in got
    assert asked.headers["authorization"] == "Bearer s3cret"
    told = {name: asked.body[name] for name in ("query", "context", "maxResults")}
    # More than are shown, so that there are others where one server has too many.
    assert told == {"query": ["say it again"], "context": "a test", "maxResults": 12}
    line = discoveries(home)[0]
    assert (line["provider"], line["fallback"]) == ("cloud", None)
    assert line["results"] == [{"key": "counter:echo", "relevance": 0.75}]


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_one_that_fails_is_said_in_the_answer_and_on_record(serve: Serve, home: Path, revision: str) -> None:
    with service.running(lambda asked: (503, {}, b"")) as found:
        client = serve(SERVERS, search=cloud(found.url), revision=revision)
        got = client.discover("echo")
    why = "cloud: HTTP 503 Service Unavailable"
    assert keys(got)[0] == "counter:echo"
    assert "Ranked by bm25, since the search that is configured could not be used." in got["notice"]
    assert "503" not in got["notice"]  # what the service says is for the record
    assert [(line["provider"], line["fallback"]) for line in discoveries(home)] == [("bm25", why)]


def test_one_that_is_slow_holds_up_neither_calls_nor_other_searches(serve: Serve) -> None:
    both = threading.Barrier(3)

    def answer(asked: Asked) -> Any:
        both.wait(30)
        return {"results": []}

    with service.running(answer) as found:
        client = serve(SERVERS, search=cloud(found.url, 30))
        first = client.start_tool("tool_discovery", {"query": ["one"]})
        second = client.start_tool("tool_discovery", {"query": ["two"]})
        until("both searches are with the service", lambda: both.n_waiting == 2)
        assert client.call("counter:echo", {"n": 1}).text
        assert client.call("pages:tool_3").text == "tool_3"
        both.wait(30)
        assert not client.answer(first).is_error
        assert not client.answer(second).is_error


@pytest.mark.stdio("of the end of a process")
def test_the_end_of_the_session_does_not_wait_for_it(serve: Serve) -> None:
    ended = threading.Event()
    with service.running(lambda asked: ended.wait(30)) as found:
        try:
            client = serve(SERVERS, search=cloud(found.url, 60), process=True)
            client.start_tool("tool_discovery", {"query": ["one"]})
            until("the service is asked", lambda: found.asked)
            client.end_input()
            assert client.wait() == 0
        finally:
            ended.set()


def test_what_has_no_word_in_common_is_found_by_a_model(serve: Serve, home: Path) -> None:
    with service.running(service.embeddings) as found:
        settings = {"optimization": "semantic", "semantic_url": found.url, "semantic_model": "m"}
        client = serve(SERVERS, search=settings)
        until("the tools are read", lambda: "notice" not in client.discover("echo"))
        assert keys(client.discover("parameters"))[0] == "counter:echo"
    last = discoveries(home)[-1]
    assert (last["provider"], last["fallback"]) == ("semantic", None)


def test_off_finds_nothing_and_says_why_but_calls_go_on(serve: Serve, home: Path) -> None:
    client = serve(SERVERS, search={"optimization": "off"})
    got = client.discover("counter:echo")
    assert got["results"] == []
    assert got["notice"] == 'Search is turned off by the user\'s configuration: optimization = "off".'
    assert client.call("counter:echo", {"n": 1}).text
    assert [(line["provider"], line["results"]) for line in discoveries(home)] == [("off", [])]


def test_a_project_has_a_provider_of_its_own(serve: Serve, home: Path) -> None:
    projects = {"acme": {"optimization": "off"}, "home": {}}
    client = serve(SERVERS, search={"optimization": "bm25"}, projects=projects, env={"MCPCTL_PROJECT": "acme"})
    got = client.discover("counter:echo")
    assert got["notice"] == (
        "Search is turned off for project 'acme' by the user's configuration: optimization = \"off\"."
    )
    other = serve(env={"MCPCTL_PROJECT": "home"})
    assert keys(other.discover("counter:echo"))[0] == "counter:echo"
    assert {(line["project"], line["provider"]) for line in discoveries(home)} == {("acme", "off"), ("home", "bm25")}
