"""`mcpctl dashboard`: started, found again, ended."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mcpctl.base.paths import Paths
from mcpctl.commands import confirmation
from mcpctl.dashboard.running import Logins, Running, claimed, running
from mcpctl.oauth import browser
from tests.commands.dashboard.processes import Started, asked, environment, logged_in
from tests.conftest import MCPCTL, ROOT, Mcpctl
from tests.terminal import Terminal
from tests.test_readme import blocks, lacks_a_tool, shell

LINK = r"http://127\.0\.0\.1:(\d+)/login/[a-z0-9]+"
process = pytest.mark.process


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is run by a person."""
    monkeypatch.setattr(confirmation, "only_for_people", lambda what: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


def may_answer(here: Running, link: str) -> bool:
    """Whether who logs in with a link may answer approvals."""
    logins = Logins(here.secret)
    login = logins.of_cookie(logins.exchange(urlsplit(link.strip()).path.removeprefix("/login/")) or "")
    assert login
    return login.may_answer


def test_a_second_start_prints_a_new_link_to_the_one_that_runs(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    with claimed(paths) as claim:
        assert claim
        here = claim.publish(4747, read_only=False)
        first, second = mcpctl("dashboard"), mcpctl("dashboard", "--print-url")
        assert (first.code, first.err, second.code, second.err) == (0, "", 0, "")
        assert re.fullmatch(LINK + "\n", first.out)
        assert first.out != second.out
        assert may_answer(here, first.out)
        assert may_answer(here, second.out)
        assert not may_answer(here, mcpctl("dashboard", "--read-only").out)
        said = mcpctl("dashboard", "--json").json
        assert (list(said), said["port"], said["pid"]) == (["url", "port", "pid"], 4747, os.getpid())
        assert may_answer(here, said["url"])


def test_another_port_than_that_of_the_one_that_runs_is_said(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    with claimed(paths) as claim:
        assert claim
        claim.publish(4747, read_only=False)
        assert mcpctl("dashboard", "--port", "4747").err == ""
        ran = mcpctl("dashboard", "--port", "4748")
        assert (ran.code, "http://127.0.0.1:4747/login/" in ran.out) == (0, True)
        assert f"on port 4747, as process {os.getpid()}; end that to have it on port 4748" in ran.err


def test_a_person_who_gets_to_a_read_only_one_is_told(mcpctl: Mcpctl, paths: Paths, person: None) -> None:
    with claimed(paths) as claim:
        assert claim
        claim.publish(4747, read_only=True)
        assert "it is read-only; end process" in mcpctl("dashboard").err
        assert mcpctl("dashboard", "--read-only").err == ""


@pytest.mark.parametrize("agent", confirmation.AGENTS)
def test_a_link_that_an_agent_prints_only_reads_and_it_says_so(
    mcpctl: Mcpctl, paths: Paths, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(agent, "1")
    with claimed(paths) as claim:
        assert claim
        here = claim.publish(4747, read_only=False)
        for options in ([], ["--print-url"], ["--json"]):
            ran = mcpctl("dashboard", *options)
            assert "read-only, since only a person can answer approvals" in ran.err
            assert not may_answer(here, ran.json["url"] if options == ["--json"] else ran.out)


def test_a_browser_is_opened_for_a_person_with_a_window(
    mcpctl: Mcpctl, paths: Paths, person: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(browser, "open_", lambda link, _: opened.append(link))
    monkeypatch.setattr(sys, "platform", "linux")
    with claimed(paths) as claim:
        assert claim
        claim.publish(4747, read_only=False)
        mcpctl("dashboard")
        monkeypatch.setenv("DISPLAY", ":0")
        for option in ("--no-open", "--print-url", "--json"):
            mcpctl("dashboard", option)
        assert opened == []
        link = mcpctl("dashboard").out.strip()
        assert opened == [link]


def test_print_url_starts_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("dashboard", "--print-url")
    assert (ran.code, "hint: start it: mcpctl dashboard" in ran.err) == (3, True)
    assert not paths.data.exists()


def test_a_file_that_nobody_has_locked_is_of_one_that_has_ended(mcpctl: Mcpctl, paths: Paths) -> None:
    with claimed(paths) as claim:
        assert claim
        claim.publish(4747, read_only=False)
    assert running(paths) is None
    assert mcpctl("dashboard", "--print-url").code == 3


@pytest.mark.parametrize(
    "content", ["", "{}", "nonsense", '{"port": "x"}', '{"port": 0}', '{"port": -5}', '{"port": 70000}']
)
def test_a_broken_file_is_as_none(paths: Paths, content: str) -> None:
    paths.data.mkdir(parents=True)
    paths.dashboard.write_text(content)
    paths.dashboard.chmod(0o644)
    with claimed(paths) as claim:
        assert claim
        assert claim.last_port == 0
        assert paths.dashboard.stat().st_mode & 0o777 == 0o600
        with claimed(paths) as other:
            assert other is None


def test_a_pipe_in_place_of_the_file_is_not_waited_for(paths: Paths) -> None:
    paths.data.mkdir(parents=True, exist_ok=True)
    os.mkfifo(paths.dashboard)
    assert running(paths) is None


def test_one_that_does_not_come_up_is_not_waited_for_forever(
    mcpctl: Mcpctl, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpctl.dashboard.running._STARTING_S", 0.0)
    with claimed(paths):
        ran = mcpctl("dashboard", "--print-url", "--json")
        assert (ran.code, ran.error["code"]) == (5, "dashboard_hangs")


def test_a_port_out_of_range_is_wrong_usage(mcpctl: Mcpctl) -> None:
    assert mcpctl("dashboard", "--port", "80").code == 2
    assert mcpctl("dashboard", "--port", "65536").code == 2


@pytest.mark.slow
def test_it_needs_neither_the_sdk_nor_numpy() -> None:
    lines = "import mcpctl.dashboard.server, sys; print({'mcp', 'numpy', 'rich', 'pydantic'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout == "set()\n"


@pytest.mark.slow
@process
def test_it_answers_on_this_machine_alone_and_logs_in_once(paths: Paths) -> None:
    with Started() as started:
        assert list(started.said) == ["url", "port", "pid"]
        assert started.said["pid"] == started.process.pid
        cookie = logged_in(started.said["url"])
        found = asked(started.port, "/sessions", **cookie)
        assert (found.status, "No session is on record yet" in found.text) == (200, True)
        assert (found.headers["Server"], found.headers["Date"]) == (None, None)
        assert asked(started.port, urlsplit(started.said["url"]).path).status == 401
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", started.port), timeout=5)


@pytest.mark.slow
@process
def test_pages_that_are_read_write_no_more_than_commands_do(paths: Paths, mcpctl: Mcpctl) -> None:
    assert mcpctl("sessions", "ls").code == 0
    before = {file.name.partition(".db")[0] for file in paths.data.iterdir()}
    with Started() as started:
        assert asked(started.port, "/sessions", **logged_in(started.said["url"])).status == 200
        after = {file.name.partition(".db")[0] for file in paths.data.iterdir()}
    assert after - before == {"dashboard.json"}


@pytest.mark.slow
@process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_at_once_with_streams_open(paths: Paths, number: int) -> None:
    with Started() as started:
        cookie = logged_in(started.said["url"])
        with (
            socket.create_connection(("127.0.0.1", started.port)) as unread,
            socket.create_connection(("127.0.0.1", started.port)) as unfinished,
        ):
            host = f"Host: 127.0.0.1:{started.port}\r\nOrigin: http://127.0.0.1:{started.port}\r\n"
            head = f"{host}Cookie: {cookie['Cookie']}\r\n"
            unread.sendall(f"GET /api/v1/events HTTP/1.1\r\n{head}\r\n".encode())
            unfinished.sendall(f"POST /sessions HTTP/1.1\r\n{head}Content-Length: 5\r\n\r\n".encode())
            assert unread.recv(100).startswith(b"HTTP/1.1 200")
            assert started.end(number) == 0
    assert json.loads(paths.dashboard.read_text()) == {"port": started.port}


@pytest.mark.slow
@process
def test_it_comes_back_on_its_port_with_a_new_key_however_it_ended(paths: Paths, mcpctl: Mcpctl) -> None:
    with Started() as first:
        cookie = logged_in(first.said["url"])
        late = mcpctl("dashboard", "--print-url").out.strip()
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    assert mcpctl("dashboard", "--print-url").code == 3
    with Started() as second:
        assert second.port == first.port
        assert asked(second.port, "/sessions", **cookie).status == 401
        assert asked(second.port, urlsplit(late).path).status == 401
        logged_in(second.said["url"])


@process
@pytest.mark.slow
def test_a_port_that_is_taken_is_said_and_that_of_last_time_given_up(paths: Paths, mcpctl: Mcpctl) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = mcpctl("dashboard", "--port", str(port), "--json")
        assert (ran.code, ran.error["code"]) == (5, "port_taken")
        paths.dashboard.write_text(json.dumps({"port": port}))
        with Started() as started:
            assert started.port != port


@pytest.mark.slow
@process
def test_a_second_process_prints_a_link_to_the_first(paths: Paths) -> None:
    with Started() as first, Started() as second:
        assert second.process.wait(30) == 0
        assert (second.port, second.said["pid"]) == (first.port, first.process.pid)
        logged_in(second.said["url"])


@pytest.mark.slow
@process
def test_in_front_of_a_terminal_a_person_may_answer_and_else_nobody(paths: Paths, mcpctl: Mcpctl) -> None:
    with Terminal([*MCPCTL, "dashboard"], environment()) as terminal:
        link = terminal.wait_for(LINK)[0]
        here = running(paths)
        assert here
        assert not here.read_only
        assert may_answer(here, link)
        logged_in(link)
        terminal.type("\x03")
        terminal.wait_for(r"\^C")
    with Terminal([*MCPCTL, "dashboard"], environment(CLAUDECODE="1")) as terminal:
        terminal.wait_for("read-only, since only a person can answer approvals: CLAUDECODE is set")
        link = terminal.wait_for(LINK)[0]
        here = running(paths)
        assert here
        assert here.read_only
        assert not may_answer(here, link)


@process
@pytest.mark.slow
def test_what_has_no_terminal_only_reads(paths: Paths) -> None:
    with Started() as started:
        here = running(paths)
        assert here
        assert here.read_only
        started.end()
        assert started.process.stderr
        assert "read-only, since only a person can answer approvals" in started.process.stderr.read()


@pytest.mark.slow
@process
def test_the_lines_of_the_guide_work(home: Path, mcpctl: Mcpctl) -> None:
    text = (ROOT / "mcpctl" / "docgen" / "guides" / "dashboard.md").read_text(encoding="utf-8")
    with Started():
        lines = [line for kind, block in blocks(text) if kind == "text" for line in block.splitlines()]
        for line in lines:
            ran = mcpctl(*shlex.split(line)[1:])
            assert (ran.code, re.fullmatch(LINK + "\n", ran.out) is not None) == (0, True), line
        (script,) = [block for kind, block in blocks(text) if kind == "bash"]
        if not lacks_a_tool(script):
            assert json.loads(shell(script, home).stdout) == {"sessions": [], "total": 0}


def test_where_none_runs_nothing_is_said_of_how_it_would_run(mcpctl: Mcpctl, paths: Paths) -> None:
    ran = mcpctl("dashboard", "--print-url")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == f"mcpctl: no dashboard runs over {paths.data}\nhint: start it: mcpctl dashboard\n"
