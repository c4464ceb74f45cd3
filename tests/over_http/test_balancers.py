"""`examples/team/`: three processes behind haproxy and nginx, of which one is killed again and again."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpctl.base.paths import Paths
from mcpctl.config import config
from tests.over_http.asgi import token_of
from tests.proxy.client import ENVELOPE, LATEST, MODERN, ROOT, until

TEAM = ROOT / "examples" / "team"
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
PROGRAMS = {name: shutil.which(name, path=SBIN) for name in ("haproxy", "nginx")}
CALLS, CLIENTS, KILLS = 40, 6, 4
HOST = "mcp.example.com"


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
        """Kill one, and start another in its place."""
        self.running[port].kill()
        self.running[port].wait()
        self.running[port] = self._started(port)
        until("it listens again", lambda: answers(port))

    def end(self) -> None:
        """End all; each with status 0."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        ends = [process.wait(60) for process in self.running.values()]
        assert ends == [0] * len(self.running), self._words.read_text()[-2000:]
        assert "Traceback" not in self._words.read_text()


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
    found = PROGRAMS[program]
    assert found
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


def post(port: int, body: Any, token: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One request in a connection of its own: status, headers, body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    named = {"Host": HOST, "Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", "/mcp", json.dumps(body), named)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def call(port: int, token: str, id_: str) -> str:
    """The outcome of a call of a newer client: its text, or how it failed."""
    arguments = {"toolKey": "weather:get_forecast", "arguments": {"city": "Oslo"}}
    params = {"name": "tool_execute", "arguments": arguments, "_meta": ENVELOPE}
    body = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
    try:
        status, _, answer = post(
            port, body, token, MCP_Protocol_Version=MODERN, Mcp_Method="tools/call", Mcp_Name="tool_execute"
        )
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    if status != 200:
        return str(status)
    message = json.loads(answer)
    assert message["id"] == id_
    return "failed" if message["result"].get("isError") else "answered"


def configured(home: Path, paths: Paths) -> str:
    """The example's configuration on this home; a token for it."""
    home.mkdir(exist_ok=True)
    text = (TEAM / "config.toml").read_text(encoding="utf-8")
    text = text.replace('command = "python"', f'command = "{sys.executable}"').replace("120/min", "9999/min")
    (home / "config.toml").write_text(text, encoding="utf-8")
    return token_of(paths, name="ann")[1]


def test_the_configuration_of_a_team_is_usable() -> None:
    loaded = config.load(TEAM / "config.toml")
    assert not loaded.problems
    assert loaded.servers["weather"].shared
    assert tomllib.loads((TEAM / "config.toml").read_text(encoding="utf-8"))["http"]["allowed_hosts"] == [HOST]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(
    "program",
    [pytest.param(name, marks=pytest.mark.skipif(not found, reason=f"{name} is not installed: apt-get install {name}"))
     for name, found in PROGRAMS.items()],
)  # fmt: skip
def test_calls_through_a_balancer_are_made_once_though_a_process_is_killed_again_and_again(
    program: str, home: Path, paths: Paths, tmp_path: Path
) -> None:
    token = configured(home, paths)
    ports = free_ports(4)
    processes = Processes(home, ports[1:])
    outcomes: dict[str, str] = {}
    try:
        for port in ports[1:]:
            until("it listens", lambda port=port: answers(port))
        with behind(program, tmp_path, ports) as port:
            until("a call is answered", lambda: call(port, token, "first") == "answered")

            def work(client: int) -> None:
                for number in range(CALLS):
                    outcomes[f"{client}-{number}"] = call(port, token, f"{client}-{number}")

            threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
            for thread in threads:
                thread.start()
            for number in range(KILLS):
                processes.kill(ports[1 + number % 3])
            for thread in threads:
                thread.join(120)
            assert len(outcomes) == CLIENTS * CALLS
            params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            began = post(port, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, token)
            session = began[1]["mcp-session-id"]
            for number in range(6):
                pinged = post(port, {"jsonrpc": "2.0", "id": number, "method": "ping"}, token, Mcp_Session_Id=session)
                assert pinged[0] == 200
    finally:
        processes.end()
    texts = [line for file in paths.sessions.glob("*.jsonl") for line in file.read_text(errors="replace").splitlines()]
    started = [line for line in map(json.loads, texts) if line["type"] == "calls.started"]
    made = Counter(str(line["request_id"]) for line in started if line["request_id"] != "first")
    assert set(made.values()) == {1}, "a call was made twice"
    answered = {id_ for id_, outcome in outcomes.items() if outcome == "answered"}
    assert answered <= set(made)
    assert len(answered) >= len(outcomes) // 2, Counter(outcomes.values())
