"""The dashboard over the records of many machines."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from mcpctl.base.paths import Paths
from mcpctl.dashboard.app import app
from mcpctl.dashboard.dashboard import Dashboard
from tests.dashboard.conftest import PERSON, PORT, seen_by
from tests.postgres import shipped
from tests.recorded import CLAUDE, call_id, two_sessions

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_pages_and_rest_show_what_was_shipped_and_from_where(paths: Paths, store: str) -> None:
    two_sessions(paths)
    there = shipped(paths, store)
    for path in paths.sessions.iterdir():
        path.unlink()
    dashboard = Dashboard(paths, PORT, store=there)
    with TestClient(seen_by(PERSON, app(dashboard)), base_url=f"http://127.0.0.1:{PORT}") as browser:

        def get(path: str) -> Any:
            return browser.get(f"/api/v1{path}").json()

        assert {row["machine"] for row in get("/sessions")["sessions"]} == {"here"}
        assert {row["machine"] for row in get("/tool-calls")["tool_calls"]} == {"here"}
        assert get(f"/sessions/{CLAUDE}")["tools"]
        assert '"machine":"here"' in browser.get("/api/v1/export").text
        things = f"/sessions/{CLAUDE}", f"/tool-calls/{call_id(1)}"
        for page in (
            "/",
            "/sessions",
            "/tool-calls",
            *things,
            "/stats",
            "/tools",
            "/servers",
            "/tool-calls?grep=cloudy",
        ):
            answer = browser.get(page)
            assert answer.status_code == 200, page
        assert "here" in browser.get(f"/tool-calls/{call_id(1)}").text
