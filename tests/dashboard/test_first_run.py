"""The three steps of somebody who has just begun."""

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from tests import configured, recorded
from tests.conftest import Mcpctl
from tests.dashboard import markup

Browser = Callable[..., TestClient]
TITLES = ("Add your servers", "Connect a client", "See its first call")


def ticked(client: TestClient, path: str = "/sessions") -> list[str] | None:
    """The steps that are done; None where there are none to take."""
    page = markup.seen(client, path)
    if TITLES[0] not in page.text:
        return None
    assert "mcpctl demo" in page.text
    return [title for title in TITLES if f"{title} done" in page.text]


@pytest.mark.slow
def test_the_steps_tick_themselves_off_and_go(browser: Browser, paths: Paths, mcpctl: Mcpctl) -> None:
    client = browser()
    assert ticked(client) == []
    configured.demo_tools(paths)
    assert ticked(client) == ["Add your servers"]
    mcpctl("tools", "call", "weather:get_forecast")  # refused before it is sent, and on record
    assert ticked(client, "/sessions?client=nobody") is None, "there is something else to say"
    journal = recorded.opened(paths, recorded.created())
    assert ticked(client) is None
    journal.close()


def test_lists_without_rows_have_the_steps_and_no_filters(browser: Browser, paths: Paths) -> None:
    client = browser()
    for path in ("/sessions", "/tools", "/servers"):
        assert ticked(client, path) == [], path
        page = markup.seen(client, path)
        assert not page.of("form") and not page.of("select") and "Filters" not in [
            each.get("aria-label") for each in page.of("nav")
        ], path  # fmt: skip


def test_every_cell_says_its_heading_for_windows_in_which_rows_are_stacked(browser: Browser, paths: Paths) -> None:
    recorded.two_sessions(paths)
    cells = markup.seen(browser(), "/sessions").of("td")
    assert [cell["data-label"] for cell in cells[:4]] == ["Active", "Status", "Calls", "Searches"]
