"""The README's picture of the dashboard, of what `serve` has really recorded: python -m tests.browser.picture"""

import os
import tempfile
from pathlib import Path

from tests.browser.chromium import Chromium
from tests.browser.conftest import LINK, PROGRAM
from tests.commands.dashboard.processes import environment
from tests.configured import DEMO
from tests.conftest import MCPCTL, ROOT
from tests.proxy.client import SERVE, Client, write_config
from tests.terminal import Terminal

Call = tuple[str, dict[str, object]]
PICTURE = ROOT / "examples" / "dashboard.png"
SIZE = 1200, 720
FORECAST, ADD, LIST, DELETE = "weather:get_forecast", "notes:add_note", "notes:list_notes", "notes:delete_note"
CALLS: dict[str, list[Call]] = {
    "claude-code": [
        (FORECAST, {"city": "Oslo", "days": 2}),
        (ADD, {"title": "Oslo", "text": "Pack a raincoat"}),
        (FORECAST, {"city": 7}),
        (LIST, {}),
    ],
    "cursor": [
        ("weather:convert_temperature", {"value": 12, "from": "celsius", "to": "fahrenheit"}),
        (ADD, {"title": "Bergen", "text": "An umbrella, too"}),
        ("notes:search_notes", {"query": "Bergen"}),
        ("weather:set_alert", {"city": "Bergen", "condition": "rain"}),
        (DELETE, {"id": "note-1"}),
    ],
}
"""What each client calls; nobody has said yes to the last one, and the one before is denied."""


def main(target: Path = PICTURE) -> None:
    """Let two clients work through `serve`, and look at the calls."""
    assert PROGRAM, "a picture needs chromium"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MCPCTL_HOME"] = folder
        os.environ["TZ"] = "UTC"
        home = Path(folder)
        write_config(home, DEMO, policy={"confirm_destructive": True, "deny": ["weather:set_alert"]})
        for name, calls in CALLS.items():
            work(name, calls, home)
        dashboard = [*MCPCTL, "dashboard", "--no-open"]
        with Terminal(dashboard, environment()) as terminal, Chromium(PROGRAM, home / "browser") as browser:
            tab = browser.person().tab()
            tab.size(*SIZE)
            tab.prefer("light")
            link = terminal.wait_for(LINK)[0]
            tab.go(link).go(link.partition("/login/")[0] + "/tool-calls")
            tab.until("document.getElementById('live').innerText === 'live'")
            tab.picture(target, whole=False)


def work(name: str, calls: list[Call], home: Path) -> None:
    """Be a client that calls these."""
    client = Client(SERVE, home / f"{name}.txt", env={"MCPCTL_HOME": str(home)})
    client.open(clientInfo={"name": name, "version": "1.0"})
    client.discover("weather forecast for a city")
    for key, arguments in calls:
        client.call(key, arguments)
    client.close()


if __name__ == "__main__":
    main()
