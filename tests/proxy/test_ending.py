"""However `serve` ends, nothing that it started is left, and nothing that was answered is missing from the record."""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import Mcpctl
from tests.proxy.client import ROOT, SERVE, Client, journal_lines, living, until, write_config
from tests.proxy.conftest import Serve
from tests.servers import command

pytestmark = pytest.mark.process

PROMISED_S = 1.8
"""In which nothing is left, on a machine that has nothing else to do."""
ROUNDS = int(os.environ.get("KILL_ROUNDS", "10"))
"""Kills at random moments; a hundred on request."""
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.fixture
def serve(serve_process: Serve) -> Serve:
    """Starts processes: their end is what is tested here."""
    return serve_process


def close_input(client: Client) -> None:
    """The client goes."""
    client.end_input()


def sending(number: signal.Signals) -> Callable[[Client], None]:
    """The system says so."""
    return lambda client: client.process.send_signal(number)


UNHURRIED = """
from mcpctl.proxy import process, stdio_client
process._LAST_S = stdio_client.LAST_ANSWER_S = stdio_client._LAST_S = 1000
"""
"""Has what is under way at the end take the time that it takes, however busy the machine is."""


@pytest.fixture
def unhurried(tmp_path: Path) -> dict[str, str]:
    """The environment in which the end waits for all that is under way."""
    (tmp_path / "sitecustomize.py").write_text(f"{UNHURRIED}stdio_client._GRACE_S = 1000\n", encoding="utf-8")
    return {"PYTHONPATH": f"{tmp_path}:{ROOT}"}


ENDINGS = {"EOF": close_input} | {number.name: sending(number) for number in SIGNALS}


def started(client: Client, *files: Path) -> list[psutil.Process]:
    """The processes of orphan servers that have said so in these files, and what those have started."""
    for file in files:
        until("the server", file.exists)
    found = [psutil.Process(int(pid)) for file in files for pid in file.read_text().split()]
    assert living(found) == found
    below = {child for each in found for child in each.children(recursive=True)}
    return [*found, *sorted(below.difference(found), key=lambda child: child.pid)]


class Promise:
    """The promised time, from now on: what the machine keeps processes waiting for a core does not count."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._began = time.monotonic()
        self._waited = [self._waits()]

    def kept(self, processes: Sequence[psutil.Process] = ()) -> None:
        """`serve` has ended with status 0, and these processes with it."""
        while self._client.process.poll() is None or living(processes):
            self._waited.append(max(self._waits(), self._waited[-1]))
            allowed = PROMISED_S + self._waited[-1] - self._waited[0]
            assert time.monotonic() - self._began < allowed, "the promised time is over"
            select.select([], [], [], 0.01)
        assert self._client.wait() == 0

    def _waits(self) -> float:
        """How long `serve` and we have waited for a core, in seconds (Linux; elsewhere not known)."""
        waited = 0
        for pid in (os.getpid(), self._client.process.pid):
            for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
                with contextlib.suppress(OSError, IndexError):
                    waited += int(thread.read_text().split()[1])
        return waited / 1e9


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        *((kind, ending) for kind in ("plain", "stubborn", "stubborn-child", "group") for ending in ("EOF", "SIGTERM")),
        ("timeout", "EOF"),
        ("stubborn", "SIGINT"),
        ("stubborn", "SIGHUP"),
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
        "from mcpctl import posix\nposix.processes = lambda sessions: {}\n", encoding="utf-8"
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


@pytest.mark.parametrize("ending", ENDINGS)
def test_calls_in_flight_are_on_record_as_interrupted_and_the_session_as_closed(
    ending: str, serve: Serve, mcpctl: Mcpctl
) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    client.start_call("raw:sleep", {"seconds": 60})
    until("the call on record", lambda: mcpctl("calls", "ls", "--count").out == "2\n")
    ENDINGS[ending](client)
    client.wait()
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["interrupted", "ok"]
    (session,) = mcpctl("sessions", "ls", "--json").json
    assert session["status"] == "closed"
    assert session["end_time"]


@pytest.mark.parametrize("ending", ["EOF", "SIGTERM"])
def test_calls_that_finish_within_the_grace_are_answered(
    ending: str, serve: Serve, mcpctl: Mcpctl, unhurried: dict[str, str]
) -> None:
    client = serve({"raw": command("raw")}, env=unhurried)
    client.call("raw:big", {"bytes": 1})
    id = client.start_call("raw:sleep", {"seconds": 0.25})
    until("the call on record", lambda: mcpctl("calls", "ls", "--count").out == "2\n")
    ENDINGS[ending](client)
    assert client.answer(id).text == "slept 0.25 s"
    client.wait()
    assert [call["status"] for call in mcpctl("calls", "ls", "--json").json] == ["ok", "ok"]


def test_an_interrupted_call_is_answered_once_and_told_so(tmp_path: Path, serve: Serve, mcpctl: Mcpctl) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    # It ends between the grace and the end of its server, which reads on for as long.
    id = client.start_call("raw:nap", {"seconds": 0.7})
    until("the call on record", lambda: mcpctl("calls", "ls", "--count").out == "2\n")
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


def piped(home: Path, env: dict[str, str], *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """What `printf … | mcpctl serve` prints."""
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
    env = {**os.environ, "MCPCTL_HOME": str(home), **env}
    ran = subprocess.run(SERVE, input=lines, capture_output=True, env=env, timeout=30, check=True)
    assert ran.stderr == b""
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
    processes = until("the servers", lambda: client.children() if len(client.children()) > 3 else [])
    promise = Promise(client)
    client.end_input()
    assert client.answer(id).json["result"]["structuredContent"]["results"] == []
    late = [each for each in client.children() if each not in processes]
    promise.kept()
    assert living([*processes, *late]) == late == []


def test_a_large_answer_is_written_whole_though_stdin_has_ended(serve: Serve) -> None:
    client = serve({"raw": command("raw")})
    client.call("raw:big", {"bytes": 1})
    client.start_call("raw:big", {"bytes": 5_000_000})
    client.end_input()
    until("the answer to fill the pipe", lambda: client.readable(), 5)
    assert sum(map(len, client.rest())) > 5_000_000


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
    until("the answer to fill the pipe", lambda: client.readable(), 5)
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


# ---- kill -9


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
        "from mcpctl import posix\n"
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
        # What had left before the kill has arrived.
        for line in client.rest(5) if moments.random() < 0.5 else []:
            answered[number].add(asked[json.loads(line)["id"]])
        until("its children to die with it", lambda alive=children: not living(alive), 5)
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
