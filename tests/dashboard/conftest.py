"""A dashboard over the records of a test, as somebody sees it who has logged in."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from mcpctl.base.paths import Paths
from mcpctl.dashboard.app import app
from mcpctl.dashboard.dashboard import Dashboard
from mcpctl.dashboard.running import Login

PORT = 4747
PERSON = Login(may_answer=True, form_token="form-token")


def seen_by(login: Login, inner: ASGIApp) -> ASGIApp:
    """The application as this login sees it, behind the guard."""

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["login"] = login
        await inner(scope, receive, send)

    return called


@pytest.fixture
def browser(paths: Paths) -> Iterator[Callable[..., TestClient]]:
    """Opens a dashboard: `browser(read_only=…, login=…)`."""
    with ExitStack() as stack:

        def opened(*, login: Login = PERSON, read_only: bool = False) -> TestClient:
            served = seen_by(login, app(Dashboard(paths, PORT, read_only)))
            return stack.enter_context(TestClient(served, base_url=f"http://127.0.0.1:{PORT}"))

        yield opened
