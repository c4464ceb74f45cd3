"""The pages, by what they say."""

from collections.abc import Callable

from starlette.testclient import TestClient

from mcpctl.paths import Paths
from tests import recorded


def test_sessions_have_links_to_their_calls(browser: Callable[..., TestClient], paths: Paths) -> None:
    recorded.session(paths, rest=recorded.call(1, 1))
    text = browser().get("/sessions").text
    assert f'href="/tool-calls?sessionId={recorded.CLAUDE}"' in text
    assert "claude-code" in text


def test_nothing_on_record_is_said(browser: Callable[..., TestClient]) -> None:
    assert "No session is on record yet" in browser().get("/sessions").text
