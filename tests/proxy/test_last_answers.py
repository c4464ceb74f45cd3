"""While `serve` ends, what can still be answered is, and what cannot is told so; all of it is on record."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import Mcpctl
from tests.proxy.client import ROOT, SERVE, journal_lines, living, until, write_config
from tests.proxy.conftest import UNHURRIED, Serve
from tests.proxy.ending import ENDINGS, Promise
from tests.servers import command

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture
def serve(serve_process: Serve) -> Serve:
    """Starts processes: their end is what is tested here."""
    return serve_process


@pytest.mark.parametrize("ending", ENDINGS)
def test_calls_in_flight_are_on_record_as_interrupted_and_the_session_as_closed(
    ending: str, home: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    client.start_call("raw:sleep", {"seconds": 60})
    until("the call on record", lambda: sum(line["type"] == "calls.started" for line in journal_lines(home)) == 2)
    ENDINGS[ending](client)
    client.wait()
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["interrupted", "ok"]
    (session,) = mcpctl("sessions", "ls", "--json").json
    assert session["status"] == "closed"
    assert session["end_time"]


@pytest.mark.parametrize("ending", ["EOF", "SIGTERM"])
def test_calls_that_finish_within_the_grace_are_answered(
    ending: str, home: Path, serve: Serve, mcpctl: Mcpctl, unhurried: dict[str, str]
) -> None:
    client = serve({"raw": command("raw")}, env=unhurried)
    client.call("raw:big", {"bytes": 1})
    id = client.start_call("raw:sleep", {"seconds": 0.25})
    until("the call on record", lambda: sum(line["type"] == "calls.started" for line in journal_lines(home)) == 2)
    ENDINGS[ending](client)
    assert client.answer(id).text == "slept 0.25 s"
    client.wait()
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["ok", "ok"]


def test_an_interrupted_call_is_answered_once_and_told_so(home: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    # It is answered between the grace and the end of its server.
    id = client.start_call("raw:last")
    until("the call on record", lambda: sum(line["type"] == "calls.started" for line in journal_lines(home)) == 2)
    client.process.send_signal(signal.SIGTERM)
    said = client.rest()
    client.wait()
    assert mcpctl("calls", "ls", "--json").json[0]["status"] == "interrupted"
    (answer,) = [line for line in said if b'"id":%d' % id in line]
    assert b"the session is ending" in answer


def test_calls_that_come_during_the_end_leave_nothing_behind(
    tmp_path: Path, home: Path, serve: Serve, mcpctl: Mcpctl
) -> None:
    late = tmp_path / "late"
    write_config(home, {"raw": command("raw"), "late": command("orphans", late)})
    mcpctl("tools", "refresh")
    late.unlink()
    client = serve()
    client.start_call("raw:sleep", {"seconds": 0.3})
    until("the call on record", lambda: journal_lines(home))
    client.process.send_signal(signal.SIGTERM)
    with contextlib.suppress(BrokenPipeError):
        while client.process.poll() is None:
            client.start_call("late:pids")
    pids = [int(pid) for pid in late.read_text().split()] if late.exists() else []
    assert [pid for pid in pids if psutil.pid_exists(pid) and living([psutil.Process(pid)])] == []
    types = [line["type"] for line in journal_lines(home)]
    assert (types.count("sessions.created"), types[-1]) == (1, "sessions.closed")


def piped(home: Path, env: dict[str, str], *messages: dict[str, Any], said: bytes | None = b"") -> list[dict[str, Any]]:
    """The output of `printf … | mcpctl serve`."""
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
    env = {**os.environ, "MCPCTL_HOME": str(home), **env}
    ran = subprocess.run(SERVE, input=lines, capture_output=True, env=env, timeout=30, check=True)
    assert said is None or ran.stderr == said
    return [json.loads(line) for line in ran.stdout.splitlines()]


HELLO = {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}


def tool(id: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A request for one of the meta-tools."""
    return {"id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_piped_requests_are_all_answered_though_stdin_ends_at_once(
    home: Path, mcpctl: Mcpctl, unhurried: dict[str, str]
) -> None:
    write_config(home, {"weather": [sys.executable, "-m", "mcpctl.demo.weather"]})
    mcpctl("tools", "refresh")
    call = tool(3, "tool_execute", {"toolKey": "weather:get_forecast", "arguments": {"city": "Oslo"}})
    answers = piped(home, unhurried, HELLO, {"id": 2, "method": "tools/list"}, call)
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert "structuredContent" in answers[2]["result"]


def test_a_piped_search_is_answered_though_stdin_ends_at_once(
    home: Path, mcpctl: Mcpctl, unhurried: dict[str, str]
) -> None:
    write_config(home, {"weather": [sys.executable, "-m", "mcpctl.demo.weather"]})
    mcpctl("tools", "refresh")
    answers = piped(home, unhurried, HELLO, tool(2, "tool_discovery", {"query": ["forecast"]}))
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["results"][0]["toolKey"] == "weather:get_forecast"


def test_many_short_sessions_leave_no_more_on_record_than_the_limit_and_nothing_half_made(
    home: Path, mcpctl: Mcpctl, unhurried: dict[str, str]
) -> None:
    write_config(home, {"counter": command("counter")}, records={"keep_sessions": 2})
    mcpctl("tools", "refresh")
    left = []
    for _ in range(4):
        call = tool(2, "tool_execute", {"toolKey": "counter:count", "arguments": {}})
        assert [answer["id"] for answer in piped(home, unhurried, HELLO, call, said=None)] == [1, 2]
        left.append(len(list((home / "data" / "sessions").glob("*.jsonl"))))
        assert list((home / "data").rglob("*.new")) == []
    assert left == [1, 2, 2, 2]


SearchingTakes = Callable[..., dict[str, str]]


@pytest.fixture
def searching_takes(tmp_path: Path) -> SearchingTakes:
    """The environment in which the first search takes that many seconds at least, as it may on a busy machine.

    `awaited` is whether it may then take longer, too.
    """

    def slow(seconds: float, *, awaited: bool = False) -> dict[str, str]:
        (tmp_path / "slow").mkdir()
        (tmp_path / "slow" / "sitecustomize.py").write_text(
            "import sys, time\n"
            "class Slow:\n"
            "    def find_spec(self, name, *_):\n"
            f"        name == 'rank_bm25' and time.sleep({seconds})\n"
            "sys.meta_path.insert(0, Slow())\n" + awaited * UNHURRIED,
            encoding="utf-8",
        )
        return {"PYTHONPATH": f"{tmp_path / 'slow'}:{ROOT}"}

    return slow


@pytest.mark.parametrize("ending", ["EOF", "SIGTERM"])
def test_a_search_may_take_as_long_as_the_end_of_the_servers(
    ending: str, home: Path, tmp_path: Path, serve: Serve, mcpctl: Mcpctl, searching_takes: SearchingTakes
) -> None:
    write_config(home, {"stubborn": command("orphans", tmp_path / "pids", "stubborn")})
    mcpctl("tools", "refresh")
    client = serve(env=searching_takes(0.6, awaited=True))
    client.call("stubborn:pids")
    processes = client.children()
    id = client.start_tool("tool_discovery", {"query": ["stubborn:pids"]})
    client.ask("ping")
    ENDINGS[ending](client)
    assert client.answer(id).json["result"]["structuredContent"]["results"][0]["toolKey"] == "stubborn:pids"
    assert client.wait() == 0
    assert living(processes) == []
    (session,) = mcpctl("sessions", "ls", "--json").json
    assert (session["status"], session["discovery_count"]) == ("closed", 1)


def test_a_search_that_does_not_end_is_told_so_in_time(
    home: Path, serve: Serve, mcpctl: Mcpctl, searching_takes: SearchingTakes
) -> None:
    write_config(home, {"counter": command("counter")})
    mcpctl("tools", "refresh")
    client = serve(env=searching_takes(60))
    client.call("counter:count")
    id = client.start_tool("tool_discovery", {"query": ["count"]})
    promise = Promise(client)
    client.end_input()
    assert "the session is ending" in client.answer(id).text
    promise.kept()
    assert mcpctl("sessions", "ls", "--json").json[0]["status"] == "closed"


def test_a_search_that_waits_for_servers_starts_no_more_of_them_at_the_end(serve: Serve) -> None:
    client = serve({f"hangs{number}": command("hangs") for number in range(6)})
    id = client.start_tool("tool_discovery", {"query": ["anything"]})

    def started() -> list[psutil.Process]:
        # The process that ends servers looks like one until it is executed: the fourth of them would seem a late one.
        client.children()
        return found if client.watcher() and len(found := client.children()) > 3 else []

    processes = until("the servers", started)
    promise = Promise(client)
    client.end_input()
    assert client.answer(id).json["result"]["structuredContent"]["results"] == []
    late = [each for each in client.children() if each not in processes]
    promise.kept()
    assert living([*processes, *late]) == late == []


def test_the_end_does_not_wait_for_a_client_that_reads_nothing(serve: Serve, unhurried: dict[str, str]) -> None:
    client = serve({"raw": command("raw")}, env=unhurried)
    client.call("raw:big", {"bytes": 1})
    client.start_call("raw:big", {"bytes": 5_000_000})
    until("the answer to fill the pipe", client.readable)
    client.end_input()
    assert client.process.wait(30) == 0


def test_a_large_answer_is_written_whole_though_stdin_has_ended(serve: Serve) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    client.start_call("raw:big", {"bytes": 5_000_000})
    client.end_input()
    until("the answer to fill the pipe", client.readable)
    assert sum(map(len, client.rest())) > 5_000_000
