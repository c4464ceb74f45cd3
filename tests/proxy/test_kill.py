"""A `serve` that is killed leaves no process behind, and nothing that was answered is missing from the record."""

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import Mcpctl
from tests.proxy.client import ROOT, Client, journal_lines, living, until, write_config
from tests.proxy.conftest import Serve
from tests.proxy.ending import started
from tests.servers import command

pytestmark = [pytest.mark.process, pytest.mark.slow]

ROUNDS = int(os.environ.get("KILL_ROUNDS", "6"))
"""Kills at random moments; a hundred on request."""


@pytest.fixture
def serve(serve_process: Serve) -> Serve:
    """Starts processes: their end is what is tested here."""
    return serve_process


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only those of the server's own group are found")
@pytest.mark.parametrize("kind", ["plain", "stubborn", "stubborn-child", "group", "timeout"])
def test_a_kill_leaves_nothing_of_any_server(kind: str, tmp_path: Path, serve: Serve) -> None:
    servers = {name: command("orphans", tmp_path / name, kind) for name in ("one", "two")}
    client = serve(servers)
    for name in servers:
        client.call(f"{name}:pids")
    processes = [*started(client, tmp_path / "one", tmp_path / "two"), *client.children(), client.watcher()]
    client.process.kill()
    until("the last process to end", lambda: not living(processes))


def test_a_kill_while_a_server_is_started_leaves_nothing_of_it(home: Path, tmp_path: Path, serve: Serve) -> None:
    stubborn = command("orphans", tmp_path / "pids", "stubborn")
    # As if the kill came between the start and what is said of it.
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "from mcpctl.base import posix\n"
        "def spawn(*started, begin=posix.spawn):\n"
        "    begin(*started)\n"
        "    os.kill(os.getpid(), 9)\n"
        "posix.spawn = spawn\n",
        encoding="utf-8",
    )
    client = serve({"stubborn": stubborn}, env={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    client.start_call("stubborn:pids")
    assert client.wait() == -signal.SIGKILL
    until("it to end", lambda: not of_command(stubborn))


def of_command(words: list[str]) -> list[psutil.Process]:
    """The processes that run with these words."""
    found = psutil.process_iter(["cmdline"])
    return living([process for process in found if (process.info["cmdline"] or [])[1:] == words[1:]])


def test_the_watcher_holds_nothing_of_the_clients_and_does_not_outlive_a_normal_end(serve: Serve) -> None:
    client = serve({"counter": command("counter")})
    client.call("counter:count")
    client.children()
    watcher = client.watcher()
    assert watcher
    # A client reads our pipes to their end, and may end us as a group.
    links = [Path("/proc", str(watcher.pid), "fd", fd).readlink() for fd in "012"]
    assert [str(link) for link in links[1:]] == [os.devnull, os.devnull]
    assert client.process.stdin
    assert links[0] != Path(f"/proc/self/fd/{client.process.stdin.fileno()}").readlink()
    assert os.getsid(watcher.pid) == watcher.pid
    client.end_input()
    assert client.wait() == 0
    assert living([watcher]) == []


def test_a_kill_at_any_moment_loses_no_call_that_was_answered(home: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    write_config(home, {"counter": command("counter")})
    mcpctl("tools", "refresh")
    moments = random.Random(20)
    answered: dict[int, set[int]] = {}
    for number in range(ROUNDS):
        client = serve()
        children: list[psutil.Process] = []
        asked = {client.start_call("counter:echo", {"round": number, "call": call}): call for call in range(8)}
        answered[number] = set()
        for _ in range(moments.randrange(60)):
            call = asked.pop(id := answered_id(client, asked))
            assert id
            answered[number].add(call)
            children = children or client.children()
            last = max([*asked.values(), *answered[number]])
            asked[client.start_call("counter:echo", {"round": number, "call": last + 1})] = last + 1
        client.process.kill()
        client.process.wait()
        # Answers that had left before the kill have arrived.
        for line in client.rest() if moments.random() < 0.5 else []:
            answered[number].add(asked[json.loads(line)["id"]])
        until("its children to die with it", lambda alive=children: not living(alive))
    recorded = mcpctl("calls", "ls", "--json").json
    finished = {(row["arguments"]["round"], row["arguments"]["call"]) for row in recorded if row["status"] == "ok"}
    assert {(number, call) for number, calls in answered.items() for call in calls} <= finished
    assert {row["status"] for row in recorded} <= {"ok", "interrupted"}
    assert {row["status"] for row in mcpctl("sessions", "ls", "--json", "--limit", "0").json} == {"closed"}


def answered_id(client: Client, asked: dict[Any, int]) -> Any:
    """The id of the next answer."""
    return json.loads(client.line())["id"]


def test_a_session_that_was_killed_is_closed_on_record_by_the_next(home: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"counter": command("counter")})
    client.call("counter:count")
    client.process.kill()
    client.process.wait()
    assert mcpctl("sessions", "ls", "--json").json[0]["status"] == "closed"
    assert journal_lines(home)[-1]["type"] == "calls.finished"
    following = serve()
    following.ask("tools/list")
    until("the session to be closed", lambda: journal_lines(home)[-1]["type"] == "sessions.closed")


def test_a_kill_after_an_answer_was_kept_and_before_it_is_on_record_leaves_a_call_that_was_interrupted(
    tmp_path: Path, serve: Serve, mcpctl: Mcpctl, home: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "from mcpctl.store import responses\n"
        "def keep(*given, begin=responses.keep, **named):\n"
        "    begin(*given, **named)\n"
        "    os.kill(os.getpid(), 9)\n"
        "responses.keep = keep\n",
        encoding="utf-8",
    )
    client = serve({"raw": command("raw")}, responses={"limit_tokens": 1000}, env={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    client.start_call("raw:big", {"bytes": 9000})
    assert client.wait() == -signal.SIGKILL
    row = mcpctl("calls", "show", "last", "--json").json
    assert (row["status"], row["response"], row["shortened"]) == ("interrupted", None, None)
    assert "x" * 9000 in mcpctl("calls", "response", "last").out
    assert mcpctl("db", "rebuild").code == 0
    assert "x" * 9000 in mcpctl("calls", "response", "last").out
    assert not list((home / "data" / "responses").rglob("*.new"))
