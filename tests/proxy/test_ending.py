"""However `serve` ends, nothing that it started is left, in the promised time."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.proxy.client import ROOT, living, until
from tests.proxy.conftest import Serve
from tests.proxy.ending import ENDINGS, Promise, started
from tests.servers import command

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture
def serve(serve_process: Serve) -> Serve:
    """Starts processes: their end is what is tested here."""
    return serve_process


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        *((kind, "EOF") for kind in ("plain", "stubborn", "stubborn-child", "group", "timeout")),
        *(("stubborn", ending) for ending in ("SIGTERM", "SIGINT", "SIGHUP")),
    ],
)
def test_nothing_that_was_started_is_alive_within_the_promised_time(
    kind: str, ending: str, tmp_path: Path, serve: Serve
) -> None:
    servers = {name: command("orphans", tmp_path / name, kind) for name in ("one", "two")}
    client = serve(servers)
    for name in servers:
        client.call(f"{name}:pids")
    processes = started(client, tmp_path / "one", tmp_path / "two")
    promise = Promise(client)
    ENDINGS[ending](client)
    promise.kept(processes)


@pytest.mark.parametrize("ending", ["EOF", "SIGTERM"])
def test_a_server_that_is_still_starting_is_ended_too(ending: str, tmp_path: Path, serve: Serve) -> None:
    client = serve({"hangs": command("hangs")})
    client.start_call("hangs:anything")
    processes = until("the server", client.children)
    promise = Promise(client)
    ENDINGS[ending](client)
    promise.kept()
    assert living(processes) == []


def test_twelve_servers_that_ignore_every_hint_are_ended_within_the_promised_time(tmp_path: Path, serve: Serve) -> None:
    files = [tmp_path / f"s{number}" for number in range(12)]
    client = serve({file.name: command("orphans", file, "stubborn") for file in files})
    for file in files:
        client.start_call(f"{file.name}:pids")
    processes = started(client, *files)
    assert len(processes) == 24
    promise = Promise(client)
    client.end_input()
    promise.kept(processes)


def test_servers_are_ended_where_the_processes_cannot_be_listed(tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from mcpctl.base import posix\nposix.processes = lambda sessions: {}\n", encoding="utf-8"
    )
    stubborn = command("orphans", tmp_path / "pids", "stubborn")
    client = serve({"stubborn": stubborn}, env={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    client.call("stubborn:pids")
    processes = started(client, tmp_path / "pids")
    promise = Promise(client)
    client.end_input()
    promise.kept(processes)


def test_what_has_a_session_of_its_own_is_named_and_not_ended(
    tmp_path: Path, serve: Serve, unhurried: dict[str, str]
) -> None:
    client = serve({"orphans": command("orphans", tmp_path / "pids", "session")}, env=unhurried)
    client.call("orphans:pids")
    leader, child = started(client, tmp_path / "pids")
    name = child.name()
    client.end_input()
    assert client.wait() == 0
    assert living([leader, child]) == [child]
    child.kill()
    said = f"mcpctl: server 'orphans' leaves process {child.pid} ({name}) running: it has detached itself\n"
    assert client.stderr == said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a server be another user")
def test_a_server_that_may_not_be_ended_does_not_hold_up_the_end(serve: Serve, unhurried: dict[str, str]) -> None:
    program = "import os, sys, time; os.setuid(65534); sys.stdin.read(); time.sleep(1000)"
    client = serve({"other": [sys.executable, "-c", program]}, unprivileged=True, env=unhurried)
    id = client.start_call("other:anything")
    process = until("it to be another user", lambda: next((c for c in client.children() if c.uids().real), None))
    client.notify("notifications/cancelled", {"requestId": id})
    client.end_input()
    assert client.wait() == 0
    assert (
        f"server 'other' leaves process {process.pid} ({process.name()}) running: it cannot be ended" in client.stderr
    )
    process.kill()


@pytest.mark.parametrize("kind", ["plain", "group"])
def test_what_a_dead_server_left_behind_is_ended(kind: str, tmp_path: Path, serve: Serve) -> None:
    client = serve({"orphans": command("orphans", tmp_path / "pids", kind)})
    client.call("orphans:pids")
    leader, child = started(client, tmp_path / "pids")
    leader.kill()
    until("the child to be ended", lambda: not living([child]))


def test_it_ends_when_nobody_reads_its_stdout(serve: Serve) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    client.close_output()
    client.start_call("raw:big", {"bytes": 1})
    assert client.wait() == 0


def test_it_ends_in_time_though_a_client_reads_nothing(serve: Serve) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    client.start_call("raw:big", {"bytes": 5_000_000})
    until("the answer to fill the pipe", client.readable)
    promise = Promise(client)
    client.process.send_signal(signal.SIGTERM)
    promise.kept()


def test_it_ends_though_something_holds_up_the_end(tmp_path: Path, serve: Serve) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import time\nfrom mcpctl.store.recorder import Recorder\nRecorder.close = lambda self: time.sleep(1000)\n",
        encoding="utf-8",
    )
    servers = {"stubborn": command("orphans", tmp_path / "pids", "stubborn")}
    client = serve(servers, env={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    client.call("stubborn:pids")
    processes = started(client, tmp_path / "pids")
    promise = Promise(client)
    client.end_input()
    promise.kept(processes)
