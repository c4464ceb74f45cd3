"""One browser for a run of tests, and dashboards that a person has started in front of a terminal."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, Tab
from tests.commands.dashboard.processes import environment
from tests.conftest import MCPCTL
from tests.proxy.conftest import Serve, starter
from tests.terminal import Terminal

# Read before each test gets an environment of its own.
PICTURES = os.environ.get("MCPCTL_PICTURES")
AXE = os.environ.get("MCPCTL_AXE")
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LINK = r"http://127\.0\.0\.1:\d+/login/\S+"


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """The browser."""
    if not PROGRAM:
        pytest.skip("no chromium here")
    with Chromium(PROGRAM, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


class Dashboard:
    """A dashboard that a person has started, and tabs that look at it."""

    def __init__(self, browser: Chromium, link: str) -> None:
        self._browser = browser
        self.link = link
        self.url = link.partition("/login/")[0]

    def new_link(self) -> str:
        """Another login link, printed in a terminal."""
        with Terminal([*MCPCTL, "dashboard", "--print-url"], environment()) as terminal:
            return terminal.wait_for(LINK)[0]

    def person(self, **settings: bool) -> "Visitor":
        """Somebody who has logged in."""
        visitor = Visitor(self._browser, self.url, **settings)
        visitor.tab().go(self.new_link()).go("about:blank")  # whose page would follow what happens
        return visitor


class Visitor:
    """Somebody with tabs of the dashboard."""

    def __init__(self, browser: Chromium, url: str, **settings: bool) -> None:
        self._person = browser.person(**settings)
        self.url = url
        self.tabs: list[Tab] = []

    def tab(self, path: str = "") -> Tab:
        """A new tab with this page."""
        tab = self._person.tab()
        self.tabs.append(tab)
        return tab.go(self.url + path) if path else tab


@pytest.fixture
def dashboard(chromium: Chromium, home: Path) -> Iterator[Callable[..., Dashboard]]:
    """Starts a dashboard on this test's home."""
    with ExitStack() as stack:

        def started(*options: str) -> Dashboard:
            terminal = Terminal([*MCPCTL, "dashboard", "--no-open", *options], environment())
            stack.enter_context(terminal)
            return Dashboard(chromium, terminal.wait_for(LINK)[0])

        yield started
        chromium.empty()


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Callable[[Tab, str], None]:
    """Keeps a picture of a page in the folder that MCPCTL_PICTURES names; without it, none is made."""
    if not PICTURES:
        return lambda tab, name: None
    folder = Path(PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    test = request.node.name.removeprefix("test_")
    return lambda tab, name: tab.picture(folder / f"{test}-{name}.png")


@pytest.fixture
def serve(tmp_path: Path, home: Path) -> Iterator[Serve]:
    """Starts `mcpctl serve` on this test's home."""
    yield from starter(tmp_path, home, transport="stdio")
