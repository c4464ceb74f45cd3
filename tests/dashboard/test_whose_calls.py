"""The names of tokens on the pages of the dashboard."""

import re
from collections.abc import Callable
from pathlib import Path

from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from tests.dashboard import markup
from tests.over_http.asgi import Web, play_web, token_of
from tests.over_http.test_front import calls
from tests.proxy.in_memory import MemoryServer, tool


def test_the_pages_of_the_dashboard_say_whose_calls_those_are(
    home: Path, paths: Paths, browser: Callable[..., TestClient]
) -> None:
    _, of_ann = token_of(paths, name="ann")

    async def scene(at: Web) -> None:
        await at.call("files:read", token=of_ann).whole()
        await at.call("files:drop", token=of_ann).whole()

    servers = {"files": lambda: MemoryServer(tool("read", readOnlyHint=True), tool("drop", destructiveHint=True))}
    play_web(home, paths, scene, servers=servers, policy={})
    (line,) = (each for each in calls(paths) if each["tool"] == "read")
    client = browser()
    pages = ("/tool-calls", "/sessions", "/approvals", f"/tool-calls/{line['id']}", f"/sessions/{line['session_id']}")
    for page in pages:
        assert "ann" in re.findall(r"\w+", markup.seen(client, page).text), page
    rows = client.get("/api/v1/tool-calls").json()
    assert of_ann not in str(rows)
    assert line["token_id"] in str(rows)
