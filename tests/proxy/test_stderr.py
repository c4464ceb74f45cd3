"""stderr of `serve`: a client that does not read it holds up nothing."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base import bounds
from tests.conftest import Mcpctl
from tests.proxy.client import ROOT, SERVE, Client, until, write_config
from tests.proxy.conftest import Serve
from tests.servers import command

pytestmark = [pytest.mark.process, pytest.mark.slow]

UNDECODABLE = (
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_discovery","arguments":{"query":"\xff"}}}'
)
LOUD = "import sys\nfor _ in range(4000): print('x' * 400, file=sys.stderr)"


class Unread:
    """A pipe that is full from the start."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self._writer, b"." * 1000)

    def read(self) -> str:
        """The text in it at this moment."""
        found = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                found += os.read(self._reader, 1 << 16)
        return found.decode()

    def close(self) -> None:
        """Let go of it."""
        os.close(self._reader)
        os.close(self._writer)


@pytest.fixture
def unread(tmp_path: Path) -> Iterator[Unread]:
    """The stderr of `client`."""
    pipe = Unread(tmp_path / "pipe")
    yield pipe
    pipe.close()


@pytest.fixture
def client(tmp_path: Path, home: Path, unread: Unread) -> Iterator[Client]:
    """The stderr of `serve --verbose`, with a server that cannot be used, and one that says much on stderr and ends."""
    servers: dict[str, Sequence[str] | Mapping[str, Any]] = {
        "counter": command("counter"),
        "loud": [sys.executable, "-c", LOUD],
        "bad": {"args": ["no command"]},
    }
    write_config(home, servers)
    words = ["/bin/sh", "-c", 'exec "$@" 2>"$0"', str(unread.path), *SERVE, "--verbose"]
    client = Client(words, tmp_path / "stderr.txt", env={"MCPCTL_HOME": str(home), "MCPCTL_DEBUG": ""})
    yield client
    client.close()


@pytest.mark.parametrize("ending", ["EOF", "SIGTERM"])
def test_a_client_that_does_not_read_it_is_answered_and_can_go(ending: str, client: Client) -> None:
    client.open()
    for number in range(50):
        client.send(UNDECODABLE % (1000 + number))
    assert client.call("loud:anything").is_error
    assert client.call("counter:count").text
    if ending == "EOF":
        client.end_input()
    else:
        client.process.send_signal(signal.SIGTERM)
    assert client.wait() == 0


def test_what_found_no_room_is_counted_when_it_is_read(client: Client, unread: Unread) -> None:
    client.open()
    client.call("loud:anything")
    said = unread.read()

    def counted() -> bool:
        nonlocal said
        said += unread.read()
        return "more lines were left out" in said

    until("the count", counted)
    assert "mcpctl: " in said
    assert "servers.bad" in said


def test_what_goes_wrong_out_of_sight_is_told_in_one_line(home: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from mcpctl.proxy import index_keeping\n"
        "async def keep(self):\n"
        "    raise RuntimeError('out of sight')\n"
        "index_keeping.IndexKeeping.keep = keep\n",
        encoding="utf-8",
    )
    variables = {"MCPCTL_HOME": str(home), "MCPCTL_DEBUG": "", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    client = Client(SERVE, tmp_path / "stderr.txt", env=variables)
    client.open()
    client.ask("tools/list")
    client.ask("ping")
    client.end_input()
    assert client.wait() == 0
    client.close()
    assert client.stderr == "mcpctl: internal error: RuntimeError('out of sight')\n"


def test_a_server_that_writes_much_there_is_read_with_pauses_and_answers(
    serve: Serve, mcpctl: Mcpctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "STDERR", 1)
    monkeypatch.setattr(bounds, "STDERR_PAUSE_S", 0.0)
    client = serve(
        {"mute": [sys.executable, "-c", f"{LOUD}\nprint('end', file=sys.stderr)"], "counter": command("counter")}
    )
    assert client.call("mute:any").is_error
    until("what it wrote last", lambda: "end" in mcpctl("servers", "logs", "mute").out)
    assert json.loads(client.call("counter:count").text)["count"] == 1
