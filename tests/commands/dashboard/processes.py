"""Dashboards as processes, and requests to them."""

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import closing
from email.message import Message
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from mcpctl.commands.confirmation import AGENTS
from tests.conftest import MCPCTL

PATIENCE_S = 30


def environment(**more: str) -> dict[str, str]:
    """A person's, without a window to open."""
    hidden = {*AGENTS, "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}
    return {name: value for name, value in os.environ.items() if name not in hidden} | more


class Started:
    """A dashboard that was started by no terminal; killed when the block ends, unless it has ended."""

    def __init__(self, *options: str, **more: str) -> None:
        self.process = subprocess.Popen(
            [*MCPCTL, "dashboard", "--json", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment(**more), start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout
        self.said: dict[str, Any] = json.loads(self.process.stdout.readline() or "{}")

    @property
    def port(self) -> int:
        return int(self.said["port"])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Signal it; returns how it ended."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: Message
    text: str


def asked(port: int, path: str, method: str = "GET", **headers: str) -> Answer:
    """The answer to one request, on a connection of its own."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request(method, path, headers=headers)
        found = connection.getresponse()
        return Answer(found.status, found.headers, found.read().decode())


def logged_in(link: str) -> Mapping[str, str]:
    """The header with the cookie for which a link is exchanged."""
    found = asked(urlsplit(link).port or 0, urlsplit(link).path)
    assert found.status == 303
    return {"Cookie": found.headers["Set-Cookie"].partition(";")[0]}
