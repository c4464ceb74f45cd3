"""What the system is asked about processes."""

import os
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mcpctl.base import posix
from tests.conftest import without_privileges
from tests.table import for_each
from tests.terminal import Terminal

pytestmark = pytest.mark.process


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("ps"), reason="needs /proc and ps")
def test_both_ways_to_list_processes_say_the_same() -> None:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as child:
        try:
            by_proc, by_ps = posix._processes_by_proc(), posix._processes_by_ps()
            assert by_proc[child.pid] == by_ps[child.pid]
            assert posix.processes([child.pid]) == {child.pid: by_proc[child.pid]}
            assert posix.in_session(child.pid, by_ps) == {child.pid: "sleep"}
        finally:
            child.kill()
            posix.await_exit(child)
            assert child.pid not in posix._processes_by_proc()
            assert child.pid not in posix._processes_by_ps()


def test_a_process_knows_what_has_started_it() -> None:
    program = "from mcpctl.base import posix; print(*posix.parents())"
    direct = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert direct.split() == [str(pid) for pid in (os.getpid(), os.getppid()) if pid > 1]
    launched = f"{sys.executable} -c '{program}'; true"
    through = subprocess.run(["sh", "-c", launched], capture_output=True, text=True, check=True).stdout
    assert through.split()[1:] == [str(os.getpid())]


@for_each(("script", "status"), [("exit 7", 7), ("kill -9 $$", -9)])
def test_how_a_child_ended_is_known_before_its_id_is_free(script: str, status: int) -> None:
    with subprocess.Popen(["/bin/sh", "-c", script]) as child:
        assert posix.await_exit(child) == status
        assert child.wait() == status


WAIT = "print(1, flush=True); open('/proc/self/fd/0').read()"
HIDE = "from mcpctl.base import posix; posix.hide_environment()"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("is_hidden", [False, True])
def test_a_process_of_the_same_user_cannot_read_an_environment_that_is_hidden(is_hidden: bool) -> None:
    command = [sys.executable, "-c", f"{HIDE}; {WAIT}" if is_hidden else WAIT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=without_privileges
    ) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline()
        reader = subprocess.run(
            ["cat", f"/proc/{process.pid}/environ"], capture_output=True, check=False, preexec_fn=without_privileges
        )
        process.stdin.close()
        assert process.wait() == 0  # it reads its own descriptors as before
    assert (b"Permission denied" in reader.stderr) == is_hidden
    assert (b"PATH=" in reader.stdout) != is_hidden


def test_nobody_signals_the_session_that_it_is_in() -> None:
    table = posix.processes()
    with pytest.raises(ValueError, match="our own session"):
        posix.signal_session(os.getsid(0), 0, table)


_IS_IN_FRONT = (
    "from mcpctl.base import posix; print('in front' if posix.has_terminal() else 'not in front', flush=True)"
)


def test_who_is_in_front_of_a_terminal_has_it() -> None:
    argv = [sys.executable, "-c", _IS_IN_FRONT]
    with Terminal(argv, os.environ) as terminal:
        terminal.wait_for("^in front")
    # A background job of a terminal's shell, and a process without any terminal.
    behind = f"import os, subprocess; subprocess.run({argv!r}, process_group=0)"
    with Terminal([sys.executable, "-c", behind], os.environ) as terminal:
        terminal.wait_for("not in front")
    alone = subprocess.run(argv, capture_output=True, text=True, check=True, start_new_session=True, timeout=30)
    assert alone.stdout == "not in front\n"


@for_each(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_who_is_at_the_other_end_of_a_connection_is_known(family: socket.AddressFamily, host: str) -> None:
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"there is no {host}")
    with listening, socket.create_connection(listening.getsockname()[:2]) as client:
        ends = client.getsockname()[:2], listening.getsockname()[:2]
        assert posix.owner_of_connection(*ends) == (os.geteuid() if Path("/proc/net/tcp").exists() else None)
    assert posix.owner_of_connection(("testclient", 5), ("127.0.0.1", 5)) is None


@pytest.mark.skipif("glibc" not in platform.libc_ver(), reason="other allocators give back what is freed")
def test_what_is_freed_is_given_back_to_the_system() -> None:
    script = """
from pathlib import Path
from mcpctl.base.posix import give_back_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

texts = [bytes(10_000) for _ in range(5_000)]
last = bytes(10_000)
del texts
before = resident()
give_back_memory()
print((before - resident()) * 4096)
"""
    given_back = int(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout)
    assert given_back > 20_000_000
