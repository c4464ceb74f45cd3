"""Servers that are left over: those of an mcpctl that was killed along with its watcher."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mcpctl.base import posix
from tests.doctor.conftest import Found
from tests.proxy.client import Client, living, until
from tests.proxy.conftest import Serve
from tests.servers import command

pytestmark = pytest.mark.process


@pytest.fixture
def ended() -> Iterator[list[psutil.Process]]:
    """What is left when the test is over."""
    left: list[psutil.Process] = []
    yield left
    for process in living(left):
        process.kill()


def begun(serve_process: Serve, tmp_path: Path, kind: str) -> tuple[Client, list[psutil.Process]]:
    """A `serve` with a server that goes on when its stdin is closed, and the server and its child."""
    client = serve_process({"orphans": command("orphans", tmp_path / "pids", kind)})
    client.call("orphans:pids")
    return client, [psutil.Process(int(pid)) for pid in (tmp_path / "pids").read_text().split()]


def killed(client: Client) -> None:
    """Everything that could have ended its servers is gone."""
    client.children()
    watcher = client.watcher()
    assert watcher
    watcher.kill()
    client.process.kill()
    client.process.wait()


@pytest.mark.slow
def test_servers_of_a_killed_mcpctl_are_found_and_ended(
    serve_process: Serve,
    tmp_path: Path,
    found: Found,
    ended: list[psutil.Process],
) -> None:
    client, servers = begun(serve_process, tmp_path, "stubborn")
    ended += servers
    pids = {process.pid for process in servers}
    assert not any(str(pid) in each.message for pid in pids for each in found("processes"))  # while it lives
    killed(client)
    (finding,) = [each for each in found("processes") if str(servers[0].pid) in each.message]
    assert finding.code == "D161"
    assert all(f"({pid})" in finding.message for pid in pids)
    assert finding.repair
    assert finding.repair() == f"ended what was in session {servers[0].pid}"
    until("the servers to end", lambda: not living(servers))
    assert not any(str(pid) in each.message for pid in pids for each in found("processes"))


@pytest.mark.slow
def test_what_has_made_a_session_of_its_own_is_told_and_left_alone(
    serve_process: Serve,
    tmp_path: Path,
    found: Found,
    ended: list[psutil.Process],
) -> None:
    client, (server, child) = begun(serve_process, tmp_path, "session")
    ended += [server, child]
    killed(client)
    until("the server to end", lambda: not living([server]))
    (finding,) = [each for each in found("processes") if str(child.pid) in each.message]
    assert (finding.code, finding.repair) == ("D162", None)
    assert finding.fix == f"if nothing needs it: kill {child.pid}"
    assert living([child])


def test_a_variable_of_others_is_no_mark(found: Found) -> None:
    env = {"MCPCTL_OWNER": "rubbish", "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(["sleep", "1000"], env=env, start_new_session=True) as process:
        try:
            until("its environment", lambda: posix.environments("MCPCTL_OWNER").get(process.pid))
            assert not [each for each in found("processes") if str(process.pid) in each.message]
        finally:
            process.kill()


def test_where_there_is_no_proc_environments_are_asked_of_ps() -> None:
    with subprocess.Popen(["sleep", "1000"], env={"MCPCTL_OWNER": "1:2"}, executable="/bin/sleep") as process:
        try:
            until("it", lambda: dict(posix._environments_by_ps("MCPCTL_OWNER")).get(process.pid) == "1:2")
        finally:
            process.kill()
