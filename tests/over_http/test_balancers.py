"""`examples/team/`: three processes behind haproxy and nginx, of which one is killed again and again."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from mcpctl.config.settings import HttpSettings
from tests.over_http.asgi import token_of
from tests.proxy.client import ENVELOPE, LATEST, MODERN, ROOT, until, write_config

TEAM = ROOT / "examples" / "team"
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
PROGRAMS = ("haproxy", "nginx")
CALLS, CLIENTS, KILLS = 40, 6, 4
WAIT_S = 120
OF_CALL = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": "tool_execute"}
HOST = "mcp.example.com"


def needed(program: str) -> str:
    """Where this program is; the test is skipped where it is not, but never in CI."""
    path = shutil.which(program, path=SBIN)
    if not path and not os.environ.get("CI"):
        pytest.skip(f"{program} is not installed: apt-get install {program}")
    assert path, f"{program} is not installed"
    return path


def free_ports(count: int) -> list[int]:
    """So many ports that nobody listens on."""
    with ExitStack() as taken:
        return [taken.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


def answers(port: int, path: str = "/readyz") -> bool:
    """Whether somebody listens there and is ready."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Processes:
    """Processes of `mcpctl serve --http` on one home."""

    def __init__(self, home: Path, ports: Sequence[int]) -> None:
        self._env = {**os.environ, "MCPCTL_HOME": str(home), "PYTHONPATH": str(ROOT)}
        self._words = home.with_name("mcpctl.txt")
        self.running = {port: self._started(port) for port in ports}

    def _started(self, port: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "mcpctl", "serve", "--http", str(port)]
        with self._words.open("ab") as words:
            return subprocess.Popen(command, env=self._env, stderr=words)

    def kill(self, port: int) -> None:
        """End one without a warning."""
        self.running[port].kill()
        self.running[port].wait()

    def start(self, port: int) -> None:
        """Start one in the place of one that has ended."""
        self.running[port] = self._started(port)
        until("it listens again", lambda: answers(port), WAIT_S)

    def replace(self, port: int, how: signal.Signals) -> None:
        """End one in this way, and start another in its place."""
        self.running[port].send_signal(how)
        self.running[port].wait(WAIT_S)
        self.start(port)

    def end(self) -> None:
        """End all; each with status 0."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        ends = [process.wait(60) for process in self.running.values()]
        assert ends == [0] * len(self.running), self._words.read_text()[-2000:]
        assert "Traceback" not in self._words.read_text()


class Team(NamedTuple):
    """Three processes, and the port at which a balancer is to listen in front of them."""

    home: Path
    token: str
    port: int
    ports: list[int]
    processes: Processes


@contextmanager
def behind(program: str, folder: Path, ports: Sequence[int]) -> Iterator[int]:
    """The port of that program, with the example's configuration on other ports."""
    listens, *behind_it = ports
    name = {"haproxy": "haproxy.cfg", "nginx": "nginx.conf"}[program]
    text = (TEAM / name).read_text(encoding="utf-8")
    for number, port in enumerate((listens, *behind_it)):
        text = text.replace(f"127.0.0.1:{8080 + number}", f"127.0.0.1:{port}")
    text = text.replace("/run/nginx.pid", str(folder / "nginx.pid"))
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    text = text.replace(
        "access_log off;", "access_log off; " + " ".join(f"{each}_temp_path {folder}/{each};" for each in places), 1
    )
    file = folder / name
    file.write_text(text, encoding="utf-8")
    found = needed(program)
    command = {
        "haproxy": [found, "-db", "-f", str(file)],
        "nginx": [found, "-p", str(folder), "-e", str(folder / "errors.txt"), "-c", str(file), "-g",
                  f"daemon off; error_log {folder}/errors.txt;"],
    }[program]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    try:
        until(f"{program} listens", lambda: answers(listens, "/") or process.poll() is not None)
        assert process.poll() is None
        yield listens
    finally:
        process.terminate()
        process.wait(20)


def begun(
    port: int, body: Any, token: str, **headers: str
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """One request in a connection of its own, and its answer as far as the head."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    named = {"Host": HOST, "Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", "/mcp", json.dumps(body), named)
        return connection, connection.getresponse()
    except BaseException:
        connection.close()
        raise


def post(port: int, body: Any, token: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One request in a connection of its own: status, headers, body."""
    connection, answer = begun(port, body, token, **headers)
    with closing(connection):
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


def call(port: int, token: str, id_: str, **arguments: str) -> str:
    """The outcome of a call of a newer client: `answered`, or how it failed."""
    try:
        status, _, answer = post(port, calling(id_, **arguments), token, **OF_CALL)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    if status != 200:
        return str(status)
    message = json.loads(answer)
    assert message["id"] == id_
    return "failed" if message["result"].get("isError") else "answered"


def calling(id_: str, **arguments: str) -> Any:
    """The body of a call that is noted."""
    passed = {"toolKey": "noting:note", "arguments": {"id": id_, **arguments}}
    params = {"name": "tool_execute", "arguments": passed, "_meta": {**ENVELOPE, "progressToken": id_}}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def configured(home: Path, paths: Paths, **http_: Any) -> str:
    """The example's configuration on this home, with a server that notes its calls; a token for it."""
    home.mkdir(exist_ok=True)
    sections = tomllib.loads((TEAM / "config.toml").read_text(encoding="utf-8"))
    noting = {"command": sys.executable, "args": [str(ROOT / "tests" / "servers" / "noting.py"), str(noted(home))]}
    write_config(home, {"noting": {**noting, "shared": True}}, http={**sections["http"], **http_})
    return token_of(paths, name="ann")[1]


def noted(home: Path) -> Path:
    """The file in which that server notes the ids of its calls."""
    return home.with_name("noted.txt")


class Stream:
    """The stream of one request, read as it comes."""

    def __init__(self, port: int, body: Any, token: str, **headers: str) -> None:
        self._connection, self.answer = begun(port, body, token, **headers)

    def until(self, part: bytes) -> bytes:
        """All lines up to one with this in it."""
        lines: list[bytes] = []
        while part not in (line := self.answer.readline()):
            assert line, f"the stream has ended: {lines}"
            lines.append(line)
        return b"".join((*lines, line))

    def close(self) -> None:
        self._connection.close()


def test_the_configuration_of_a_team_is_usable() -> None:
    loaded = config.load(TEAM / "config.toml")
    assert not loaded.problems
    assert loaded.servers["weather"].shared
    assert tomllib.loads((TEAM / "config.toml").read_text(encoding="utf-8"))["http"]["allowed_hosts"] == [HOST]


def test_the_unit_is_valid_and_well_closed(tmp_path: Path) -> None:
    analyze = needed("systemd-analyze")
    text = (TEAM / "mcpctl@.service").read_text(encoding="utf-8")
    unit = tmp_path / "mcpctl@8081.service"
    unit.write_text(text.replace("/usr/local/bin/mcpctl", sys.executable), encoding="utf-8")
    for words in (["verify"], ["security", "--offline=true", "--threshold=40"]):
        ran = subprocess.run([analyze, *words, unit], capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert (ran.returncode, ran.stderr) == (0, ""), (words, ran.stdout, ran.stderr)
    (ends,) = re.findall(r"TimeoutStopSec=(\d+)", text)
    assert int(ends) > HttpSettings().drain_s + 5


@pytest.fixture
def team(home: Path, paths: Paths) -> Iterator[Team]:
    """Three processes on one home, which listen."""
    token = configured(home, paths)
    listens, *ports = free_ports(4)
    processes = Processes(home, ports)
    try:
        for port in ports:
            until("it listens", lambda port=port: answers(port), WAIT_S)
        yield Team(home, token, listens, ports, processes)
    finally:
        processes.end()


def waited_for(team: Team, port: int) -> None:
    """Wait until each process has started its server and answers calls through that port."""
    for number in range(3):
        until(
            "a process answers",
            lambda number=number: call(team.ports[number], team.token, "warm") == "answered",
            WAIT_S,
        )
    until("a call is answered", lambda: call(port, team.token, "warm") == "answered", WAIT_S)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_through_a_balancer_are_made_once_though_a_process_goes_again_and_again(
    program: str, how: signal.Signals, team: Team, paths: Paths, tmp_path: Path
) -> None:
    outcomes: dict[str, str] = {}
    with behind(program, tmp_path, [team.port, *team.ports]) as port:
        waited_for(team, port)

        def work(client: int) -> None:
            for number in range(CALLS):
                outcomes[f"{client}-{number}"] = call(port, team.token, f"{client}-{number}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        gone = 0
        while gone < KILLS or any(thread.is_alive() for thread in threads):
            team.processes.replace(team.ports[gone % 3], how)
            gone += 1
        for thread in threads:
            thread.join()
    executed = Counter(noted(team.home).read_text(encoding="utf-8").split())
    del executed["warm"]
    counted = Counter(outcomes.values())
    assert len(outcomes) == CLIENTS * CALLS
    assert set(executed.values()) == {1}, "a call was made twice"
    answered = {id_ for id_, outcome in outcomes.items() if outcome == "answered"}
    assert answered <= set(executed)
    assert set(counted) <= {"answered", "failed", "502", "503", "504", "RemoteDisconnected", "ConnectionResetError"}
    assert len(answered) >= len(outcomes) // 2, counted
    started = Counter(str(line["request_id"]) for line in on_record(paths, "calls.started"))
    assert {id_: times for id_, times in started.items() if times > 1 and id_ != "warm"} == {}
    assert set(executed) <= set(started)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_process_that_ends_gets_nothing_new_and_answers_what_it_has(program: str, team: Team, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with behind(program, tmp_path, [team.port, *team.ports]) as port:
        waited_for(team, port)
        held = [Stream(port, calling(f"held-{number}", gate=str(gate)), team.token, **OF_CALL) for number in range(3)]
        for stream in held:
            stream.until(b"notifications/progress")  # it comes before the answer, which waits: nothing is kept back
        ending = team.processes.running[team.ports[0]]
        ending.send_signal(signal.SIGTERM)
        until("it is not ready", lambda: not answers(team.ports[0]), WAIT_S)
        outcomes = Counter(call(port, team.token, f"new-{number}") for number in range(30))
        assert set(outcomes) <= {"answered", "503"}, outcomes
        assert outcomes["503"] <= (0 if program == "haproxy" else 3), outcomes
        assert ending.poll() is None
        gate.touch()
        for number, stream in enumerate(held):
            stream.until(f"noted held-{number}".encode())
            stream.close()
        assert ending.wait(WAIT_S) == 0
    executed = Counter(noted(team.home).read_text(encoding="utf-8").split())
    del executed["warm"]
    assert set(executed.values()) == {1}


@pytest.mark.slow
@pytest.mark.process
def test_streams_stay_open_through_balancers_by_a_comment_every_15_s(team: Team, tmp_path: Path) -> None:
    with ExitStack() as stack:
        streams = []
        for program in PROGRAMS:
            needed(program)
            (folder := tmp_path / program).mkdir()
            (listens,) = free_ports(1)
            port = stack.enter_context(behind(program, folder, [listens, *team.ports]))
            waited_for(team, port)
            of = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
            body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": of}
            quiet = Stream(port, calling(f"quiet-{program}", gate=str(tmp_path / "gate")), team.token, **OF_CALL)
            listening = Stream(port, body, team.token, MCP_Protocol_Version=MODERN, Mcp_Method="subscriptions/listen")
            for stream in (quiet, listening):
                stack.callback(stream.close)
            listening.until(b"data: ")
            quiet.until(b"data: ")
            streams += [quiet, listening]
        for stream in streams:
            assert stream.until(b": \r\n").strip() == b":", "nothing but a comment comes"


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_session_with_a_handshake_stays_in_its_process_and_begins_anew_once_that_is_gone(
    program: str, team: Team, tmp_path: Path
) -> None:
    params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    with behind(program, tmp_path, [team.port, *team.ports]) as port:

        def ping(session: str, through: int = port) -> int:
            body = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            return post(through, body, team.token, Mcp_Session_Id=session)[0]

        def opened() -> str:
            return str(until("a session", lambda: post(port, initialize, team.token)[1].get("mcp-session-id"), WAIT_S))

        until("it is served", lambda: post(port, initialize, team.token)[0] == 200, WAIT_S)
        session = opened()
        assert [ping(session) for _ in range(6)] == [200] * 6
        (home,) = [each for each in team.ports if ping(session, each) == 200]
        team.processes.kill(home)
        again = until("a new session", lambda: ping(session) == 404 and opened(), WAIT_S)
        assert [ping(again) for _ in range(6)] == [200] * 6
        team.processes.start(home)


@pytest.mark.slow
@pytest.mark.process
def test_behind_a_balancer_all_without_a_token_are_one_address(home: Path, paths: Paths, tmp_path: Path) -> None:
    configured(home, paths, require_token=False, max_in_flight_per_token=1)
    gate = tmp_path / "gate"
    ports = free_ports(2)
    processes = Processes(home, ports[1:])
    try:
        until("it listens", lambda: answers(ports[1]), WAIT_S)
        with behind("haproxy", tmp_path, [*ports, ports[1], ports[1]]) as port:
            until("a call is answered", lambda: post(port, calling("warm"), "", **OF_CALL)[0] == 200, WAIT_S)
            held = Stream(port, calling("held", gate=str(gate)), "", **OF_CALL)
            held.until(b"notifications/progress")
            assert post(port, calling("other"), "", **OF_CALL, X_Forwarded_For="10.0.0.1")[0] == 429
            gate.touch()
            held.until(b"noted held")
            held.close()
    finally:
        processes.end()


def on_record(paths: Paths, kind: str) -> list[Any]:
    """The whole lines of this kind in all journals."""
    found = []
    for file in paths.sessions.glob("*.jsonl"):
        for text in file.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError):  # of a process that was killed, the last may be half a line
                if (line := json.loads(text))["type"] == kind:
                    found.append(line)
    return found
